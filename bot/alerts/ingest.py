"""Store, then answer: a delivery that was accepted is on disk. Requests that arrive together share a commit."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bot.errors import QueueFull, StorageError, StorageUnavailable
from bot.logs import get_logger
from bot.storage import inbox
from bot.storage.engine import Database
from bot.storage.inbox import Arrival, StoredDelivery

log = get_logger(__name__)

CAPACITY = 2_000
"""Deliveries that wait for their commit at most; more are told to come again."""

TOGETHER = 400
"""Deliveries that share a commit at most."""

HANDED_OVER = 25
"""Deliveries that fan-out takes from memory at most; of more, the inbox knows which are urgent."""

PATIENCE_S = 1.5
"""A delivery is answered within a couple of seconds (Interface, Events 5), stored or not."""


MANY = 50
"""Deliveries that wait, from which on it counts how long they have waited."""

BEHIND_S = 0.1
"""Then, if the first of them has waited for this long, more is coming than can be stored."""

PRESSING = 12
"""Deliveries at once, from which on those on disk already are to wait."""

AS_LONG_AGAIN = 4
"""For each so many at once, those on disk wait as long as they are worked at."""

MOST_PRESSURE = 8.0
"""Even then a ninth of the time is theirs: what was accepted is to be posted too."""


class Entry(NamedTuple):
    """A delivery that waits for its commit, and since when by a monotonic clock."""

    arrival: Arrival
    future: asyncio.Future[bool]
    since_s: float


class Ingest:
    """Stores deliveries. `on_stored` is called after each commit that brought something new."""

    def __init__(
        self,
        database: Database,
        *,
        patience_s: float = PATIENCE_S,
        capacity: int = CAPACITY,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._patience_s = patience_s
        self._capacity = capacity
        self._monotonic = monotonic
        self._waiting: deque[Entry] = deque()
        self._being_stored: Sequence[Entry] = ()
        self._most_at_once = 0
        self._storing: asyncio.Task[None] | None = None
        self._handed_over: list[StoredDelivery] = []
        self.stored = asyncio.Event()

    async def store(self, arrival: Arrival) -> bool:
        """Whether the delivery was new, after it was committed.

        Raises QueueFull or StorageUnavailable: then it may be stored or not, and the service is to send it again.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = Entry(arrival, future, self._monotonic())
        self._waiting.append(entry)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_waiting(), name="ingest")
        try:
            async with asyncio.timeout(self._patience_s):
                return await future
        except TimeoutError:
            with contextlib.suppress(ValueError):
                self._waiting.remove(entry)
            raise StorageUnavailable(f"not stored within {self._patience_s} s") from None

    def pressure(self) -> float:
        """How hard deliveries have pressed since it was last asked: 0 where few came at once, at most MOST_PRESSURE."""
        most, self._most_at_once = max(self._most_at_once, len(self._waiting)), 0
        return min(most / AS_LONG_AGAIN, MOST_PRESSURE) if most >= PRESSING else 0.0

    def check_room(self) -> None:
        """Raise QueueFull where another delivery would wait too long: it is told at once to come again.

        A disk that pauses for a moment is no reason while few wait.
        """
        if len(self._waiting) >= self._capacity:
            raise QueueFull(f"{self._capacity} deliveries are waiting to be stored")
        if len(self._waiting) < MANY:
            return
        oldest = (self._being_stored or self._waiting)[0]
        waited_s = self._monotonic() - oldest.since_s
        if waited_s > BEHIND_S:
            raise QueueFull(f"{len(self._waiting)} deliveries wait to be stored, the first for {waited_s:.2f} s")

    def hand_over(self) -> list[StoredDelivery] | None:
        """What was stored since the last call; None where that is more than fan-out takes: the inbox has it all."""
        stored, self._handed_over = self._handed_over, []
        return stored if len(stored) <= HANDED_OVER else None

    async def finish(self) -> None:
        """Store what waits; for a graceful stop."""
        if self._storing is not None:
            await self._storing

    async def _store_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            self._most_at_once = max(self._most_at_once, len(batch))
            # Whoever has stopped waiting was told to send it again.
            self._being_stored = [entry for entry in batch if not entry.future.done()]
            await self._store_together(self._being_stored)
            self._being_stored = ()

    async def _store_together(self, batch: Sequence[Entry]) -> None:
        arrivals = [entry.arrival for entry in batch]
        try:
            new = await self._database.write(lambda session: inbox.store(session, arrivals))
        except StorageError as error:
            log.warning("deliveries_not_stored", count=len(batch), reason=str(error))
            _fail(batch, error)
            return
        except Exception as error:
            # One row that the database can't hold must not cost its neighbours theirs.
            if len(batch) > 1:
                for single in batch:
                    await self._store_together([single])
                return
            log.exception("delivery_not_storable", event_key=arrivals[0].event_key)
            _fail(batch, StorageUnavailable(f"not storable: {type(error).__name__}"))
            return
        for entry in batch:
            if not entry.future.done():
                entry.future.set_result(new[entry.arrival] is not None)
        stored = [inbox.stored(arrival, number) for arrival, number in new.items() if number is not None]
        if stored:
            # One more than are handed over says that there are too many.
            self._handed_over += stored[: HANDED_OVER + 1 - len(self._handed_over)]
            self.stored.set()


def _fail(batch: Sequence[Entry], error: StorageError) -> None:
    for entry in batch:
        if not entry.future.done():
            entry.future.set_exception(error)
