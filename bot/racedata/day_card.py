"""A day's card: its meetings, the outcomes of its races, and how complete the card is.

Outcomes come from the race book and all deliveries: neither source has every race.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import chain
from types import MappingProxyType

from bot.errors import ServiceError
from bot.events.days import begins_at, racing_day
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_among_first, is_part_of, is_same_place, is_there, lost_in
from bot.events.merge import completed, of_declarations
from bot.events.race_state import REPORTED_LOST, STILL_OPEN, RaceOutcome
from bot.events.races import (
    Course,
    OffTime,
    Race,
    by_letters,
    in_short,
    is_same_course,
    may_be_same_course,
    may_be_there,
)
from bot.events.same_races import SAME_MAX, is_same_race, names_of
from bot.events.typed_times import LAST_RACE, as_meant, is_off_at, read_off, read_race_number, readings


class Coverage(StrEnum):
    COMPLETE = "complete"
    """The whole day was read, and lately enough. Without races: there are none."""
    PARTIAL = "partial"
    """Some races are known; the list was not read past the day."""
    UNREAD = "unread"
    """No race is known, and the list was not read past the day."""
    OUTSIDE_WINDOW = "outside_window"
    QUOTA = "quota"
    """The month's quota, or the commands' share of the quota, stopped the reading."""
    FAILED = "failed"
    """The service refused or failed: `Card.failure`."""


STOPPED = frozenset({Coverage.QUOTA, Coverage.FAILED})


@dataclass(frozen=True)
class MeetingCard:
    course: Course
    region: str | None
    each: tuple[tuple[Race, RaceOutcome], ...] = ()

    @property
    def races(self) -> tuple[Race, ...]:
        return tuple(race for race, _ in self.each)

    @property
    def going(self) -> str | None:
        return " / ".join(dict.fromkeys(race.going for race in self.races if race.going)) or None


@dataclass(frozen=True)
class Outcomes:
    """`lost`: abandoned meetings. `partly_run`: the keys of abandoned meetings with a race that was run.

    `unplaced`: abandonments without a course, of races or meetings, that may be at the asked course.
    """

    meetings: tuple[MeetingCard, ...] = ()
    lost: tuple[RacingEvent, ...] = ()
    partly_run: frozenset[str] = frozenset()
    unplaced: tuple[RacingEvent, ...] = ()

    @property
    def each(self) -> list[tuple[Race, RaceOutcome]]:
        return [one for meeting in self.meetings for one in meeting.each]

    def count(self, *which: RaceOutcome) -> int:
        return sum(outcome in which for _, outcome in self.each)

    def in_order(self) -> list[tuple[Race, RaceOutcome]]:
        """The races of all meetings together, by off time."""
        order = order_of([race for race, _ in self.each])
        return sorted(self.each, key=lambda one: order(one[0]))


@dataclass(frozen=True)
class Card:
    """`region`, `course` and `off`: None means all. `reached` is the day that an unfinished walk had come to.

    `read_at`: when the list was last read for the whole day. `latest_at`: the latest news of a race, by list or
    delivery. `missed_off`: the asked off time, without a race. `whole`: the outcomes of all races, beside those of the
    races at `off`.
    """

    day: date
    region: str | None
    course: Course | None
    outcomes: Outcomes
    coverage: Coverage
    failure: ServiceError | None = field(default=None, compare=False)
    read_at: datetime | None = None
    latest_at: datetime | None = None
    reached: str | None = None
    data_as_of: str | None = None
    window: str | None = None
    off: str | None = None
    missed_off: str | None = None
    whole: Outcomes = field(default_factory=Outcomes)

    @property
    def meetings(self) -> tuple[MeetingCard, ...]:
        return self.outcomes.meetings

    @property
    def is_empty(self) -> bool:
        return not self.meetings and not self.outcomes.lost


def at_off(card: Card, off: str | None) -> Card:
    """The card with the races of this published time or number alone; the whole card without a fitting race.

    Where no race is off at 2:40, the 14:40 is meant.
    """
    if off is None or not card.meetings:
        return card
    each = ((one, _races_at(card, one)) for one in readings(off))
    off, races = next(((one, found) for one, found in each if found), (off, ()))
    # Each meeting has a race 3, also a lost meeting without a known race.
    is_of_each = card.course is None and read_race_number(off)
    if not races:
        offs = (race.off for meeting in card.meetings for race in meeting.races)
        return replace(card, missed_off=as_meant(off, offs))
    if len(races) == 1:
        off = read_off(races[0].races[0].off.text or "") or off
    # A lost meeting may be the meeting of an open race, as where no date was given. Other races tell their own outcome.
    still_open = [race for one in races for race, outcome in one.each if outcome in STILL_OPEN]
    lost = tuple(
        event
        for event in card.outcomes.lost
        if is_of_each
        or (not event.loses_named_races_alone and any(may_be_there(race, event.race) for race in still_open))
    )
    whole = replace(card.outcomes, unplaced=())
    return replace(card, outcomes=replace(card.outcomes, meetings=races, lost=lost), whole=whole, off=off)


def _races_at(card: Card, off: str) -> tuple[MeetingCard, ...]:
    """The races at this off time, or with this number, each in a meeting card of its own."""
    is_whole = card.coverage is Coverage.COMPLETE
    return tuple(
        replace(meeting, each=((race, outcome),))
        for meeting in card.meetings
        for numbered in [race_numbered(off, meeting.races, is_whole=is_whole)]
        for race, outcome in meeting.each
        if is_off_at(race.off, off) or race is numbered
    )


def race_numbered(wanted: str, races: Sequence[Race], *, is_whole: bool) -> Race | None:
    """The "race 3" or "last race" of a meeting's races in order.

    By published numbers; otherwise, and for the last race, only of a whole meeting.
    """
    number, in_order = read_race_number(wanted), dict(enumerate(races, 1)) if is_whole else {}
    if number == LAST_RACE:
        return in_order.get(len(races))
    numbered = {race.card_number: race for race in races if race.card_number} or in_order
    return numbered.get(int(number.rpartition(" ")[2])) if number else None


def to_come_until(race: Race) -> datetime | None:
    """The race is certainly to come before this moment: the off; without an offset, the time in the easternmost zone.

    None if the day is not known either (Spec gap G16).
    """
    if race.off.off_at:
        return race.off.off_at
    day, minute = racing_day(race.race_date), 0 if race.off.is_of_half_day else race.off.minute_of_day
    return begins_at(day) + timedelta(minutes=minute or 0) if day else None


def none_hidden(races: Iterable[Race], course: Course | None) -> bool:
    """True unless a race of uncertain course may belong to this course."""
    if course is None:
        return True
    return all(is_same_course(race.course, course) or not may_be_same_course(race.course, course) for race in races)


def _by_meeting(known: Sequence["_Known"]) -> tuple[MeetingCard, ...]:
    """A race without a course id is at the only course of its name in the region."""
    ids: dict[tuple[str | None, str | None], set[str]] = {}
    for race in (one.race for one in known):
        if race.course.course_id:
            ids.setdefault((race.region, by_letters(race.course.name)), set()).add(race.course.course_id)
    groups: dict[tuple[str, str], list[_Known]] = {}
    for one in known:
        race = one.race
        of_name = ids.get((race.region, by_letters(race.course.name)), set()) if race.course.name else set()
        course_id = race.course.course_id or (next(iter(of_name)) if len(of_name) == 1 else None)
        place = course_id or by_letters(race.course.name) or race.meeting_id or ""
        groups.setdefault((race.region or "", place), []).append(one)
    meetings = map(_meeting, groups.values())
    return tuple(sorted(meetings, key=lambda meeting: (meeting.course.name or "\uffff", meeting.region or "")))


def _meeting(known: Sequence["_Known"]) -> MeetingCard:
    races = [one.race for one in known]
    order = order_of(races)
    known = sorted(known, key=lambda one: order(one.race))
    return MeetingCard(_fullest(races), races[0].region, tuple((one.race, one.outcome) for one in known))


def _fullest(races: Sequence[Race]) -> Course:
    courses = [race.course for race in races if race.course.name] or [races[0].course]
    return next((course for course in courses if course.course_id), courses[0])


def order_of(races: Sequence[Race]) -> Callable[[Race], tuple[float, int]]:
    """By moment if all races have a moment, else by the published time. Races without a time come first."""
    if all(race.off.off_at for race in races):
        return lambda race: (race.off.off_at.timestamp() if race.off.off_at else 0, race.card_number or 0)
    return lambda race: (_minute(race.off), race.card_number or 0)


def _minute(off: OffTime) -> int:
    if off.minute_of_day is not None:
        return off.minute_of_day
    return off.off_at.hour * 60 + off.off_at.minute if off.off_at else -1


@dataclass
class _Known:
    """`lost_by`: the abandonment. `is_surely_lost`: without doubt. `back`: abandonments that were taken back.

    `reason`: of the race's own abandonment. `doubt`: of the result, BOTH or UNCERTAIN.
    """

    race: Race
    has_result: bool = False
    lost_by: RacingEvent | None = None
    is_surely_lost: bool = False
    back: list[RacingEvent] = field(default_factory=list)
    reason: str | None = None
    doubt: RaceOutcome | None = None
    may_be_lost: bool = False

    @property
    def was_run(self) -> bool:
        """False for a void race, and for a race that is lost by itself. A lost meeting may have races that were run."""
        return self._alone in {RaceOutcome.SETTLED, RaceOutcome.UNCERTAIN}

    @property
    def outcome(self) -> RaceOutcome:
        found = self._alone
        if found is RaceOutcome.OPEN and self.may_be_lost:
            return RaceOutcome.MAY_BE_LOST
        if found is RaceOutcome.ABANDONED and self.lost_by and not self.is_surely_lost:
            return RaceOutcome.IN_DOUBT
        # A loss that was taken back contradicts no result.
        doubt = None if self.back and self.doubt is RaceOutcome.BOTH else self.doubt
        return (self.was_run and doubt) or found

    @property
    def _alone(self) -> RaceOutcome:
        return self.race.outcome(has_result=self.has_result, is_lost=self.lost_by is not None)

    def lose(self, event: RacingEvent) -> None:
        is_sure = not event.in_doubt and all(event.is_later_than(back) for back in self.back)
        self.lost_by, self.is_surely_lost = event, self.is_surely_lost or is_sure

    def is_back_since(self, meeting: RacingEvent) -> bool:
        """A race of a lost meeting may be reinstated by itself, before or after."""
        return any(back.is_later_than(meeting) for back in self.back)


NO_DOUBTS: Mapping[str, RaceOutcome] = MappingProxyType({})


def outcomes_of(
    races: Iterable[Race],
    told: Sequence[RacingEvent],
    region: str | None,
    course: Course | None,
    doubts: Mapping[str, RaceOutcome] = NO_DOUBTS,
) -> Outcomes:
    """The outcomes in a region (None: all) and at a course (None: all). `doubts`: of results, by event key.

    An abandonment of unknown region counts as being there, one of unknown course is `unplaced`. A race with a result is
    never lost with its meeting. The race's own reason goes before the meeting's.
    """
    known = _KnownRaces(races)
    listed = [*known.all]
    here = [event for event in told if _is_of(event, region, known)]
    meetings = [event for event in here if event.kind is EventKind.MEETING_ABANDONED]
    lost = [event for event in meetings if not event.is_taken_back]
    for event in here:
        _add(event, known, doubts.get(event.key))
    for meeting in meetings:
        _lose(meeting, known.all)
    for meeting in lost:
        for one in _perhaps_lost(meeting, listed):
            one.may_be_lost |= not one.is_back_since(meeting)
    for one in known.all:
        one.race = one.race.model_copy(update={"reason": one.reason or one.race.reason})
    losses = [(event.race, event) for event in lost] + [(one.race, one.lost_by) for one in known.all if one.lost_by]
    placed = {event.key for race, event in losses if _is_at(race, course, is_lost=True)}
    others = ((race, event) for race, event in losses if event.key not in placed)
    unplaced = {event.key: event for race, event in others if course and may_be_same_course(race.course, course)}
    return Outcomes(
        _by_meeting([one for one in known.all if _is_at(one.race, course, is_lost=one.lost_by is not None)]),
        tuple(event for event in lost if event.key in placed),
        frozenset(event.key for event in lost if _is_partly_run(event, known.all)),
        tuple(unplaced.values()),
    )


class _KnownRaces:
    """`all` of a day, found by id, and by course and name."""

    def __init__(self, races: Iterable[Race]) -> None:
        self.all: list[_Known] = []
        self._by_name: dict[Hashable, list[_Known]] = {}
        self._by_id: dict[str, _Known] = {}
        for race in races:
            self._add(_Known(race))

    def has_id(self, race_id: str | None) -> bool:
        return race_id in self._by_id

    def find_or_add(self, told: Race) -> _Known:
        one = self._by_id.get(told.race_id or "") or self._same(told)
        if one is None:
            return self._add(_Known(told))
        before, one.race = one.race, _together(told, one.race)
        self._find_by(one, told.race_id, set(_names_at_course(one.race)) - set(_names_at_course(before)))
        return one

    def _same(self, told: Race) -> _Known | None:
        """The known race. Of hundreds of races of the same name, only some are compared."""
        named = chain.from_iterable(self._by_name.get(name, ())[:SAME_MAX] for name in _names_at_course(told))
        return next(
            (one for one in named if _may_be_at_one_place(told, one.race) and is_same_race(told, one.race)), None
        )

    def _add(self, one: _Known) -> _Known:
        self.all.append(one)
        self._find_by(one, one.race.race_id, _names_at_course(one.race))
        return one

    def _find_by(self, one: _Known, race_id: str | None, names: Iterable[Hashable]) -> None:
        if race_id:
            self._by_id[race_id] = one
        for name in names:
            self._by_name.setdefault(name, []).append(one)


def _names_at_course(race: Race) -> list[Hashable]:
    courses = [course for course in (race.course.course_id, by_letters(race.course.name)) if course]
    names = [(level, name) for level, name in enumerate(names_of(race)) if name]
    return [(course, name) for name in names for course in courses]


def _is_of(event: RacingEvent, region: str | None, known: _KnownRaces) -> bool:
    if region is None or event.race.region == region or known.has_id(event.race.race_id):
        return True
    return event.is_abandonment and event.race.region is None


def _add(event: RacingEvent, known: _KnownRaces, doubt: RaceOutcome | None) -> None:
    told = event.races if event.kind is EventKind.MEETING_ABANDONED else (event.race,)
    for race in told:
        said = {"abandoned": None} if event.is_taken_back else {}
        one = known.find_or_add(race.model_copy(update={"region": race.region or event.race.region, **said}))
        if event.kind is EventKind.RESULT_RECEIVED and race.outcome() is not RaceOutcome.ABANDONED:
            one.has_result, one.doubt = True, one.doubt or doubt
        # A meeting's own delivery may name races that were run before the meeting was lost.
        one.has_result |= event.kind is EventKind.MEETING_ABANDONED and race.says_run and not event.is_taken_back
        if event.kind is EventKind.RACE_ABANDONED and event.is_taken_back:
            one.back.append(event)
        elif event.kind is EventKind.RACE_ABANDONED:
            one.lose(event)
            one.reason = one.reason or event.reason or race.reason


def _may_be_at_one_place(one: Race, other: Race) -> bool:
    pairs = ((one.race_date, other.race_date), (one.region, other.region))
    return is_same_course(one.course, other.course) and all(a == b or not (a and b) for a, b in pairs)


def _lose(meeting: RacingEvent, known: list[_Known]) -> None:
    is_lost, is_denied = lost_in(meeting), lost_in(meeting, expressly=True)
    parts = [one for one in known if is_part_of(one.race, meeting)]
    is_more = meeting.last_lost is not None and (meeting.says_partly_run or len(parts) > meeting.last_lost)
    loses_told_alone = meeting.loses_named_races_alone or meeting.of_some or is_more
    for one in parts:
        if meeting.is_taken_back:
            one.back.append(meeting)
            continue
        lost = is_lost(one.race)
        if one.is_back_since(meeting) or (lost is None and loses_told_alone):
            continue
        if lost is False:
            one.has_result |= is_among_first(one.race, meeting.races_run)
            continue
        if is_denied(one.race) or not (one.has_result or one.race.is_settled):
            one.lose(meeting)
            status = meeting.race.status if meeting.race.is_postponed else None
            one.race = one.race.model_copy(update={"abandoned": True, "status": one.race.status or status})
        if one.outcome in REPORTED_LOST:
            one.reason = one.reason or one.race.reason or meeting.reason or meeting.race.reason


def _perhaps_lost(meeting: RacingEvent, listed: list[_Known]) -> list[_Known]:
    """The listed races of the place, if none is the meeting's; else those at the time of a lost race of another id."""
    there = [one for one in listed if is_same_place(one.race, meeting.race)]
    if not any(is_part_of(one.race, meeting) for one in listed):
        return there
    named = () if meeting.races_from_book else meeting.races
    offs = {race.off.name for race in named if not race.says_run} - {None}
    return [one for one in there if one.race.off.name in offs and is_there(one.race, meeting.race)]


