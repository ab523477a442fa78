"""The runners and races of two versions of an event, in pairs, and the places that changed hands."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from bot.events.races import Race, Runner, Value, finishing_position, is_shared, plain_name

V = TypeVar("V", bound=Value)
Pair = tuple[V | None, V | None]

TRIED_MAX = 10
"""Entries with the same value that are compared: hundreds of runners may come under the same number."""


@dataclass(frozen=True)
class _By(Generic[V]):
    """Pairs entries by an equal value, unless `may_be_same` refuses. `only`: the value is unique in both lists."""

    value: Callable[[V], Hashable | None]
    may_be_same: Callable[[V, V], bool] = lambda _one, _other: True
    only: bool = False


def paired_runners(earlier: Sequence[Runner], later: Sequence[Runner]) -> list[Pair[Runner]]:
    """(earlier, later) of each runner, in the later version's order, then the others.

    The pairs go by name and number, name, number and place, then by number if a version names no horse.
    """
    return _paired(earlier, later, _RUNNERS)


def paired_races(earlier: Sequence[Race], later: Sequence[Race]) -> list[Pair[Race]]:
    """(earlier, later) of each race of a card, in the later version's order, then the others.

    The pairs go by id, number, title, then off time: a moved race keeps number and title, a renamed race the time.
    """
    return _paired(earlier, later, _RACES)


def is_whole(earlier: Sized, later: Sized) -> bool:
    """False for a single entry: an update, unless the earlier list has at most two entries."""
    return len(later) > 1 or len(earlier) <= 2


def is_whole_field(earlier: Race, later: Race) -> bool:
    """True for a whole list of runners: no update, and no fewer runners than the delivery's own number."""
    listed = len(later.runners)
    return 0 < listed >= (later.field_size or 0) and is_whole(earlier.runners, later.runners)


def is_shorter(earlier: Sequence[Race], pairs: Sequence[Pair[Race]], *, in_parts: bool) -> bool:
    """True for the same card with races taken off.

    Each part of a card that came `in_parts` leaves out the races of the other parts.
    """
    later = [now for _, now in pairs if now]
    return not in_parts and is_whole(earlier, later) and all(before for before, _ in pairs)


class Places:
    """The places of two versions of a result.

    `had`: of the earlier version. `taken`: with a new holder. `kept`: of runners without a place in the later version.
    `takes_off`: a runner left out runs no more.
    """

    def __init__(self, pairs: Iterable[Pair[Runner]], *, takes_off: bool = False) -> None:
        pairs = list(pairs)
        came = [now for before, now in pairs if now and _place(now) and _place(now) != _place(before)]
        self.had = {_place(before) for before, _ in pairs} - {None}
        self.taken = {_place(now) for now in came}
        self._taken_by_name = {_place(now) for now in came if now.horse and not now.number}
        stayed = [(before, now) for before, now in pairs if _place(before) and (now or not takes_off)]
        self.kept = {_place(before) for before, now in stayed if not (now and now.position)} - self.taken

    def lost(self, before: Runner | None, now: Runner | None) -> bool:
        """True if another runner has the place of a runner without a position."""
        return _place(before) in self.taken and not (now and now.position)

    def is_still_shared(self, before: Runner | None, now: Runner | None) -> bool:
        """True if the later version leaves out the other holder and the mark of a shared place."""
        is_same = now is not None and _place(now) == _place(before) and _place(now) in self.kept
        return bool(is_same and before and is_shared(before.position) and now and not is_shared(now.position))

    def is_named_now(self, before: Runner | None) -> bool:
        """True if a horse known by name alone has the place of a runner known by number alone."""
        return before is not None and not before.horse and _place(before) in self._taken_by_name


def _place(runner: Runner | None) -> int | None:
    return finishing_position(runner.position) if runner else None


def _paired(earlier: Sequence[V], later: Sequence[V], ways: Sequence[_By[V]]) -> list[Pair[V]]:
    found: dict[int, int] = {}
    left = set(range(len(earlier)))
    for way in ways:
        if not left or len(found) == len(later):
            break
        by_value, wanted = _by_value(earlier, way), _by_value(later, way)
        for value, places in wanted.items():
            candidates = by_value.get(value, [])
            if way.only and (len(places) > 1 or len(candidates) > 1):
                continue
            for place, same in _same(earlier, later, way, [at for at in places if at not in found], candidates, left):
                found[place] = same
                left.remove(same)
    pairs: list[Pair[V]] = [(earlier[found[place]] if place in found else None, one) for place, one in enumerate(later)]
    return pairs + [(earlier[place], None) for place in sorted(left)]


def _by_value(entries: Sequence[V], way: _By[V]) -> dict[Hashable, list[int]]:
    by_value: dict[Hashable, list[int]] = {}
    for place, one in enumerate(entries):
        if (value := way.value(one)) is not None:
            by_value.setdefault(value, []).append(place)
    return by_value


def _same(  # noqa: PLR0917  two lists and what is left of each
    earlier: Sequence[V],
    later: Sequence[V],
    way: _By[V],
    places: Iterable[int],
    candidates: Iterable[int],
    left: set[int],
) -> Iterator[tuple[int, int]]:
    free = [place for place in candidates if place in left]
    for place in places:
        tried = islice(free, TRIED_MAX)
        same = next((at for at in tried if way.may_be_same(earlier[at], later[place])), None)
        if same is not None:
            free.remove(same)
            yield place, same


def _may_be_same_runner(one: Runner, other: Runner) -> bool:
    return not (one.horse and other.horse) or _horse(one) == _horse(other)


def _may_be_same_race(one: Race, other: Race) -> bool:
    if one.race_id and other.race_id:
        return one.race_id == other.race_id
    if one.number and other.number and one.number != other.number:
        return _off_and_title(one) is not None and _off_and_title(one) == _off_and_title(other)
    return True


def _published_horse(runner: Runner) -> str | None:
    return " ".join(runner.horse.split()).casefold() if runner.horse else None


def _horse(runner: Runner) -> str | None:
    return plain_name(runner.horse).casefold() if runner.horse else None


def _both(one: Callable[[V], Hashable | None], other: Callable[[V], Hashable | None]) -> Callable[[V], Hashable | None]:
    """Both values, where an entry has both."""

    def value(entry: V) -> Hashable | None:
        found = one(entry), other(entry)
        return None if None in found else found

    return value


_off_and_title: Callable[[Race], Hashable | None] = _both(lambda race: race.off.name, lambda race: race.title)

_RUNNERS: Sequence[_By[Runner]] = (
    _By(lambda runner: runner),
    _By(_both(_horse, lambda runner: runner.number)),
    _By(_published_horse),
    _By(_horse),
    _By(_both(lambda runner: runner.number, _place)),
    _By(lambda runner: runner.number, _may_be_same_runner),
)
_RACES: Sequence[_By[Race]] = (
    _By(lambda race: race, _may_be_same_race),
    _By(lambda race: race.race_id, _may_be_same_race),
    _By(_both(lambda race: race.number, lambda race: race.title), _may_be_same_race),
    _By(lambda race: race.number, _may_be_same_race, only=True),
    _By(_off_and_title, _may_be_same_race),
    _By(lambda race: race.title, _may_be_same_race, only=True),
    _By(lambda race: race.off.name, _may_be_same_race),
)
"""The surest way first."""
