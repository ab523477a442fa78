"""What has become of a day's races: settled, abandoned, or not known yet, by the race book and by all deliveries.

The book has what was listed, the deliveries what was told since: neither has all of it. A race with a result is not
counted as lost with its meeting; one that was also called off by itself is shown as both: that is what was published.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.merge import completed
from bot.events.races import Course, Race, is_same_course, may_be_same_course
from bot.racedata.day_card import Outcome, Outcomes, by_meeting


@dataclass
class _Known:
    """A race, and who said what of it."""

    race: Race
    has_result: bool = False
    is_lost: bool = False

    @property
    def outcome(self) -> Outcome:
        settled = self.has_result or self.race.is_settled
        is_void = self.race.is_void
        if self.is_lost or self.race.abandoned:
            return Outcome.BOTH if settled and not is_void else Outcome.ABANDONED
        if is_void:
            return Outcome.VOID
        return Outcome.SETTLED if settled else Outcome.OPEN


def outcomes_of(
    races: Iterable[Race], told: Sequence[RacingEvent], region: str | None, course: Course | None
) -> Outcomes:
    """The outcomes in a region (None: all) and at a course (None: all).

    What may be of the place, because its region or course did not come, is taken to be where it is an abandonment.
    """
    known = [_Known(race) for race in races]
    by_id = {one.race.race_id: one for one in known if one.race.race_id}
    here = [event for event in told if _is_of(event, region, by_id)]
    lost = [event for event in here if event.kind is EventKind.MEETING_ABANDONED]
    for event in here:
        _add(event, known, by_id)
    for meeting in lost:
        _lose(meeting, known)
    at = [one for one in known if _is_at(one, course)]
    meetings = by_meeting([one.race for one in at])
    outcome_of = {id(one.race): one.outcome for one in at}
    return Outcomes(
        meetings,
        {
            (place, number): outcome_of[id(race)]
            for place, meeting in enumerate(meetings)
            for number, race in enumerate(meeting.races)
        },
        tuple(event for event in lost if course is None or may_be_same_course(event.race.course, course)),
    )


def _is_of(event: RacingEvent, region: str | None, by_id: dict[str, _Known]) -> bool:
    if region is None or event.race.region == region or event.race.race_id in by_id:
        return True
    return event.is_abandonment and event.race.region is None


def _add(event: RacingEvent, known: list[_Known], by_id: dict[str, _Known]) -> None:
    """Put what an event says of its races to what is known of them."""
    told = event.races if event.kind is EventKind.MEETING_ABANDONED else (event.race,)
    for race in told:
        shared = {"reason": race.reason or event.reason, "region": race.region or event.race.region}
        one = _find_or_add(race.model_copy(update=shared), known, by_id)
        one.has_result = one.has_result or event.kind is EventKind.RESULT_RECEIVED
        # A meeting's own delivery may name races that were run before it was lost.
        one.is_lost = one.is_lost or event.kind is EventKind.RACE_ABANDONED


def _find_or_add(told: Race, known: list[_Known], by_id: dict[str, _Known]) -> _Known:
    one = by_id.get(told.race_id or "") or next((one for one in known if _is_same_race(told, one.race)), None)
    if one is not None:
        one.race = _together(told, one.race)
    else:
        one = _Known(told)
        known.append(one)
    if told.race_id:
        by_id[told.race_id] = one
    return one


def _is_same_race(one: Race, other: Race) -> bool:
    """Whether they are one race where an id of theirs is missing: by course and day, and what tells a card's races."""
    if (one.race_id and other.race_id) or not is_same_course(one.course, other.course):
        return False
    for left, right in ((one.race_date, other.race_date), (one.region, other.region)):
        if left and right and left != right:
            return False
    pairs = (
        (one.off.off_at, other.off.off_at),
        (one.off.text, other.off.text),
        (one.number, other.number),
        (one.title, other.title),
    )
    return next((left == right for left, right in pairs if left and right), False)


def _lose(meeting: RacingEvent, known: list[_Known]) -> None:
    """Call off what is of a lost meeting and has no result."""
    for one in known:
        if not (one.has_result or one.race.is_settled) and is_part_of(RacingEvent(key="", race=one.race), meeting):
            one.is_lost = True
            one.race = one.race.model_copy(
                update={"reason": one.race.reason or meeting.reason or meeting.race.reason, "abandoned": True}
            )


def _together(told: Race, kept: Race) -> Race:
    """What a delivery told, completed by what the book has; the region by which it was listed stays."""
    both = completed(RacingEvent(key="", race=told), RacingEvent(key="", race=kept)).race
    region, abandoned = kept.region or told.region, told.abandoned or kept.abandoned
    same_off = told.off.off_at is None and told.off.text == kept.off.text
    off = kept.off if same_off else both.off
    return both.model_copy(update={"region": region, "abandoned": abandoned, "off": off})


def _is_at(one: _Known, course: Course | None) -> bool:
    """Whether it is at the course; an abandonment also where nothing tells that it isn't."""
    if course is None or is_same_course(one.race.course, course):
        return True
    return one.outcome is not Outcome.OPEN and one.is_lost and may_be_same_course(one.race.course, course)