def _is_partly_run(meeting: RacingEvent, known: list[_Known]) -> bool:
    """True if a race of the meeting was run, or was reinstated since. A void race, or one also lost, is no proof.

    Nor is a race of one region, where courses of several regions may be meant. A meeting may name its lost races
    alone, so a race of the same course and day counts too.
    """
    if meeting.says_partly_run:
        return True
    forms = meeting, meeting.model_copy(update={"races": ()})
    parts = [one for one in known if any(is_part_of(one.race, form) for form in forms)]
    regions = {one.race.region for one in parts if one.race.region}
    is_certain = bool(meeting.race.region or meeting.race.meeting_id) or len(regions) <= 1
    return is_certain and any(one.was_run or one.is_back_since(meeting) for one in parts)


def _together(told: Race, kept: Race) -> Race:
    """The listed region stays. Runners of the declarations alone, who may not have run, are marked as from the book."""
    if "field_size" in told.from_book:
        # The race book may know better by now.
        others = tuple(name for name in told.from_book if name != "field_size")
        told = told.model_copy(update={"field_size": None, "from_book": others})
    both = completed(RacingEvent(key="", race=told), RacingEvent(key="", race=kept)).race
    declared = of_declarations(both, told, kept)
    region, abandoned = kept.region or told.region, told.abandoned or kept.abandoned
    same_off = told.off.off_at is None and told.off.text == kept.off.text
    off = kept.off if same_off else both.off
    from_book = tuple(sorted({*both.from_book, *declared}))
    return both.model_copy(update={"region": region, "abandoned": abandoned, "off": off, "from_book": from_book})


def _is_at(race: Race, course: Course | None, *, is_lost: bool) -> bool:
    """A loss at "ASCOT (GB)" is a loss at Ascot."""
    if course is None or is_same_course(race.course, course):
        return True
    return is_lost and is_same_course(in_short(race.course), in_short(course))
