"""Dates and times of races as published, never shifted by a zone (Spec gap G16)."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from bot.events.days import date_or_none
from bot.events.races import OffTime
from bot.events.reading.fields import Fields, fields_of, first_of
from bot.events.reading.json_values import text

FIRST_YEAR, LAST_YEAR = 1900, 2100

EPOCH_RANGE_S = (946_684_800, 4_102_444_800)
"""2000 to 2100 in Unix time; a thousandfold number is in milliseconds."""

SHORTEST_DATE, LONGEST_DATE = len("5Nov26"), 40

_MONTHS = (
    *("jan", "feb fév", "mar mär", "apr avr", "may mai maj", "jun juin", "jul juil", "aug août", "sep", "oct okt"),
    *("nov", "dec déc dez"),
)
"""How the name of each month begins. A longer beginning decides: "juin" before "ju"."""

_DAY_OF_WEEK = r"(?:[^\W\d_]{2,10}[.,]? )?"
_MONTH_NAME = r"(?P<name>[^\W\d_]{3,10})"
_NTH = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|\.)?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>[0-9]{4})(?P<between>[-/.]|(?=[0-9]{4}))(?P<month>1[0-2]|0?[1-9])(?P=between)(?P<day>[0-9]{1,2})(?![0-9])",
        r"(?P<first>[0-9]{1,2})(?P<between>[-/.])(?P<second>[0-9]{1,2})(?P=between)(?P<year>[0-9]{4})(?![0-9])",
        r"(?P<first>[0-9]{2})(?P<second>[0-9]{2})(?P<year>20[0-9]{2})(?![0-9])",
        r"(?P<first>[0-9]{2})(?P<between>[/.])(?P<second>[0-9]{2})(?P=between)(?P<year>[0-9]{2})(?![0-9:.])",
        rf"{_DAY_OF_WEEK}{_NTH}(?: of)?[ -]?{_MONTH_NAME}[.,]?[ -]?(?P<year>[0-9]{{4}}|[0-9]{{2}})(?![0-9])",
        rf"(?P<year>[0-9]{{4}})[ -]?{_MONTH_NAME}[ -]?(?P<day>[0-9]{{1,2}})(?![0-9])",
        rf"{_DAY_OF_WEEK}{_MONTH_NAME}\.? {_NTH},? (?P<year>[0-9]{{4}})",
        "(?P<year>[0-9]{4})年(?P<month>[0-9]{1,2})月(?P<day>[0-9]{1,2})日",
    )
)

_CLOCK = re.compile(
    r"(?:kl\.? ?)?(?P<hour>2[0-3]|[01]?[0-9])"
    r"(?: ?(?P<between>[:.h時]) ?(?P<minute>[0-5][0-9])分?| ?[h時]|(?= ?[ap]\.?m\b))"
    r"(?:(?P=between)[0-5][0-9](?:\.[0-9]+)?)?(?:Z| ?[+-][0-9]{2}:?[0-9]{2}|(?P<spoken> ?[^\d:]{1,12}))?",
    re.IGNORECASE,
)
_BARE_CLOCK = re.compile("([01]?[0-9]|2[0-3])([0-5][0-9])(?: ?h(?:rs|ours)?|Z|[+-][0-9]{4})?", re.IGNORECASE)
_AFTER_DATE = re.compile(
    r"(?:T|,? +)(?P<clock>(?:2[0-3]|[01][0-9])[:.h]?[0-5][0-9])(?P<exactly>:?[0-5][0-9][0-9:.]*)?", re.IGNORECASE
)
_OFFSET = re.compile(r" ?(Z|[+-][0-9]{2}:?[0-9]{2}|UTC|GMT)(?: (?:UTC|GMT))?", re.IGNORECASE)

_EPOCH = re.compile(r"(?:/Date\()?(?P<number>[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]{1,9})?)(?:(?:[+-][0-9]{4})?\)/)?")

_BETWEEN_DAYS = (
    (re.compile(r" ?[\u2013\u2014] ?| - | (?i:to|until|through) |(?<=[0-9]{4}-[0-9]{2}-[0-9]{2})/"), True),
    (re.compile(r" ?[,;&] ?| (?i:and|\+) "), False),
    (re.compile("[-/]"), True),
)
"""Words and marks between the days of a text; True where the days between are meant too."""

MOST_DAYS = 30
"""The most days of a range. A list gives one day more, so a longer list is told as too many events."""

DAY_S = 86_400

OFFSET_STEP_MIN = 15
"""Zones differ by quarters of an hour, and so do two clocks at one moment."""


def read_date(value: Any) -> str | None:
    """The date as "YYYY-MM-DD", also of Unix time at midnight. None for 05/11/2026: either number may be the month."""
    found = _dated(value)
    if found:
        return _iso_date(found)
    moment = read_instant(value)
    return f"{moment:%Y-%m-%d}" if moment and not moment.timestamp() % DAY_S else None


def published_date(value: Any) -> str | None:
    """A date that `read_date` does not read, as published. Equal to no day, so that the race is never today's."""
    moment = read_instant(value)
    if moment is not None:
        return read_date(value) or f"{moment:%Y-%m-%d %H:%M} UTC"
    said = text(value) if isinstance(value, str | dict) else None
    is_told = said is not None and len(said) <= LONGEST_DATE and not said.isdecimal() and read_clock(said) is None
    return said if is_told else None


