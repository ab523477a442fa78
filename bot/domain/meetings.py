"""Meeting over race: whether a race that was called off by itself is a part of an abandoned meeting."""

from bot.domain.events import RacingEvent
from bot.domain.filters import is_same_course
from bot.domain.races import Race


def names_race(meeting: RacingEvent, race_id: str | None) -> Race | None:
    """The race as the meeting names it by its id; None where it does not."""
    return next((race for race in meeting.races if race_id is not None and race.race_id == race_id), None)


def is_part_of(lost: RacingEvent, meeting: RacingEvent) -> bool:
    """Whether the race is one of the meeting's.

    By the race's id or the meeting's. The same course and date are enough only where nothing better was sent: not where
    meeting ids differ, nor where the meeting names its races by id and this one has another.
    """
    race, card = lost.race, meeting.race
    if names_race(meeting, race.race_id):
        return True
    if race.meeting_id and card.meeting_id:
        return race.meeting_id == card.meeting_id
    if race.race_id and any(named.race_id for named in meeting.races):
        return False
    same_region = not race.region or not card.region or race.region == card.region
    same_day = race.race_date is not None and race.race_date == card.race_date
    return same_region and same_day and is_same_course(race.course, card.course)


def says_all_of(meeting: RacingEvent, lost: RacingEvent) -> bool:
    """Whether the meeting's message says of the race what its own would: which it is, and why."""
    named = names_race(meeting, lost.race.race_id)
    return named is not None and own_reason(lost.reason, meeting, named) is None


def own_reason(reason: str | None, meeting: RacingEvent, named: Race | None = None) -> str | None:
    """A race's reason where it is another than the meeting's, and than what the meeting says of that race."""
    known = {_folded(one) for one in (meeting.reason, meeting.race.reason, named.reason if named else None) if one}
    return reason if reason and _folded(reason) not in known else None


def _folded(reason: str) -> str:
    return " ".join(reason.split()).casefold()
