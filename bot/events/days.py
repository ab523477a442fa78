"""Days as people type them, and as a plan's window limits them.

A day is a published race date (Spec gap G16), compared as "YYYY-MM-DD". "Today" is the date in UTC, because the zone is
unknown.
"""

import calendar
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.events.word_rows import sentence_rows

ARCHIVE_STARTS = 2017
"""The earliest year of the data. Interface, What the service does."""

EASTERNMOST, WESTERNMOST = timedelta(hours=14), timedelta(hours=12)
"""A day begins 14 hours before the day in UTC in the east, and ends 12 hours after the day in UTC in the west."""

_ISO = re.compile(r"[0-9]{4}([-/.])[0-9]{2}\1[0-9]{2}")
_NUMERIC = re.compile(r"([0-9]{1,2})([/. -])([0-9]{1,2})(?:\2([0-9]{4}|(?<! )[0-9]{2}))?")
_LIKE_A_DATE = re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,2}(?:\1[0-9]{1,4})?|[0-9]{8}")
_BOUND = re.compile(r"([0-9]{4})(?:-([0-9]{2})-([0-9]{2}))?(?![0-9])")
_ARROW = re.compile(r"\s*(?:→|⟶|➔|=>|->|–|—|\.\.|\bto\b)\s*")  # noqa: RUF001  dashes that stand for an arrow
_RELATIVE = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0}
_NAMED = {"christmas eve": "24 dec", "christmas day": "25 dec", "boxing day": "26 dec", "st stephen's day": "26 dec"}
_NAMED |= {"new year's eve": "31 dec", "new year's day": "1 jan"}
_RELATIVE |= {"tomorrow": 1, "tmrw": 1, "tmw": 1, "day after tomorrow": 2}
WEEKDAYS = tuple(map(str.lower, calendar.day_name))
MONTHS = tuple(map(str.lower, calendar.month_name))[1:]
_SHORT = {"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday"} | {
    weekday[:3]: weekday for weekday in WEEKDAYS
}
_FEW = {"a": 1, "one": 1, "two": 2, "three": 3}
BEGINNINGS = frozenset(
    word.partition(" ")[0][:3]
    for word in (*_RELATIVE, *_NAMED, *WEEKDAYS, *MONTHS, "last", "past", "this", "next", "weekend", "in", *_FEW)
)
_NTH = "([0-9]{1,2})(?:st|nd|rd|th)?"
_WRITTEN_OUT = re.compile(rf"(?:{_NTH}(?: of)? ([a-z]{{3,9}})|([a-z]{{3,9}}) {_NTH}),?(?: ([0-9]{{4}}))?", re.ASCII)
_DATE_FOR_SURE = re.compile("[a-z/]")
_ORDINAL = re.compile("([0-9]{1,2})(?:st|nd|rd|th)")
_RACES_MOST = 12
"""Up to here, "the 2nd" may be a race of the card."""

_WHICH = ("last", "this", "next")
_SPAN = re.compile("(last|past|next) ([2-9])")
_AWAY = re.compile(rf"(?P<ahead>in )?(?P<number>[0-9]{{1,2}}|{'|'.join(_FEW)}) (?P<unit>day|week)s?(?P<ago> ago)?")
"""For example "2 days ago" and "in a week"."""
_LONGEST_WORD = 20
_BEGINNING = len("yest")
_LEAST_LIKENESS = 0.75
"""`tommorow` is like a day, and no known course is."""

_WEEK, _MONTH_MOST = 7, 31
_CENTURY = 2000

UTC_NAME = "UTC"

_ZONE_ROWS = sentence_rows("bot.events", "region_zones.ini")["zones"].items()
_ZONES_OF = {code.upper(): zones.split() for codes, zones in _ZONE_ROWS for code in codes.split()}


class DayUnclearError(ValueError):
    """`meant`: the days that the text may mean."""

    def __init__(self, told: str, meant: Sequence[date] = ()) -> None:
        super().__init__(told)
        self.meant = tuple(meant)


def begins_at(day: date) -> datetime:
    """When the day begins in the last time zone east of UTC."""
    return datetime.combine(day, time.min, UTC) - EASTERNMOST


def ends_at(day: date) -> datetime:
    """When the day ends in the last time zone west of UTC."""
    return datetime.combine(day, time.min, UTC) + timedelta(days=1) + WESTERNMOST


def racing_day(race_date: str | None) -> date | None:
    """The day of a race. None for a date that is kept as published, such as "05/11/2026" or "Tuesday"."""
    try:
        day = date.fromisoformat(race_date or "")
    except ValueError:
        return None
    # In the first and the last year a time zone would lead out of the calendar.
    return day if date.min.year < day.year < date.max.year else None


