"""Paces requests before the service has to: waits until the budget has room, commands before background work."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.racedata.client.budget import Budget
from bot.racedata.client.headers import RateReading
from bot.racedata.client.service_errors import RateLimited
from bot.racedata.client.timing import Timing


def one_replica() -> int:
    """Nobody else runs this bot on the key."""
    return 1


@dataclass
class Slot:
    """Leave to send one request. What its answer said of the rate is put in, before the slot is given back."""

    reading: RateReading | None = None
    hold_s: float | None = None


class Throttle:
    """Gives slots. `replicas` says how many live replicas share the key's limit."""

    def __init__(
        self, timing: Timing, *, replicas: Callable[[], int] = one_replica, budget: Budget | None = None
    ) -> None:
        self._timing = timing
        self._replicas = replicas
        self._budget = budget or Budget()
        self._answered = asyncio.Event()

    def learn_limit(self, per_minute: int) -> None:
        """Take the plan's limit, where the service's headers do not give the key's."""
        self._budget.limit = per_minute

    def wait_s(self, *, background: bool = False) -> float | None:
        """Seconds until there may be room: 0 where there is; None where an answer must come first."""
        now = self._timing.monotonic()
        return self._budget.wait_s(now, background=background, replicas=max(1, self._replicas()))

    @asynccontextmanager
    async def slot(self, path: str, *, background: bool, patience_s: float) -> AsyncGenerator[Slot]:
        """A slot, when there is room. RateLimited, without a request, where that takes longer than `patience_s`."""
        await self._wait_for_room(path, background=background, patience_s=patience_s)
        self._budget.start()
        slot = Slot()
        try:
            yield slot
        finally:
            self._budget.finish(self._timing.monotonic(), slot.reading, slot.hold_s)
            self._answered.set()
            self._answered = asyncio.Event()

    async def _wait_for_room(self, path: str, *, background: bool, patience_s: float) -> None:
        give_up_at = self._timing.monotonic() + patience_s
        while True:
            wait_s = self.wait_s(background=background)
            if wait_s == 0:
                return
            if self._timing.monotonic() + (wait_s or 0.0) > give_up_at:
                raise RateLimited(path, code=RateLimited.known_code, retry_after_s=wait_s)
            await (self._answered.wait() if wait_s is None else self._timing.sleep(wait_s))
