"""What a corrected version changed, in words."""

from collections.abc import Iterator, Sequence

from bot.domain.races import Runner
from bot.slack.messages.context import Corrected
from bot.slack.messages.names import HORSE_MAX, SHORT_MAX
from bot.slack.messages.text import counted, safe

_POSITION = "position of "
_VALUE_MAX = 80
_LABELS = {"race_date": "date", "off": "off time"}

Changes = dict[str, tuple[str | None, str]]


def changes_in_words(changes: Changes, runners: Sequence[Runner], most: int = 5) -> str:
    """What changed: "1st was Horse A, now Horse B; going was good, now soft"; "" where nothing did.

    `runners` are the corrected ones: they tell who else has a place now, and how names and positions are written,
    which facts don't keep.
    """
    placings = {name.removeprefix(_POSITION): c for name, c in changes.items() if name.startswith(_POSITION)}
    others = {name: change for name, change in changes.items() if not name.startswith(_POSITION)}
    said = [*_places(placings, runners), *_unplaced(placings, runners), *_others(others)]
    more = len(said) - most
    return "; ".join(said[:most] + ([f"and {more} more"] if more > 0 else []))


def corrected_in_words(corrected: Corrected, clock: str) -> str:
    """What an edit corrected: "Corrected 14:32: going was good, now soft"; `clock` is when, as it is to be shown."""
    more = f"names {counted(corrected.more_races, 'more race')}" if corrected.more_races else ""
    said = "; ".join(filter(None, [changes_in_words(corrected.changes, ()), more]))
    return f"Corrected {clock}: {said}" if said else f"Corrected {clock}"


def _places(placings: Changes, runners: Sequence[Runner]) -> Iterator[str]:
    """A clause for each place that has another horse now, best first."""
    for place in sorted({now for _, now in placings.values() if _is_place(now)}, key=int):
        before = [_horse(horse, runners) for horse, (was, now) in placings.items() if was == place != now]
        came = {horse: was for horse, (was, now) in placings.items() if now == place}
        holders = [runner.horse for runner in runners if str(runner.finishing_position) == place and runner.horse]
        now_there = _listed([safe(horse, HORSE_MAX) for horse in holders] or [_horse(horse, runners) for horse in came])
        if before:
            yield f"{_ordinal(place)} was {_listed(before)}, now {now_there}"
        else:
            # Who had the place before is not said to have another: then only where the newcomer was is known.
            was = next(iter(came.values())) if len(came) == 1 and len(holders) <= 1 else None
            yield f"{_ordinal(place)} is now {now_there}" + (f", which was {_ordinal(was)}" if was else "")


def _unplaced(placings: Changes, runners: Sequence[Runner]) -> Iterator[str]:
    """A clause for each horse that has no place now: "Horse A is now DSQ (was 1st)"."""
    written = {_folded(runner.position): runner.position for runner in runners if runner.position}
    for horse, (was, now) in placings.items():
        if not _is_place(now):
            before = f" (was {_ordinal(was)})" if was else ""
            yield f"{_horse(horse, runners)} is now {_value(written.get(_folded(now), now))}{before}"


def _others(changes: Changes) -> Iterator[str]:
    for fact, (was, now) in changes.items():
        label = _LABELS.get(fact) or safe(fact, SHORT_MAX) or "something"
        before = safe(was, _VALUE_MAX)
        yield f"{label} was {before}, now {_value(now)}" if before else f"{label} is now {_value(now)}"


def _horse(folded: str, runners: Sequence[Runner]) -> str:
    """The horse as its runner writes it."""
    written = (runner.horse for runner in runners if runner.horse and _folded(runner.horse) == _folded(folded))
    return safe(next(written, folded), HORSE_MAX) or "horse not named"


def _listed(horses: Sequence[str | None]) -> str:
    """Names joined for reading, the first few of very many."""
    named = [horse or "horse not named" for horse in horses]
    return " and ".join(named[:3] + ([f"{len(named) - 3} more"] if len(named) > 3 else []))


def _ordinal(place: str) -> str:
    """The place as it is said, "1st" for "1"; what is no plain number stays as it is."""
    if not _is_place(place):
        return safe(place, SHORT_MAX) or "place not given"
    teens = place[-2:] in {"11", "12", "13"}
    return place + ("th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(place[-1], "th"))


def _is_place(position: str) -> bool:
    return len(position) <= 6 and position.isascii() and position.isdecimal()


def _value(text: str) -> str:
    return safe(text, _VALUE_MAX) or "empty"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
