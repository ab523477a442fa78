"""Lists that are whole: what a later one leaves out is gone, unless it is a part of the list or an update of it."""

from collections.abc import Sequence

from bot.domain.pairing import Pair, V

MANY = 3
"""A card with so many races is not shortened to one: a delivery that names one race is about that race."""


def takes_off(pairs: Sequence[Pair[V]], *, in_parts: bool, of_races: bool = False) -> bool:
    """Whether what only the earlier list names is gone.

    `in_parts`: the earlier list was put together from several deliveries, so that each of them names only some.
    """
    earlier, later = (sum(pair[side] is not None for pair in pairs) for side in (0, 1))
    is_update = of_races and later == 1 and earlier >= MANY
    return not in_parts and not is_update and _overlap(pairs)


def are_parts(pairs: Sequence[Pair[V]], *, in_parts: bool) -> bool:
    """Whether the two lists together are no single delivery's: they have nothing in common, or the earlier was so."""
    if all(later is None for _, later in pairs):
        return in_parts
    if all(later is not None for _, later in pairs):
        return False
    return in_parts or not _overlap(pairs)


def _overlap(pairs: Sequence[Pair[V]]) -> bool:
    return any(earlier is not None and later is not None for earlier, later in pairs)
