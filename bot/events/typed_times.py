"""Times of day, off times and lengths of time as people type them. "2:40" may mean the afternoon."""

import re
from collections.abc import Iterable
from datetime import time, timedelta

from bot.events.number_words import CARDINALS, ORDINALS
from bot.events.races import OffTime

_CLOCK = re.compile(r"(2[0-4]|[01]?[0-9])(?:[:.h]([0-5][0-9])|h(?=$))?(?:\s?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)
_NAMED = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}
NOON_H, _MIDNIGHT_H = 12, 24

_NUMBER = r"\d{1,4}(?:\.\d{1,2})?|an?(?=\s)"
_UNITS = (
    ("weeks", "w(?:eeks?|k?s?)?"),
    ("days", "d(?:ays?)?"),
    ("hours", "h(?:ours?|rs?)?"),
    ("minutes", "m(?:in(?:ute)?s?)?"),
)
_LENGTH = re.compile(
    "(?=.)" + r"\s*(?:and\s+|,\s*)?".join(rf"(?:(?P<{name}>{_NUMBER})\s*{unit}\b)?" for name, unit in _UNITS),
    re.IGNORECASE | re.ASCII,
)
"""A number of each unit, the longest unit first."""

_AS_NUMBERS = (
    (re.compile(r"\bhalf an?\b", re.IGNORECASE), "0.5"),
    (re.compile(r"\b(?:a )?fortnight\b", re.IGNORECASE), "2 weeks"),
    (re.compile(r"(?<=h|r|s) and a half$", re.IGNORECASE), " 30m"),
    (re.compile(r"(?<=[a-z])(?=\d)", re.IGNORECASE), " "),
    (re.compile(r"(h(?:ours?|rs?)? (?:and )?\d{1,2})$", re.IGNORECASE), r"\1m"),
)
"""Words as numbers: half an hour; an hour and a half; 1h30m parted; 1 hour 30."""

