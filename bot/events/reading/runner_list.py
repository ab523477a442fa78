"""The runners of a race, from every list with runners: runners, results, placings, a lone winner (Spec gap G2)."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from bot.events.races import Runner
from bot.events.reading import aliases
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, find, flag, fold, identifier, text
from bot.events.reading.record_objects import RACING_FIELDS

ONLY_RUNNERS = frozenset(
    {*aliases.names("horse horse_name horse_id jockey jockey_name cloth_number"), *aliases.SURE_POSITION_NAMES}
)
"""Fields of a runner, even beside the race's name."""

ONLY_RACES = RACING_FIELDS - {"winner"}
"""Of a runner, `winner` may be a flag."""

PLAIN_STATUSES = frozenset(
    aliases.names(
        "ran runner running declared confirmed active starter started finished finisher placed result official final ok"
        " normal winner won unknown none entered entry complete completed weighed_in unplaced also_ran settled"
        " confirmed_runner"
    )
)

NO_FINISH_CODES = frozenset(
    aliases.names("pu p f ur u bd b ro su s ref rr r rtr co lft nr dnf dns dq dsq dis disq void scr wd")
)
NO_FINISH_WORDS = aliases.names(
    "pulled_up fell fallen unseated brought_down ran_out slipped_up refused carried_out left non_runner withdrawn"
    " scratched did_not disq stopped lame failed_to_finish hampered rider"
)

MOST_RUNNERS = 500
"""Ten times the largest field."""

_WHOLE = re.compile(r"\A([0-9]+)\.0+\Z")


def read_runners(objects: Iterable[Fields]) -> tuple[Runner, ...]:
    """At most MOST_RUNNERS. Entries of several lists about a horse are put together."""
    objects = tuple(objects)
    none: tuple[Runner, ...] = ()
    runners = reduce(_merged, _lists(objects), none)[:MOST_RUNNERS]
    if any(runner.finishing_position is not None for runner in runners):
        return runners
    winner = find(objects, aliases.WINNER, _read_winner)
    return _merged(runners, (winner,)) if winner else runners


def read_runner(entry: Any, position: str | None = None) -> Runner | None:
    if isinstance(entry, dict):
        return _from_fields(_own_fields(entry), position)
    if isinstance(entry, str):
        horse = text(entry)
        return Runner(horse=horse, position=position) if horse else None
    number = identifier(entry)
    return Runner(number=number, position=position) if number else None


def is_runner(fields: Fields) -> bool:
    return not ONLY_RUNNERS.isdisjoint(fields)


def _lists(objects: Iterable[Fields]) -> Iterator[tuple[Runner, ...]]:
    for fields in objects:
        for name in aliases.RUNNER_LISTS:
            for entries in _entries(fields[name]) if name in fields else ():
                yield _read_list(entries, in_order=name in aliases.ORDERED_LISTS)


def _entries(value: Any) -> list[list[Any]]:
    """The list, or the lists in {"count": 2, "items": […]}."""
    if isinstance(value, list):
        return [value]
    if not isinstance(value, dict):
        return []
    held = fields_of(value)
    return [held[name] for name in aliases.RUNNER_LISTS + aliases.WRAPPED_LISTS if isinstance(held.get(name), list)]


def _read_list(entries: list[Any], *, in_order: bool) -> tuple[Runner, ...]:
    """A list in finishing order without any position gives the places 1 to n."""
    read = [read_runner(entry) for entry in entries[:MOST_RUNNERS]]
    if in_order and not any(runner and runner.position for runner in read):
        read = [
            runner and runner.model_copy(update={"position": str(place)}) for place, runner in enumerate(read, start=1)
        ]
    return tuple(runner for runner in read if runner)


def _from_fields(fields: Fields, position: str | None) -> Runner | None:
    if not is_runner(fields) and not ONLY_RACES.isdisjoint(fields):
        return None
    horse = fields_of(fields["horse"]) if isinstance(fields.get("horse"), dict) else {}
    read = {name: find([fields], names, text) for name, names in aliases.RUNNER_FIELDS.items()}
    read["horse"] = find([horse], aliases.HORSE_NAMES, text) or read["horse"]
    # A horse's own number may be of a register, so only people are taken from the horse.
    read |= {name: find([fields, horse], aliases.RUNNER_FIELDS[name], text) for name in ("jockey", "trainer")}
    if not read["horse"] and not read["number"]:
        return None
    status = find([fields], aliases.RUNNER_STATUS, _read_status)
    read["position_reason"] = read["position_reason"] or (status if status and not _is_no_finish(status) else None)
    return Runner(**read, position=position or _position(fields, status))


def _own_fields(entry: dict[str, Any]) -> Fields:
    fields = fields_of(entry)
    inner = fields.get("runner")
    return {**fields_of(inner), **fields, "runner": None} if isinstance(inner, dict) else fields


def _position(fields: Fields, status: str | None) -> str | None:
    """A disqualified horse has no place, even beside a position."""
    if find([fields], aliases.NON_RUNNER_NAMES, flag):
        return "NR"
    if status and fold(status[:LONGEST_NAME]).startswith(("disq", "dsq")):
        return status
    if find([fields], aliases.DISQUALIFIED, flag):
        return "DSQ"
    return (
        find([fields], aliases.POSITION_NAMES, _read_position)
        or find([fields], aliases.NO_FINISH, text)
        or (status if status and _is_no_finish(status) else None)
    )


def _is_no_finish(status: str) -> bool:
    said = fold(status[:LONGEST_NAME])
    return said in NO_FINISH_CODES or said.startswith(NO_FINISH_WORDS)


def _read_status(value: Any) -> str | None:
    said = aliases.string(value)
    return said if said and fold(said[:LONGEST_NAME]) not in PLAIN_STATUSES else None


def _read_position(value: Any) -> str | None:
    """Of "1.0", "1". 0 stands for no position: the horse would come before the winner."""
    position = _WHOLE.sub(r"\1", text(value) or "")
    return position if position.strip("0") else None


def _read_winner(value: Any) -> Runner | None:
    return read_runner(value, position="1") if isinstance(value, str | dict) else None


def _merged(known: tuple[Runner, ...], more: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The horse's name decides, else the number."""
    if not known:
        return more
    runners = list(known)
    places = {label: place for place, runner in reversed(list(enumerate(known))) for label in _labels(runner)}
    for runner in more:
        place = next((places[label] for label in _labels(runner)[:1] if label in places), None)
        if place is None:
            runners.append(runner)
        else:
            said = runners[place].model_dump(exclude_none=True)
            runners[place] = Runner(**{**runner.model_dump(exclude_none=True), **said})
    return tuple(runners)


def _labels(runner: Runner) -> list[str]:
    named = [f"horse {runner.horse.casefold()}"] if runner.horse else []
    return [*named, f"number {runner.number}"] if runner.number else named
