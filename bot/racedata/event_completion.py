"""Fills in the fields that a delivery leaves out: from the race book, the list of courses and other deliveries.

Fan-out fills in before filters are asked, and after news; the renderer once more. `Race.from_book` names the filled-in
fields, which are no facts of the delivery.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple, TypeVar

from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.conditions.table import CHOSEN_BY
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.engine import is_damage, is_unavailable
from bot.errors import RacingBotError
from bot.events.event import EventKind, RacingEvent
from bot.events.event_store import DayAndCourse, places_of
from bot.events.meeting_parts import lost_or_run
from bot.events.merge import (
    completed_race,
    completed_runners,
    filled_in,
    filled_in_from_meeting,
    in_common,
    united,
)
from bot.events.races import Course, OffTime, Race, by_letters, is_one_course, may_share_meeting
from bot.events.same_races import SAME_MAX, SameRaces, are_one
from bot.logs import get_logger
from bot.racedata import race_book_store
from bot.racedata.lexicon import Lexicon, codes_of

log = get_logger(__name__)
T = TypeVar("T")

_SHARED = ("meeting_id", "region", "race_date", "course")
"""Fields that races take over from their meeting."""


MEETING_RACES_MAX = 100
"""Races of a meeting that names no races itself."""

IN_BOOK = ""
"""The race book as a source in `_Known.by`; sorts before every event's key."""


class BookFailed(RacingBotError):
    """The race book is damaged, or our code fails on the book. Retry the transaction with `careful`."""


class _Known(NamedTuple):
    """`by` is the source: an event's key, or IN_BOOK."""

    by: str
    race: Race


