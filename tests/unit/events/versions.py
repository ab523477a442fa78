"""What tests of two versions of an event share: an event with every field, and any events of three versions."""

from datetime import UTC, datetime
from functools import partial

from hypothesis import strategies as st

from bot.events import kinds
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import CARD, MODELS, RUNNER, changes_between
from bot.events.kinds import ToldField
from bot.events.races import Course, OffTime, Race, Runner, plain_name

TODAY = "2026-11-20"
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
    "runners",
    "from_book",
    "races_from_book",
    "in_parts",
} | {"drill"}
"""Fields that name the event, or that are compared part by part."""

DECLARATIONS = {kind: declared.fields for kind, declared in kinds.DECLARATIONS.items()}


def between(old, new):
    return [(one.field, one.of, one.before, one.now, one.rings) for one in changes_between(old, new, received_at=NOW)]


def values_of(level, changed, hidden):
    """A value for each plain field of a level's model; another one for the field `changed`, and none for `hidden`."""
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
        values["horse"] = "GOLDEN MELODY" if changed == "horse" else "Golden Melody"
    return {name: value for name, value in values.items() if name not in NO_VALUE | {hidden}}


def event_with(kind, path, *, changed=False):
    """An event of which one level has all its values, but for the one that hides the field of this path."""
    level, _, field = path.partition(".")
    entry = DECLARATIONS[kind][path]
    values = values_of(level, field if changed else None, entry.unless if isinstance(entry, ToldField) else None)
    parts = {
        "event": values,
        "course": {"race": Race(course=Course(**values))} if level == "course" else {},
        "race": {"race": Race(**values)} if level == "race" else {},
        RUNNER: {"race": Race(runners=(Runner(**values),))} if level == RUNNER else {},
        CARD: {"races": (Race(**values), Race(title="Other"))} if level == CARD else {},
    }
    return RacingEvent(**{"key": "k", "kind": kind} | parts[level])


RUNNERS = st.lists(
    st.builds(
        Runner,
        horse=st.none() | st.sampled_from(["A", "a", "A (IRE)", "B", "C"]),
        number=st.none() | st.sampled_from(["1", "2", "3"]),
        position=st.none() | st.sampled_from(["1", "1=", "1st", "2", "3", "0", "PU", "NR"]),
        beaten=st.none() | st.sampled_from(["nk", "1L"]),
    ).filter(lambda runner: runner.horse or runner.number),
    max_size=4,
    unique_by=(
        lambda runner: plain_name(runner.horse or runner.number or "").casefold(),
        lambda runner: runner.number or runner,
    ),
).map(tuple)


def value_of(race, name):
    """The race's value where it has one; races without it are not the same for that."""
    return getattr(race, name) or race


RACES = st.builds(
    Race,
    race_id=st.none() | st.sampled_from(["rc_1", "rc_2"]),
    race_date=st.none() | st.sampled_from([TODAY, "2026-11-21"]),
    off=st.builds(OffTime, text=st.none() | st.sampled_from(["13:00", "13:04", "1:00 pm", "15:00"])),
    title=st.none() | st.sampled_from(["T", "U"]),
    number=st.none() | st.sampled_from(["1", "2"]),
    status=st.none() | st.sampled_from(["Result", "Void"]),
    abandoned=st.none() | st.booleans(),
    field_size=st.none() | st.sampled_from([8, 9]),
    runners=RUNNERS,
)
LISTS = st.lists(
    RACES, max_size=4, unique_by=tuple(partial(value_of, name=name) for name in ("race_id", "number", "title", "off"))
).map(tuple)
EVENTS = st.tuples(st.sampled_from(EventKind), *(st.tuples(RACES, LISTS) for _ in range(3))).map(
    lambda drawn: [
        RacingEvent(key="k", kind=drawn[0], race=race.model_copy(update={"race_id": "rc_1"}), races=races)
        for race, races in drawn[1:]
    ]
)
