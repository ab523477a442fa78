"""Store, then answer: an accepted delivery is on disk. Deliveries that arrive together share a commit."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival, StoredDelivery
from bot.errors import StorageError, StorageUnavailable
from bot.logs import get_logger

log = get_logger(__name__)

LARGEST_HAND_OVER = 25
"""Deliveries that fan-out takes from memory. Larger numbers come from the inbox."""

STORE_WITHIN_S = 1.5
"""The service waits for the answer a couple of seconds (Interface, Events 5)."""


class _Entry(NamedTuple):
    arrival: Arrival
    future: asyncio.Future[int | None]


class Ingest:
    """`stored` is set after each commit with a new delivery."""

    def __init__(self, database: Database, *, patience_s: float = STORE_WITHIN_S) -> None:
        self._database = database
        self._patience_s = patience_s
        self._waiting: list[_Entry] = []
        self._storing: asyncio.Task[None] | None = None
        self._handed_over: list[StoredDelivery] = []
        self.stored = asyncio.Event()
        self.stored_count = 0

    async def store(self, arrival: Arrival) -> int | None:
        """The number, after the commit; None for a repeated delivery.

        Raises StorageError: stored or not, the service has to send the delivery again.
        """
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        entry = _Entry(arrival, future)
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

    def hand_over(self) -> list[StoredDelivery] | None:
        stored, self._handed_over = self._handed_over, []
        return stored if len(stored) <= LARGEST_HAND_OVER else None

    async def finish(self) -> None:
        """For a graceful stop."""
        if self._storing is not None:
            await self._storing

    async def _store_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await self._store_together(batch)

    async def _store_together(self, batch: Sequence[_Entry]) -> None:
        arrivals = [entry.arrival for entry in batch]
        try:
            new = await self._database.write(lambda session: inbox.store(session, arrivals))
        except StorageError as error:
            log.warning("deliveries_not_stored", count=len(batch), reason=str(error))
            _fail(batch, error)
            return
        except Exception as error:
            # A row that the database can't hold must not fail the other deliveries of the commit.
            if len(batch) > 1:
                for single in batch:
                    await self._store_together([single])
                return
            log.exception("delivery_not_storable", event_key=arrivals[0].event_key)
            _fail(batch, StorageUnavailable(f"not storable: {type(error).__name__}"))
            return
        for entry in batch:
            if not entry.future.done():
                entry.future.set_result(new[entry.arrival])
        stored = [inbox.stored(arrival, number) for arrival, number in new.items() if number is not None]
        if stored:
            self.stored_count += len(stored)
            # One above the largest hand-over says that the inbox has more.
            self._handed_over += stored[: LARGEST_HAND_OVER + 1 - len(self._handed_over)]
            self.stored.set()


def _fail(batch: Sequence[_Entry], error: StorageError) -> None:
    for entry in batch:
        if not entry.future.done():
            entry.future.set_exception(error)
