"""Fills in the fields that a delivery leaves out: from the race book, the list of courses and other deliveries.

Fan-out fills in events before filters are asked, and again after news. The renderer fills in each message once more.
`Race.from_book` names the filled-in fields; no filled-in field is a fact of the delivery.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from sqlmodel import Session

from bot.domain.events import EventKind, RacingEvent
from bot.domain.filters import is_same_course
from bot.domain.merging import completed_race, filled_in, filled_in_from_meeting, is_same_of_card, united
from bot.domain.races import Course, OffTime, Race
from bot.logs import get_logger
from bot.storage import racebook, reference
from bot.storage.engine import is_damage, is_unavailable

log = get_logger(__name__)

_SHARED = ("meeting_id", "region", "race_date", "course")
"""Fields that the races of a meeting take over from the meeting."""


IN_BOOK = ""
"""Stands for the race book in `_Known.by`, and sorts before every event's key."""


class _Known(NamedTuple):
    """A race, and the source: the key of an event, or IN_BOOK."""

    by: str
    race: Race


class KnownElsewhere:
    """The known races and regions. `read` reads races in bulk; `learn` and `listen` take races from the caller."""

    def __init__(self, session: Session, subscribed: Collection[str] = ()) -> None:
        """`subscribed` are the regions of channels, some of them chosen before the list of regions was read."""
        self._session = session
        listed = reference.regions(session)
        self._regions = frozenset(listed[0]) if listed else None
        self._subscribed = subscribed
        self._races: dict[str, Race] = {}
        self._by_name: dict[tuple[str, str], list[_Known]] = {}

    def coded(self, event: RacingEvent) -> RacingEvent:
        """The event with codes of the filter as its regions.

        The shape of a payload's region is not shown (Spec gap G1). A region that is no known code counts as unread,
        because nobody can have subscribed to the region: an abandonment then goes to every channel.
        """
        if event.kind is None:
            return event
        race = _in_region(event.race, self._code_of(event.race.region))
        races = tuple(_in_region(named, self._code_of(named.region)) for named in event.races)
        return event.model_copy(update={"race": race, "races": races})

    def learn(self, races: Mapping[str, Race]) -> None:
        """Add races of the race book, by id."""
        for race_id, race in races.items():
            self._races[race_id] = _in_region(race, self._code_of(race.region))
            self._add(_Known(IN_BOOK, self._races[race_id]))

    def listen(self, events: Iterable[RacingEvent]) -> None:
        """Add the races of other events, as delivered."""
        for event in events:
            said = self.coded(event.as_delivered())
            races = said.races if _is_of_meeting(said) else (said.race,)
            shared = Race(**{name: getattr(said.race, name) for name in _SHARED})
            for race in races:
                self._add(_Known(said.key, completed_race(race, shared)))

    def read(self, events: Sequence[RacingEvent]) -> None:
        """Look up the fields that these events lack in the race book: by the ids of races, and by meetings."""
        race_ids: set[str] = set()
        meeting_ids: set[str] = set()
        places: list[racebook.Place] = []
        for event in events:
            race_ids |= {race.race_id for race in (event.race, *event.races) if race.race_id and _lacks(race)}
            if not (_lists_races(event) or _lacks_place(event.race) or _has_races_without_id(event)):
                continue
            if event.race.meeting_id:
                meeting_ids.add(event.race.meeting_id)
            if event.race.race_date and event.race.course != Course():
                places.append((event.race.race_date, event.race.course))
        race_ids -= self._races.keys()
        if not (race_ids or meeting_ids or places):
            return
        try:
            with self._session.begin_nested():
                self.learn(racebook.find(self._session, race_ids, meeting_ids, places))
        except Exception as error:
            # The book is a convenience, damaged too; the alert is what people pay for.
            if is_unavailable(error) and not is_damage(error):
                raise
            log.exception("race_book_not_read", events=[event.key for event in events])

    def filled(self, event: RacingEvent, before: RacingEvent | None = None) -> RacingEvent:
        """The event, filled in. Fields that were filled in `before` stay where nothing else is known.

        Never raises: an error here would hold up every channel.
        """
        if event.kind is None:
            return event
        try:
            return self._filled(event, before)
        except Exception:
            log.exception("event_not_filled_in", event_key=event.key)
            return before or event

    def _filled(self, event: RacingEvent, before: RacingEvent | None) -> RacingEvent:
        race = event.race
        if known := self._known(race, event):
            race = filled_in(race, known, kind=event.kind)
        of_meeting = list(self._of_meeting(race, event))
        race = filled_in_from_meeting(race, of_meeting, is_meeting=_is_of_meeting(event))
        races, from_book = self._filled_races(event.model_copy(update={"race": race}), of_meeting, before)
        if _is_of_meeting(event):
            race = filled_in_from_meeting(race, races, is_meeting=True)
        if before is not None:
            race = filled_in(race, before.race, kind=event.kind)
        if race.region is None and (region := self._code_of(reference.region_of_course(self._session, race.course))):
            race = filled_in(race, Race(region=region))
        races = tuple(filled_in(named, Race(region=race.region)) if race.region else named for named in races)
        return event.model_copy(update={"race": race, "races": races, "races_from_book": from_book})

    def _filled_races(
        self, event: RacingEvent, of_meeting: list[Race], before: RacingEvent | None
    ) -> tuple[tuple[Race, ...], bool]:
        """The races that a meeting names, filled in, and False; else the known races of the meeting, and True."""
        if not _is_of_meeting(event):
            return event.races, False
        earlier = before.races if before else ()
        if event.races:
            known = [*of_meeting, *earlier]
            return tuple(self._filled_race(race, event, known) for race in event.races), False
        listed: tuple[Race, ...] = ()
        for race in (*of_meeting, *earlier):
            listed = united(listed, (race,))
        shown = [filled_in(Race(), race, kind=event.kind, named=True) for race in listed]
        return tuple(sorted(shown, key=_order)), bool(shown)

    def _filled_race(self, race: Race, event: RacingEvent, known: list[Race]) -> Race:
        same = [one for one in known if is_same_of_card(one, race)]
        for one in [*self._with_id(race, event), *same]:
            race = filled_in(race, one, kind=event.kind, named=True)
        return race

    def _known(self, race: Race, event: RacingEvent) -> Race | None:
        """The known race of an event about one race: by id, else by course, day and time."""
        if _is_of_meeting(event):
            return None
        if race.race_id:
            same = self._with_id(race, event)
        else:
            same = [one for one in self._of_meeting(race, event) if is_same_of_card(one, race)]
        return reduce(completed_race, same) if same else None

    def _of_meeting(self, race: Race, event: RacingEvent) -> Iterator[Race]:
        """The known races of a meeting: by the named races' ids, by the meeting's id, else by course and day."""
        named = [one for named in event.races for one in self._with_id(named, event)]
        near = self._near([("meeting", race.meeting_id), ("day", race.race_date)], event)
        found = [*named, *(known for known in near if _is_same_meeting(known, race))]
        return iter({id(known): known for known in found}.values())

    def _with_id(self, race: Race, event: RacingEvent) -> list[Race]:
        return self._near([("race", race.race_id)], event)

    def _near(self, names: Iterable[tuple[str, str | None]], event: RacingEvent) -> list[Race]:
        """The races under these names, of the race book first, without the event's own; always in the same order."""
        found = [one for kind, name in names if name for one in self._by_name.get((kind, name), ())]
        return [one.race for one in sorted(found, key=lambda one: one.by) if one.by != event.key]

    def _add(self, known: _Known) -> None:
        race = known.race
        for name in (("race", race.race_id), ("meeting", race.meeting_id), ("day", race.race_date)):
            kind, value = name
            if value:
                self._by_name.setdefault((kind, value), []).append(known)

    def _code_of(self, region: str | None) -> str | None:
        """The region where it is a known code, else the one code that differs from it in letter case only.

        What the service publishes goes before what somebody subscribed to while it could not be checked.
        """
        if region is None or self._regions is None or region in self._regions:
            return region
        same = [code for code in self._regions if code.casefold() == region.casefold()]
        if len(same) == 1:
            return same[0]
        return region if region in self._subscribed else None


