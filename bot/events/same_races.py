"""Races of a day and course, found by the names of a race. The first name that both races have decides.

An index, because a stranger's card may name hundreds of races: to compare each pair would take minutes.
"""

from collections.abc import Hashable, Iterable
from itertools import combinations

from bot.events.races import OffTime, Race, in_short, is_one_course, may_share_meeting, plain_name

SAME_MAX = 20
"""Known versions of a race, and races with the same name. With more, the name identifies no race."""


class SameRaces:
    def __init__(self, races: Iterable[Race]) -> None:
        self._by_name: dict[tuple[bool, ...], dict[Hashable, list[tuple[int, Race]]]] = {}
        for place, race in enumerate(races):
            names = names_of(race)
            held = self._by_name.setdefault(tuple(map(bool, names)), {})
            by: list[Hashable] = [(level, name) for level, name in enumerate(names) if name]
            for name in by or [race]:
                held.setdefault(name, []).append((place, race))

    def of(self, race: Race) -> list[Race]:
        """The same races, in the order of the index. Empty if more than SAME_MAX races fit."""
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


def is_told_again(one: Race, other: Race) -> bool:
    """Whether two deliveries are of one race: by ids, else by place, day and off time.

    Without two times by a common horse, without any time by the number too.
    """
    if not (one.race_id and other.race_id):
        return is_at_one_place(one, other) and _are_alike(one, other)
    return one.race_id == other.race_id


def is_at_one_place(one: Race, other: Race) -> bool:
    """True for two races, or two meetings, of a day and course, unless the ids of the meetings differ."""
    is_day = one.race_date is not None and one.race_date == other.race_date
    is_region = (one.region or one.said_region) == (other.region or other.said_region)
    is_course = is_one_course(in_short(one.course), in_short(other.course))
    return is_day and is_region and is_course and may_share_meeting(one, other)


def _are_alike(one: Race, other: Race) -> bool:
    """No title decides: divisions share titles. Two results without a common horse are of two races."""
    horses, others = ({plain_name(each.horse).casefold() for each in race.went if each.horse} for race in (one, other))
    is_shared = not horses.isdisjoint(others)
    if horses and others and not is_shared:
        return False
    if one.off.minutes_from(other.off) is not None:
        return one.off.is_same_time(other.off)
    # Two meetings at a course can have races of the same number.
    return is_shared or (one.off == other.off == OffTime() and one.number is not None and one.number == other.number)


def names_of(race: Race) -> tuple[Hashable | None, ...]:
    """Id, minute of the off, off time, number and title."""
    name, at = race.off.name, race.off.off_at
    off = None if name is None else str(name)
    return race.race_id, at and at.replace(second=0, microsecond=0), off, race.number, race.title