def utc_today(now: datetime) -> date:
    return now.astimezone(UTC).date()


def zone_of(name: str | None) -> tzinfo:
    return known_zone(name) or UTC


def known_zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def zones_of_region(region: str | None) -> list[tzinfo]:
    """The zones of a region's courses: a race's own zone is not published (Spec gap G16)."""
    return [*filter(None, map(known_zone, _ZONES_OF.get(region or "", ())))]


def days_in(region: str | None, moment: datetime) -> set[str]:
    """The dates at the region's courses; empty for a region of unknown zones."""
    return {f"{moment.astimezone(zone):%Y-%m-%d}" for zone in zones_of_region(region)}


def day_before(day: date) -> str:
    return (day - timedelta(days=1)).isoformat()


def may_be_year(word: str, today: date) -> bool:
    """True for a year of the data, up to the next year: "2026"."""
    return word.isdecimal() and ARCHIVE_STARTS <= int(word) <= today.year + 1


def parse_day(word: str, today: date, *, looks_back: bool = False) -> date | None:
    """The day that a word means; None for another word. Raises ValueError for a day that does not exist.

    A weekday is the coming day, or the last if the command `looks_back`; "last friday" and "next friday" are never
    today. A date without a year is the nearest, or the last, and "26th" the coming, or the last. In figures, the day
    comes before the month.
    """
    folded = _NAMED.get(word.lower(), word.lower())
    if (away := _days_away(folded)) is not None:
        return today + timedelta(days=away)
    if day := _on_weekday(folded, today, looks_back=looks_back):
        return day
    which, _, weekday = folded.rpartition(" ")
    weekday = _SHORT.get(weekday) or weekday.removesuffix("s")
    if weekday in WEEKDAYS and which in {"", *_WHICH}:
        which = which.removeprefix("this")
        return _weekday(weekday, which or ("last" if looks_back else "next"), today, or_today=not which)
    if several := _several(which, weekday, today, looks_back=looks_back):
        raise DayUnclearError(f"{word} has several days", several)
    if ordinal := _ORDINAL.fullmatch(folded):
        return _of_a_month(int(ordinal[1]), today, looks_back=looks_back)
    if written := _written_out(folded):
        return _dated(*written, today, looks_back=looks_back)
    if year_first := _ISO.fullmatch(word):
        return date.fromisoformat(word.replace(year_first[1], "-"))
    if found := _NUMERIC.fullmatch(word):
        return _in_figures(found, today, looks_back=looks_back)
    if _LIKE_A_DATE.fullmatch(word):
        raise ValueError(f"{word} is not written as YYYY-MM-DD")
    return None


def _on_weekday(folded: str, today: date, *, looks_back: bool) -> date | None:
    """The date of "sat 28 nov", if the date is a Saturday. "sat 5.12" may have a time."""
    weekday, _, dated = folded.partition(" ")
    if not _DATE_FOR_SURE.search(dated) or (weekday := weekday.rstrip(",")) not in {*_SHORT, *WEEKDAYS}:
        return None
    with suppress(ValueError):
        day = parse_day(dated, today, looks_back=looks_back)
        return day if day and WEEKDAYS[day.weekday()] == _SHORT.get(weekday, weekday) else None
    return None


def _days_away(folded: str) -> int | None:
    found = _AWAY.fullmatch(folded)
    if found is None or bool(found["ahead"]) == bool(found["ago"]):
        return _RELATIVE.get(folded)
    days = int(_FEW.get(found["number"], found["number"])) * (_WEEK if found["unit"] == "week" else 1)
    return -days if found["ago"] else days


def _several(which: str, last: str, today: date, *, looks_back: bool) -> list[date]:
    """The days of "next weekend", "last week", "last 7 days"; [] for other words."""
    begins, step, number = today, 1, 0
    if last == "weekend" and which in {"", "last", "next"}:
        # On a Sunday "weekend" is the present weekend.
        begun = today if looks_back else today - timedelta(days=1)
        begins = _weekday("saturday", which or ("last" if looks_back else "next"), begun, or_today=not which)
        number = 2
    elif last == "week" and which in _WHICH:
        begins, number = today + timedelta(days=_WEEK * (_WHICH.index(which) - 1) - today.weekday()), _WEEK
    elif last == "day" and (found := _SPAN.fullmatch(which)):
        step, number = 1 if found[1] == "next" else -1, int(found[2])
    return [begins + timedelta(days=step * one) for one in range(number)]


def is_day(words: str, today: date) -> bool:
    may_begin_day = words[:1].isdecimal() or words.partition(" ")[0][:3].lower() in BEGINNINGS
    try:
        return may_begin_day and parse_day(words, today) is not None
    except (ValueError, OverflowError):
        return True


