"""The bounds of an event, larger than any real meeting: no delivery holds up the others."""

from collections.abc import Iterable, Iterator
from typing import Any

from bot.events.event import RacingEvent
from bot.events.races import Race

EVENT_RACES_MAX = 60
"""Four times a meeting."""

EVENT_RUNNERS_MAX = 2_500
"""Runners of all races together."""

EVENT_JSON_MAX = 131_072
"""As stored, in bytes: four times a whole card with its runners."""

KEPT_ID_MAX = 200
LONGEST_TEXT = 500
"""Of a value in the plain form. Characters."""

_IDS = ("race_id", "meeting_id", "region", "said_region")
"""Ids stand in indexes, and an index takes no long text."""


def excess(event: RacingEvent, body_bytes: int) -> str | None:
    """The exceeded bound, in words. None within the bounds."""
    races = (event.race, *event.races, *event.spared)
    if len(event.races) > EVENT_RACES_MAX:
        return f"it names more than {EVENT_RACES_MAX} races"
    if sum(len(race.runners) for race in races) > EVENT_RUNNERS_MAX:
        return f"it names more than {EVENT_RUNNERS_MAX} runners"
    if any(len(getattr(race, name) or "") > KEPT_ID_MAX for race in races for name in _IDS):
        return f"an id has more than {KEPT_ID_MAX} characters"
    # Each race takes over the meeting's values.
    if body_bytes * len(races) > EVENT_JSON_MAX and len(event.model_dump_json()) > EVENT_JSON_MAX:
        return "it is too long"
    return None


def first_of(events: Iterable[RacingEvent], most: int) -> Iterator[RacingEvent]:
    """The first events, with no more than `most` races in all."""
    races = 0
    for event in events:
        races += 1 + len(event.races)
        if races > most:
            return
        yield event


def plain(event: RacingEvent, because: str) -> RacingEvent:
    """The event without runners and races, and with long values cut."""
    long_ids = {name for name in _IDS if len(getattr(event.race, name) or "") > KEPT_ID_MAX}
    race = Race(**_cut(event.race.model_dump(exclude={"runners", *long_ids})))
    texts = _cut({"name": event.name, "reason": event.reason, "data_as_of": event.data_as_of})
    return event.model_copy(update={**texts, "race": race, "races": (), "spared": (), "unreadable_because": because})


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in value.items()}
    return f"{value[:LONGEST_TEXT]}…" if isinstance(value, str) and len(value) > LONGEST_TEXT else value
