"""Compares deliveries with stored versions: a difference is news, and becomes the next version."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks, brings_placings, changes_between
from bot.events.merge import completed
from bot.events.watched import WatchedIn
from bot.fanout.known_meetings import KnownMeetings
from bot.racedata.event_completion import KnownElsewhere


@dataclass(frozen=True)
class News:
    """`rings`: needs a new message, because Slack notifies nobody of an edit.

    Unless `is_first`, channels with the event's message are told, whatever their filters take now.
    """

    version: EventVersion
    event: RacingEvent
    remarks: VersionRemarks
    rings: bool
    is_first: bool

    @property
    def only_adds(self) -> bool:
        """True if told channels need no message."""
        return not self.rings and all(change.is_addition for change in self.remarks.changes)


class Repeat(NamedTuple):
    """A delivery without news. `event`: the stored event, with the values that the delivery adds silently."""

    event: RacingEvent
    received_at: datetime


class KnownEvents:
    """The versions of a transaction's events, stored and new.

    `repeats`: by key, of the events whose newest version was delivered again.
    """

    def __init__(self, about: Iterable[RacingEvent], meetings: KnownMeetings, elsewhere: KnownElsewhere) -> None:
        """`meetings` have read the versions of these events."""
        self._meetings = meetings
        self._elsewhere = elsewhere
        self._rows = meetings.versions_of(event_store.keys_of(about))
        self.repeats: dict[str, Repeat] = {}

    def news(self, event: RacingEvent, inbox_id: int, received_at: datetime) -> News | None:
        if event.key not in self._rows:
            remarks = VersionRemarks(contradicts=self._contradicted(event, is_first=True), had_at=_had_at(event))
            return self._made(event, remarks, inbox_id, received_at, rings=True)
        event = event.as_delivered()
        stored, said = event_store.known(self._rows[event.key][-1])
        if event.key in self.repeats:
            stored = self.repeats[event.key].event
        newer = event.is_newer_than(stored)
        # None where the payloads give no order: the newer of two crossing attempts may come first.
        before = stored.as_delivered()
        placings_come = brings_placings(before, event)
        if newer is False:
            if not placings_come:
                return None
            # An older version adds only placings.
            event = completed(before, event)
        delivered, event = event, self._elsewhere.filled(completed(event, before), stored)
        told = _as_told(stored) if placings_come else before
        remarks = self._remarks(event, delivered, before, told, received_at, order_unknown=newer is None)
        moves = event.place != stored.place
        if not (remarks.changes or placings_come or moves):
            self._keep_order(event)
            if event.kind is not None:
                self.repeats[event.key] = Repeat(event, received_at)
            return None
        # A repeat with one more value does not renew a statement that was contradicted since.
        is_stated_anew = newer or placings_come or not all(change.is_addition for change in remarks.changes)
        if said.contradicts is None and not is_stated_anew:
            remarks = remarks.model_copy(update={"contradicts": None})
        contradicts_now = remarks.contradicts is not None and said.contradicts is None
        rings = contradicts_now or any(change.rings for change in remarks.changes) or brings_placings(told, delivered)
        if rings and newer is None and (repeated := self._repeated(delivered, received_at)):
            remarks = remarks.model_copy(update={"again": repeated, "contradicts": said.contradicts})
            return self._delivered_again(event, stored, remarks, inbox_id, received_at)
        return self._made(event, remarks, inbox_id, received_at, rings=rings)

    def noted(self, event_key: str) -> WatchedIn:
        """The watched runners of the event's versions; of each channel those of the latest version with any."""
        return event_store.noted_in(self._rows.get(event_key, ()))

    def _delivered_again(
        self, event: RacingEvent, stored: RacingEvent, remarks: VersionRemarks, inbox_id: int, received_at: datetime
    ) -> News | None:
        """Reports the return of a superseded version once. The event stays unchanged."""
        if remarks.again in self._told_again(event.key):
            self._keep_order(event)
            return None
        kept = stored.model_copy(update=event.latest_order(stored))
        return self._made(kept, remarks, inbox_id, received_at, rings=False)

    def _repeated(self, delivered: RacingEvent, received_at: datetime) -> int | None:
        """The superseded version that had all delivered values."""
        for row in self._rows[delivered.key][:-1]:
            earlier = event_store.known(row)[0].as_delivered()
            changes = changes_between(earlier, delivered, received_at=received_at)
            if not changes and not brings_placings(earlier, delivered):
                return row.version
        return None

    def _told_again(self, event_key: str) -> set[int]:
        numbers = set[int]()
        for row in reversed(self._rows[event_key]):
            again = event_store.known(row)[1].again
            if again is None:
                break
            numbers.add(again)
        return numbers

    def _keep_order(self, event: RacingEvent) -> None:
        """A delivery without news may still state an order."""
        row = self._rows[event.key][-1]
        stored, _ = event_store.known(row)
        if (kept := stored.model_copy(update=event.latest_order(stored))) != stored:
            event_store.amend(row, kept)
            self._meetings.learn(kept, row)

    def _made(
        self,
        event: RacingEvent,
        remarks: VersionRemarks,
        inbox_id: int,
        received_at: datetime,
        *,
        rings: bool,
    ) -> News:
        rows = self._rows.setdefault(event.key, [])
        version = rows[-1].version + 1 if rows else 1
        row = event_store.make(event, version, remarks=remarks, inbox_id=inbox_id, received_at=received_at)
        rows.append(row)
        self._meetings.made(event, row)
        self.repeats.pop(event.key, None)
        return News(row, event, remarks, rings, is_first=version == 1)

    def _remarks(
        self,
        event: RacingEvent,
        delivered: RacingEvent,
        stored: RacingEvent,
        told: RacingEvent,
        received_at: datetime,
        *,
        order_unknown: bool,
    ) -> VersionRemarks:
        """By `delivered` values alone. `told`: the stored event, with the placings that messages show."""
        changes = changes_between(told, delivered, received_at=received_at)
        # The race book is no version.
        disputed = changes_between(stored, delivered, received_at=received_at)
        return VersionRemarks(
            changes=changes,
            order_unknown=order_unknown and any(not change.is_addition for change in disputed),
            contradicts=self._contradicted(event, is_first=False),
            had_at=_had_at(delivered, stored),
        )

    def _contradicted(self, event: RacingEvent, *, is_first: bool) -> EventKind | None:
        """The kind of the contradicted event of the same race.

        A result without placings that is marked abandoned contradicts no abandonment. Only a result's first version
        contradicts a meeting's abandonment: later, the meeting's message omits the race.
        """
        others = self._rows.get(event.contradicting_key or "")
        is_result = event.kind is EventKind.RESULT_RECEIVED
        if others and others[-1].kind:
            result = event if is_result else event_store.known(others[-1])[0]
            return None if result.race.is_lost else EventKind(others[-1].kind)
        is_named = is_result and not event.race.is_lost and self._meetings.loses(event.race.race_id)
        return EventKind.MEETING_ABANDONED if is_named and is_first else None


def _as_told(stored: RacingEvent) -> RacingEvent:
    """As delivered, with runners of the race book: messages show their placings."""
    delivered = stored.as_delivered()
    runners = {"runners": stored.race.runners}
    return delivered.model_copy(update={"race": delivered.race.model_copy(update=runners)})


def _had_at(event: RacingEvent, stored: RacingEvent | None = None) -> datetime | None:
    """The event's time, else the first attempt's time. A repeated time is left out: corrections often repeat times."""
    for moment, earlier in (
        (event.occurred_at, stored and stored.occurred_at),
        (event.first_attempt_at, stored and stored.first_attempt_at),
    ):
        if moment is not None and moment != earlier:
            return moment
    return None
