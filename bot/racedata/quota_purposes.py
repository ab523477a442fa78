"""The purposes for which the month's quota is spent."""

from enum import StrEnum
from typing import NamedTuple

from bot.racedata.month_quota import QuotaReading


class Purpose(StrEnum):
    UPKEEP = "upkeep"
    """Work that nobody asked for, such as reading lists anew."""
    PEOPLE = "people"


class Tier(NamedTuple):
    """The purposes of requests while more than `above_percent` of the allowance is left, and words for people."""

    above_percent: int
    purposes: frozenset[Purpose]
    words: str | None


TIERS = (
    Tier(5, frozenset(Purpose), None),
    Tier(1, frozenset({Purpose.PEOPLE}), "With 5% left or less, I spend requests only on what people ask for."),
    Tier(-1, frozenset(), "With 1% left or less, I ask only for the quota, which costs nothing."),
)
"""The first tier that fits holds. `/account/usage` is free, and is read in each tier."""


def tier_of(left: int | None, limit: int | None) -> Tier:
    if left is None or limit is None:
        return TIERS[0]
    return next(tier for tier in TIERS if left * 100 > tier.above_percent * limit)


def commands_left(reading: QuotaReading, *, spent: int, share: int) -> int | None:
    """Requests that commands may still make; None without a known limit.

    `share` percent of what the month would have left without commands, less the commands' own `spent`.
    """
    if reading.limit is None:
        return None
    if Purpose.PEOPLE not in tier_of(reading.left, reading.limit).purposes:
        return 0
    available = max(0, reading.limit - reading.used + reading.spent_by_commands)
    return max(0, available * share // 100 - spent)
