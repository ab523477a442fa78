"""From the inbox to the lanes: a stored payload becomes an event, and the event one post for each channel that asked.

All of it happens in the transaction that marks the delivery done, so that a crash leaves either nothing or everything.
"""

import asyncio
from collections.abc import Callable, Sequence

from sqlmodel import Session

from bot.alerts.notices import Notices
from bot.domain.clock import Clock
from bot.domain.events import CONTRADICTIONS, EventKind, RacingEvent, VersionRemarks, changed_facts
from bot.domain.filters import ChannelFilter
from bot.errors import StorageError
from bot.logs import get_logger
from bot.storage import events, inbox, posts, racebook, subscriptions
from bot.storage.engine import Database
from bot.storage.inbox import StoredDelivery
from bot.storage.posts import NewPost, Priority
from bot.storage.reference import find_region
from bot.storage.tables import EventVersion

log = get_logger(__name__)

TOGETHER = 25
"""Deliveries that share a transaction: ingest waits while it runs."""

POLL_S = 1.0
"""The truth is in the table; a wake-up only makes it quicker."""

GIVE_UP_READING_AFTER = 5
"""Tries after which a payload that our code fails on is posted as one that can't be read."""

ReadPayload = Callable[[bytes], RacingEvent]
Listening = Sequence[tuple[str, ChannelFilter]]


class Fanout:
    """Turns deliveries into posts. `posted` is set when there is something for the poster."""

    def __init__(
        self, database: Database, read_payload: ReadPayload, *, notices: Notices, clock: Clock, wake: asyncio.Event
    ) -> None:
        self._database = database
        self._read_payload = read_payload
        self._notices = notices
        self._clock = clock
        self._wake = wake
        self.posted = asyncio.Event()

    async def run(self) -> None:
        """Fan out for ever: when woken, and every second besides."""
        while True:
            self._wake.clear()
            try:
                done = await self.run_once()
            except StorageError as error:
                log.warning("fanout_waits", reason=str(error))
                done = 0
            if done < TOGETHER:
                await _wait(self._wake, POLL_S)

    async def run_once(self) -> int:
        """How many deliveries were fanned out."""
        done = await self._database.write(self._take_and_post)
        if done:
            self.posted.set()
        return done

    def _take_and_post(self, session: Session) -> int:
        deliveries = inbox.take_new(session, self._clock(), TOGETHER)
        listening = subscriptions.listening(session) if deliveries else []
        for delivery in deliveries:
            self._post_one(session, delivery, listening)
        return len(deliveries)

    def _post_one(self, session: Session, delivery: StoredDelivery, listening: Listening) -> None:
        reference = inbox.reference(delivery.inbox_id)
        try:
            with session.begin_nested():
                event = self._read(delivery)
                self._post(session, delivery, event, listening)
                inbox.mark_done(session, delivery.inbox_id, self._clock())
        except Exception as error:
            # Whatever it was, the delivery stays in the inbox, and the others go on.
            log.exception("fanout_failed", reference=reference, attempts=delivery.attempts + 1)
            inbox.mark_failed(session, delivery, self._clock(), f"{type(error).__name__}: {error}")

    def _read(self, delivery: StoredDelivery) -> RacingEvent:
        if delivery.attempts >= GIVE_UP_READING_AFTER:
            return RacingEvent(key=delivery.event_key, unreadable_because="it could not be processed")
        return self._read_payload(delivery.body)

    def _post(self, session: Session, delivery: StoredDelivery, event: RacingEvent, listening: Listening) -> None:
        reference = inbox.reference(delivery.inbox_id)
        event = _with_region(session, event)
        self._learn(session, event, reference)
        previous = events.latest(session, event.key)
        remarks = _remarks(session, event, previous)
        if remarks is None:
            log.info("same_event_again", reference=reference, event_key=event.key)
            return
        version = previous.version + 1 if previous else 1
        row = events.add(
            session, event, version, remarks=remarks, inbox_id=delivery.inbox_id, received_at=delivery.received_at
        )
        channels = sorted({channel_id for channel_id, chosen in listening if chosen.matches(event)})
        if event.is_abandonment and event.race.race_id:
            posts.hurry_race(session, event.race.race_id)
        priority = Priority.ABANDONMENT if event.is_abandonment else Priority.OTHER
        posts.add(
            session,
            [
                NewPost(channel_id, f"{event.key}#{version}@{channel_id}", priority, delivery.received_at, row.id)
                for channel_id in channels
            ],
        )
        row.posts = len(channels)
        if event.kind is None:
            self._notices.unreadable(session, event, reference)
        log.info("fanned_out", reference=reference, event_key=event.key, version=version, channels=len(channels))

    def _learn(self, session: Session, event: RacingEvent, reference: str) -> None:
        """Put what the delivery says of races into the race book: it cost no quota."""
        try:
            with session.begin_nested():
                racebook.put(session, [event.race, *event.races], self._clock())
        except Exception:
            # The book is a convenience; the alert is what people pay for.
            log.exception("race_book_not_written", reference=reference)


def _remarks(session: Session, event: RacingEvent, previous: EventVersion | None) -> VersionRemarks | None:
    """What is to be said of this version; None where it is no news: nothing changed, or it is the older one."""
    contradicts = _contradicted(session, event)
    if previous is None:
        return VersionRemarks(contradicts=contradicts)
    known, _ = events.read(previous)
    changes = changed_facts(known.facts(), event.facts())
    newer = event.is_newer_than(known)
    if not changes or newer is False:
        return None
    return VersionRemarks(changes=changes, order_unknown=newer is None, contradicts=contradicts)


def _contradicted(session: Session, event: RacingEvent) -> EventKind | None:
    """The kind of event that was received of the same race, and can't be true together with this one."""
    other = CONTRADICTIONS.get(event.kind) if event.kind else None
    if other is None or event.race.race_id is None:
        return None
    return other if events.of_race(session, event.race.race_id, other) else None


def _with_region(session: Session, event: RacingEvent) -> RacingEvent:
    """The event with its region, looked up by its race or its course where the payload lacks it."""
    if event.race.region is not None or event.kind is None:
        return event
    region = find_region(session, event.race)
    return event.model_copy(update={"race": event.race.model_copy(update={"region": region})}) if region else event


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
