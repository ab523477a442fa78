"""The versions of a transaction's events, and stored events of the same races and meetings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, product

from sqlmodel import Session

from bot.db.tables import EventVersion
from bot.desk.absorb import FillIn, Known, News, Report, absorb, as_stored, contradicted
from bot.events import event_bounds, event_store
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.event_store import Around, By
from bot.events.meeting_parts import (
    is_part_of,
    is_run_there,
    is_same_loss,
    lost_in,
    lost_with,
    marked_in,
    names_race,
    results_denied,
    taken_back,
    with_marks_off,
)
from bot.events.race_state import NOT_HELD, RaceOutcome
from bot.events.races import Race
from bot.events.same_races import is_at_one_place, is_same_race, is_told_again


@dataclass(frozen=True, kw_only=True)
class VersionNews(News):
    """`version`: as stored. `received_at`: of the last delivery. `at`: since when messages need edits."""

    version: EventVersion
    received_at: datetime
    at: datetime

    @property
    def is_begun(self) -> bool:
        """True if an earlier transaction may have told some channels."""
        return self.is_first and self.version.id is not None


RACES_AROUND_MAX = 1_500
"""The newest stored events around a transaction's events, with the races of the stored events."""


class KnownMeetings:
    """The newest versions. Events of the same days and courses since `recent` are included: messages may need edits."""

    def __init__(self, session: Session, recent: datetime) -> None:
        self._session = session
        self._recent = recent
        self._read = Around()
        self._events: dict[str, RacingEvent] = {}
        self._versions: dict[str, list[EventVersion]] = {}
        self._made: set[str] = set()
        self._silent: dict[str, RacingEvent] = {}

    def read(self, about: Iterable[RacingEvent], races: Iterable[Race] = ()) -> list[RacingEvent]:
        """Read the events around these events and races of the race book, by one statement. Returns the new events."""
        wanted = event_store.around_of(about) | event_store.around_races(races)
        versions = event_store.around(self._session, wanted - self._read, self._recent)
        self._read |= wanted
        newest = event_store.newest_first(rows[-1] for key, rows in versions.items() if key not in self._versions)
        # The transaction's own events come first.
        newest.sort(key=lambda row: (By.KEY, row.event_key) not in wanted)
        found = event_bounds.first_of((event_store.known(row)[0] for row in newest), RACES_AROUND_MAX)
        events = {event.key: event for event in found}
        self._versions |= {key: versions[key] for key in events}
        self._events |= events
        return list(events.values())

    def as_known(self, event: RacingEvent, fill_in: FillIn) -> RacingEvent:
        """The event under the key of known events of the race or meeting, which may come with an id and without.

        A race without an id gets the id. Events with two ids are never joined. An abandoned meeting takes the key of
        the only abandoned meeting of course, day and region. A loss told without a region stays another event.
        """
        if self.versions_of(event.key):
            return event
        if event.kind is EventKind.MEETING_ABANDONED:
            lost = [one for one in self.of(event) if event.is_taken_back or _is_told_of(event, one)]
            return event.model_copy(update={"key": lost[0].key}) if len(lost) == 1 else event
        if event.kind not in CONTRADICTIONS:
            return event
        own_id = event.race.race_id
        of_races = [one for one in self._events.values() if one.kind in CONTRADICTIONS]
        filled = [one if one.race.race_id else fill_in(one.as_delivered(), one) for one in of_races]
        same = [one for one in filled if is_told_again(one.race, event.race)]
        # Of one id, the events under a key without an id come later.
        same.sort(key=lambda one: one.race.race_id is None)
        races = [event.race, *(one.race for one in same)]
        if not same or not all(is_told_again(one, other) for one, other in combinations(races, 2)):
            return event
        found, race_id = same[0], own_id or same[0].race.race_id
        key = f"{event.kind}:{found.key.removeprefix(f'{found.kind}:')}"
        known = event.model_copy(update={"key": key, "race": event.race.model_copy(update={"race_id": race_id})})
        self.read([known])
        of_key = (self._events.get(one) for one in event_store.keys_of([known]))
        is_other = any(one and one.race.race_id not in {None, race_id} for one in of_key)
        return event if is_other else known

    def news(
        self, event: RacingEvent, fill_in: FillIn, inbox_id: int, received_at: datetime
    ) -> VersionNews | RacingEvent | None:
        """News becomes the next version. A delivery without news may give the stored event with silent values.

        A delivery that some channels are not told of yet gives the same news again, unless a later version told them.
        """
        stored = [row for row in self.versions_of(event.key) if row.id]
        if event.is_abandonment:
            event = event.model_copy(update={"received_at": received_at})
        # A delivery may bring several versions.
        own = (Known([_report(row)]) for row in stored if row.inbox_id == inbox_id)
        if not all(isinstance(absorb(event, one, fill_in, received_at=received_at), News) for one in own):
            return None if len(stored) > 1 else self._begun(event, stored[0], received_at)
        found = absorb(event, self._known(event), fill_in, received_at=received_at)
        if isinstance(found, News):
            return self._new_version(found, inbox_id, received_at)
        if found is not None:
            self._keep_order_and_id(found.event)
            if event.kind is not None and not found.again:
                self._silent[event.key] = found.event
                return found.event
        return None

    def _begun(self, event: RacingEvent, row: EventVersion, received_at: datetime) -> VersionNews:
        """The news for the channels that are not told yet: the race may be contradicted since."""
        stored, remarks = event if event.unreadable_because else self._events[event.key], event_store.remarks_of(row)
        if remarks.contradicts is None and (since := contradicted(stored, self._known(event))):
            remarks = event_store.note(row, contradicts=since)
        return _of_version(News(stored, remarks, rings=True, is_first=True), row, received_at)

    def _known(self, event: RacingEvent) -> Known:
        own = self._reports(event.key)
        others = self._reports(event.contradicting_key or "")
        is_first_result = not own and event.kind is EventKind.RESULT_RECEIVED
        return Known(
            own,
            self._silent.get(event.key),
            others[-1] if others else None,
            self._against(event) if event.is_abandonment or event.kind is EventKind.RACECARD_PUBLISHED else (),
            self._losing(event) if is_first_result else None,
        )

    def _against(self, event: RacingEvent) -> list[RacingEvent]:
        if event.kind is EventKind.RACE_ABANDONED:
            cards = [one for one in self._of_kind(EventKind.RACECARD_PUBLISHED) if event.race.race_id in marked_in(one)]
            lost = [one for one in self.of(event) if lost_with(event.race, one)]
            return [*lost, *(one for one in cards if one.is_later_than(event))] if event.is_reinstated else []
        back = [one for one in self._of_kind(EventKind.RACE_ABANDONED) if one.is_taken_back]
        if event.kind is EventKind.RACECARD_PUBLISHED:
            told, marked = self._events.get(event.key), marked_in(event)
            return [one for one in back if one.race.race_id in marked and told and not self._is_later(told, one)]
        results = self._of_kind(EventKind.RESULT_RECEIVED)
        run = {one.contradicting_key for one in results if one.race.outcome() not in NOT_HELD}
        return [one for one in back if one.key not in run and is_part_of(one, event) and lost_with(one.race, event)]

    def _reports(self, event_key: str) -> list[Report]:
        return [_report(row) for row in self.versions_of(event_key)]

    def _keep_order_and_id(self, event: RacingEvent) -> None:
        stored, row = self.told(event.key)
        if (kept := as_stored(event, stored)) != stored:
            event_store.amend(row, kept)
            self.learn(kept)

    def _new_version(self, found: News, inbox_id: int, received_at: datetime) -> VersionNews:
        event, rows = found.event, self._versions.setdefault(found.event.key, [])
        version = rows[-1].version + 1 if rows else 1
        row = event_store.make(event, version, remarks=found.remarks, inbox_id=inbox_id, received_at=received_at)
        rows.append(row)
        self.learn(event)
        self._made.add(event.key)
        self._silent.pop(event.key, None)
        return _of_version(found, row, received_at)

    def versions_of(self, key: str) -> list[EventVersion]:
        """The stored and the new versions of the event, the earliest first."""
        return self._versions.get(key, [])

    def has_other_of_race(self, event: RacingEvent) -> bool:
        own = event.race_ids
        return any(
            other.key == event.contradicting_key or (other.key != event.key and own & other.named_race_ids)
            for other in self._events.values()
        )

    def learn(self, event: RacingEvent) -> None:
        """Keep the event with its later values, as the newest."""
        self._events[event.key] = event

    def told_lately(self) -> list[tuple[RacingEvent, EventVersion]]:
        """Events since `recent`, without events of this transaction."""
        lately = [
            self.told(key)
            for key, rows in self._versions.items()
            if rows[-1].received_at > self._recent and key not in self._made
        ]
        # An unreadable stored event stays as stored.
        return [(event, row) for event, row in lately if event.unreadable_because is None]

    def told(self, key: str) -> tuple[RacingEvent, EventVersion]:
        """The newest version of a known event, of any age."""
        return self._events[key], self._versions[key][-1]

    def around(self, about: Iterable[RacingEvent]) -> list[RacingEvent]:
        """All known events, once the events around these are read."""
        self.read(about)
        return list(self._events.values())

    def of(self, event: RacingEvent) -> list[RacingEvent]:
        """The abandoned meetings of a race or card. Meetings that name the race come first.

        A meeting in plain form names no race, so the meeting's message says nothing of the race.
        """
        every = self._of_kind(EventKind.MEETING_ABANDONED)
        meetings = [one for one in every if not (one.unreadable_because or one.is_taken_back)]
        is_of = is_run_there if event.kind is EventKind.RESULT_RECEIVED else is_part_of
        found = [one for one in meetings if is_of(event, one)]
        return sorted(found, key=lambda meeting: names_race(meeting, event.race.race_id) is None)

    def pairs(self, keys: set[str]) -> list[tuple[RacingEvent, RacingEvent]]:
        """Each abandoned meeting and event whose message links the meeting's message, if `keys` has either.

        The events are abandonments of races without a result, racecards, and results of races that the meeting says are
        lost, unless told as contradictions. A racecard that marks a race lost is paired with the race's result.
        """
        every = self._of_kind(EventKind.MEETING_ABANDONED)
        # A first version that takes a loss back is linked nowhere.
        meetings = [one for one in every if not one.is_taken_back or len(self.versions_of(one.key)) > 1]
        lost = [one for one in self._of_kind(EventKind.RACE_ABANDONED) if not one.is_taken_back]
        lost += self._of_kind(EventKind.RACECARD_PUBLISHED)
        found = [
            (meeting, part)
            for meeting in meetings
            for part in lost
            if keys & {meeting.key, part.key} and is_part_of(part, meeting)
        ]
        self.read(part for _, part in found)
        results = self._of_kind(EventKind.RESULT_RECEIVED)
        run = {result.race.race_id for result in results} - {None}
        said = [one for one in results if not any(map(event_store.contradicted_by, self.versions_of(one.key)))]
        standing = [one for one in meetings if not one.is_taken_back]
        denied = [(meeting, result) for meeting in standing for result in results_denied(meeting, said)]
        cards = [one for one in self._of_kind(EventKind.RACECARD_PUBLISHED) if one.key in keys]
        denied += [(card, result) for card in cards for result in said if self._has_marked(card, result)]
        return [
            *((meeting, part) for meeting, part in found if part.race.race_id not in run),
            *((meeting, result) for meeting, result in denied if keys & {meeting.key, result.key}),
        ]

    def _has_marked(self, card: RacingEvent, result: RacingEvent) -> bool:
        """Whether the card, or its version before, marks a race abandoned that was run."""
        rows = self.versions_of(card.key)[-2:] if result.race.race_id in card.race_ids else ()
        is_run = result.race.outcome() not in NOT_HELD
        return is_run and any(result.race.race_id in marked_in(event_store.known(row)[0]) for row in rows)

    def _losing(self, event: RacingEvent) -> EventKind | None:
        """The kind of an event by which the race is lost: an abandoned meeting, else a racecard."""
        back = self._events.get(event.contradicting_key or "")
        stand = [one for one in self.of(event) if not (back and back.is_taken_back and back.is_later_than(one))]
        if any(lost_in(meeting)(event.race) for meeting in stand):
            return EventKind.MEETING_ABANDONED
        cards = self._of_kind(EventKind.RACECARD_PUBLISHED)
        is_lost = any(race.outcome() is RaceOutcome.ABANDONED for _, race in _as_named(event.race.race_id, cards))
        return EventKind.RACECARD_PUBLISHED if is_lost else None

    def taken_back(self, event: RacingEvent) -> list[RacingEvent]:
        """The abandonments that a racecard takes back, each as a later version. A late abandonment may be older."""
        if event.kind is EventKind.RACECARD_PUBLISHED:
            rows = self.versions_of(event.key)
            card = with_marks_off(event, event_store.known(rows[-2])[0]) if len(rows) > 1 else event
            pairs = [(one, card) for one in self._events.values() if one.is_abandonment]
        elif event.is_abandonment and not event.is_taken_back:
            cards = self._of_kind(EventKind.RACECARD_PUBLISHED)
            pairs = [(event, card) for card in cards if card.is_later_than(event)]
        else:
            return []
        return [*filter(None, (taken_back(one, card) for one, card in pairs))]

    def replaced(self, event: RacingEvent) -> set[str]:
        """The keys of events whose messages the event replaces.

        - Results in conflict with a loss that the event takes back.
        - Cards that mark the race lost, when the race is reinstated, or lost again.
        - Losses that were taken back before the event reports the race, or the meeting, lost.
        - The same loss, told before with a region where the event has none, or without where the event has one.
        """
        versions = self.versions_of(event.key)
        is_turned = event.is_abandonment and any(event_store.known(row)[0].is_taken_back for row in versions[-2:])
        cards = self._of_kind(EventKind.RACECARD_PUBLISHED) if is_turned else []
        found = {one.key for one in cards if event.race.race_id in marked_in(one) and not one.is_later_than(event)}
        if event.is_taken_back:
            results = self._of_kind(EventKind.RESULT_RECEIVED)
            run = [one.key for one in results if event.is_of_meeting and is_run_there(one, event)]
            own = run or [event.contradicting_key or ""]
            return found | {
                key for key in own if any(map(event_store.contradicted_by, [*versions, *self.versions_of(key)]))
            }
        alike = self._of_kind(event.kind) if event.is_abandonment and len(versions) == 1 else []
        same = {
            one.key
            for one in alike
            if None in {one.race.region, event.race.region} and not one.is_taken_back and is_same_loss(one, event)
        }
        lost = marked_in(event)
        races = self._of_kind(EventKind.RACE_ABANDONED) if lost else []
        back = [one for one in races if one.is_taken_back and one.race.race_id in lost]
        back += self._against(event) if event.kind is EventKind.MEETING_ABANDONED else []
        return (found | same | {one.key for one in back if not one.is_later_than(event)}) - {event.key}

    def also_losing(self, race: Race, but: str) -> list[str]:
        """The other events that report the loss of the race, without events before a report that the race is run."""
        said = [
            (event, lost)
            for event, named in _as_named(race.race_id, self._events.values())
            if event.key != but and event.unreadable_because is None
            if (lost := _says_lost(event, named, race)) is not None
        ]
        run = [event for event, lost in said if not lost]
        return [event.key for event, lost in said if lost and not any(self._is_later(one, event) for one in run)]

    def _is_later(self, one: RacingEvent, other: RacingEvent) -> bool:
        is_later = one.is_later_than(other)
        if is_later is not None:
            return is_later
        return self.versions_of(one.key)[-1].received_at >= self.versions_of(other.key)[-1].received_at

    def _of_kind(self, kind: EventKind | None) -> list[RacingEvent]:
        return [event for event in self._events.values() if event.kind is kind]


