"""The purposes of the month's quota: the less is left, the fewer purposes."""

from enum import StrEnum
from typing import NamedTuple


class Purpose(StrEnum):
    """For whom a request is made."""

    UPKEEP = "upkeep"
    """The bot itself: lists are read anew without anybody asking."""
    PEOPLE = "people"
    """Somebody asked."""


class Tier(NamedTuple):
    """Requests are made for these purposes while more than `above_percent` of the allowance is left.

    `words` tell people of the requests that are not made.
    """

    above_percent: int
    purposes: frozenset[Purpose]
    words: str | None


TIERS = (
    Tier(5, frozenset(Purpose), None),
    Tier(1, frozenset({Purpose.PEOPLE}), "With 5% left or less, I spend requests only on what people ask for."),
    Tier(-1, frozenset(), "With 1% left or less, I read /account/usage alone, which costs nothing."),
)
"""From plenty to nothing: the first tier that fits holds. `/account/usage` is free, and is read in each tier."""


def tier_of(left: int | None, limit: int | None) -> Tier:
    """The tier by what the month has left; the first where the quota is not known."""
    if left is None or limit is None:
        return TIERS[0]
    return next(tier for tier in TIERS if left * 100 > tier.above_percent * limit)
