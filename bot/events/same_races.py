"""Races of a day and course, found by the names of a race. The first name that both races have decides.

An index, because a stranger's card may name hundreds of races: to compare each pair would take minutes.
"""

from collections.abc import Hashable, Iterable
from itertools import combinations

from bot.events.races import Race

SAME_MAX = 20
"""Known versions of a race, and races with the same name. With more, the name identifies no race."""

_Has = tuple[bool, ...]


class SameRaces:
    def __init__(self, races: Iterable[Race]) -> None:
        self._by_name: dict[_Has, dict[Hashable, list[tuple[int, Race]]]] = {}
        for place, race in enumerate(races):
            names = names_of(race)
            held = self._by_name.setdefault(_has(names), {})
            by: list[Hashable] = [(level, name) for level, name in enumerate(names) if name]
            for name in by or [race]:
                held.setdefault(name, []).append((place, race))

    def of(self, race: Race) -> list[Race]:
        """In the order of the index. Empty if more than SAME_MAX races fit."""
        names, found = names_of(race), list[tuple[int, Race]]()
        for has, held in self._by_name.items():
            both = ((level, name) for level, name in enumerate(names) if name and has[level])
            found += held.get(next(both, race), ())
        return [one for _, one in sorted(found, key=lambda one: one[0])] if len(found) <= SAME_MAX else []


def are_one(races: Iterable[Race]) -> bool:
    return all(is_same_race(one, other) for one, other in combinations(races, 2))


def is_same_race(one: Race, other: Race) -> bool:
    for left, right in zip(names_of(one), names_of(other), strict=True):
        if left and right:
            return left == right
    return one == other


def names_of(race: Race) -> tuple[Hashable | None, ...]:
    """Id, minute of the off, off time, number and title."""
    name, at = race.off.name, race.off.off_at
    off = None if name is None else str(name)
    return race.race_id, at and at.replace(second=0, microsecond=0), off, race.number, race.title


def _has(names: tuple[Hashable | None, ...]) -> _Has:
    return tuple(bool(name) for name in names)
