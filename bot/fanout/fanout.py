"""From the inbox to the lanes: a stored payload becomes an event, and the event one post for each channel that asked.

All of it happens in the transaction that marks the delivery done, so that a crash leaves either nothing or everything.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from sqlmodel import Session

from bot.channels import mutes
from bot.channels.subscriptions import UnreadFilter
from bot.clock import Clock
from bot.db.engine import Database, is_unavailable
from bot.deliveries import inbox
from bot.deliveries.inbox import StoredDelivery
from bot.errors import StorageError, StorageUnavailable
from bot.events.event import EventKind, RacingEvent
from bot.fanout import drill_fanout
from bot.fanout.completion_edits import TOLD_LATELY, fill, tell_again
from bot.fanout.known_meetings import KnownMeetings
from bot.fanout.news import KnownEvents
from bot.fanout.plan import Plan
from bot.logs import get_logger
from bot.outbox import memory, message_store
from bot.outbox.claim_at_fanout import Added, Tells
from bot.outbox.memory import Kept, Known
from bot.outbox.message_store import NewPost
from bot.outbox.notices import Notices
from bot.outbox.wakeup import POLL_S, Setbacks, rest
from bot.racedata import race_book_store
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)

TOGETHER = 25
"""Deliveries that share a transaction: ingest waits while it runs."""

LONG_BODIES = 32_768
"""Bytes of bodies, from which on a thread of its own reads them: the loop answers deliveries meanwhile."""

REST = 3.0
"""While deliveries keep coming, the fan-out of a backlog rests for so many times as long as it works."""

APART_S = 0.008
"""Two transactions begin so far apart: deliveries that follow one another closely share the second."""

TURN_S = 0.05
"""When another replica fans out, its turn is waited for so long: its transactions take about as much."""

NAMED = 500
"""Races of abandoned meetings whose results are looked for: no real day has as many."""

POSTS_TOGETHER = 2_000
"""Posts of one transaction, reached by few deliveries where very many channels listen."""

GIVE_UP_AFTER = 5
"""Tries after which a payload that our code fails on is posted with no more than who it is for."""

NOT_PROCESSED = "it could not be processed"

ReadPayload = Callable[[bytes], RacingEvent]
Read = tuple[StoredDelivery, RacingEvent | Exception]


class Arrivals(Protocol):
    """Where deliveries come from that were stored a moment ago; see bot.deliveries.ingest."""

    stored_count: int
    """How many were stored so far."""

    def hand_over(self) -> list[StoredDelivery] | None:
        """Those that were stored since the last call; None where there are too many."""


class Outbox(Protocol):
    """Where messages go; see bot.outbox.poster."""

    def add(
        self, session: Session, new: Sequence[NewPost], tells: Tells, known: Known, *, now: datetime, began_s: float
    ) -> Added:
        """Make new messages. Those that can be sent at once are claimed.

        `began_s`: a moment before `now`, by this process's monotonic clock.
        """

    def begin(self, added: Added) -> None:
        """Send what was claimed, after the commit."""


@dataclass(frozen=True)
class Line:
    """A line of the log on a delivery, written after the commit: what was rolled back is told by no line."""

    event: str
    fields: Mapping[str, object]


@dataclass(frozen=True)
class Done:
    """How many deliveries need nothing more after a transaction, what became of their messages, and the log's lines."""

    deliveries: int = 0
    added: Added = field(default_factory=Added)
    lines: Sequence[Line] = ()


