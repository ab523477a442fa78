"""Which runners, and which races of a card, two versions of an event both name."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from bot.domain.races import Race, Runner, Value

V = TypeVar("V", bound=Value)
Pair = tuple[V | None, V | None]
Key = Callable[[V], Hashable | None]


def paired_runners(earlier: Sequence[Runner], later: Sequence[Runner]) -> list[Pair[Runner]]:
    """(earlier, later) of each runner: those of the later version in its order, then those that only the earlier has.

    By the horse's name, else by the number where a version names no horse.
    """
    return _paired(earlier, later, (_horse, _number), _may_be_same_runner)


def paired_races(earlier: Sequence[Race], later: Sequence[Race]) -> list[Pair[Race]]:
    """(earlier, later) of each race of a card, in the order of `paired_runners`.

    By the race's id where both versions have one, else by the surest that both say: a race that was moved keeps its
    title, a race that was renamed its time.
    """
    keys: tuple[Key[Race], ...] = (_whole, _race_id, _off_and_title, _title, _off, _race_number)
    return _paired(earlier, later, keys, _may_be_same_race)


def _paired(
    earlier: Sequence[V], later: Sequence[V], keys: Sequence[Key[V]], may_be_same: Callable[[V, V], bool]
) -> list[Pair[V]]:
    found: dict[int, int] = {}
    left = set(range(len(earlier)))
    for key in keys:
        by_key: dict[Hashable, list[int]] = {}
        for place in sorted(left):
            if (value := key(earlier[place])) is not None:
                by_key.setdefault(value, []).append(place)
        for place, one in enumerate(later):
            candidates = by_key.get(key(one), []) if place not in found else []
            same = next((other for other in candidates if other in left and may_be_same(earlier[other], one)), None)
            if same is not None:
                found[place] = same
                left.remove(same)
    pairs: list[Pair[V]] = [(earlier[found[place]] if place in found else None, one) for place, one in enumerate(later)]
    return pairs + [(earlier[place], None) for place in sorted(left)]


def _may_be_same_runner(one: Runner, other: Runner) -> bool:
    return not (one.horse and other.horse) or _horse(one) == _horse(other)


def _may_be_same_race(one: Race, other: Race) -> bool:
    return not (one.race_id and other.race_id) or one.race_id == other.race_id


def _horse(runner: Runner) -> str | None:
    return " ".join(runner.horse.split()).casefold() if runner.horse else None


def _number(runner: Runner) -> str | None:
    return runner.number


def _whole(race: Race) -> Race:
    return race


def _race_id(race: Race) -> str | None:
    return race.race_id


def _off_and_title(race: Race) -> tuple[str, str] | None:
    return (race.off.text, race.title) if race.off.text and race.title else None


def _title(race: Race) -> str | None:
    return race.title


def _off(race: Race) -> str | None:
    return race.off.text


def _race_number(race: Race) -> str | None:
    return race.number
