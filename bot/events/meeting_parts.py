"""Abandoned meetings, and the abandoned races and racecards that are part of a meeting."""

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


def names_race(meeting: RacingEvent, race_id: str | None) -> Race | None:
    return next((race for race in meeting.races if race_id is not None and race.race_id == race_id), None)


def is_part_of(event: RacingEvent, meeting: RacingEvent) -> bool:
    """Race ids decide, then meeting ids, then course and date.

    A race with an id is no part of a meeting with other ids.
    """
    race, card = event.race, meeting.race
    ids = {one.race_id for one in (race, *event.races)} - {None}
    if ids and any(named.race_id in ids for named in meeting.races):
        return True
    if race.meeting_id and card.meeting_id:
        return race.meeting_id == card.meeting_id
    if race.race_id and not meeting.races_from_book and any(named.race_id for named in meeting.races):
        return False
    return is_there(race, card)


def is_there(race: Race, card: Race) -> bool:
    """By course and date: two meetings may share both."""
    regions = {one.region or one.said_region for one in (race, card)} - {None}
    same_day = race.race_date is not None and race.race_date == card.race_date
    return len(regions) <= 1 and same_day and is_same_course(race.course, card.course)


def says_all_of(meeting: RacingEvent, lost: RacingEvent) -> bool:
    """True if a message of the race would add nothing to the meeting's."""
    named = names_race(meeting, lost.race.race_id)
    return (
        named is not None
        and own_reason(lost.reason, meeting, named) is None
        and _line_of(named, meeting)
        == _line_of(completed_race(named, lost.race.model_copy(update={"reason": None})), meeting)
    )


def shows_the_same(one: RacingEvent, other: RacingEvent) -> bool:
    return _seen(one) == _seen(other)


def own_reason(reason: str | None, meeting: RacingEvent, named: Race | None = None) -> str | None:
    """The race's reason, unless the meeting's message says the same."""
    known = {_folded(one) for one in (meeting.reason, meeting.race.reason, named.reason if named else None) if one}
    return reason if reason and _folded(reason) not in known else None


def _seen(event: RacingEvent) -> tuple[object, ...]:
    race = event.race
    course = race.course.name or race.course.course_id
    lines = tuple(_line_of(named, event) for named in event.races)
    return course, tuple(getattr(race, name) for name in _SHOWN), _all_finished(race), lines, event.races_from_book


def _all_finished(race: Race) -> bool:
    """Then alone the number of declared runners is told: as the number that ran."""
    went = race.went
    return len(went) == race.field_size and all(runner.finishing_position for runner in went)


def _line_of(race: Race, event: RacingEvent) -> tuple[object, ...] | None:
    if race.says_run or race.has_places:
        return None
    name, reason = race.title or race.number or race.race_id, own_reason(race.reason, event)
    return name, race.off, race.distance, race.race_class, race.field_size, reason and _folded(reason)


def _folded(reason: str) -> str:
    return " ".join(reason.split()).casefold()