def lacks(event: RacingEvent) -> bool:
    """Whether a message of the event would leave out place, time or races."""
    if event.kind is None:
        return False
    races = event.races if _is_of_meeting(event) else (event.race,)
    return _lacks_place(event.race) or not races or any(race.off == OffTime() for race in races)


def _in_region(race: Race, region: str | None) -> Race:
    return race if race.region == region else race.model_copy(update={"region": region})


def _is_of_meeting(event: RacingEvent) -> bool:
    return event.kind is EventKind.MEETING_ABANDONED or (
        event.kind is EventKind.RACECARD_PUBLISHED and not event.race.race_id
    )


def _lists_races(event: RacingEvent) -> bool:
    """Whether the races of a meeting have to be found, because the delivery names no races."""
    return _is_of_meeting(event) and (not event.races or event.races_from_book)


def _has_races_without_id(event: RacingEvent) -> bool:
    if _is_of_meeting(event):
        return any(race.race_id is None and _lacks(race) for race in event.races)
    return event.kind is not None and event.race.race_id is None and _lacks(event.race)


def _lacks(race: Race) -> bool:
    """Whether the race's place, time or title is missing."""
    return _lacks_place(race) or race.off == OffTime() or race.title is None


def _lacks_place(race: Race) -> bool:
    return race.region is None or race.race_date is None or race.course.name is None


def _is_same_meeting(known: Race, race: Race) -> bool:
    if known.meeting_id and race.meeting_id:
        return known.meeting_id == race.meeting_id
    same_region = not known.region or not race.region or known.region == race.region
    same_day = known.race_date is not None and known.race_date == race.race_date
    return same_region and same_day and is_same_course(known.course, race.course)


def _order(race: Race) -> tuple[str, str, str]:
    return (race.off.text or "").rjust(5), race.race_id or "", race.title or ""