@dataclass(eq=False)
class KnownElsewhere:
    """The known races and regions: `read` from the race book, `learn` and `listen` from the caller.

    A missing region is filled in by ids, or by a course with races in one region only. Courses in two regions can share
    a name, so course and day tell a race only together with the region.

    `careful`: a savepoint survives errors of the race book. Otherwise such an error ends the transaction.
    """

    session: Session
    lists: Lexicon
    subscribed: Collection[ChannelFilter] | None = None
    careful: bool = field(default=True, kw_only=True)
    _races: dict[str, Race] = field(default_factory=dict, init=False)
    _read_meetings: set[str] = field(default_factory=set, init=False)
    _read_places: set[DayAndCourse] = field(default_factory=set, init=False)
    _by_name: dict[tuple[str | None, ...], list[_Known]] = field(default_factory=dict, init=False)

    def coded(self, event: RacingEvent) -> RacingEvent:
        """The event with filter codes as regions; the delivery's own words stay in `said_region`.

        The shape of a payload's region is not shown (Spec gap G1). Without a certain code the region is unknown, and an
        abandonment goes to every channel.
        """
        if event.kind is None:
            return event
        race, races = self._coded(event.race), tuple(map(self._coded, event.races))
        is_same = race is event.race and all(now is before for now, before in zip(races, event.races, strict=True))
        return event if is_same else event.model_copy(update={"race": race, "races": races})

    def _coded(self, race: Race) -> Race:
        if "region" in race.from_book:
            return race
        said = race.said_region or race.region
        code = self._code_of(said)
        course, words = self.lists.spelled(race.course, code), said if code != said else None
        if (code, words) == (race.region, race.said_region) and course is race.course:
            return race
        return race.model_copy(update={"region": code, "said_region": words, "course": course})

    def learn(self, races: Mapping[str, Race]) -> None:
        for race_id, race in races.items():
            self._races[race_id] = race.model_copy(update={"region": self._code_of(race.region), "said_region": None})
            self._add(_Known(IN_BOOK, self._races[race_id]))

    def listen(self, events: Iterable[RacingEvent]) -> None:
        for event in events:
            said = self.coded(event.as_delivered())
            if not said.is_of_meeting:
                self._add(_Known(said.key, said.race))
                continue
            shared = Race(**{name: getattr(said.race, name) for name in _SHARED})
            # A card may name one id hundreds of times.
            once = {race.race_id or place: race for place, race in reversed(list(enumerate(said.races)))}
            for race in reversed(once.values()):
                self._add(_Known(said.key, completed_race(race, shared)))

    def read(self, events: Sequence[RacingEvent]) -> bool:
        """Look up missing fields in the race book. False if no look-up was needed."""
        race_ids: set[str] = set()
        meeting_ids: set[str] = set()
        of_places: list[Race] = []
        for event in events:
            said = event.as_delivered()
            race_ids |= {race.race_id for race in (said.race, *event.races) if race.race_id}
            by_id = event.race if said.race.race_id in self._races else said.race
            lacks = _lacks_races(said) or _lacks_place(by_id)
            if event.race.meeting_id and (lacks or by_id.region is None):
                meeting_ids.add(event.race.meeting_id)
            if lacks:
                of_places.append(event.race)
        race_ids -= self._races.keys()
        meeting_ids -= self._read_meetings
        places = places_of(of_places) - self._read_places
        if not (race_ids or meeting_ids or places):
            return False
        self._read_meetings |= meeting_ids
        self._read_places |= places
        self.look_up(lambda: race_book_store.find(self.session, race_ids, meeting_ids, places), events)
        return True

    def look_up(self, find: Callable[[], Mapping[str, Race]], events: Sequence[RacingEvent]) -> None:
        """Add the races of `find`. Raises BookFailed unless careful."""
        guarded(self.session, lambda: self.learn(find()), events, careful=self.careful)

    def filled(self, event: RacingEvent, before: RacingEvent | None = None) -> RacingEvent:
        """The event, filled in. Fields filled in `before` stay where no source knows better.

        Never raises: an error here would hold up every channel.
        """
        if event.kind is None:
            return event
        try:
            return self._filled(event, before)
        except Exception:
            log.exception("event_not_filled_in", event_key=event.key)
            return before or event

    def with_runners(self, event: RacingEvent) -> list[Race]:
        """The races of the event, with the declared runners too: a meeting's message, for one, names no runners."""
        near = SameRaces(self._at_place(event.race, event))
        return [self._with_runners(race, event, near) for race in _own_races(event)]

    def _with_runners(self, race: Race, event: RacingEvent, near: SameRaces) -> Race:
        same = _same_of_card(race, near)
        known = [*self._with_id(race, event), *(same.races if same and same.is_one else ())]
        declared = next((one.runners for one in known if one.runners), ())
        return race.model_copy(update={"runners": completed_runners(race.runners, declared)})

    def _filled(self, event: RacingEvent, before: RacingEvent | None) -> RacingEvent:
        # The list of regions may be younger than a stored event.
        event = self.coded(event) if self.lists.regions else event
        event = event.model_copy(update={"race": self._placed(event)})
        at_place = self._at_place(event.race, event)
        if event.is_of_meeting:
            return self._filled_meeting(event, at_place, before)
        race, earlier = event.race, before.race if before else None
        if race.race_id is None and (same := _same_of_card(race, SameRaces(at_place))):
            race = filled_in(race, reduce(completed_race, same.races), kind=event.kind)
            earlier = _place_of(earlier) if earlier and not same.is_one else earlier
        of_meeting, _ = self._of_meeting(race, at_place, event)
        race = filled_in_from_meeting(race, of_meeting, is_meeting=False)
        return event.model_copy(update={"race": filled_in(race, earlier, kind=event.kind) if earlier else race})

    def _filled_meeting(self, event: RacingEvent, at_place: Sequence[Race], before: RacingEvent | None) -> RacingEvent:
        """The event with its named races filled in, else with the known races of the meeting."""
        of_meeting, is_one = self._of_meeting(event.race, at_place, event)
        race = filled_in_from_meeting(event.race, of_meeting, is_meeting=True)
        earlier = before or RacingEvent(key=event.key)
        earlier_races = [
            one for one in earlier.races if is_one or (one.meeting_id and one.meeting_id == race.meeting_id)
        ]
        if event.races:
            near = SameRaces([*of_meeting, *(one for one in at_place if may_share_meeting(one, race)), *earlier_races])
            races = tuple(self._filled_race(named, event, near) for named in event.races)
        else:
            known = _listed([*of_meeting, *earlier_races], event.kind)
            races = lost_or_run(known, event)
            if event.last_lost and len(known) > event.last_lost:
                event = event.model_copy(update={"races_run": event.races_run or 0})
        race = filled_in_from_meeting(race, races, is_meeting=True, is_sure=bool(event.races))
        race = filled_in(race, earlier.race if is_one else _place_of(earlier.race), kind=event.kind)
        if race.region:
            races = tuple(filled_in(named, Race(region=race.region)) for named in races)
        from_book = bool(races) and not event.races
        return event.model_copy(update={"race": race, "races": races, "races_from_book": from_book})

    def _placed(self, event: RacingEvent) -> Race:
        race, is_meeting = event.race, event.is_of_meeting
        if not is_meeting and (same := self._with_id(race, event)):
            race = filled_in(race, reduce(completed_race, same), kind=event.kind, is_sure=True)
        race = filled_in_from_meeting(race, self._with_ids(race, event), is_meeting=is_meeting, is_sure=True)
        region = self._region_of(race)
        return race if region == race.region else filled_in(race, Race(region=region), is_sure=True)

    def _filled_race(self, race: Race, event: RacingEvent, known: SameRaces) -> Race:
        for one in self._with_id(race, event):
            race = filled_in(race, one, kind=event.kind, named=True, is_sure=True)
        same = _same_of_card(race, known)
        for one in same.races if same else ():
            race = filled_in(race, one, kind=event.kind, named=True)
        return race

    def _of_meeting(self, race: Race, at_place: Sequence[Race], event: RacingEvent) -> tuple[list[Race], bool]:
        """Also whether course and day have one meeting. Among several only ids decide."""
        by_id = self._with_ids(race, event)
        is_one = len({one.meeting_id for one in (race, *at_place) if one.meeting_id}) <= 1
        found = [*by_id, *at_place] if is_one else by_id
        return list({id(one): one for one in found}.values()), is_one

    def _at_place(self, race: Race, event: RacingEvent) -> list[Race]:
        return [known for known in self._near(_places(race), event) if self._is_same_place(known, race)]

    def _is_same_place(self, known: Race, race: Race) -> bool:
        if not is_one_course(known.course, race.course):
            return False
        region = self._region_of(known)
        if region and race.region:
            return region == race.region
        return known.course.course_id is not None and known.course.course_id == race.course.course_id

    def _region_of(self, race: Race) -> str | None:
        """The race's region, else the only region of its course, or of the country of a course outside the list.

        A region outside the list, "Victoria", is replaced only where country and listed course have one region.
        """
        if race.region or race.course == Course():
            return race.region
        region = self.lists.region_of_course(race.course)
        is_doubted = race.said_region and not (
            self.lists.lists_course(race.course) and self._code_of(race.course.country) == region
        )
        return None if is_doubted else region

    def _with_ids(self, race: Race, event: RacingEvent) -> list[Race]:
        named = [("race", race.race_id) for race in event.races]
        return self._near([*named, ("meeting", race.meeting_id)], event)

    def _with_id(self, race: Race, event: RacingEvent) -> list[Race]:
        return self._near([("race", race.race_id)], event)[:SAME_MAX]

    def _near(self, names: Iterable[tuple[str | None, ...]], event: RacingEvent) -> list[Race]:
        """The event's own races are left out, and the race book's come first."""
        found = {id(one): one for name in names if all(name) for one in self._by_name.get(name, ())}
        return [one.race for one in sorted(found.values(), key=lambda one: one.by) if one.by != event.key]

    def _add(self, known: _Known) -> None:
        race = known.race
        for name in (("race", race.race_id), ("meeting", race.meeting_id), *_places(race)):
            if all(name):
                self._by_name.setdefault(name, []).append(known)

    def _code_of(self, region: str | None) -> str | None:
        """The published code that a region is or means.

        Before the list of regions is known: the region itself if every channel with this region uses this spelling, or
        if no channel can mean its country.
        """
        if region is None or self.lists.is_region(region):
            return region
        if not self.lists.regions:
            return region if self._is_chosen(region) or self._is_of_no_channel(region) else None
        return self.lists.region_meant(region)

    def _is_chosen(self, region: str) -> bool:
        return region.casefold() in self._spellings and self._spellings[region.casefold()] <= {region}

    @cached_property
    def _spellings(self) -> Mapping[str, set[str]]:
        """The spellings in checked filters of each chosen region, by the region in lower case."""
        found = defaultdict[str, set[str]](set)
        for chosen in self._subscribed:
            found[chosen.region.casefold()] |= set() if chosen.unchecked_since else {chosen.region}
        return found

    def _is_of_no_channel(self, region: str) -> bool:
        codes = codes_of(region)
        return region in codes and frozenset() not in self._codes_chosen and codes not in self._codes_chosen

    @cached_property
    def _codes_chosen(self) -> set[frozenset[str]]:
        return {codes_of(region) for region in {one.region for one in self._subscribed} if region != ALL_REGIONS}

    @cached_property
    def _subscribed(self) -> Collection[ChannelFilter]:
        if self.subscribed is not None:
            return self.subscribed
        return [chosen for _, chosen in subscriptions.listening(self.session)]


