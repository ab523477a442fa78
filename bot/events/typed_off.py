"""Off times as people type times: "14:40", "14.40", "1440", "2.40pm". "2:40" may mean the afternoon."""

import re
from collections.abc import Iterable

from bot.events.races import OffTime
from bot.events.typed_times import read_clock

NOON_H = 12

_WITHOUT_POINT = re.compile(r"^(\d{1,2})(?: (?=1[3-9]|[2-5]\d)|(?=\d\d(?!\d)))", re.ASCII)
"""Of "230", and of "2 30" as voices are written down. "2 10" may be a date."""


def read_off(typed: str) -> str | None:
    """For example "14:40"; None for other words. An hour alone needs "am" or "pm"."""
    off = read_clock(_WITHOUT_POINT.sub(r"\1:", typed))
    return f"{off.hour}:{off.minute:02}" if off else None


def is_off_at(off: OffTime, typed: str) -> bool:
    """True by the text, or by the time of day: "14:30" is the time of a race at "14.30" and at "2:30"."""
    hour, _, minutes = typed.partition(":")
    return (off.text or "").lstrip("0") == typed.lstrip("0") or int(hour) * 60 + int(minutes) == off.minute_of_day


def in_the_afternoon(typed: str) -> str | None:
    """Twelve hours later, for a time before noon: people call the 14:40 race "the 2:40"."""
    hour, _, minutes = typed.partition(":")
    return f"{int(hour) + NOON_H}:{minutes}" if int(hour) < NOON_H else None


def minutes_apart(off: OffTime, typed: str) -> float:
    """The minutes between a race's off and the nearer reading of a typed time; infinite for an incomparable off."""
    return min(_apart(off, one) for one in _readings(typed))


def as_meant(typed: str, offs: Iterable[OffTime]) -> str:
    """The typed time, or its afternoon, whichever is nearer to one of these races: "2:30" is 14:30 beside a 13:55."""
    races = list(offs)
    return min(_readings(typed), key=lambda one: min((_apart(off, one) for off in races), default=0))


def _readings(typed: str) -> list[str]:
    return list(filter(None, (typed, in_the_afternoon(typed))))


def _apart(off: OffTime, typed: str) -> float:
    apart = OffTime(text=off.text).minutes_from(OffTime(text=typed.rjust(len("14:30"), "0")))
    return float("inf") if apart is None else apart