def likely_day(word: str) -> str | None:
    which, _, weekday = word.lower().rpartition(" ")
    if which not in _WHICH:
        return _alike(word.lower(), (*_RELATIVE, *WEEKDAYS))
    meant = _SHORT.get(weekday) or _alike(weekday, WEEKDAYS)
    return f"{which} {meant}" if meant else None


def _alike(word: str, names: Sequence[str]) -> str | None:
    if begun := [name for name in names if len(word) >= _BEGINNING and name.startswith(word) and " " not in name]:
        return begun[0]
    return next(iter(get_close_matches(word[:_LONGEST_WORD], names, n=1, cutoff=_LEAST_LIKENESS)), None)


def _written_out(folded: str) -> tuple[int, int, int | None] | None:
    found = _WRITTEN_OUT.fullmatch(folded)
    if found is None:
        return None
    month = next((number for number, month in enumerate(MONTHS, 1) if month.startswith(found[2] or found[3])), None)
    return (int(found[1] or found[4]), month, int(found[5]) if found[5] else None) if month else None


def _in_figures(found: "re.Match[str]", today: date, *, looks_back: bool) -> date:
    """The day of "22/11/2026", "22.11.26" or "22/11". Raises DayUnclearError for no day or for two days."""
    first, between, second, year = int(found[1]), found[2], int(found[3]), found[4]
    whole = (_CENTURY + int(year) if len(year) == len("26") else int(year)) if year else None
    if between == "-" and year and len(year) == len("26"):
        orders = [(whole, second, first), (_CENTURY + first, second, int(year))]
        meant = list(dict.fromkeys(filter(None, (date_or_none(*order) for order in orders))))
        if len(meant) != 1:
            raise DayUnclearError(f"{found[0]} may be more than one day", meant)
        return meant[0]
    try:
        return _dated(first, second, whole, today, looks_back=looks_back)
    except (ValueError, OverflowError):
        swapped = date_or_none(whole or today.year, first, second)
        raise DayUnclearError(f"{found[0]} is no day", [swapped] if swapped else []) from None


def date_or_none(year: int | None, month: int, day: int) -> date | None:
    try:
        return date(year or 0, month, day)
    except ValueError:
        return None


def _dated(day: int, month: int, year: int | None, today: date, *, looks_back: bool) -> date:
    if year is not None:
        return date(year, month, day)
    years = range(today.year - 4, today.year + 5)
    near = [found for one in years if (found := date_or_none(one, month, day))]
    if not near:
        raise ValueError(f"no month {month} has a day {day}")
    return min((one for one in near if one <= today or not looks_back), key=lambda one: abs(one - today))


def _of_a_month(number: int, today: date, *, looks_back: bool) -> date | None:
    """The coming, or last, day of a month. Raises DayUnclearError for a race's number, and for a nearer coming day."""
    near = [today + timedelta(days=one) for one in range(-2 * _MONTH_MOST, 2 * _MONTH_MOST)]
    near = sorted((day for day in near if day.day == number), key=lambda day: abs(day - today))
    found = next((day for day in near if (day <= today if looks_back else day >= today)), None)
    if found and (number <= _RACES_MOST or (looks_back and found != near[0])):
        raise DayUnclearError(f"{number} may be a race or another day", near[: near.index(found) + 1])
    return found


def _weekday(name: str, which: str, today: date, *, or_today: bool) -> date:
    ahead = (WEEKDAYS.index(name) - today.weekday()) % _WEEK
    if ahead == 0:
        ahead = 0 if or_today else _WEEK if which == "next" else -_WEEK
    elif which == "last":
        ahead -= _WEEK
    return today + timedelta(days=ahead)


def is_outside(window: str | None, day: date) -> bool:
    """A window is "a start year, an arrow, and an end such as `upcoming`" (Interface, meta).

    An unreadable bound excludes no day.
    """
    start, end = _bounds(window)
    return day.year < ARCHIVE_STARTS or day.isoformat() < (start or "") or (end is not None and day.isoformat() > end)


def widens(before: str | None, now: str | None) -> bool:
    """True if a window may show days that an earlier window hid."""
    if before is None or now is None or before == now:
        return False
    (old_start, _), (new_start, _) = _bounds(before), _bounds(now)
    if old_start is None or new_start is None or new_start < old_start:
        return True
    return _ARROW.split(before.strip())[1:] != _ARROW.split(now.strip())[1:]


def _bounds(window: str | None) -> tuple[str | None, str | None]:
    start, end = [*_ARROW.split((window or "").strip(), maxsplit=1), ""][:2]
    return _bound(start, "-01-01"), _bound(end, "-12-31")


def _bound(said: str, rest_of_year: str) -> str | None:
    found = _BOUND.match(said)
    return found and (found[0] if found[2] else found[1] + rest_of_year)
