"""The declaration of fields is held from both sides, by the messages.

Messages show every told field, and no noise.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import changes_between, only
from bot.events.kinds import CARD, RUNNER, Noise, ToldField
from bot.events.races import Course, OffTime
from bot.slack.messages import MessageContext, render
from bot.slack.messages.alerts.corrections import additions_in_words, changes_in_words
from bot.slack.messages.alerts.event_alerts import full_result
from tests.rows import over
from tests.unit.events.versions import DECLARATIONS, EVENTS, MODELS, event_with
from tests.unit.messages.kept_events import EVENTS_IN_CONTEXT, LOST

NOW = datetime(2026, 11, 20, 14, 32, tzinfo=UTC)
CONTEXT = MessageContext(received_at=NOW, now=NOW, late_after_s=600)
PARTS_TRIED = 2
"""The number of runners tried, and of races of a card."""

SHOWN_ALTHOUGH_NOISE = {
    "event.key": "names the event: another value is another event",
    "event.kind": "names the event",
    "event.unreadable_because": "says why a delivery is told in its plain form",
    "event.data_as_of": "tells the age of the data: a mere retry may have another age",
    "event.in_doubt": "two versions of unknown order: the status of one of the two is told",
    "event.drill": "marks a drill, which is delivered once",
    "race.race_id": "names the event",
    "race.meeting_id": "names the meeting that a button mutes",
    "card.race_id": "tells which races of the card are settled",
    "race.from_book": "marks values that the race book has filled in",
    "card.from_book": "marks values that the race book has filled in",
    "event.races_from_book": "marks values that the race book has filled in",
    "event.of_some": "tells what the race book's races mean: the delivery names none of them",
    "race.reason": "of the race book, where the delivery has no reason: filled in",
}
"""Another value of these fields is no change of the facts that a delivery tells."""

EXCEPTIONS = {(kind, path) for path in SHOWN_ALTHOUGH_NOISE for kind in EventKind} - {
    (EventKind.RESULT_RECEIVED, "race.reason")
} | {(EventKind.RESULT_RECEIVED, "card.abandoned")}
"""The race book fills in the reason of no result. A loss of unknown region is told everywhere, and says so."""

OTHERS: dict[str, tuple[object, ...]] = {
    "OffTime": (OffTime(text="23:59"), OffTime()),
    "Course": (Course(name="Another"), Course()),
    "Drill": (Drill(drill_id="drl_1"), None),
    "EventKind": (),
    "datetime": (datetime(2026, 11, 21, tzinfo=UTC), None),
    "bool": (True, False, None),
    "int": (7, None),
    "tuple[str": (("title",), ()),
    "str": ("Another", "Official", None),
}
"""By type: values to change a field to."""


def is_of_parts(path):
    """A list, or a course, whose fields are declared by themselves."""
    level, _, name = path.partition(".")
    of_parts = ("Race", "Runner", "Course") if level == "race" else ("Race", "Runner")
    return any(f"races.{one}" in str(MODELS[level].model_fields[name].annotation) for one in of_parts)


def others_of(path: str, value: object) -> list[object]:
    level, _, name = path.partition(".")
    annotation = str(MODELS[level].model_fields[name].annotation)
    return [one for one in next(some for kind, some in OTHERS.items() if kind in annotation) if one != value]


def changed(event: RacingEvent, path: str) -> Iterator[RacingEvent]:
    """The event with this field changed, each time to another value or in another part."""
    level, _, name = path.partition(".")

    def others(part: Any) -> list[Any]:
        return [part.model_copy(update={name: one}) for one in others_of(path, getattr(part, name))]

    def with_race(**parts: Any) -> RacingEvent:
        return event.model_copy(update={"race": event.race.model_copy(update=parts)})

    match level:
        case "event":
            yield from others(event)
        case "race":
            yield from (event.model_copy(update={"race": one}) for one in others(event.race))
        case "course":
            yield from (with_race(course=one) for one in others(event.race.course))
        case "runner":
            runners = event.race.runners
            for at, runner in enumerate(runners[:PARTS_TRIED]):
                yield from (with_race(runners=(*runners[:at], one, *runners[at + 1 :])) for one in others(runner))
        case "card":
            for at, race in enumerate(event.races[:PARTS_TRIED]):
                races = [(*event.races[:at], one, *event.races[at + 1 :]) for one in others(race)]
                yield from (event.model_copy(update={"races": one}) for one in races)
        case _:
            raise AssertionError(level)


def shown(event: RacingEvent, context: MessageContext) -> list[object]:
    messages = [render(event, context)]
    if event.kind is EventKind.RESULT_RECEIVED:
        messages.append(full_result(event, None, NOW))
    return [(message.text, message.blocks, message.plain_blocks) for message in messages]


@cache
def bases(kind: EventKind) -> list[tuple[RacingEvent, MessageContext, list[object]]]:
    """Every kept message of the kind; and events of which one level has all its values, but for hiding values."""
    unless = [path for path, entry in DECLARATIONS[kind].items() if isinstance(entry, ToldField) and entry.unless]
    full = [event_with(kind, path) for path in ("event.reason", "race.going", "runner.jockey", "card.off", *unless)]
    found = [*EVENTS_IN_CONTEXT.values(), *((event, CONTEXT) for event in (LOST, *full))]
    return [(event, context, shown(event, context)) for event, context in found if event.kind is kind]


def is_shown(kind: EventKind, path: str) -> bool:
    tried = ((one, context, before) for event, context, before in bases(kind) for one in changed(event, path))
    return any(shown(event, context) != before for event, context, before in tried)


@over("kind", EventKind)
def test_message_shows_a_field_if_and_only_if_the_field_is_told(kind):
    fields = {path: entry for path, entry in DECLARATIONS[kind].items() if path not in {RUNNER, CARD}}
    told = {path for path, entry in fields.items() if isinstance(entry, ToldField) and not is_of_parts(path)}
    noise = {path for path in fields if not is_of_parts(path) and (kind, path) not in EXCEPTIONS} - told
    assert {path for path in told | noise if is_shown(kind, path)} == told


@over("path", sorted(SHOWN_ALTHOUGH_NOISE.keys() - {"event.kind"}))
def test_exception_is_noise_that_a_message_shows(path):
    kinds = [kind for kind, declared in DECLARATIONS.items() if isinstance(declared[path], Noise)]
    assert any(is_shown(kind, path) for kind in kinds)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.booleans())
def test_every_change_has_words(versions, disagree):
    _, old, new = versions
    for change in changes_between(old, new, received_at=NOW):
        said = changes_in_words([change], new.race, disagree=disagree)
        assert bool(said) is bool(only([change], additions=False))
        assert bool(additions_in_words([change])) is change.is_addition