def read_dated_clock(value: Any) -> str | None:
    """The date of a text with a date and a time of day."""
    return read_date(value) if isinstance(value, str) and _clock_of_dated(value) else None


def read_clock_of_date(value: Any) -> str | None:
    """The time of day beside a date. Midnight often stands for a date alone."""
    clock = _clock_of_dated(value)
    return clock if clock != "00:00" else None


def read_plain_date(value: Any) -> str | None:
    found = _dated(value) if isinstance(value, str) else None
    return _iso_date(found) if found and found.end() == len(value.strip()) else None


def read_days(value: Any) -> list[str]:
    """The days of a list, of {"from": …, "to": …}, or of a text: both of "27-28 November 2026"."""
    if isinstance(value, list):
        plain = (one.get("date") if isinstance(one, dict) and len(one) == 1 else one for one in value[: MOST_DAYS + 1])
        return [day for one in plain if (day := read_plain_date(one))]
    if isinstance(value, dict):
        return days_between(fields_of(value))
    said = text(value) or ""
    for between, is_range in _BETWEEN_DAYS if len(said) <= 2 * LONGEST_DATE else ():
        words = between.split(said)
        found = [_completed(one, words[-1]) for one in words]
        if len(set(found)) > 1 and None not in found:
            return _from_to(found[0], found[-1]) if is_range else [*filter(None, found)]
    day = read_date(value)
    return [day] if day else []


def days_between(fields: Fields) -> list[str]:
    """The days from the first to the last that an object names. The first alone if the last has a time of day."""
    first, last = (first_of([fields], f"race.{name}_day", read_date) for name in ("first", "last"))
    ends_at = first_of([fields], "race.last_day", read_clock_of_date)
    return _from_to(first, last if last and not ends_at else first)


def _from_to(first: str | None, last: str | None) -> list[str]:
    """Empty for more than MOST_DAYS."""
    if not first or not last:
        return []
    day = date.fromisoformat(first)
    several = (date.fromisoformat(last) - day).days + 1
    return [(day + timedelta(days=later)).isoformat() for later in range(several if several <= MOST_DAYS else 0)]


def _completed(said: str, last: str) -> str | None:
    """The date of "27", with month and year from `last`, "28 November 2026"."""
    rest = last.split()
    return next(
        filter(None, (read_plain_date(" ".join([said, *rest[place:]])) for place in range(len(rest), 0, -1))), None
    )


