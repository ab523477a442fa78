"""Spellings of a value that say the same: "1" and "1st", "Weighed In" and "weighed_in".

Each function gives a key. Two values with the same key are no change.
"""

import re
from collections.abc import Callable, Hashable

from bot.events.race_state import RaceState, letters, state_in
from bot.events.races import finishing_position, is_settled_status, is_shared, plain_name

ComparedBy = Callable[[str | None], Hashable]

YES, NO = "yes", "no"

_FAVOURITE = re.compile(" ?[jc]?f(?:av)?$", re.IGNORECASE)

_TO_COME = frozenset(
    {"declared", "declarations", "confirmed", "scheduled", "upcoming", "open", "published", "entries", "pending"}
    | {"nominations", "weights", "acceptances", "fields", "finalfields"}
    | {"active", "asplanned", "asscheduled", "goesahead", "goingahead", "willgoahead", "proceeding"}
    | {"live", "normal", "ok", "on", "racing", "running"}
)


def as_published(value: str | None) -> Hashable:
    return value


def by_name(horse: str | None) -> Hashable:
    return plain_name(horse).casefold() if horse else None


def by_price(price: str | None) -> Hashable:
    """The price without the mark of a favourite: "5/2" of "5/2JF"."""
    return _FAVOURITE.sub("", price) if price else None


def by_place(position: str | None) -> Hashable:
    """The place, and whether several share the place. Any other position in letters: "P.U." is "PU"."""
    place = finishing_position(position)
    return (place, is_shared(position)) if place else (letters(position) or position or None)


def by_status(status: str | None) -> Hashable:
    """A result's status in letters. Words for "settled" are the same as no status. Words for "void" are one status."""
    if state_in(status) is RaceState.VOID:
        return RaceState.VOID
    return "" if is_settled_status(status) else letters(status)


def by_lost_status(status: str | None) -> Hashable:
    """An abandonment's status in letters. "Abandoned" is the same as no status."""
    return letters(status).removeprefix("abandoned")


def by_card_status(status: str | None) -> Hashable:
    """A racecard's status in letters. A plain status of a race to come is the same as no status."""
    said = letters(status)
    return "" if said in _TO_COME or is_settled_status(status) else by_lost_status(status)


def by_not_run(flag: str | None) -> Hashable:
    """For a race of an abandoned meeting: only "no" says something."""
    return flag == NO


def by_flag(flag: str | None) -> Hashable:
    """A missing flag is the same as "no"."""
    return flag == YES
