"""What is news: the versions of events that are stored, against what deliveries say."""

from collections.abc import Iterable
from datetime import datetime

from sqlmodel import Session

from bot.domain.events import CONTRADICTIONS, EventKind, RacingEvent, VersionRemarks, changed_facts
from bot.storage import events
from bot.storage.tables import EventVersion


class KnownEvents:
    """What is stored of the events that a transaction is about, read at once; kept up to date as versions are made."""

    def __init__(self, session: Session, about: Iterable[RacingEvent]) -> None:
        about = list(about)
        self._latest = events.latest(session, {event.key for event in about})
        races = {event.race.race_id for event in about if event.race.race_id and event.kind in CONTRADICTIONS}
        self._kinds = events.kinds_of_races(session, races)

    def next_version(self, event: RacingEvent, inbox_id: int, received_at: datetime) -> EventVersion | None:
        """The version to be stored of an event; None where it is no news: nothing changed, or it is the older one."""
        previous = self._latest.get(event.key)
        remarks = self._remarks(event, previous)
        if remarks is None:
            return None
        version = events.make(
            event,
            previous.version + 1 if previous else 1,
            remarks=remarks,
            inbox_id=inbox_id,
            received_at=received_at,
        )
        self._latest[event.key] = version
        if event.race.race_id and event.kind:
            self._kinds.add((event.race.race_id, event.kind))
        return version

    def _remarks(self, event: RacingEvent, previous: EventVersion | None) -> VersionRemarks | None:
        contradicts = self._contradicted(event)
        if previous is None:
            return VersionRemarks(contradicts=contradicts)
        known, _ = events.read(previous)
        changes = changed_facts(known.facts(), event.facts())
        newer = event.is_newer_than(known)
        if not changes or newer is False:
            return None
        return VersionRemarks(changes=changes, order_unknown=newer is None, contradicts=contradicts)

    def _contradicted(self, event: RacingEvent) -> EventKind | None:
        """The kind of event that was received of the same race, and can't be true together with this one."""
        other = CONTRADICTIONS.get(event.kind) if event.kind else None
        return other if other and (event.race.race_id, other) in self._kinds else None
