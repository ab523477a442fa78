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
        known = events.facts_of(previous) if previous else {}
        facts = event.facts()
        remarks = self._remarks(event, previous, known, received_at)
        if remarks is None:
            if previous is not None and not self._is_older(event, previous, received_at):
                events.set_facts(previous, united_facts(known, facts))
            return None
        version = events.make(
            event,
            previous.version + 1 if previous else 1,
            facts=united_facts(known, facts),
            remarks=remarks,
            inbox_id=inbox_id,
            received_at=received_at,
        )
        self._latest[event.key] = version
        if event.race.race_id and event.kind:
            self._kinds.add((event.race.race_id, event.kind))
        return version

    def _remarks(
        self, event: RacingEvent, previous: EventVersion | None, known: dict[str, str], received_at: datetime
    ) -> VersionRemarks | None:
        """What is to be said of this version; None where nothing changed, or where it is the older one."""
        contradicts = self._contradicted(event)
        if previous is None:
            return VersionRemarks(contradicts=contradicts)
        if self._is_older(event, previous, received_at):
            return None
        facts = event.facts()
        changes = changed_facts(known, facts)
        if not changes and not brings_placings(known, facts):
            return None
        stored, _ = events.read(previous)
        order_unknown = bool(changes) and event.is_newer_than(stored) is None
        return VersionRemarks(changes=changes, order_unknown=order_unknown, contradicts=contradicts)

    def _is_older(self, event: RacingEvent, previous: EventVersion, received_at: datetime) -> bool:
        """Whether the payloads say so, or, where they say nothing, whether it was received before."""
        stored, _ = events.read(previous)
        newer = event.is_newer_than(stored)
        return received_at < previous.received_at if newer is None else not newer

    def _contradicted(self, event: RacingEvent) -> EventKind | None:
        """The kind of event that was received of the same race, and can't be true together with this one."""
        other = CONTRADICTIONS.get(event.kind) if event.kind else None
        return other if other and (event.race.race_id, other) in self._kinds else None
