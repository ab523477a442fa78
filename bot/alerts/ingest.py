"""Store, then answer: a delivery that was accepted is on disk. Requests that arrive together share a commit."""

import asyncio
import contextlib
from collections import deque

from bot.errors import QueueFull, StorageError, StorageUnavailable
from bot.logs import get_logger
from bot.storage import inbox
from bot.storage.engine import Database
from bot.storage.inbox import Arrival

log = get_logger(__name__)

CAPACITY = 2_000
"""Deliveries that wait for their commit at most; more are told to come again."""

TOGETHER = 400
"""Deliveries that share a commit at most."""

PATIENCE_S = 1.5
"""A delivery is answered within a couple of seconds (Interface, Events 5), stored or not."""


PRESSING = 4
"""Deliveries that wait before those on disk already are to wait as long as they are worked at."""

MOST_PRESSURE = 8.0
"""Even then a ninth of the time is theirs: what was accepted is to be posted too."""


class Ingest:
    """Stores deliveries. `on_stored` is called after each commit that brought something new."""

    def __init__(self, database: Database, *, patience_s: float = PATIENCE_S, capacity: int = CAPACITY) -> None:
        self._database = database
        self._patience_s = patience_s
        self._capacity = capacity
        self._waiting: deque[tuple[Arrival, asyncio.Future[bool]]] = deque()
        self._storing: asyncio.Task[None] | None = None
        self.stored = asyncio.Event()

    async def store(self, arrival: Arrival) -> bool:
        """Whether the delivery was new, after it was committed.

        Raises QueueFull or StorageUnavailable: then it may be stored or not, and the service is to send it again.
        """
        if len(self._waiting) >= self._capacity:
            raise QueueFull(f"{self._capacity} deliveries are waiting to be stored")
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        entry = (arrival, future)
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
        """How hard deliveries press: 0 where none waits to be stored, at most MOST_PRESSURE."""
        return min(len(self._waiting) / PRESSING, MOST_PRESSURE)

    async def finish(self) -> None:
        """Store what waits; for a graceful stop."""
        if self._storing is not None:
            await self._storing

    async def _store_waiting(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            # Whoever has stopped waiting was told to send it again.
            batch = [(arrival, future) for arrival, future in batch if not future.done()]
            await self._store_together(batch)

    async def _store_together(self, batch: list[tuple[Arrival, asyncio.Future[bool]]]) -> None:
        arrivals = [arrival for arrival, _ in batch]
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
        for arrival, future in batch:
            if not future.done():
                future.set_result(new[arrival])
        if any(new.values()):
            self.stored.set()


def _fail(batch: list[tuple[Arrival, asyncio.Future[bool]]], error: StorageError) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
