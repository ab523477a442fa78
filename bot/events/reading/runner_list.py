"""The runners of a race, from every list that names some: runners, results, placings, a lone winner (Spec gap G2)."""

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from bot.events.races import Runner
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, find, flag, fold, identifier, text
from bot.events.reading.record_objects import RACING_FIELDS

ORDERED_LISTS = frozenset({"finishingorder", "finishorder", "resultorder", "orderoffinish", "placings"})
"""Lists whose key says that they are in finishing order; any other list of bare names says no more than who ran."""

RUNNER_LISTS = (
    *("runners", "results", "result", "finishers", "placings", "finishingorder", "finishorder", "resultorder"),
    *("orderoffinish", "positions", "placed", "entries", "declarations", "declared", "horses", "starters"),
    "participants",
)
HOLDING = ("data", "items", "list")
"""What an object calls the list that it wraps."""

WINNER = ("winner", "winninghorse", "winnername")
POSITION = (
    *("position", "pos", "finishingposition", "finishposition", "finalposition", "officialposition", "finishpos"),
    *("place", "placing", "rank", "finish"),
)
ONLY_RACES = RACING_FIELDS - {"winner"}
"""What marks an object in a list as a race. Of a runner, `winner` may be a flag."""

NO_FINISH = ("casualty", "casualtyreason", "outcome", "outcomecode")
STATUS = ("status", "runnerstatus", "finishstatus", "resultstatus")
PLAIN_STATUSES = frozenset(
    {
        "ran",
        "runner",
        "running",
        "declared",
        "confirmed",
        "active",
        "starter",
        "started",
        "finished",
        "finisher",
        "placed",
    }
    | {"result", "official", "final", "ok", "normal", "winner", "won", "unknown", "none", "entered", "entry"}
    | {"complete", "completed", "weighedin", "unplaced", "alsoran", "settled", "confirmedrunner"}
)
"""Statuses that say no more than that the horse ran, or is to run: no reason for having no place."""

NO_FINISH_CODES = frozenset(
    {"pu", "p", "f", "ur", "u", "bd", "b", "ro", "su", "s", "ref", "rr", "r", "rtr", "co", "lft", "nr", "dnf", "dns"}
    | {"dq", "dsq", "dis", "disq", "void", "scr", "wd"}
)
NO_FINISH_WORDS = (
    *("pulledup", "fell", "fallen", "unseated", "broughtdown", "ranout", "slippedup", "refused", "carriedout", "left"),
    *(
        "nonrunner",
        "withdrawn",
        "scratched",
        "didnot",
        "disq",
        "stopped",
        "lame",
        "failedtofinish",
        "hampered",
        "rider",
    ),
)
"""What a status says of a horse that has no place, in letters alone."""

DISQUALIFIED = ("disqualified", "isdisqualified", "dsq", "dq")
NON_RUNNER = ("nonrunner", "isnonrunner", "withdrawn", "scratched")
ONLY_RUNNERS = frozenset({"horse", "horsename", "horseid", "jockey", "jockeyname", "clothnumber", *POSITION[:5]})
"""What marks an object as a runner even where it names its race too."""

MOST_RUNNERS = 500
"""Runners that are read of a race: no field has a tenth of that."""

NAMES = {
    "horse": ("horse", "horsename", "runnername", "runner", "name"),
    "number": (
        *("number", "clothnumber", "saddlecloth", "saddleclothnumber", "clothno", "runnernumber", "programnumber"),
        *("no", "num", "tabnumber"),
    ),
    "draw": ("draw", "stall", "stallnumber", "drawnumber", "barrier", "gate", "postposition"),
    "jockey": ("jockey", "jockeyname", "rider"),
    "trainer": ("trainer", "trainername"),
    "starting_price": ("sp", "startingprice", "spfractional", "startingpricefractional", "spdecimal", "bsp"),
    "official_rating": ("officialrating", "or", "ofr"),
    "beaten": ("beaten", "beatendistance", "distancebeaten", "distancebehind", "beatenby", "btn", "lengthsbehind"),
    "position_reason": (
        *("positionreason", "placingreason", "disqualificationreason", "disqualifiedreason", "dqreason"),
        *("nonrunnerreason", "reason"),
    ),
}

_WHOLE = re.compile(r"\A([0-9]+)\.0+\Z")


def read_runners(objects: Iterable[Fields]) -> tuple[Runner, ...]:
    """Whom the objects name, once each, what several lists say of a horse put together: at most MOST_RUNNERS."""
    objects = tuple(objects)
    none: tuple[Runner, ...] = ()
    runners = reduce(_merged, _lists(objects), none)[:MOST_RUNNERS]
    if any(runner.finishing_position is not None for runner in runners):
        return runners
    winner = find(objects, WINNER, _read_winner)
    return _merged(runners, (winner,)) if winner else runners


