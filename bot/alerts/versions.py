"""What is news: the versions of events that are stored, against what deliveries say."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.alerts.meetings import KnownMeetings
from bot.domain.events import EventKind, RacingEvent
from bot.domain.facts import VersionRemarks, brings_placings, changes_between
from bot.domain.merging import completed
from bot.storage import events
from bot.storage.elsewhere import KnownElsewhere
from bot.storage.tables import EventVersion


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

    def __init__(
        self, session: Session, about: Iterable[RacingEvent], meetings: KnownMeetings, elsewhere: KnownElsewhere
    ) -> None:
        about = list(about)
        self._meetings = meetings
        self._elsewhere = elsewhere
        contradicting = {key for event in about if (key := event.contradicting_key)}
        self._latest = events.latest(session, contradicting.union(event.key for event in about))

    def news(self, event: RacingEvent, inbox_id: int, received_at: datetime) -> News | None:
        """The version to be stored of an event; None where it is no news."""
        previous = self._latest.get(event.key)
        event = event.as_delivered()
        if previous is None:
            event = self._elsewhere.filled(event)
            remarks = VersionRemarks(contradicts=self._contradicted(event, is_first=True), had_at=_had_at(event))
            return self._made(event, 1, remarks, inbox_id, received_at, rings=True, moves=False)
        stored, said = events.known(previous)
        newer = event.is_newer_than(stored)
        # Where the payloads say nothing, nobody knows: of two attempts that cross, the newer may come first.
        if newer is False:
            return None
        before = stored.as_delivered()
        delivered, event = event, self._elsewhere.filled(completed(event, before), stored)
        remarks = self._remarks(event, delivered, before, received_at, order_unknown=newer is None)
        first_placings, moves = brings_placings(before, delivered), event.place != stored.place
        if not (remarks.changes or first_placings or moves):
            return None
        contradicts_now = remarks.contradicts is not None and said.contradicts is None
        rings = first_placings or contradicts_now or any(change.rings for change in remarks.changes)
        return self._made(event, previous.version + 1, remarks, inbox_id, received_at, rings=rings, moves=moves)

    def _made(
        self,
        event: RacingEvent,
        version: int,
        remarks: VersionRemarks,
        inbox_id: int,
        received_at: datetime,
        *,
        rings: bool,
        moves: bool,
    ) -> News:
        row = events.make(event, version, remarks=remarks, inbox_id=inbox_id, received_at=received_at)
        self._latest[event.key] = row
        self._meetings.learn(event, row)
        return News(row, event, remarks, rings, moves)

    def _remarks(
        self,
        event: RacingEvent,
        delivered: RacingEvent,
        stored: RacingEvent,
        received_at: datetime,
        *,
        order_unknown: bool,
    ) -> VersionRemarks:
        """What is to be said of a version that is not the first: by what was `delivered`, not by what was filled in."""
        changes = changes_between(stored, delivered, received_at=received_at)
        return VersionRemarks(
            changes=changes,
            order_unknown=order_unknown and any(not change.is_addition for change in changes),
            contradicts=self._contradicted(event, is_first=False),
            had_at=_had_at(delivered, stored),
        )

    def _contradicted(self, event: RacingEvent, *, is_first: bool) -> EventKind | None:
        """The kind of event that was received of the same race, and can't be true together with this one.

        A meeting's abandonment is contradicted by the first version of a result only: what comes of it after the
        meeting's own message left the race out contradicts nothing.
        """
        other = self._latest.get(event.contradicting_key or "")
        if other and other.kind:
            return EventKind(other.kind)
        is_named = event.kind is EventKind.RESULT_RECEIVED and bool(self._meetings.naming(event.race.race_id))
        return EventKind.MEETING_ABANDONED if is_named and is_first else None


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