def guarded(session: Session, use_book: Callable[[], T], events: Sequence[RacingEvent], *, careful: bool) -> T | None:
    """The result of using the race book. After a failure None if `careful`, by a savepoint; else raises BookFailed."""
    try:
        with session.begin_nested() if careful else nullcontext():
            return use_book()
    except Exception as error:
        # The book is a convenience; the alert is what people pay for.
        if is_unavailable(error) and not is_damage(error):
            raise
        if not careful:
            raise BookFailed("the race book can't be read or written") from error
        log.exception("race_book_failed", events=[event.key for event in events])
        return None


class _Same(NamedTuple):
    """Known versions of one race; or the common fields of several races, with `is_one` False."""

    races: Sequence[Race]
    is_one: bool


def _same_of_card(race: Race, known: SameRaces) -> _Same | None:
    """Two races of a day can share number or title: then only their common fields are known."""
    same = known.of(race)
    if not same:
        return None
    is_one = are_one(same)
    return _Same(same if is_one else [in_common(same)], is_one)


def _listed(known: Iterable[Race], kind: EventKind | None) -> tuple[Race, ...]:
    by_id: dict[str | int, Race] = {}
    for place, race in enumerate(known):
        name = race.race_id or place
        by_id[name] = completed_race(race, by_id[name]) if name in by_id else race
    listed: tuple[Race, ...] = ()
    for race in list(by_id.values())[:MEETING_RACES_MAX]:
        listed = united(listed, (race,))
    return tuple(
        sorted((filled_in(Race(), race, kind=kind, named=True) for race in listed), key=lambda race: race.order)
    )


