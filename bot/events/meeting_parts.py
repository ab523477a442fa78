"""Meeting over race: whether an abandoned race, or a racecard, is part of an abandoned meeting."""

from bot.events.event import RacingEvent
from bot.events.merge import completed_race
from bot.events.races import Race, is_same_course

_SHOWN = (
    "region",
    "race_date",
    "off",
    "title",
    "race_class",
    "race_type",
    "distance",
    "going",
    "surface",
    "reason",
    "runners",
)
"""Fields of an event's race that messages show beside the course."""


def names_race(meeting: RacingEvent, race_id: str | None) -> Race | None:
    """The race as the meeting names it by its id; None where it does not."""
    return next((race for race in meeting.races if race_id is not None and race.race_id == race_id), None)


def is_part_of(event: RacingEvent, meeting: RacingEvent) -> bool:
    """Whether the race, or the racecard, is part of the meeting.

    Race ids decide, then meeting ids. Course and date decide only where neither can: a race with an id is no part of a
    meeting whose delivery names other ids.
    """
    race, card = event.race, meeting.race
    if any(names_race(meeting, one.race_id) for one in (race, *event.races)):
        return True
    if race.meeting_id and card.meeting_id:
        return race.meeting_id == card.meeting_id
    if race.race_id and not meeting.races_from_book and any(named.race_id for named in meeting.races):
        return False
    regions = {one.region or one.said_region for one in (race, card)} - {None}
    same_day = race.race_date is not None and race.race_date == card.race_date
    return len(regions) <= 1 and same_day and is_same_course(race.course, card.course)


def says_all_of(meeting: RacingEvent, lost: RacingEvent) -> bool:
    """Whether the meeting's message says of the race what its own would: which it is, and why."""
    named = names_race(meeting, lost.race.race_id)
    return (
        named is not None
        and own_reason(lost.reason, meeting, named) is None
        and _line_of(named, meeting)
        == _line_of(completed_race(named, lost.race.model_copy(update={"reason": None})), meeting)
    )


def shows_the_same(one: RacingEvent, other: RacingEvent) -> bool:
    """Whether the messages of two events would be the same. Fields that no message shows may differ."""
    return _seen(one) == _seen(other)


def own_reason(reason: str | None, meeting: RacingEvent, named: Race | None = None) -> str | None:
    """A race's reason where it is another than the meeting's, and than what the meeting says of that race."""
    known = {_folded(one) for one in (meeting.reason, meeting.race.reason, named.reason if named else None) if one}
    return reason if reason and _folded(reason) not in known else None


def _seen(event: RacingEvent) -> tuple[object, ...]:
    race = event.race
    course = race.course.name or race.course.course_id
    lines = tuple(_line_of(named, event) for named in event.races)
    return course, tuple(getattr(race, name) for name in _SHOWN), lines, event.races_from_book


def _line_of(race: Race, event: RacingEvent) -> tuple[object, ...] | None:
    """The values in the race's line; None for a settled race, because a settled race has no line."""
    if race.placed():
        return None
    name, reason = race.title or race.number or race.race_id, own_reason(race.reason, event)
    return name, race.off, race.distance, race.race_class, race.field_size, reason and _folded(reason)


def _folded(reason: str) -> str:
    return " ".join(reason.split()).casefold()
