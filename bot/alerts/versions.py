"""What is news: the versions of events that are stored, against what deliveries say."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.alerts.meetings import KnownMeetings
from bot.domain.events import (
    EventKind,
    RacingEvent,
    VersionRemarks,
    brings_placings,
    changed_facts,
    is_lesser,
    united_facts,
)
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
    def only_moves(self) -> bool:
        """Whether it has nothing to say where the event was told already."""
        return not (self.rings or self.remarks.changes or self.remarks.more_races)


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
        """The version to be stored of an event; None where it is no news.

        What a delivery adds to the facts without changing any is kept all the same: the next one is compared with it.
        """
        previous, facts = self._latest.get(event.key), event.facts()
        event = event.as_delivered()
        if previous is None:
            event = self._elsewhere.filled(event)
            known: dict[str, str] = {}
            remarks = VersionRemarks(contradicts=self._contradicted(event, is_first=True))
            rings, moves = True, False
        else:
            stored, said = events.known(previous)
            newer = event.is_newer_than(stored)
            # Where the payloads say nothing, nobody knows: of two attempts that cross, the newer may come first.
            if newer is False:
                return None
            known = events.facts_of(previous)
            event = self._elsewhere.filled(completed(event, stored.as_delivered()), stored)
            remarks = self._remarks(event, stored, changed_facts(known, facts), order_unknown=newer is None)
            first_placings, moves = brings_placings(known, facts), event.place != stored.place
            if not (remarks.changes or remarks.more_races or first_placings or moves):
                events.set_facts(previous, united_facts(known, facts))
                return None
            contradicts_now = remarks.contradicts is not None and said.contradicts is None
            rings = first_placings or contradicts_now or not is_lesser(remarks.changes)
        version = events.make(
            event,
            previous.version + 1 if previous else 1,
            facts=united_facts(known, facts),
            remarks=remarks,
            inbox_id=inbox_id,
            received_at=received_at,
        )
        self._latest[event.key] = version
        self._meetings.learn(event, version)
        return News(version, event, remarks, rings, moves)

    def _remarks(
        self,
        event: RacingEvent,
        stored: RacingEvent,
        changes: dict[str, tuple[str | None, str]],
        *,
        order_unknown: bool,
    ) -> VersionRemarks:
        """What is to be said of a version that is not the first."""
        return VersionRemarks(
            changes=changes,
            order_unknown=bool(changes) and order_unknown,
            contradicts=self._contradicted(event, is_first=False),
            more_races=max(0, len(event.races) - len(stored.races)),
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