def _place_of(race: Race) -> Race:
    return Race(region=race.region, race_date=race.race_date, course=race.course)


def _places(race: Race) -> tuple[tuple[str | None, ...], ...]:
    day, course = race.race_date, race.course
    return ("course", day, course.course_id), ("name", day, by_letters(course.name))


def lacks(event: RacingEvent) -> bool:
    """Whether a message of the event would lack place, time or races."""
    if event.kind is None:
        return False
    races = _own_races(event)
    return _lacks_place(event.race) or not races or any(race.off == OffTime() for race in races)


def _own_races(event: RacingEvent) -> Sequence[Race]:
    return event.races if event.is_of_meeting else (event.race,)


def _lacks_races(event: RacingEvent) -> bool:
    if event.is_of_meeting and (not event.races or event.races_from_book):
        return True
    return event.kind is not None and any(race.race_id is None and _lacks(race) for race in _own_races(event))


def _lacks(race: Race) -> bool:
    read = (getattr(race, name) for name in ("title", *CHOSEN_BY))
    return _lacks_place(race) or race.off == OffTime() or any(one is None for one in read)


def _lacks_place(race: Race) -> bool:
    """A said region is no gap, also where no list has the region: other races of the place know no better."""
    has_region = race.region is not None or race.said_region is not None
    return not has_region or race.race_date is None or race.course.name is None
