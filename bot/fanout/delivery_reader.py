"""First step of fan-out: stored bodies become events, before the transaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from sqlmodel import Session

from bot.deliveries import inbox
from bot.deliveries.inbox import StoredDelivery
from bot.events import event_bounds
from bot.events.days import EASTERNMOST, days_in, racing_day
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race, may_be_same_course
from bot.logs import get_logger

log = get_logger(__name__)

DELIVERIES_PER_COMMIT = 25
"""Intake waits while the transaction runs."""

RACES_PER_COMMIT = 500
"""Deliveries beyond wait for the next transaction: while one runs, no delivery is read from the journal."""

READ_ATTEMPTS = 5
"""A payload that our code fails on so often is told by race and place alone."""

NOT_PROCESSED = "it could not be processed"

ReadEvents = Callable[[bytes], tuple[RacingEvent, ...]]

ReadDelivery = tuple[StoredDelivery, RacingEvent | Exception]
"""A delivery with an event of the delivery, or with the error of our code if our code fails on the payload."""


class DeliveryReader:
    def __init__(self, read_events: ReadEvents) -> None:
        self._read_events = read_events

    def waiting(self, session: Session, now: datetime, *, singly: bool = False) -> list[ReadDelivery]:
        """The most urgent deliveries, by number, with the earlier deliveries that they must not overtake.

        `singly`: each delivery gets a transaction, so no number of races is too large.
        """
        read = self.read_each if singly else self.read_some
        return read(inbox.waiting(session, now, DELIVERIES_PER_COMMIT))

    def read_some(self, deliveries: Iterable[StoredDelivery]) -> list[ReadDelivery]:
        """The first deliveries, as many as fit a commit; by number."""
        some: list[ReadDelivery] = []
        for delivery in deliveries:
            if fills_a_commit(some):
                break
            some += self.read(delivery)
        return sorted(some, key=_inbox_id)

    def read_each(self, deliveries: Iterable[StoredDelivery]) -> list[ReadDelivery]:
        return sorted((read for delivery in deliveries for read in self.read(delivery)), key=_inbox_id)

    def read(self, delivery: StoredDelivery) -> list[ReadDelivery]:
        """Each event of the delivery."""
        try:
            events = self._read_events(delivery.body)
        except Exception as error:
            if delivery.attempts < READ_ATTEMPTS:
                return [(delivery, error)]
            log.exception("payload_not_read", reference=inbox.reference(delivery.inbox_id))
            return [(delivery, _without_payload(delivery))]
        return [(delivery, _bounded(_as_of(event, delivery.received_at), delivery)) for event in events]


def fills_a_commit(read: Sequence[ReadDelivery]) -> bool:
    races = sum(1 + len(event.races) if isinstance(event, RacingEvent) else 1 for _, event in read)
    return len(read) >= DELIVERIES_PER_COMMIT or races >= RACES_PER_COMMIT


def urgent_of(read: Sequence[ReadDelivery]) -> Sequence[ReadDelivery]:
    """The abandonments, each with the earlier deliveries that may be of the same race or place.

    Each of these earlier deliveries brings such deliveries too. Without an abandonment, all deliveries.
    """
    urgent: list[ReadDelivery] = []
    for _, each in reversed([(number, [*events]) for number, events in groupby(read, key=_inbox_id)]):
        lost = any(isinstance(event, RacingEvent) and event.is_abandonment for _, event in each)
        if lost or not all(_is_apart(event, later) for _, event in each for _, later in urgent):
            urgent = [*each, *urgent]
    return urgent or read


def _inbox_id(read: ReadDelivery) -> int:
    return read[0].inbox_id


def _is_apart(event: RacingEvent | Exception, later: RacingEvent | Exception) -> bool:
    """True if two events are certainly of other races or places. No event waits for an unread later event."""
    if isinstance(later, Exception) or later.kind is None:
        return True
    if isinstance(event, Exception) or event.kind is None:
        return False
    race, other = event.race, later.race
    if race.race_id and later.named_race_ids:
        return race.race_id not in later.named_race_ids
    if race.race_date and other.race_date and race.race_date != other.race_date:
        return True
    names = [course.name.casefold() for course in (race.course, other.course) if course.name]
    return len(set(names)) > 1 and not may_be_same_course(race.course, other.course)


def _as_of(event: RacingEvent, received_at: datetime) -> RacingEvent:
    """The event. In an abandoned meeting, "abandoned": false says of a race to come that the race goes ahead."""
    if event.kind is not EventKind.MEETING_ABANDONED or not (ahead := tuple(_flagged_before_off(event, received_at))):
        return event
    lost = tuple(one for one in event.races if one not in ahead)
    return event.model_copy(
        update={"races": lost, "spared": (*event.spared, *ahead), "races_run": event.races_run or 0}
    )


def _flagged_before_off(event: RacingEvent, received_at: datetime) -> Iterator[Race]:
    for race in event.races:
        if race.abandoned is False and not race.has_places:
            today = max(days_in(race.region, received_at), default=f"{received_at + EASTERNMOST:%Y-%m-%d}")
            day, off_at = racing_day(race.race_date), race.off.off_at
            if off_at > received_at if off_at else day is not None and day.isoformat() > today:
                yield race


def _bounded(event: RacingEvent, delivery: StoredDelivery) -> RacingEvent:
    if delivery.attempts >= READ_ATTEMPTS:
        return event_bounds.plain(event, NOT_PROCESSED)
    because = event_bounds.excess(event, len(delivery.body))
    return event_bounds.plain(event, because) if because else event


def _without_payload(delivery: StoredDelivery) -> RacingEvent:
    kind = next((kind for kind in EventKind if kind == delivery.event_name), None)
    return RacingEvent(key=delivery.event_key, kind=kind, name=delivery.event_name, unreadable_because=NOT_PROCESSED)
