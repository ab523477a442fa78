"""From the inbox to the lanes: a stored payload becomes an event, and the event one post for each channel that asked.

All of it happens in the transaction that marks the delivery done, so that a crash leaves either nothing or everything.
"""

import asyncio
from collections.abc import Callable, Sequence

from sqlmodel import Session

from bot.alerts.notices import Notices
from bot.alerts.regions import KnownRegions
from bot.alerts.versions import KnownEvents
from bot.alerts.waking import rest
from bot.domain.clock import Clock
from bot.domain.events import EventKind, RacingEvent
from bot.domain.filters import ChannelFilter
from bot.errors import StorageError
from bot.logs import get_logger
from bot.storage import inbox, posts, racebook, subscriptions
from bot.storage.engine import Database, is_unavailable
from bot.storage.inbox import StoredDelivery
from bot.storage.posts import NewPost, Priority
from bot.storage.tables import EventVersion

log = get_logger(__name__)

TOGETHER = 20
"""Deliveries that share a transaction: ingest waits while it runs."""

POLL_S = 1.0
"""The truth is in the table; a wake-up only makes it quicker."""

POSTS_TOGETHER = 2_000
"""Posts of one transaction, reached by few deliveries where very many channels listen."""

GIVE_UP_AFTER = 5
"""Tries after which a payload that our code fails on is posted with no more than who it is for."""

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
        self.problem: str | None = None

    async def run(self) -> None:
        """Fan out for ever: when woken, and every second besides."""
        while True:
            self._wake.clear()
            try:
                done = await self.run_once()
                self.problem = None
            except StorageError as error:
                self.problem = str(error)
                log.warning("fanout_waits", reason=self.problem)
                done = 0
            if done < TOGETHER:
                await rest(self._wake, POLL_S)

    async def run_once(self) -> int:
        """How many deliveries were fanned out."""
        done = await self._database.write(self._take_and_post)
        if done:
            self.posted.set()
        return done

    def _take_and_post(self, session: Session) -> int:
        deliveries = inbox.take_new(session, self._clock(), TOGETHER)
        if not deliveries:
            return 0
        listening = subscriptions.listening(session)
        try:
            with session.begin_nested():
                return self._post(session, deliveries, listening)
        except Exception as error:
            if is_unavailable(error):
                raise
            # It is found, and logged, one at a time.
            for delivery in deliveries:
                self._post_alone(session, delivery, listening)
        return len(deliveries)

    def _post_alone(self, session: Session, delivery: StoredDelivery, listening: Listening) -> None:
        """One delivery in a savepoint of its own, because one of its neighbours or itself could not be done."""
        try:
            with session.begin_nested():
                self._post(session, [delivery], listening)
        except Exception as error:
            if is_unavailable(error):
                raise
            # Whatever it was, the delivery stays in the inbox, and the others go on.
            reference = inbox.reference(delivery.inbox_id)
            log.exception("fanout_failed", reference=reference, attempts=delivery.attempts + 1)
            inbox.mark_failed(session, delivery, self._clock(), f"{type(error).__name__}: {error}")

    def _post(self, session: Session, deliveries: Sequence[StoredDelivery], listening: Listening) -> int:
        """How many deliveries were done: their new versions of events, and the posts of these, a statement for all.

        The rest is left for the next transaction where these make very many posts.
        """
        regions = KnownRegions(session, {chosen.region for _, chosen in listening})
        read = [(delivery, regions.applied_to(self._read(delivery))) for delivery in deliveries]
        self._learn(session, [event for _, event in read])
        known = KnownEvents(session, [event for _, event in read])
        versions: list[tuple[EventVersion, RacingEvent, list[str]]] = []
        done: list[int] = []
        for delivery, event in read:
            if sum(version.posts for version, _, _ in versions) >= POSTS_TOGETHER:
                break
            done.append(delivery.inbox_id)
            reference = inbox.reference(delivery.inbox_id)
            version = known.next_version(event, delivery.inbox_id, delivery.received_at)
            if version is None:
                log.info("same_event_again", reference=reference, event_key=event.key)
                continue
            channels = sorted({channel_id for channel_id, chosen in listening if chosen.matches(event)})
            version.posts = len(channels)
            versions.append((version, event, channels))
            if event.kind is None:
                self._notices.unreadable(session, event, reference)
            log.info("fanned_out", reference=reference, event_key=event.key, channels=len(channels))
        session.add_all([version for version, _, _ in versions])
        session.flush()
        posts.add(session, [post for version, event, channels in versions for post in _posts(version, event, channels)])
        posts.hurry_races(session, [event.race.race_id for _, event, _ in versions if event.is_abandonment])
        inbox.mark_done(session, done, self._clock())
        return len(done)

    def _read(self, delivery: StoredDelivery) -> RacingEvent:
        """The event of a delivery; after many tries, no more of it than what decides who is told."""
        if delivery.attempts < GIVE_UP_AFTER:
            return self._read_payload(delivery.body)
        because = "it could not be processed"
        try:
            event = self._read_payload(delivery.body)
        except Exception:
            log.exception("payload_not_read", reference=inbox.reference(delivery.inbox_id))
            kind = next((kind for kind in EventKind if kind == delivery.event_name), None)
            return RacingEvent(key=delivery.event_key, kind=kind, name=delivery.event_name, unreadable_because=because)
        race = event.race.model_copy(update={"runners": ()})
        return event.model_copy(update={"race": race, "races": (), "unreadable_because": because})

    def _learn(self, session: Session, read: Sequence[RacingEvent]) -> None:
        """Put what deliveries say of races into the race book: it cost no quota."""
        try:
            with session.begin_nested():
                racebook.put(session, [race for event in read for race in (event.race, *event.races)], self._clock())
        except Exception as error:
            if is_unavailable(error):
                raise
            # The book is a convenience; the alert is what people pay for.
            log.exception("race_book_not_written", events=[event.key for event in read])


def _posts(version: EventVersion, event: RacingEvent, channels: Sequence[str]) -> list[NewPost]:
    priority = Priority.ABANDONMENT if event.is_abandonment else Priority.OTHER
    return [
        NewPost(channel_id, f"{event.key}#{version.version}@{channel_id}", priority, version.received_at, version.id)
        for channel_id in channels
    ]
