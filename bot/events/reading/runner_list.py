"""The runners of a race, from every list with runners: runners, results, placings, a lone winner (Spec gap G2)."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from bot.events.races import Runner
from bot.events.reading.aliases import (
    DISQUALIFIED,
    NO_FINISH,
    NON_RUNNER,
    ORDERED_LISTS,
    POSITION,
    RUNNER,
    RUNNER_LISTS,
    RUNNER_STATUS,
    SURE_POSITION,
    WINNER,
    WRAPPED_LISTS,
    names,
    string,
)
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, find, flag, fold, identifier, text
from bot.events.reading.record_objects import RACING_FIELDS

ONLY_RUNNERS = frozenset({*names("horse horse_name horse_id jockey jockey_name cloth_number"), *SURE_POSITION})
"""A field that marks an object as a runner, even where the object names its race too."""

ONLY_RACES = RACING_FIELDS - {"winner"}
"""A field that marks an object as a race. Of a runner, `winner` may be a flag."""

PLAIN_STATUSES = frozenset(
    names(
        "ran runner running declared confirmed active starter started finished finisher placed result official final ok"
        " normal winner won unknown none entered entry complete completed weighed_in unplaced also_ran settled"
        " confirmed_runner"
    )
)
"""Statuses that only say that the horse ran, or is to run."""

NO_FINISH_CODES = frozenset(
    names("pu p f ur u bd b ro su s ref rr r rtr co lft nr dnf dns dq dsq dis disq void scr wd")
)
NO_FINISH_WORDS = names(
    "pulled_up fell fallen unseated brought_down ran_out slipped_up refused carried_out left non_runner withdrawn"
    " scratched did_not disq stopped lame failed_to_finish hampered rider"
)
"""How the status of a horse without a place begins."""

MOST_RUNNERS = 500
"""Runners that are read of a race: no field has a tenth of that."""

_WHOLE = re.compile(r"\A([0-9]+)\.0+\Z")


def read_runners(objects: Iterable[Fields]) -> tuple[Runner, ...]:
    """The first MOST_RUNNERS runners that the objects name. Entries of several lists about a horse are put together."""
    objects = tuple(objects)
    none: tuple[Runner, ...] = ()
    runners = reduce(_merged, _lists(objects), none)[:MOST_RUNNERS]
    if any(runner.finishing_position is not None for runner in runners):
        return runners
    winner = find(objects, WINNER, _read_winner)
    return _merged(runners, (winner,)) if winner else runners


def read_runner(entry: Any, position: str | None = None) -> Runner | None:
    """The runner of a list's entry: an object, a bare name or a bare saddlecloth number; None for any other entry."""
    if isinstance(entry, dict):
        return _from_fields(_own_fields(entry), position)
    if isinstance(entry, str):
        horse = text(entry)
        return Runner(horse=horse, position=position) if horse else None
    number = identifier(entry)
    return Runner(number=number, position=position) if number else None


def is_runner(fields: Fields) -> bool:
    """True for an object about a horse in a race, False for an object about a race."""
    return not ONLY_RUNNERS.isdisjoint(fields)


def _lists(objects: Iterable[Fields]) -> Iterator[tuple[Runner, ...]]:
    for fields in objects:
        for name in RUNNER_LISTS:
            for entries in _entries(fields[name]) if name in fields else ():
                yield _read_list(entries, in_order=name in ORDERED_LISTS)


def _entries(value: Any) -> list[list[Any]]:
    """The list, or the lists in an object: {"count": 2, "items": […]}."""
    if isinstance(value, list):
        return [value]
    if not isinstance(value, dict):
        return []
    held = fields_of(value)
    return [held[name] for name in RUNNER_LISTS + WRAPPED_LISTS if isinstance(held.get(name), list)]


def _read_list(entries: list[Any], *, in_order: bool) -> tuple[Runner, ...]:
    """The list's runners. A list in finishing order without any position gives the places 1 to n."""
    read = [read_runner(entry) for entry in entries[:MOST_RUNNERS]]
    if in_order and not any(runner and runner.position for runner in read):
        read = [
            runner and runner.model_copy(update={"position": str(place)}) for place, runner in enumerate(read, start=1)
        ]
    return tuple(runner for runner in read if runner)


def _from_fields(fields: Fields, position: str | None) -> Runner | None:
    if not is_runner(fields) and not ONLY_RACES.isdisjoint(fields):
        return None
    read = {name: find([fields], aliases, text) for name, aliases in RUNNER.items()}
    if not read["horse"] and not read["number"]:
        return None
    status = find([fields], RUNNER_STATUS, _read_status)
    read["position_reason"] = read["position_reason"] or (status if status and not _is_no_finish(status) else None)
    return Runner(**read, position=position or _position(fields, status))


def _own_fields(entry: dict[str, Any]) -> Fields:
    """The entry's fields, with the fields of a `runner` object in the entry."""
    fields = fields_of(entry)
    inner = fields.get("runner")
    return {**fields_of(inner), **fields, "runner": None} if isinstance(inner, dict) else fields


def _position(fields: Fields, status: str | None) -> str | None:
    """The position, else why the horse has none: "NR", "DSQ", the casualty's reason, or a status of no finish.

    A disqualified horse has no place, even beside a position.
    """
    if find([fields], NON_RUNNER, flag):
        return "NR"
    if status and fold(status[:LONGEST_NAME]).startswith(("disq", "dsq")):
        return status
    if find([fields], DISQUALIFIED, flag):
        return "DSQ"
    return (
        find([fields], POSITION, _read_position)
        or find([fields], NO_FINISH, text)
        or (status if status and _is_no_finish(status) else None)
    )


def _is_no_finish(status: str) -> bool:
    said = fold(status[:LONGEST_NAME])
    return said in NO_FINISH_CODES or said.startswith(NO_FINISH_WORDS)


def _read_status(value: Any) -> str | None:
    said = string(value)
    return said if said and fold(said[:LONGEST_NAME]) not in PLAIN_STATUSES else None


def _read_position(value: Any) -> str | None:
    """The position: "1.0" is "1". Some senders say 0 for no position, and 0 would stand before the winner."""
    position = _WHOLE.sub(r"\1", text(value) or "")
    return position if position.strip("0") else None


def _read_winner(value: Any) -> Runner | None:
    return read_runner(value, position="1") if isinstance(value, str | dict) else None


def _merged(known: tuple[Runner, ...], more: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The known runners, completed, then the further runners. The horse's name decides, else the number."""
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