def read_runner(entry: Any, position: str | None = None) -> Runner | None:
    """The runner of a list's entry: an object, a bare name or a bare saddlecloth number; None where it is no runner."""
    if isinstance(entry, dict):
        return _from_fields(_own_fields(entry), position)
    if isinstance(entry, str):
        horse = text(entry)
        return Runner(horse=horse, position=position) if horse else None
    number = identifier(entry)
    return Runner(number=number, position=position) if number else None


def is_runner(fields: Fields) -> bool:
    """Whether an object is about a horse in a race, not about a race."""
    return not ONLY_RUNNERS.isdisjoint(fields)


def _lists(objects: Iterable[Fields]) -> Iterator[tuple[Runner, ...]]:
    for fields in objects:
        for name in RUNNER_LISTS:
            for entries in _entries(fields[name]) if name in fields else ():
                yield _read_list(entries, in_order=name in ORDERED_LISTS)


def _entries(value: Any) -> list[list[Any]]:
    """The list that the value is, or those that it holds: {"count": 2, "items": […]}."""
    if isinstance(value, list):
        return [value]
    if not isinstance(value, dict):
        return []
    held = fields_of(value)
    return [held[name] for name in (*RUNNER_LISTS, *HOLDING) if isinstance(held.get(name), list)]


def _read_list(entries: list[Any], *, in_order: bool) -> tuple[Runner, ...]:
    """The list's runners. Where its key says that it is in order and no entry has a position, the places are 1 to n."""
    read = [read_runner(entry) for entry in entries[:MOST_RUNNERS]]
    if in_order and not any(runner and runner.position for runner in read):
        read = [runner and _with(runner, position=str(place)) for place, runner in enumerate(read, start=1)]
    return tuple(runner for runner in read if runner)


def _from_fields(fields: Fields, position: str | None) -> Runner | None:
    if not is_runner(fields) and not ONLY_RACES.isdisjoint(fields):
        return None
    read = {name: find([fields], aliases, text) for name, aliases in NAMES.items()}
    if not read["horse"] and not read["number"]:
        return None
    status = find([fields], STATUS, _read_status)
    read["position_reason"] = read["position_reason"] or (status if status and not _is_no_finish(status) else None)
    return Runner(**read, position=position or _position(fields, status))


def _own_fields(entry: dict[str, Any]) -> Fields:
    """The entry's fields, with those of a `runner` object in it."""
    fields = fields_of(entry)
    inner = fields.get("runner")
    return {**fields_of(inner), **fields, "runner": None} if isinstance(inner, dict) else fields


def _position(fields: Fields, status: str | None) -> str | None:
    """The position, else why there is none: the casualty reason, the status, or "NR" for a horse that did not run.

    A status that is no known word for not finishing is no position, only a reason ("position_reason").

    A disqualified horse holds no place, whatever else came. A position of 0 is how some say "none": taken as it came,
    it would stand before the winner.
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
    """Whether a status stands in the place of a position: the horse ran and did not finish, or did not run."""
    said = fold(status[:LONGEST_NAME])
    return said in NO_FINISH_CODES or said.startswith(NO_FINISH_WORDS)


def _read_status(value: Any) -> str | None:
    said = text(value) if isinstance(value, str) else None
    return said if said and fold(said[:LONGEST_NAME]) not in PLAIN_STATUSES else None


def _read_position(value: Any) -> str | None:
    # A column of numbers that was once a fraction's writes its places so: "1.0".
    position = _WHOLE.sub(r"\1", text(value) or "")
    return position if position.strip("0") else None


def _read_winner(value: Any) -> Runner | None:
    return read_runner(value, position="1") if isinstance(value, str | dict) else None


def _merged(known: tuple[Runner, ...], more: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The known runners with what the others add, then those not yet known."""
    if not known:
        return more
    runners = list(known)
    places = {label: place for place, runner in reversed(list(enumerate(known))) for label in _labels(runner)}
    for runner in more:
        place = next((places[label] for label in _labels(runner)[:1] if label in places), None)
        if place is None:
            runners.append(runner)
        else:
            runners[place] = _completed(runners[place], runner)
    return tuple(runners)


def _labels(runner: Runner) -> list[str]:
    """What a runner can be found by: the horse's name first, then its number."""
    named = [f"horse {runner.horse.casefold()}"] if runner.horse else []
    return [*named, f"number {runner.number}"] if runner.number else named


def _completed(runner: Runner, other: Runner) -> Runner:
    """The runner, what is unknown of it taken from the other."""
    return Runner(**{**other.model_dump(exclude_none=True), **runner.model_dump(exclude_none=True)})


def _with(runner: Runner, *, position: str) -> Runner:
    return runner.model_copy(update={"position": position})
