"""The bounds of an event, larger than any real meeting: no delivery holds up the others."""

from collections.abc import Iterable, Iterator

from bot.events.event import RacingEvent
from bot.events.races import Course, OffTime, Race

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
    races = (event.race, *event.races)
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
    """Without runners and races, and with long values cut."""
    texts = {"name": _cut(event.name), "reason": _cut(event.reason), "data_as_of": _cut(event.data_as_of)}
    return event.model_copy(
        update={**texts, "race": _plain_race(event.race), "races": (), "unreadable_because": because}
    )


def _plain_race(race: Race) -> Race:
    values = {name: getattr(race, name) for name in Race.model_fields}
    texts = {name: _cut(value) for name, value in values.items() if isinstance(value, str)}
    ids = {name: None for name in _IDS if len(values[name] or "") > KEPT_ID_MAX}
    course = Course(
        course_id=_cut(race.course.course_id), name=_cut(race.course.name), country=_cut(race.course.country)
    )
    off = OffTime(text=_cut(race.off.text), off_at=race.off.off_at)
    return race.model_copy(update={**texts, **ids, "course": course, "off": off, "runners": ()})


def _cut(value: str | None) -> str | None:
    return value if value is None or len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
