"""What is news: the versions of events that are stored, against what deliveries say."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks, brings_placings, changes_between
from bot.events.merge import completed
from bot.fanout.known_meetings import KnownMeetings
from bot.racedata.event_completion import KnownElsewhere


@dataclass(frozen=True)
class News:
    """A version that is to be told: its row, and the event with all that is known of it.

    `rings`: it is worth a message of its own, because an edit rings nobody's bell. `moves`: its region or course is
    another than before, or known now, so that it may be for other channels.
    """

    version: EventVersion
    event: RacingEvent
    remarks: VersionRemarks
    rings: bool
    moves: bool

    @property
    def only_adds(self) -> bool:
        """Whether it takes nothing back of what was told: it is worth no message where the event was told already."""
        return not self.rings and all(change.is_addition for change in self.remarks.changes)


class KnownEvents:
    """What is stored of the events that a transaction is about, read at once; kept up to date as versions are made."""

    def __init__(self, about: Iterable[RacingEvent], meetings: KnownMeetings, elsewhere: KnownElsewhere) -> None:
        """`meetings` have read the events around those that the transaction is about, and so their versions."""
        self._meetings = meetings
        self._elsewhere = elsewhere
        self._rows = meetings.versions_of(event_store.keys_of(about))

    def news(self, event: RacingEvent, inbox_id: int, received_at: datetime) -> News | None:
        """The version to be stored of an event, which is filled in; None where it is no news."""
        if event.key not in self._rows:
            remarks = VersionRemarks(contradicts=self._contradicted(event, is_first=True), had_at=_had_at(event))
            return self._made(event, remarks, inbox_id, received_at, rings=True, moves=False)
        event = event.as_delivered()
        stored, said = event_store.known(self._rows[event.key][-1])
        newer = event.is_newer_than(stored)
        # Where the payloads say nothing, nobody knows: of two attempts that cross, the newer may come first.
        before = stored.as_delivered()
        placings_come = brings_placings(before, event)
        if newer is False:
            if not placings_come:
                return None
            # Of an older version people get the placings alone that they wait for.
            event = completed(before, event)
        delivered, event = event, self._elsewhere.filled(completed(event, before), stored)
        told = _as_told(stored) if placings_come else before
        remarks = self._remarks(event, delivered, before, told, received_at, order_unknown=newer is None)
        moves = event.place != stored.place
        if not (remarks.changes or placings_come or moves):
            self._keep_order(event, stored)
            return None
        # A repeated delivery with one value more does not state anew what was contradicted since.
        is_stated_anew = newer or placings_come or not all(change.is_addition for change in remarks.changes)
        if said.contradicts is None and not is_stated_anew:
            remarks = remarks.model_copy(update={"contradicts": None})
        contradicts_now = remarks.contradicts is not None and said.contradicts is None
        rings = contradicts_now or any(change.rings for change in remarks.changes) or brings_placings(told, delivered)
        if rings and newer is None and (repeated := self._repeated(delivered, received_at)):
            remarks = remarks.model_copy(update={"again": repeated, "contradicts": said.contradicts})
            return self._delivered_again(event, stored, remarks, inbox_id, received_at)
        return self._made(event, remarks, inbox_id, received_at, rings=rings, moves=moves)

    def _delivered_again(
        self, event: RacingEvent, stored: RacingEvent, remarks: VersionRemarks, inbox_id: int, received_at: datetime
    ) -> News | None:
        """The version that tells of an overtaken one that came again; None where that was told. The event stays."""
        if remarks.again in self._told_again(event.key):
            self._keep_order(event, stored)
            return None
        kept = stored.model_copy(update=event.latest_order(stored))
        return self._made(kept, remarks, inbox_id, received_at, rings=False, moves=False)

    def _repeated(self, delivered: RacingEvent, received_at: datetime) -> int | None:
        """The number of an overtaken version that says all that was delivered: nothing tells that it is news."""
        for row in self._rows[delivered.key][:-1]:
            earlier = event_store.known(row)[0].as_delivered()
            changes = changes_between(earlier, delivered, received_at=received_at)
            if not changes and not brings_placings(earlier, delivered):
                return row.version
        return None

    def _told_again(self, event_key: str) -> set[int]:
        """The versions that were delivered again since the newest with anything new."""
        numbers = set[int]()
        for row in reversed(self._rows[event_key]):
            again = event_store.known(row)[1].again
            if again is None:
                break
            numbers.add(again)
        return numbers

    def _keep_order(self, event: RacingEvent, stored: RacingEvent) -> None:
        """What a delivery without news says of its order stays known: what was made before it is older."""
        if (kept := stored.model_copy(update=event.latest_order(stored))) != stored:
            row = self._rows[event.key][-1]
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
        moves: bool,
    ) -> News:
        rows = self._rows.setdefault(event.key, [])
        version = rows[-1].version + 1 if rows else 1
        row = event_store.make(event, version, remarks=remarks, inbox_id=inbox_id, received_at=received_at)
        rows.append(row)
        self._meetings.made(event, row)
        return News(row, event, remarks, rings, moves)

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
        """What is to be said of a version that is not the first: by what was `delivered`, not by what was filled in.

        `told` is the stored event, with the placings of the race book where messages show these.
        """
        changes = changes_between(told, delivered, received_at=received_at)
        # A delivery and the race book are no two versions of the event.
        disputed = changes_between(stored, delivered, received_at=received_at)
        return VersionRemarks(
            changes=changes,
            order_unknown=order_unknown and any(not change.is_addition for change in disputed),
            contradicts=self._contradicted(event, is_first=False),
            had_at=_had_at(delivered, stored),
        )

    def _contradicted(self, event: RacingEvent, *, is_first: bool) -> EventKind | None:
        """The kind of event that was received of the same race, and can't be true together with this one.

        A meeting's abandonment is contradicted by the first version of a result only: what comes of it after the
        meeting's own message left the race out contradicts nothing.
        """
        others = self._rows.get(event.contradicting_key or "")
        if others and others[-1].kind:
            return EventKind(others[-1].kind)
        is_named = event.kind is EventKind.RESULT_RECEIVED and bool(self._meetings.naming(event.race.race_id))
        return EventKind.MEETING_ABANDONED if is_named and is_first else None


def _as_told(stored: RacingEvent) -> RacingEvent:
    """The event as delivered, with the runners of the race book: messages show the placings of these."""
    delivered = stored.as_delivered()
    runners = {"runners": stored.race.runners}
    return delivered.model_copy(update={"race": delivered.race.model_copy(update=runners)})


def _had_at(event: RacingEvent, stored: RacingEvent | None = None) -> datetime | None:
    """When the service had a version: its own time, else that of the first attempt to deliver it; None without either.

    A time that an earlier version has too is that version's: a correction often repeats when the race settled.
    """
    for moment, earlier in (
        (event.occurred_at, stored and stored.occurred_at),
        (event.first_attempt_at, stored and stored.first_attempt_at),
    ):
        if moment is not None and moment != earlier:
            return moment
    return None
