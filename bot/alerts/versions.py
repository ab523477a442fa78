"""What is news: the versions of events that are stored, against what deliveries say."""

from collections.abc import Iterable
from datetime import datetime

from sqlmodel import Session

from bot.domain.events import (
    CONTRADICTIONS,
    EventKind,
    RacingEvent,
    VersionRemarks,
    brings_placings,
    changed_facts,
    united_facts,
)
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
        """The version to be stored of an event; None where it is no news.

        What a delivery adds to the facts without changing any is kept all the same: the next one is compared with it.
        """
        previous = self._latest.get(event.key)
        if previous is None:
            known: dict[str, str] = {}
            remarks: VersionRemarks | None = VersionRemarks(contradicts=self._contradicted(event))
        else:
            stored, _ = events.read(previous)
            newer = event.is_newer_than(stored)
            # Where the payloads say nothing, the order of receipt does.
            if newer is False or (newer is None and received_at < previous.received_at):
                return None
            known = events.facts_of(previous)
            remarks = self._remarks(event, known, order_unknown=newer is None)
            if remarks is None:
                events.set_facts(previous, united_facts(known, event.facts()))
        if remarks is None:
            return None
        version = events.make(
            event,
            previous.version + 1 if previous else 1,
            facts=united_facts(known, event.facts()),
            remarks=remarks,
            inbox_id=inbox_id,
            received_at=received_at,
        )
        self._latest[event.key] = version
        if event.race.race_id and event.kind:
            self._kinds.add((event.race.race_id, event.kind))
        return version

    def _remarks(self, event: RacingEvent, known: dict[str, str], *, order_unknown: bool) -> VersionRemarks | None:
        """What is to be said of a version that is not the first; None where it changes nothing."""
        facts = event.facts()
        changes = changed_facts(known, facts)
        if not changes and not brings_placings(known, facts):
            return None
        return VersionRemarks(
            changes=changes, order_unknown=bool(changes) and order_unknown, contradicts=self._contradicted(event)
        )

    def _contradicted(self, event: RacingEvent) -> EventKind | None:
        """The kind of event that was received of the same race, and can't be true together with this one."""
        other = CONTRADICTIONS.get(event.kind) if event.kind else None
        return other if other and (event.race.race_id, other) in self._kinds else None
