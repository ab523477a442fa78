"""From the inbox to the lanes: a stored payload becomes an event, and the event one post for each channel that asked.

All of it happens in the transaction that marks the delivery done, so that a crash leaves either nothing or everything.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from sqlmodel import Session

from bot.alerts.meetings import KnownMeetings
from bot.alerts.plan import Plan
from bot.alerts.refilling import TOLD_LATELY, Listening, fill, tell_again
from bot.alerts.versions import KnownEvents
from bot.domain.clock import Clock
from bot.domain.events import EventKind, RacingEvent
from bot.errors import StorageError, StorageUnavailable
from bot.logs import get_logger
from bot.outbox import posts
from bot.outbox.notices import Notices
from bot.outbox.waking import POLL_S, Setbacks, rest
from bot.storage import inbox, mutes, racebook, subscriptions
from bot.storage.elsewhere import KnownElsewhere
from bot.storage.engine import Database, is_damage, is_unavailable
from bot.storage.inbox import StoredDelivery
from bot.storage.subscriptions import UnreadFilter

log = get_logger(__name__)

TOGETHER = 25
"""Deliveries that share a transaction: ingest waits while it runs."""

TURN_S = 0.05
"""When another replica fans out, its turn is waited for so long: its transactions take about as much."""

POSTS_TOGETHER = 2_000
"""Posts of one transaction, reached by few deliveries where very many channels listen."""

GIVE_UP_AFTER = 5
"""Tries after which a payload that our code fails on is posted with no more than who it is for."""

NOT_PROCESSED = "it could not be processed"

ReadPayload = Callable[[bytes], RacingEvent]
Read = tuple[StoredDelivery, RacingEvent | Exception]


class Fanout:
    """Turns deliveries into posts. `posted` is set when there is something for the poster.

    `problem` is why the last turn failed; `good_turns` counts those that did not, also where nothing waited.
    """

    def __init__(
        self,
        database: Database,
        read_payload: ReadPayload,
        *,
        notices: Notices,
        clock: Clock,
        wake: asyncio.Event,
    ) -> None:
        self._database = database
        self._read_payload = read_payload
        self._notices = notices
        self._clock = clock
        self._wake = wake
        self.posted = asyncio.Event()
        self.problem: str | None = None
        self.good_turns = 0
        self._refused: int | None = None
        self._setbacks = Setbacks()

    async def run(self) -> None:
        """Fan out for ever: when woken, and every second besides."""
        while True:
            self._wake.clear()
            await rest(self._wake, await self.turn())

    async def turn(self) -> float:
        """Fan out once. Returns how many seconds may pass before it is done again, where nothing new comes."""
        try:
            await self.run_once()
        except StorageError as error:
            self.problem = str(error)
            if self._setbacks.is_news(self._clock()):
                log.warning("fanout_waits", reason=self.problem)
            return self._setbacks.wait_s
        except Exception as error:
            # A bug of ours outside of what is done with one delivery.
            self.problem = f"our own {type(error).__name__}"
            if self._setbacks.is_news(self._clock()):
                log.exception("fanout_waits", reason=self.problem)
            return self._setbacks.wait_s
        self.problem = None
        self.good_turns += 1
        self._setbacks = Setbacks()
        return POLL_S

    async def run_once(self) -> int:
        """How many deliveries were fanned out."""
        # Reading bodies is most of the work: ingest, which needs the writer, does not wait for it.
        read, learnt = await self._database.read_for_alerts(self._read_all)
        done = await self._post_all(read) if read else 0
        if learnt:
            await self._look_at(learnt)
        return done

    async def _post_all(self, read: Sequence[Read]) -> int:
        first = read[0][0].inbox_id
        singly = self._refused == first
        try:
            done = await (self._post_singly(read) if singly else self._post_together(read))
        except StorageUnavailable:
            self._refused = first
            self._setbacks.refused_alone += singly
            raise
        self._refused = None
        if done:
            self.posted.set()
        if done < len(read) or len(read) == TOGETHER:
            self._wake.set()
        return done

    async def _post_together(self, read: Sequence[Read]) -> int:
        done = await self._database.write(lambda session: self._post_those(session, read))
        if done is None:
            await asyncio.sleep(TURN_S)
        return done or 0

    async def _post_singly(self, read: Sequence[Read]) -> int:
        """How many deliveries were dealt with, each in a unit of its own, since the database refused them together.

        One that it refuses while it takes others is itself the reason, and would hold up all of them for ever. Where it
        takes none, nothing is held against any.
        """
        done, refused = 0, list[tuple[StoredDelivery, StorageUnavailable]]()
        for each in read:
            try:
                done += await self._post_together([each])
            except StorageUnavailable as error:
                refused.append((each[0], error))
        if refused and not done:
            raise refused[0][1]
        for delivery, why in refused:
            await self._database.write(partial(self._mark_refused, delivery=delivery, why=why))
        return done

    def _mark_refused(self, session: Session, *, delivery: StoredDelivery, why: StorageUnavailable) -> None:
        if inbox.still_waiting(session, [delivery.inbox_id]):
            log.error("fanout_refused", reference=inbox.reference(delivery.inbox_id), reason=str(why))
            inbox.mark_failed(session, delivery, self._clock(), f"{type(why).__name__}: {why}")

    def _read_all(self, session: Session) -> tuple[list[Read], list[str]]:
        """The waiting deliveries, and the ids of races with news in the race book."""
        return self._read_waiting(session), racebook.learnt(session)

    def _read_waiting(self, session: Session) -> list[Read]:
        return [(delivery, self._read(delivery)) for delivery in inbox.waiting(session, self._clock(), TOGETHER)]

    async def _look_at(self, learnt: Sequence[str]) -> None:
        """Tell the news of the race book. News may wait; no delivery waits for news."""
        try:
            told = await self._database.write(partial(self._tell_learnt, race_ids=learnt))
        except StorageError as error:
            log.warning("learnt_waits", reason=str(error))
            return
        if told:
            self.posted.set()
        if told and len(learnt) == racebook.TOGETHER:
            self._wake.set()

    def _tell_learnt(self, session: Session, *, race_ids: Sequence[str]) -> bool:
        """Edit the messages of the last hour about these races; False where another replica has the turn."""
        if not inbox.take_turn(session):
            return False
        try:
            with session.begin_nested():
                self._refill(session, race_ids)
        except Exception as error:
            if is_unavailable(error):
                raise
            # The messages stay as they are: the race book is a convenience.
            log.exception("learnt_not_told", races=list(race_ids))
        racebook.looked_at(session, race_ids)
        return True

    def _refill(self, session: Session, race_ids: Sequence[str]) -> None:
        listening = subscriptions.listening(session)
        elsewhere = KnownElsewhere(session, [chosen for _, chosen in listening])
        races = racebook.find(session, race_ids, ())
        elsewhere.learn(races)
        meetings = KnownMeetings(session, self._clock() - TOLD_LATELY)
        elsewhere.listen(meetings.read_around(races.values()))
        plan = Plan(session, meetings)
        tell_again(session, plan, elsewhere, meetings, listening, now=self._clock())

    def _post_those(self, session: Session, read: Sequence[Read]) -> int | None:
        """How many deliveries were dealt with, of those that still wait; None where it is another replica's turn."""
        if not inbox.take_turn(session):
            return None
        still = inbox.still_waiting(session, [delivery.inbox_id for delivery, _ in read])
        read = [(delivery, event) for delivery, event in read if delivery.inbox_id in still]
        if not read:
            return 0
        listening = subscriptions.listening(session)
        unread = [channel_id for channel_id, chosen in listening if isinstance(chosen, UnreadFilter)]
        self._notices.unread_filters(session, unread)
        try:
            with session.begin_nested():
                return self._post(session, read, listening)
        except Exception as error:
            if is_unavailable(error):
                raise
            # It is found, and logged, one at a time.
            for each in read:
                self._post_alone(session, each, listening)
        return len(read)

    def _post_alone(self, session: Session, read: Read, listening: Listening) -> None:
        """One delivery in a savepoint of its own, because one of its neighbours or itself could not be done."""
        delivery, _ = read
        try:
            with session.begin_nested():
                self._post(session, [read], listening)
        except Exception as error:
            if is_unavailable(error):
                raise
            # Whatever it was, the delivery stays in the inbox, and the others go on.
            reference = inbox.reference(delivery.inbox_id)
            log.exception("fanout_failed", reference=reference, attempts=delivery.attempts + 1)
            inbox.mark_failed(session, delivery, self._clock(), f"{type(error).__name__}: {error}")

    def _post(self, session: Session, read: Sequence[Read], listening: Listening) -> int:
        """How many deliveries were done: their new versions of events, and the posts of these, a statement for all.

        The rest is left for the next transaction where these make very many posts.
        """
        elsewhere = KnownElsewhere(session, [chosen for _, chosen in listening])
        listeners = {channel_id for channel_id, _ in listening}
        delivered = [elsewhere.coded(_raised(event)) for _, event in read]
        self._learn(session, elsewhere, delivered)
        meetings = KnownMeetings(session, self._clock() - TOLD_LATELY)
        filled = fill(elsewhere, meetings, delivered)
        told = [(delivery, event) for (delivery, _), event in zip(read, filled, strict=True)]
        muted = mutes.active(session, self._clock())
        known = KnownEvents(session, filled, meetings, elsewhere)
        plan = Plan(session, meetings)
        hurried: list[str | None] = []
        done: list[int] = []
        for delivery, event in told:
            if plan.posts >= POSTS_TOGETHER:
                break
            done.append(delivery.inbox_id)
            reference = inbox.reference(delivery.inbox_id)
            news = known.news(event, delivery.inbox_id, delivery.received_at)
            if news is None:
                log.info("same_event_again", reference=reference, event_key=event.key)
                continue
            matching = {channel_id for channel_id, chosen in listening if chosen.matches(news.event)}
            channels = sorted(matching | (plan.misled(news) & listeners))
            news.version.posts = len(channels)
            plan.add(news, channels, {} if news.remarks.contradicts else mutes.muting(muted, news.event))
            hurried += [event.race.race_id] if event.is_abandonment else []
            if event.kind is None:
                self._notices.unreadable(session, event, reference, len(channels))
            log.info("fanned_out", reference=reference, event_key=event.key, channels=len(channels))
        plan.link()
        plan.carry_out()
        tell_again(session, plan, elsewhere, meetings, listening, now=self._clock())
        posts.hurry_races(session, hurried)
        inbox.mark_done(session, done, self._clock())
        return len(done)

    def _read(self, delivery: StoredDelivery) -> RacingEvent | Exception:
        """The event of a delivery, or what our own code failed on; after many tries, no more than who is told."""
        try:
            event = self._read_payload(delivery.body)
        except Exception as error:
            if delivery.attempts < GIVE_UP_AFTER:
                return error
            log.exception("payload_not_read", reference=inbox.reference(delivery.inbox_id))
            return _as_named(delivery)
        if delivery.attempts < GIVE_UP_AFTER:
            return event
        race = event.race.model_copy(update={"runners": ()})
        return event.model_copy(update={"race": race, "races": (), "unreadable_because": NOT_PROCESSED})

    def _learn(self, session: Session, elsewhere: KnownElsewhere, read: Sequence[RacingEvent]) -> None:
        """Put the races of deliveries into the race book, at no quota, and look up missing fields."""
        races = [elsewhere.for_book(event) for event in read]
        try:
            with session.begin_nested():
                elsewhere.learn(racebook.learn(session, races, self._clock()))
                elsewhere.read([elsewhere.filled(event) for event in read])
        except Exception as error:
            # The book is a convenience, damaged too; the alert is what people pay for.
            if is_unavailable(error) and not is_damage(error):
                raise
            log.exception("race_book_not_written", events=[event.key for event in read])


def _raised(event: RacingEvent | Exception) -> RacingEvent:
    """The event; raises what reading it raised."""
    if isinstance(event, Exception):
        raise event
    return event


def _as_named(delivery: StoredDelivery) -> RacingEvent:
    """What is known of a delivery that our code fails on."""
    kind = next((kind for kind in EventKind if kind == delivery.event_name), None)
    return RacingEvent(key=delivery.event_key, kind=kind, name=delivery.event_name, unreadable_because=NOT_PROCESSED)
