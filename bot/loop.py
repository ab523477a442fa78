"""Loops that go on after a failure, and waits that a wake-up can end early."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import datetime, timedelta
from typing import ClassVar

from bot.clock import Clock, Monotonic
from bot.errors import StorageError
from bot.logs import get_logger

log = get_logger(__name__)

POLL_S = 1.0

BACKOFF_MAX_S = 60.0

LOGGED_EVERY = timedelta(hours=1)


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await wake.wait()


class Loop(ABC):
    """Does turns until `stop`. `problem`: why the last turn failed. `good_turns` counts turns without failure.

    `waits`: the event in the log after a failed turn. `gap_s`: between the beginnings of two turns.
    `refused_alone`: failures in a row of single deliveries, with the database otherwise idle.
    """

    waits: ClassVar[str]
    gap_s: ClassVar[float] = 0.0

    def __init__(self, clock: Clock, monotonic: Monotonic, wake: asyncio.Event) -> None:
        self.clock = clock
        self.monotonic = monotonic
        self.wake = wake
        self.problem: str | None = None
        self.good_turns = 0
        self.is_running = False
        self.refused_alone = 0
        self._logged_at: datetime | None = None
        self._stopping = False

    @abstractmethod
    async def work(self) -> float:
        """A turn. Returns the seconds until the next turn, unless the loop is woken."""

    async def run(self) -> None:
        """Not to be cancelled: claims would be left unsent."""
        self.is_running = not self._stopping
        while not self._stopping:
            self.wake.clear()
            began_s = self.monotonic()
            wait_s = await self.turn()
            if (early_s := began_s + self.gap_s - self.monotonic()) > 0:
                await asyncio.sleep(early_s)
            await rest(self.wake, wait_s)

    def stop(self) -> None:
        self._stopping, self.is_running = True, False
        self.wake.set()

    async def turn(self) -> float:
        try:
            wait_s = await self.work()
        except Exception as error:  # noqa: BLE001  logged with its traceback, once an hour
            # Not of the storage: a bug of ours. The next turn may pass.
            is_ours = not isinstance(error, StorageError)
            self.problem = f"our own {type(error).__name__}" if is_ours else str(error)
            now = self.clock()
            if self._logged_at is None or abs(now - self._logged_at) >= LOGGED_EVERY:
                self._logged_at = now
                (log.exception if is_ours else log.warning)(self.waits, reason=self.problem)
            # Failures can go on for months.
            return min(POLL_S * 2.0 ** min(self.refused_alone, 10), BACKOFF_MAX_S)
        self.problem, self._logged_at, self.refused_alone = None, None, 0
        self.good_turns += 1
        return wait_s
