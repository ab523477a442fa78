"""Shared by tests of two versions of an event: an event with every field, and any events of three versions."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random

from hypothesis import strategies as st
from pydantic import BaseModel

from bot.deliveries.payload import read_payload
from bot.desk.decide import Telling
from bot.events import kinds
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between
from bot.events.kinds import CARD, RUNNER, ToldField
from bot.events.races import Course, OffTime, Race, Runner, plain_name
from tests.clock import START

TODAY = "2026-11-20"
MODELS: Mapping[str, type[BaseModel]] = {
    "event": RacingEvent,
    "course": Course,
    "race": Race,
    RUNNER: Runner,
    CARD: Race,
}
NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)

ONE = {
    bool: (False, True),
    int: (8, 9),
    datetime: (datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)),
}
NO_VALUE = {
    "key",
    "off_told",
    "kind",
    "course",
    "race",
    "races",
    "spared",
    "runners",
    "from_book",
    "races_from_book",
    "in_parts",
} | {"drill"}
"""Fields that name the event, or are compared part by part."""

DECLARATIONS = {kind: declared.fields for kind, declared in kinds.DECLARATIONS.items()}


def read(event, **parts):
    return read_payload(json.dumps({"event": event} | parts).encode())


def settled(*runners, **race):
    return read("result.received", race={"race_id": "rc_1", "runners": list(runners)} | race)


def placed(placings="", **race):
    """A result by horses and positions, as "A 1, B 2"; a horse alone has no position."""
    runners = [dict(zip(("horse", "position"), one.split(" "), strict=False)) for one in placings.split(", ") if one]
    return settled(*runners, **race)


def published(*races, date=TODAY, region="GB"):
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": date, "region": region}
    return read("racecard.published", meeting=meeting, races=list(races))


def at(*offs, **fields):
    """Races of a card by id and off time, as "1 13:00"."""
    return [dict(zip(("race_id", "off_time"), f"rc_{one}".split(" "), strict=False)) | fields for one in offs]


def between(old, new):
    return [(one.field, one.of, one.before, one.now, one.rings) for one in changes_between(old, new, received_at=NOW)]


def values_of(level, changed, hidden):
    """A value for each plain field of a level's model: another value for `changed`, no value for `hidden`."""
    values: dict[str, object] = {}
    for name, field in MODELS[level].model_fields.items():
        first, second = next(
            (ONE[kind] for kind in ONE if kind.__name__ in str(field.annotation)), (name, f"new {name}")
        )
        values[name] = second if name == changed else first
    if level == CARD:
        values |= {"status": "Official" if changed == "status" else "status", "abandoned": changed != "abandoned"}
    if "off" in values:
        values["off"] = OffTime(text="14:45" if changed == "off" else "14:30")
    if level == RUNNER:
        values["horse"] = "Golden Melody"
    return {name: value for name, value in values.items() if name not in NO_VALUE | {hidden}}


def event_with(kind, path, *, changed=False):
    """An event with all values of the path's level, but for the value that hides the path's field."""
    level, _, field = path.partition(".")
    entry = DECLARATIONS[kind][path]
    # Horses of two names are two runners: the earlier version knows the runner by the number alone.
    unnamed = "horse" if path == "runner.horse" and not changed else None
    hidden = entry.unless if isinstance(entry, ToldField) else None
    values = values_of(level, field if changed else None, unnamed or hidden)
    parts = {
        "event": values,
        "course": {"race": Race(course=Course(**values))} if level == "course" else {},
        "race": {"race": Race(**values)} if level == "race" else {},
        RUNNER: {"race": Race(runners=(Runner(**values),))} if level == RUNNER else {},
        CARD: {"races": (Race(**values), Race(title="Other"))} if level == CARD else {},
    }
    return RacingEvent(**{"key": "k", "kind": kind} | parts[level])


HORSES, POSITIONS = (None, "A", "a", "A (IRE)", "B", "C"), (None, "1", "1=", "1st", "2", "3", "0", "PU", "NR")


def some(random, make, names_of):
    """Up to four values of different names."""
    made, taken = [], set[object]()
    for _ in range(random.randint(0, 4)):
        one = make(random)
        names = set(names_of(one))
        if names and not names & taken:
            made.append(one)
            taken |= names
    return tuple(made)


def runner(random):
    choose = random.choice
    return Runner(
        horse=choose(HORSES),
        number=choose((None, "1", "2", "3")),
        position=choose(POSITIONS),
        beaten=choose((None, "nk", "1L")),
    )


def names_of_runner(one):
    if name := one.horse or one.number:
        yield plain_name(name).casefold()
        yield from [("number", one.number)] if one.number else ()


def race(random):
    choose = random.choice
    return Race(
        race_id=choose((None, "rc_1", "rc_2")),
        race_date=choose((None, TODAY, "2026-11-21")),
        off=OffTime(text=choose((None, "13:00", "13:04", "1:00 pm", "15:00"))),
        title=choose((None, "T", "U")),
        number=choose((None, "1", "2")),
        status=choose((None, "Result", "Void")),
        abandoned=choose((None, False, True)),
        field_size=choose((None, 8, 9)),
        runners=some(random, runner, names_of_runner),
    )


def names_of_race(one):
    """Two races without a name may be different races."""
    yield "race", id(one)
    yield from ((name, getattr(one, name)) for name in ("race_id", "number", "title") if getattr(one, name))
    yield from [("off", one.off.text)] if one.off.text else ()


def three_versions(random):
    kind = random.choice([*EventKind])
    return [
        RacingEvent(
            key="k",
            kind=kind,
            race=race(random).model_copy(update={"race_id": "rc_1"}),
            races=some(random, race, names_of_race),
        )
        for _ in range(3)
    ]


EVENTS = st.integers(0, 2**32).map(Random).map(three_versions)
"""Three versions of an event. A seed chooses: to draw each value by itself takes Hypothesis many times as long."""


def told(number, kind, **state):
    """An event as told to the only channel."""
    return Telling(number, "C1", kind, f"{kind}:rc_1", "rc_1", 1, START, None, **state)
