"""The purposes for which the month's quota is spent."""

from enum import StrEnum
from typing import NamedTuple


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
    Tier(-1, frozenset(), "With 1% left or less, I read /account/usage alone, which costs nothing."),
)
"""The first tier that fits holds. `/account/usage` is free, and is read in each tier."""


def tier_of(left: int | None, limit: int | None) -> Tier:
    if left is None or limit is None:
        return TIERS[0]
    return next(tier for tier in TIERS if left * 100 > tier.above_percent * limit)