def _is_told_of(event: RacingEvent, meeting: RacingEvent) -> bool:
    """Whether two deliveries are of one abandoned meeting. Two lists without a common race are of two meetings."""
    each, named = event.as_delivered().races, meeting.as_delivered().races
    is_shared = any(is_same_race(one, other) for one, other in product(each, named))
    return is_at_one_place(event.race, meeting.race) and (is_shared or not (each and named))


def _report(row: EventVersion) -> Report:
    return Report(row.version, *event_store.known(row))


def _of_version(news: News, row: EventVersion, received_at: datetime) -> VersionNews:
    said = news.event, news.remarks, news.rings, news.is_first
    return VersionNews(*said, version=row, received_at=received_at, at=received_at)


def _as_named(race_id: str | None, events: Iterable[RacingEvent]) -> Iterator[tuple[RacingEvent, Race]]:
    """The race as each event describes the race: as its own, or as a race of a meeting."""
    for event in events:
        for race in (event.race, *event.races):
            if race.race_id == race_id is not None:
                yield event, race


def _says_lost(event: RacingEvent, named: Race, race: Race) -> bool | None:
    """Whether the event's named race is lost. None in doubt, for a void race, and where one of the two is postponed."""
    if event.in_doubt:
        return None
    if event.kind is EventKind.RACECARD_PUBLISHED:
        lost = named.abandoned
    elif event.kind is EventKind.RESULT_RECEIVED:
        lost = None if named.is_void else named.outcome() is RaceOutcome.ABANDONED
    else:
        lost = not event.is_taken_back and (event.kind is EventKind.RACE_ABANDONED or not named.says_run)
    return None if lost and named.is_postponed != race.is_postponed else lost