_COUNTED = CARDINALS | ORDINALS
_FIGURES = {word: str(number) for word, number in CARDINALS.items()}
_MINUTES = {"ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_MINUTES |= {f"{tens}{gap}five": number + 5 for tens, number in _MINUTES.items() if number >= 20 for gap in " -"}
_HOUR = f"1[0-2]|[1-9]|{'|'.join(_FIGURES)}"
_NUMBERS = _FIGURES | {word: str(minutes) for word, minutes in _MINUTES.items()}
_PARTS = {"half": 30, "half past": 30, "quarter past": 15, "quarter to": -15, "twenty to": -20, "twenty five to": -25}
_PARTS |= {f"{said} past": each for each, word in ((5, "five"), (10, "ten"), (20, "twenty")) for said in (word, each)}
"""Minutes before or after an hour. "Ten to six" may be quiet hours."""

_SPOKEN_CLOCK = re.compile(
    rf"\b(?:(?P<part>{'|'.join(_PARTS)}) (?P<hour>{_HOUR})|"
    rf"(?P<first>{_HOUR}) (?:(?P<minutes>{'|'.join(sorted(_MINUTES, reverse=True))})|o'?clock)|"
    rf"(?<=\bat )(?P<alone>{'|'.join(_FIGURES)}))\b",
    re.ASCII | re.IGNORECASE,
)


def in_figures(typed: str) -> str:
    """The words with figures for small numbers: "two hours" is "2 hours", and "half two" is "2:30"."""
    return " ".join(_NUMBERS.get(word.lower(), word) for word in with_clocks(typed).split())


def with_clocks(typed: str) -> str:
    """The text with "2:30" for "half two" and "two thirty", and "at 3" for "at three"."""
    return _SPOKEN_CLOCK.sub(_clock_of, typed)


def _clock_of(found: "re.Match[str]") -> str:
    if found["alone"]:
        return _FIGURES[found["alone"].lower()]
    hour = (found["hour"] or found["first"]).lower()
    minutes = _MINUTES.get((found["minutes"] or "").lower(), 0)
    if found["hour"]:
        minutes = _PARTS[found["part"].lower()]
    of_day = int(_FIGURES.get(hour, hour)) * 60 + minutes
    return f"{of_day // 60 or NOON_H}:{of_day % 60:02}"


def read_clock(typed: str, *, is_hour_enough: bool = False) -> time | None:
    """The time of "18:00", "6.30 p.m.", "noon"; None for other words. Midnight may be 24:00.

    An hour alone needs "am" or "pm", unless `is_hour_enough`.
    """
    word = typed.strip()
    found = _CLOCK.fullmatch(_NAMED.get(word.lower(), word))
    if found is None or not (found[2] or found[3] or is_hour_enough):
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if half and 1 <= hour <= NOON_H:
        return time(hour % NOON_H + (NOON_H if half == "p" else 0), minute)
    if half or (hour == _MIDNIGHT_H and minute):
        return None
    return time(hour % _MIDNIGHT_H, minute)


def read_length(typed: str) -> timedelta | None:
    """The length of "30m", "2.5h", "1 hour 30", "half an hour"; None for other words, and without a number."""
    words = in_figures(typed)
    for pattern, number in _AS_NUMBERS:
        words = pattern.sub(number, words)
    found = _LENGTH.fullmatch(words)
    if found is None:
        return None
    parts = {name: 1.0 if part[0] in "aA" else float(part) for name, part in found.groupdict().items() if part}
    return timedelta(**parts)


_WITHOUT_POINT = re.compile(r"^(\d{1,2})(?: (?=1[3-9]|[2-5]\d)|(?=\d\d(?!\d)))", re.ASCII)
"""Of "230", and of "2 30" as voices are written down. "2 10" may be a date."""


def read_off(typed: str) -> str | None:
    """For example "14:40"; None for other words. An hour alone needs "am" or "pm"."""
    off = read_clock(_WITHOUT_POINT.sub(r"\1:", typed))
    return f"{off.hour}:{off.minute:02}" if off else None


_RACE_CALLED = re.compile(
    rf"(?:race|r)(?: ?(?:no|number)\b\.?)? ?#?(?P<number>1?[0-9]|{'|'.join(CARDINALS)})|(?P<short>1?[0-9])r"
    rf"|(?P<word>{'|'.join(ORDINALS)})(?: race| at)?"
    r"|(?:(?P<day>1?[0-9])(?:st|nd|rd|th)|(?:lucky )?last|final)(?: race| at)",
    re.ASCII | re.IGNORECASE,
)
LAST_RACE = "last race"


def read_race_number(typed: str) -> str | None:
    """Gives "race 3" for "R3", "3rd race" and "third", and LAST_RACE for "last at"; None for other words."""
    if not (found := _RACE_CALLED.fullmatch(typed)):
        return None
    said = (found["number"] or found["short"] or found["day"] or found["word"] or "").casefold()
    return f"race {int(_COUNTED.get(said, said))}" if said else LAST_RACE


def is_off_at(off: OffTime, typed: str) -> bool:
    """True by the text, or by the time of day: "14:30" is the time of a race at "14.30" and at "2:30"."""
    hour, is_time, minutes = typed.partition(":")
    if (off.text or "").lstrip("0") == typed.lstrip("0"):
        return True
    return bool(is_time) and int(hour) * 60 + int(minutes) == off.minute_of_day


def readings(typed: str) -> list[str]:
    """The typed time, and twelve hours later for a time before noon: people call the 14:40 race "the 2:40"."""
    hour, is_time, minutes = typed.partition(":")
    return [typed, f"{int(hour) + NOON_H}:{minutes}"] if is_time and int(hour) < NOON_H else [typed]


def none_known(typed: str) -> str:
    """For example "No race is known at 18:30", "No race 9 is known"."""
    return f"No race is known at {typed}" if ":" in typed else f"No {typed} is known"


def minutes_apart(off: OffTime, typed: str) -> float:
    """The minutes between a race's off and the nearer reading of a typed time; infinite for an incomparable off."""
    return min(_apart(off, one) for one in readings(typed))


def as_meant(typed: str, offs: Iterable[OffTime]) -> str:
    """The typed time, or its afternoon, whichever is nearer to one of these races: "2:30" is 14:30 beside a 13:55."""
    races = list(offs)
    return min(readings(typed), key=lambda one: min((_apart(off, one) for off in races), default=0))


def _apart(off: OffTime, typed: str) -> float:
    apart = OffTime(text=off.text).minutes_from(OffTime(text=typed.rjust(len("14:30"), "0")))
    return float("inf") if apart is None else apart
