"""Off times as people type them: "14:40", "14.40", "2.40pm"; and "2:40", which may be of the afternoon."""

import re

from bot.events.races import OffTime

_TYPED = re.compile(r"(2[0-3]|[01]?[0-9])(?:[:.]([0-5][0-9]))?(?: ?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)

NOON_H = 12


def read_off(typed: str) -> str | None:
    """As "14:40"; None for words that are no off time. An hour alone needs "am" or "pm"."""
    found = _TYPED.fullmatch(typed.strip())
    if found is None or not (found[2] or found[3]):
        return None
    hour, half = int(found[1]), (found[3] or "").lower()
    if half:
        if not 1 <= hour <= NOON_H:
            return None
        hour = hour % NOON_H + (NOON_H if half == "p" else 0)
    return f"{hour}:{found[2] or '00'}"


def is_off_at(off: OffTime, typed: str) -> bool:
    return (off.text or "").lstrip("0") == typed.lstrip("0")


def in_the_afternoon(typed: str) -> str | None:
    """The same time twelve hours later, for a time before noon: "the 2:40" is said of the 14:40."""
    hour, _, minutes = typed.partition(":")
    return f"{int(hour) + NOON_H}:{minutes}" if int(hour) < NOON_H else None