def read_instant(value: Any) -> datetime | None:
    """Aware, in UTC: of an ISO time with an offset or of Unix time."""
    if isinstance(value, str):
        if len(value) < SHORTEST_DATE:
            return None
        epoch = _EPOCH.fullmatch(value.strip())
        return _from_epoch(float(epoch["number"])) if epoch else _from_iso(value)
    return _from_epoch(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_clock(value: Any) -> str | None:
    """The time of day without seconds and offset: "14:30" for "14.30" and "14h30"; "2:30"; "2:30pm"."""
    said = text(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    return _clock_in(said) if said and len(said) <= LONGEST_DATE else None


@lru_cache(maxsize=1024)
def _clock_in(said: str) -> str | None:
    found = _CLOCK.fullmatch(said)
    if found:
        minute = found["minute"] or ("" if found["spoken"] else "00")
        return f"{found['hour']}{minute and ':'}{minute}{found['spoken'] or ''}"
    bare = _BARE_CLOCK.fullmatch(said)
    return f"{bare[1]}:{bare[2]}" if bare else None


def read_off(values: list[Any]) -> OffTime | None:
    """A single off time from several readings of equal standing.

    A plain time of day is meant for readers and comes first. Unix time gives no text: a text needs the course's zone.
    Two different times of day are both told: "14:30 or 14:45".
    """
    if not values:
        return None
    said = _together(filter(None, map(read_clock, values))) or next(filter(None, map(_clock_of_dated, values)), None)
    instant = next(filter(None, map(read_instant, values)), None)
    return OffTime(text=said, off_at=instant) if said or instant else None


def off_by_standing(standings: Iterable[list[Any]]) -> OffTime:
    """The off time of the first standing with a time. A lower standing adds the other form of the same time only."""
    off, *others = [*filter(None, map(read_off, standings))] or [OffTime()]
    for lower in others:
        if (off.text is None or off.off_at is None) and _may_be_same(off, lower):
            off = OffTime(text=off.text or lower.text, off_at=off.off_at or lower.off_at)
    return off


def spread_off(value: Any) -> Iterator[Any]:
    """The readings of {"local": "14:30", "utc": "2025-06-17T13:30:00Z"}. An actual time beside them is left out."""
    if isinstance(value, list) and len(value) == 1:
        yield from spread_off(value[0])
        return
    if not isinstance(value, dict):
        yield value
        return
    fields = fields_of(value)
    yield from fields.of("text.time")
    if "hour" in fields or "hours" in fields:
        yield ":".join((text(fields.get(name, fields.get(f"{name}s"))) or "0").zfill(2) for name in ("hour", "minute"))


def _together(clocks: Iterable[str]) -> str | None:
    different: list[str] = []
    for clock in clocks:
        if not any(clock == one or OffTime(text=clock).is_same_time(OffTime(text=one)) for one in different):
            different.append(clock)
    return " or ".join(different) or None


def _may_be_same(off: OffTime, lower: OffTime) -> bool:
    text, moment = (off.text, lower.off_at) if off.off_at is None else (lower.text, off.off_at)
    minute = OffTime(text=text).minute_of_day
    return minute is not None and moment is not None and (minute - moment.minute) % OFFSET_STEP_MIN == 0


def _dated(value: Any) -> "re.Match[str] | None":
    """Also of {"year": 2026, "month": 11, "day": 25}, and of an object with a single day: {"iso": "2026-11-25"}."""
    if isinstance(value, dict):
        parts = [str(part) for name in ("year", "month", "day") if (part := fields_of(value).get(name)) is not None]
        days = {found[0]: found for one in value.values() if isinstance(one, str) and (found := _dated(one))}
        if len(parts) != len("ymd") and len(days) == 1:
            return days.popitem()[1]
        value = "-".join(part.zfill(2) for part in parts) if len(parts) == len("ymd") else value
    said = text(value) if not isinstance(value, bool | float) else None
    return _match_date(said[:LONGEST_DATE]) if said and len(said) >= SHORTEST_DATE else None


@lru_cache(maxsize=1024)
def _match_date(said: str) -> "re.Match[str] | None":
    return next(filter(None, (pattern.match(said) for pattern in _DATES)), None)


def _iso_date(found: "re.Match[str]") -> str | None:
    named, year = found.groupdict(), int(found["year"])
    year += 2000 if len(found["year"]) == len("26") else 0
    if "first" in named:
        first, second = int(found["first"]), int(found["second"])
        days = {day for day in (_day(year, second, first), _day(year, first, second)) if day}
        return days.pop() if len(days) == 1 else None
    month = _month(found["name"]) if "name" in named else int(found["month"])
    return _day(year, month, int(found["day"]))


def _month(name: str) -> int:
    """0 for another word."""
    return next(
        (number for number, begins in enumerate(_MONTHS, 1) if name.casefold().startswith(tuple(begins.split()))), 0
    )


def _day(year: int, month: int, day: int) -> str | None:
    found = date_or_none(year, month, day)
    return found.isoformat() if found and FIRST_YEAR <= year < LAST_YEAR else None


def _clock_of_dated(value: Any) -> str | None:
    found = _dated(value) if isinstance(value, str) else None
    if found is None:
        return None
    said = " ".join(value.split())
    after = _AFTER_DATE.match(said, found.end())
    return read_clock(after["clock"]) if after else read_clock(said[found.end() :].lstrip(" ,"))


def _from_epoch(number: float) -> datetime | None:
    first, last = EPOCH_RANGE_S
    if first <= number < last:
        return datetime.fromtimestamp(number, UTC)
    return datetime.fromtimestamp(number / 1000, UTC) if first * 1000 <= number < last * 1000 else None


def _from_iso(value: str) -> datetime | None:
    said = " ".join(value.split())
    moment: datetime | None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        moment = _from_spoken(said)
    if moment is None or moment.tzinfo is None:
        return None
    first, last = EPOCH_RANGE_S
    return moment.astimezone(UTC) if first <= moment.timestamp() < last else None


def _from_spoken(said: str) -> datetime | None:
    """The moment in a text with the date in another order, or an offset in words: "25/11/2026 13:12 GMT"."""
    found = _dated(said)
    after = _AFTER_DATE.match(said, found.end()) if found else None
    offset = _OFFSET.fullmatch(said, after.end()) if after else None
    day = _iso_date(found) if found else None
    if not (day and after and offset):
        return None
    zone = "+00:00" if offset[1][0] not in "+-" else offset[1]
    try:
        return datetime.fromisoformat(f"{day}T{read_clock(after['clock'])}{after['exactly'] or ''}{zone}")
    except ValueError:
        return None
