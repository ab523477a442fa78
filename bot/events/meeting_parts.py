"""Abandoned meetings, and the abandoned races and racecards that are part of a meeting."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from bot.events.event import EventKind, RacingEvent
from bot.events.merge import completed_race
from bot.events.pairs import paired_races
from bot.events.race_state import NO_LONGER_ABANDONED, NOT_HELD
from bot.events.races import OffTime, Race, is_one_course, may_share_meeting
from bot.events.same_races import SameRaces, is_same_race, is_told_again

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


def is_part_of(part: RacingEvent | Race, meeting: RacingEvent) -> bool:
    """Race ids decide, then meeting ids, then course and date.

    A race with an id is no part of a meeting with other ids.
    """
    race, races, card = (part, (), meeting.race) if isinstance(part, Race) else (part.race, part.races, meeting.race)
    ids = {one.race_id for one in (race, *races)} - {None}
    if ids and any(named.race_id in ids for named in meeting.races):
        return True
    if race.meeting_id and card.meeting_id:
        return race.meeting_id == card.meeting_id
    if race.race_id and not meeting.races_from_book and any(named.race_id for named in meeting.races):
        return False
    return is_there(race, card)


def is_there(race: Race, card: Race) -> bool:
    """True if the race may be of the meeting, by course and date. Two meetings without ids may share both."""
    return is_same_place(race, card) and may_share_meeting(race, card)


def is_same_place(race: Race, card: Race) -> bool:
    regions = {one.region or one.said_region for one in (race, card)} - {None}
    same_day = race.race_date is not None and race.race_date == card.race_date
    return same_day and is_one_course(race.course, card.course) and len(regions) <= 1


def is_same_loss(one: RacingEvent, other: RacingEvent) -> bool:
    """Whether two abandonments of one kind may be of the same race, or of the same meeting."""
    if one.kind is EventKind.MEETING_ABANDONED:
        return is_part_of(one, other)
    ids = {one.race.race_id, other.race.race_id} - {None}
    return len(ids) <= 1 and is_there(one.race, other.race) and is_same_race(one.race, other.race)


def is_run_there(event: RacingEvent, meeting: RacingEvent) -> bool:
    """Whether a race with a result is the meeting's. A meeting may name its lost races alone."""
    return is_part_of(event, meeting) or is_there(event.race, meeting.race)


def lost_in(meeting: RacingEvent, *, expressly: bool = False) -> Callable[[Race], bool | None]:
    """Whether a race of an abandoned meeting is lost: by the meeting's list, else by how much was run.

    None if the meeting does not tell. A list of the whole card names a lost race, but not `expressly`.
    """
    named, races = SameRaces(meeting.races), meeting.races
    is_of_lost = any(race.says_run for race in races) or min((race.card_number or 1 for race in races), default=1) > 1
    tells = not (expressly or (meeting.races_from_book and meeting.races_run is not None))
    tells = tells or (is_of_lost and not meeting.races_from_book)

    def is_lost(race: Race) -> bool | None:
        same = named.of(race)
        if same and all(one.says_run for one in same):
            return False
        is_early = None if any(one.abandoned for one in same) else is_before_loss(race, meeting)
        if is_early is not None or _is_known_in_utc_alone(race, meeting):
            return None if is_early is None else not is_early
        return True if same and (tells or all(one.abandoned for one in same)) else None

    return is_lost


def lost_with(race: Race, meeting: RacingEvent) -> bool:
    """Whether a race is lost with an abandoned meeting. An untold race is lost, unless the meeting was partly run."""
    is_lost = lost_in(meeting)(race)
    return not meeting.says_partly_run if is_lost is None else is_lost


def marked_lost(card: RacingEvent, meeting: RacingEvent, run: Container[str | None]) -> RacingEvent:
    """The card with the lost races of its meeting marked. `run`: the ids of races with a result."""
    is_lost = lost_in(meeting)

    def marked(race: Race) -> Race:
        is_gone = race.race_id not in run and is_lost(race)
        return race.model_copy(update={"abandoned": True}) if is_gone else race

    update = {"races": tuple(map(marked, card.races))} if card.races else {"race": marked(card.race)}
    return card.model_copy(update=update)


def marked_in(event: RacingEvent) -> set[str]:
    """The ids of the races that the event, for example a racecard, marks as abandoned."""
    return {race.race_id for race in (event.race, *event.races) if race.abandoned and race.race_id}


def with_races_back(card: RacingEvent, back: Mapping[str | None, Race]) -> RacingEvent:
    """The racecard, with reinstated races no longer marked as abandoned. `back`: each reinstated race by its id."""

    def shown(race: Race) -> Race:
        since = back.get(race.race_id) if race.abandoned else None
        return race.model_copy(update={"abandoned": None, "status": since.status}) if since else race

    return card.model_copy(update={"race": shown(card.race), "races": tuple(map(shown, card.races))})


