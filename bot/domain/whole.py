"""Whole lists: runners or races missing from the later list are gone, but for parts of a list, and for updates."""

from collections.abc import Sequence

from bot.domain.pairing import Pair, V

MANY = 3
"""A card of so many races is not shortened to a single race: a delivery of a single race is an update of the race."""


def takes_off(pairs: Sequence[Pair[V]], *, in_parts: bool, of_races: bool = False) -> bool:
    """Whether values of the earlier list alone are gone.

    `in_parts`: several deliveries together made the earlier list, and each names only some values.
    """
    earlier, later = (sum(pair[side] is not None for pair in pairs) for side in (0, 1))
    is_update = of_races and later == 1 and earlier >= MANY
    return not in_parts and not is_update and _overlap(pairs)


def are_parts(pairs: Sequence[Pair[V]], *, in_parts: bool) -> bool:
    """Whether the two lists are parts of a longer list: they have nothing in common, or the earlier list has parts."""
    if all(later is None for _, later in pairs):
        return in_parts
    if all(later is not None for _, later in pairs):
        return False
    return in_parts or not _overlap(pairs)


def _overlap(pairs: Sequence[Pair[V]]) -> bool:
    return any(earlier is not None and later is not None for earlier, later in pairs)