class Fanout:
    """Turns deliveries into posts.

    `problem` is why the last turn failed; `good_turns` counts those that did not, also where nothing waited.
    """

    def __init__(
        self,
        database: Database,
        read_payload: ReadPayload,
        *,
        arrivals: Arrivals,
        outbox: Outbox,
        notices: Notices,
        clock: Clock,
        wake: asyncio.Event,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._read_payload = read_payload
        self._arrivals = arrivals
        self._outbox = outbox
        self._notices = notices
        self._clock = clock
        self._wake = wake
        self._monotonic = monotonic
        self._kept = Kept()
        self._stopping = False
        self._is_behind = True
        self._looked_at_s = -POLL_S
        self.problem: str | None = None
        self.good_turns = 0
        self._refused: int | None = None
        self._setbacks = Setbacks()

    async def run(self) -> None:
        """Fan out until told to stop: when woken, and every second besides. To cancel it would leave claims unsent."""
        while not self._stopping:
            self._wake.clear()
            stored, began_s = self._arrivals.stored_count, self._monotonic()
            wait_s = await self.turn()
            took_s = self._monotonic() - began_s
            if self._is_behind and self._arrivals.stored_count > stored:
                # Deliveries that are being stored go before those that are on disk already.
                await asyncio.sleep(took_s * REST)
            elif took_s < APART_S:
                await asyncio.sleep(APART_S - took_s)
            await rest(self._wake, wait_s)

    def stop(self) -> None:
        """Begin nothing more: `run` ends once what it is at is done."""
        self._stopping = True
        self._wake.set()

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
        return max(0.0, POLL_S - (self._monotonic() - self._looked_at_s))

    def post_within(self, session: Session, deliveries: Sequence[StoredDelivery], now: datetime) -> Done:
        """Fan deliveries out in the given order, and queue the messages.

        In a transaction that has its turn (`inbox.take_turn`). The last deliveries are put back where there are very
        many posts. Raises the error of our own code. `log_lines` is for after the commit.
        """
        taken = inbox.take(session, deliveries, now).inbox_ids
        read = [(delivery, self._read(delivery)) for delivery in deliveries if delivery.inbox_id in taken]
        return self._post(session, read, memory.read(session, now), now)

    async def run_once(self) -> int:
        """How many deliveries were fanned out: those that were stored just now, else those that the inbox has."""
        handed_over = self._arrivals.hand_over()
        # However many are handed over: the inbox also has deliveries that failed, and those of dead replicas.
        is_fresh = self._monotonic() - self._looked_at_s < POLL_S
        if handed_over and is_fresh and not self._is_behind:
            return await self._post_all(await self._read_here(handed_over), in_order=True)
        # Reading bodies is most of the work: ingest, which needs the writer, does not wait for it.
        read, learnt = await self._database.read_for_alerts(self._read_all)
        self._looked_at_s = self._monotonic()
        self._is_behind = len(read) >= TOGETHER
        done = await self._post_all(read) if read else 0
        if learnt:
            await self._look_at(learnt)
        return done

    async def _read_here(self, deliveries: Sequence[StoredDelivery]) -> list[Read]:
        if sum(len(delivery.body) for delivery in deliveries) > LONG_BODIES:
            return await asyncio.to_thread(self._read_each, deliveries)
        return self._read_each(deliveries)

    async def _post_all(self, read: Sequence[Read], *, in_order: bool = False) -> int:
        first = read[0][0].inbox_id
        singly = self._refused == first
        try:
            done = await (self._post_singly(read) if singly else self._post_together(read, in_order=in_order))
        except Exception as error:
            self._is_behind = True
            self._kept.forget()
            if isinstance(error, StorageUnavailable):
                self._refused = first
                self._setbacks.refused_alone += singly
            raise
        self._refused = None
        if done < len(read):
            self._is_behind = True
        if self._is_behind:
            self._wake.set()
        return done

    async def _post_together(self, read: Sequence[Read], *, in_order: bool = False) -> int:
        try:
            done = await self._database.write(lambda session: self._post_those(session, read, in_order=in_order))
        except StorageError:
            raise
        except Exception:  # noqa: BLE001  one of them can't be done: it is found, and logged, one at a time
            self._kept.forget()
            done = await self._database.write(lambda session: self._post_apart(session, read))
        if done is None:
            await asyncio.sleep(TURN_S)
            return 0
        log_lines(done.lines)
        self._kept.has_queues(done.added.queues)
        self._outbox.begin(done.added)
        return done.deliveries

    async def _post_singly(self, read: Sequence[Read]) -> int:
        """How many deliveries were dealt with, each in a unit of its own, since the database refused them together.

        A delivery that the database refuses while it takes others is itself the reason, and would hold up all of them
        for ever: so it is held back. Where the database takes none, none is held back. A database that comes back
        meanwhile must not put a delivery behind later ones: each is tried twice, and once more after the others.
        """
        done, refused = 0, list[tuple[Read, StorageUnavailable]]()
        for each in read:
            try:
                done += await self._post_twice(each)
            except StorageUnavailable as error:
                refused.append((each, error))
        if refused and not done:
            raise refused[0][1]
        for each, _ in refused:
            done += await self._post_or_hold_back(each)
        return done

    async def _post_twice(self, read: Read) -> int:
        """The second try has a new connection, where the first found that of a database which was restarted."""
        try:
            return await self._post_together([read])
        except StorageUnavailable:
            return await self._post_together([read])

    async def _post_or_hold_back(self, read: Read) -> int:
        try:
            return await self._post_together([read])
        except StorageUnavailable as error:
            await self._database.write(partial(self._mark_refused, delivery=read[0], why=error))
            return 0

    def _mark_refused(self, session: Session, *, delivery: StoredDelivery, why: StorageUnavailable) -> None:
        if inbox.take(session, [delivery], self._clock()).inbox_ids:
            log.error("fanout_refused", reference=inbox.reference(delivery.inbox_id), reason=str(why))
            inbox.mark_failed(session, delivery, self._clock(), f"{type(why).__name__}: {why}")

    def _read_all(self, session: Session) -> tuple[list[Read], list[str]]:
        """The waiting deliveries, and the ids of races with news in the race book."""
        return self._read_waiting(session), race_book_store.learnt(session)

    def _read_waiting(self, session: Session) -> list[Read]:
        """The most urgent, with the results of races that an abandoned meeting names: it overtakes none of them."""
        now = self._clock()
        read = self._read_each(inbox.waiting(session, now, TOGETHER))
        taken = {delivery.inbox_id for delivery, _ in read}
        results = inbox.results_waiting(session, now, _named(read), TOGETHER)
        read += self._read_each(delivery for delivery in results if delivery.inbox_id not in taken)
        return sorted(read, key=lambda each: inbox.receipt(each[0]))

    def _read_each(self, deliveries: Iterable[StoredDelivery]) -> list[Read]:
        return [(delivery, self._read(delivery)) for delivery in sorted(deliveries, key=inbox.receipt)]

    async def _look_at(self, learnt: Sequence[str]) -> None:
        """Tell the news of the race book. News may wait; no delivery waits for news."""
        try:
            added = await self._database.write(partial(self._tell_learnt, race_ids=learnt))
        except StorageError as error:
            log.warning("learnt_waits", reason=str(error))
            return
        if added is None:
            return
        self._outbox.begin(added)
        if len(learnt) == race_book_store.RACES_PER_QUERY:
            self._is_behind = True
            self._wake.set()

    def _tell_learnt(self, session: Session, *, race_ids: Sequence[str]) -> Added | None:
        """Edit the messages of the last hour about these races; None where another replica has the turn."""
        now = inbox.take_turn(session, self._clock)
        if now is None:
            return None
        try:
            with session.begin_nested():
                self._refill(session, race_ids)
        except Exception as error:
            if is_unavailable(error):
                raise
            # The messages stay as they are: the race book is a convenience.
            log.exception("learnt_not_told", races=list(race_ids))
        race_book_store.looked_at(session, race_ids)
        return Added(waiting=len(race_ids))

    def _refill(self, session: Session, race_ids: Sequence[str]) -> None:
        known = memory.read(session, self._clock())
        elsewhere = KnownElsewhere(session, known.lists, known.filters)
        races = race_book_store.find(session, race_ids, ())
        elsewhere.learn(races)
        meetings = KnownMeetings(session, self._clock() - TOLD_LATELY)
        elsewhere.listen(meetings.read_around(races.values()))
        plan = Plan(session, meetings)
        tell_again(session, plan, elsewhere, meetings, known, now=self._clock())
        plan.carry_out()

    def _post_those(self, session: Session, read: Sequence[Read], *, in_order: bool = False) -> Done | None:
        """What was done of those that still wait; None where it is another replica's turn.

        `in_order`: nothing is done where a delivery that was received before waits too.
        """
        began_s = self._monotonic()
        now = inbox.take_turn(session, self._clock)
        if now is None:
            return None
        taken = inbox.take(session, [delivery for delivery, _ in read], now)
        still = [(delivery, event) for delivery, event in read if delivery.inbox_id in taken.inbox_ids]
        if not still:
            return Done(len(read))
        if taken.overtakes and in_order:
            # Another replica has stored what came before, and maybe died since.
            inbox.put_back(session, sorted(taken.inbox_ids))
            return Done()
        known = self._kept.at(session, taken.mark, now)
        unread = [channel_id for channel_id, chosen in known.listening if isinstance(chosen, UnreadFilter)]
        self._notices.unread_filters(session, unread)
        done = self._post(session, still, known, now, began_s=began_s)
        return replace(done, deliveries=done.deliveries + len(read) - len(still))

    def _post_apart(self, session: Session, read: Sequence[Read]) -> Done | None:
        """As `_post_those`, each delivery in a savepoint of its own, because one of them can't be done."""
        now = inbox.take_turn(session, self._clock)
        if now is None:
            return None
        taken = inbox.take(session, [delivery for delivery, _ in read], now)
        known = memory.read(session, now)
        done = [self._post_alone(session, each, known, now) for each in read if each[0].inbox_id in taken.inbox_ids]
        waiting = sum(one.added.waiting for one in done)
        return Done(len(done), Added(waiting=waiting), [line for one in done for line in one.lines])

    def _post_alone(self, session: Session, read: Read, known: Known, now: datetime) -> Done:
        """What was done; a delivery that can't be done stays in the inbox, and the others go on."""
        delivery, _ = read
        try:
            with session.begin_nested():
                return self._post(session, [read], known, now)
        except Exception as error:
            if is_unavailable(error):
                raise
            reference = inbox.reference(delivery.inbox_id)
            log.exception("fanout_failed", reference=reference, attempts=delivery.attempts + 1)
            inbox.mark_failed(session, delivery, now, f"{type(error).__name__}: {error}")
            return Done()

    def _post(
        self, session: Session, read: Sequence[Read], known: Known, now: datetime, *, began_s: float | None = None
    ) -> Done:
        """What was done: the new versions of the deliveries' events, and the messages of these, a statement for all.

        The rest is left for the next transaction where these make very many posts. `began_s`: when the transaction
        began, by the monotonic clock. Without it nothing is claimed, and an error in the race book is survived, by a
        savepoint.
        """
        elsewhere = KnownElsewhere(session, known.lists, known.filters, careful=began_s is None)
        delivered = [elsewhere.coded(drill_fanout.recognised(session, _raised(event), now)) for _, event in read]
        # The races of deliveries go into the race book, at no quota.
        races = [elsewhere.for_book(event) for event in delivered]
        elsewhere.look_up(lambda: race_book_store.learn(session, races, now), delivered)
        meetings = KnownMeetings(session, now - TOLD_LATELY)
        filled = fill(elsewhere, meetings, delivered)
        told = [(delivery, event) for (delivery, _), event in zip(read, filled, strict=True)]
        muted = known.mutes(now)
        versions = KnownEvents(filled, meetings, elsewhere)
        plan = Plan(session, meetings)
        hurried: list[str | None] = []
        done: list[int] = []
        lines: list[Line] = []
        for delivery, event in told:
            if plan.posts >= POSTS_TOGETHER:
                break
            done.append(delivery.inbox_id)
            reference = inbox.reference(delivery.inbox_id)
            news = versions.news(event, delivery.inbox_id, delivery.received_at)
            if news is None:
                lines.append(Line("same_event_again", {"reference": reference, "event_key": event.key}))
                continue
            channels = sorted(self._matching(news.event, known) | (plan.misled(news) & known.listeners))
            news.version.posts = len(channels)
            plan.add(news, channels, {} if news.remarks.contradicts else mutes.muting(muted, news.event))
            if event.is_abandonment and meetings.has_other_of_race(event):
                hurried.append(event.race.race_id)
            if event.drill is not None:
                drill_fanout.tell_unknown(session, self._notices, event, reference, now)
            elif event.kind is None:
                self._notices.unreadable(session, event, reference, len(channels))
            told_in = {"reference": reference, "event_key": event.key, "channels": len(channels)}
            lines.append(Line("fanned_out", told_in))
        plan.link()
        tell_again(session, plan, elsewhere, meetings, known, now=now)
        added = self._add(session, plan, known, now, began_s)
        message_store.hurry_races(session, hurried)
        if left := [delivery.inbox_id for delivery, _ in read[len(done) :]]:
            inbox.put_back(session, left)
        return Done(len(done), added, lines)

    @staticmethod
    def _matching(event: RacingEvent, known: Known) -> set[str]:
        if event.drill is not None:
            return drill_fanout.channels(event, known.listening)
        return {channel_id for channel_id, chosen in known.listening if chosen.matches(event)}

    def _add(self, session: Session, plan: Plan, known: Known, now: datetime, began_s: float | None) -> Added:
        if began_s is None:
            plan.carry_out()
            return Added(waiting=plan.posts)
        new, tells = plan.rest()
        added = self._outbox.add(session, new, tells, known, now=now, began_s=began_s)
        # What was written down before is waiting too.
        return replace(added, waiting=added.waiting + plan.written)

    def _read(self, delivery: StoredDelivery) -> RacingEvent | Exception:
        """The event of a delivery, or what our own code failed on; after many tries, no more than who is told."""
        try:
            event = delivery.read() if delivery.read else self._read_payload(delivery.body)
        except Exception as error:
            if delivery.attempts < GIVE_UP_AFTER:
                return error
            log.exception("payload_not_read", reference=inbox.reference(delivery.inbox_id))
            return _as_named(delivery)
        if delivery.attempts < GIVE_UP_AFTER:
            return event
        race = event.race.model_copy(update={"runners": ()})
        return event.model_copy(update={"race": race, "races": (), "unreadable_because": NOT_PROCESSED})


def log_lines(lines: Iterable[Line]) -> None:
    """Write the lines of a transaction that was committed."""
    for line in lines:
        log.info(line.event, **line.fields)


def _named(read: Iterable[Read]) -> list[str]:
    """The races that abandoned meetings name; of very many, the first."""
    found = [event for _, event in read if isinstance(event, RacingEvent)]
    lost = [event for event in found if event.kind is EventKind.MEETING_ABANDONED]
    return [race.race_id for event in lost for race in event.races if race.race_id][:NAMED]


def _raised(event: RacingEvent | Exception) -> RacingEvent:
    """The event; raises what reading it raised."""
    if isinstance(event, Exception):
        raise event
    return event


def _as_named(delivery: StoredDelivery) -> RacingEvent:
    """What is known of a delivery that our code fails on."""
    kind = next((kind for kind in EventKind if kind == delivery.event_name), None)
    return RacingEvent(key=delivery.event_key, kind=kind, name=delivery.event_name, unreadable_because=NOT_PROCESSED)
