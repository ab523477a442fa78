"""The loop of fan-out: which deliveries share a transaction, when, and how after a failure."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby

from sqlalchemy import select
from sqlmodel import Session

from bot.clock import Clock, Monotonic
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.inbox import StoredDelivery
from bot.deliveries.intake import Intake
from bot.errors import StorageError, StorageUnavailable
from bot.events import touched
from bot.events.touched import Name
from bot.fanout.completion_edits import look_again
from bot.fanout.delivery_reader import DeliveryReader, ReadDelivery, ReadEvents, fills_a_commit, urgent_of
from bot.fanout.transaction import FannedOut, FanoutTransactions, log_lines
from bot.logs import get_logger
from bot.loop import POLL_S, Loop
from bot.outbox.notices import Notices
from bot.outbox.poster import Outbox

log = get_logger(__name__)

LONG_BODIES_BYTES = 32_768
"""From here on a thread reads bodies: the loop answers Slack meanwhile."""

COMMIT_GAP_S = 0.008
"""Between two beginnings, so that close deliveries share a transaction."""

OTHER_TURN_S = 0.05
"""The wait for another replica, about a transaction."""


class Fanout(Loop):
    """Turns without deliveries count too."""

    waits = "fanout_waits"
    gap_s = COMMIT_GAP_S

    def __init__(
        self,
        database: Database,
        read_events: ReadEvents,
        *,
        arrivals: Intake,
        outbox: Outbox,
        notices: Notices,
        clock: Clock,
        wake: asyncio.Event,
        monotonic: Monotonic,
    ) -> None:
        super().__init__(clock, monotonic, wake)
        self.reader = DeliveryReader(read_events)
        self.transactions = FanoutTransactions(outbox, notices, clock, monotonic)
        self._database = database
        self._arrivals = arrivals
        self._outbox = outbox
        self._is_behind = True
        self._looked_at_s = -POLL_S
        self._refused: int | None = None

    async def work(self) -> float:
        await self.run_once()
        return max(0.0, POLL_S - (self.monotonic() - self._looked_at_s))

    async def run_once(self) -> int:
        """Fan out new arrivals, else the inbox. Returns the count of deliveries done."""
        handed_over = self._arrivals.hand_over()
        # The inbox may also have failed deliveries, and deliveries of dead replicas.
        is_fresh = self.monotonic() - self._looked_at_s < POLL_S
        if handed_over and is_fresh and not self._is_behind:
            handed = await self._read_here(handed_over)
            numbers = {delivery.inbox_id for delivery, _ in handed}
            if len(numbers) == len(handed_over):
                return await self._fan_out(handed, numbers)
        # Reading bodies is most of the work, and does not need the writer.
        read, names = await self._database.read_for_alerts(self._read_inbox)
        self._looked_at_s = self.monotonic()
        self._is_behind = fills_a_commit(read)
        done = await self._fan_out(read) if read else 0
        if names:
            await self._look_again(names)
        return done

    def fan_out_within(self, session: Session, deliveries: Sequence[StoredDelivery], now: datetime) -> FannedOut:
        """Fan out within other work that has the turn (`inbox.take_turn`).

        Deliveries beyond MESSAGES_PER_COMMIT are put back. Raises errors of our own code.
        """
        return self.transactions.within(session, self.reader.read_each(deliveries), now)

    async def _read_here(self, deliveries: Sequence[StoredDelivery]) -> list[ReadDelivery]:
        if sum(len(delivery.body) for delivery in deliveries) > LONG_BODIES_BYTES:
            return await asyncio.to_thread(self.reader.read_some, deliveries)
        return self.reader.read_some(deliveries)

    def _read_inbox(self, session: Session) -> tuple[list[ReadDelivery], list[Name]]:
        singly, now = self._refused is not None, self.clock()
        return self.reader.waiting(session, now, singly=singly), touched.first(session, now, inbox.far_from(now))

    async def _fan_out(self, read: Sequence[ReadDelivery], handed_over: Collection[int] = ()) -> int:
        first = read[0][0].inbox_id
        singly = self._refused == first
        try:
            # No abandonment waits until the messages of other deliveries are stored.
            together = partial(self._fan_out_together, urgent_of(read), handed_over)
            done = await (self._fan_out_singly(read) if singly else together())
        except Exception as error:
            self._is_behind = True
            self.transactions.kept.forget()
            if isinstance(error, StorageUnavailable):
                self._refused = first
            raise
        self._refused = None
        if done < len(read):
            self._is_behind = True
        if self._is_behind:
            self.wake.set()
        return done

    async def _fan_out_together(self, read: Sequence[ReadDelivery], handed_over: Collection[int] = ()) -> int:
        transactions = self.transactions
        try:
            done = await self._database.write(partial(transactions.together, read=read, handed_over=handed_over))
        except StorageError:
            raise
        except Exception:  # noqa: BLE001  our code fails on one delivery: `apart` finds and logs the delivery
            transactions.kept.forget()
            done = await self._database.write(partial(transactions.apart, read=read, handed_over=handed_over))
        if done is None:
            await asyncio.sleep(OTHER_TURN_S)
            return 0
        log_lines(done.lines)
        transactions.kept.has_queues(done.added.queues)
        self._outbox.begin(done.added)
        return done.deliveries

    async def _fan_out_singly(self, read: Sequence[ReadDelivery]) -> int:
        """Hold back a delivery that the database refuses while the database takes others.

        A refused delivery is tried again once the database answers: while the database is away, the first refusal ends
        the turn, so that no later delivery passes an earlier one when the database comes back.
        """
        done, refused = 0, list[list[ReadDelivery]]()
        first: StorageUnavailable | None = None
        for _, events in groupby(read, key=lambda each: each[0].inbox_id):
            each = list(events)
            try:
                count = await self._fan_out_together(each)
            except StorageUnavailable:
                await self._database.write(lambda session: session.execute(select(1)))
                try:
                    count = await self._fan_out_together(each)
                except StorageUnavailable as error:
                    first = first or error
                    refused.append(each)
                    continue
            done += count
            if count < len(each):
                # No later delivery passes an unfinished delivery.
                break
        if first and not done:
            self.refused_alone += 1
            raise first
        for each in refused:
            try:
                done += await self._fan_out_together(each)
            except StorageUnavailable as error:
                await self._database.write(partial(self._hold_back, delivery=each[0][0], why=error))
        return done

    def _hold_back(self, session: Session, *, delivery: StoredDelivery, why: StorageUnavailable) -> None:
        if inbox.take(session, [delivery], self.clock()).inbox_ids:
            log.error("fanout_refused", reference=inbox.reference(delivery.inbox_id), reason=str(why))
            inbox.mark_failed(session, delivery, self.clock(), f"{type(why).__name__}: {why}")

    async def _look_again(self, names: Sequence[Name]) -> None:
        """No delivery waits for later values. Fan-out looks at a failed name alone, and again later."""
        try:
            added = await self._database.write(partial(look_again, clock=self.clock, names=names))
        except Exception as error:
            if isinstance(error, StorageError):
                log.warning("later_values_wait", reason=str(error))
                # The database may refuse a single look, and take others.
                await self._database.write(lambda session: session.execute(select(1)))
            if len(names) > 1:
                for one in names:
                    await self._look_again([one])
                return
            (failed,) = names
            log.exception("later_values_not_told", reference=failed.reference, attempts=failed.attempts + 1)
            not_before = inbox.again_at(self.clock(), failed.attempts)
            await self._database.write(partial(touched.look_later, failed=failed, not_before=not_before))
            return
        if added is None:
            return
        self._outbox.begin(added)
        if len(names) == touched.AT_ONCE:
            self._is_behind = True
            self.wake.set()