def taken_back(lost: RacingEvent, card: RacingEvent) -> RacingEvent | None:
    """A later version of an abandonment, with the status of a racecard that takes the loss back: "Reinstated".

    The status of the same race counts, else the status of the whole card.
    """
    each = {race.status for race in card.races}
    of_card = card.race.status if card.is_reinstated else each.pop() if len(each) == 1 else None
    named = card.races if card.is_of_meeting else (card.race,)
    same = [race for race in named if lost.kind is EventKind.RACE_ABANDONED and _is_same(race, lost.race)]
    said = [race.status for race in same] + [of_card if card.is_of_meeting and is_part_of(lost, card) else None]
    status = next(filter(None, said), None)
    lost = lost.as_delivered()
    order = {name: getattr(card, name) for name in ("occurred_at", "updated_at", "first_attempt_at")}
    race = lost.race.model_copy(update={"status": status})
    later = lost.model_copy(update={**order, "sequence": None, "race": race, "in_doubt": False})
    return later if later.is_taken_back else None


def with_marks_off(card: RacingEvent, before: RacingEvent) -> RacingEvent:
    """The racecard, with a status for each race that the earlier version marked abandoned, and this version does not.

    A mark that was never there says nothing: many services send "abandoned": false by default.
    """
    races = [_with_mark_off(now, was) for was, now in paired_races(before.races, card.races) if now]
    return card.model_copy(update={"race": _with_mark_off(card.race, before.race), "races": tuple(races)})


def _with_mark_off(now: Race, was: Race | None) -> Race:
    is_off = was is not None and was.abandoned and now.puts_back(was)
    return now.model_copy(update={"status": NO_LONGER_ABANDONED}) if is_off else now


def _is_same(race: Race, lost: Race) -> bool:
    is_without_id = race.race_id is None is lost.race_id
    return is_told_again(race, lost) or (is_without_id and is_there(race, lost) and is_same_race(race, lost))


def results_denied(meeting: RacingEvent, events: Iterable[RacingEvent]) -> list[RacingEvent]:
    """Results of races that an abandoned meeting expressly says are lost."""
    is_lost = lost_in(meeting, expressly=True)
    return [
        event
        for event in events
        if event.kind is EventKind.RESULT_RECEIVED
        and event.race.outcome() not in NOT_HELD
        and is_run_there(event, meeting)
        and is_lost(event.race)
    ]


def is_among_first(race: Race, number: int | None) -> bool:
    """By the numbers on the card."""
    return 0 < (race.card_number or 0) <= (number or 0)


def is_before_loss(race: Race, meeting: RacingEvent) -> bool | None:
    """Whether the race comes before the lost races. None if the number and the time do not tell."""
    until = OffTime(text=meeting.lost_from).minute_of_day
    if (first := meeting.first_lost or (meeting.races_run or 0) + 1) > 1 and race.card_number:
        return race.card_number < first
    is_early = set() if until is None else {at < until for at in race.local_minutes}
    return is_early.pop() if len(is_early) == 1 else None


def _is_known_in_utc_alone(race: Race, meeting: RacingEvent) -> bool:
    """True if the off is known in UTC alone, and the meeting is lost from a local time on."""
    return meeting.lost_from is not None and race.off.off_at is not None and race.off.local_minute is None


def lost_or_run(races: Sequence[Race], meeting: RacingEvent) -> tuple[Race, ...]:
    """The races of an abandoned meeting by the race book, without races before the loss that may be to come.

    `abandoned` is False for races that were run. Empty for "Last two races abandoned", unless the book has two races
    alone: the book may lack races.
    """
    if meeting.last_lost and (meeting.says_partly_run or len(races) != meeting.last_lost):
        return ()
    run, told = {"abandoned": False}, meeting.races_run
    known = (race.model_copy(update=run) if is_among_first(race, told) else race for race in races)
    return tuple(race for race in known if race.says_run or not is_before_loss(race, meeting))


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
    """Whether every declared runner finished. Only then messages show the declared number, as the number that ran."""
    went = race.went
    return len(went) == race.field_size and all(runner.finishing_position for runner in went)


def _line_of(race: Race, event: RacingEvent) -> tuple[object, ...] | None:
    if race.says_run or race.has_places:
        return None
    name, reason = race.title or race.number or race.race_id, own_reason(race.reason, event)
    return name, race.off, race.distance, race.race_class, race.field_size, reason and _folded(reason)


def _folded(reason: str) -> str:
    return " ".join(reason.split()).casefold()
