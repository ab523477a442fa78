"""Paces requests to the data service: a token bucket, corrected by the rate headers of each answer.

Commands go before background work.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.racedata.client.headers import WINDOW_S, RateReading
from bot.racedata.client.service_errors import RateLimited
from bot.racedata.client.timing import Timing

COMMANDS_SHARE = 0.25
"""Part of each minute that background work leaves to commands."""

OTHERS_SHARE = 0.1
"""Part of each minute left unspent while others spend too: their next requests come before our next answer."""

LOWEST_LIMIT = 60
"""The lowest limit of any plan (Interface, Limits), until the service reports the key's own."""


@dataclass
class _ServiceCount:
    """The service's `Remaining` in `window`, less the requests sent since. `window` ends at `resets_at`."""

    window: int | None
    left: int
    resets_at: float


class TokenBucket:
    """A token comes back a minute after its answer: by then the request has left every window of the service.

    4xx answers take a token too (Interface, Limits 5). Other users of the key show in the service's count alone.
    Requests go out one at a time while the count is unknown or low: a minute that others used up costs one refusal,
    instead of a refusal for each request in flight. Times are monotonic seconds.
    """

    def __init__(self, limit: int = LOWEST_LIMIT) -> None:
        self.limit = limit
        self._in_flight = 0
        self._returns: deque[float] = deque()
        self._held_until = float("-inf")
        self._count: _ServiceCount | None = None

    def wait_s(self, now: float, *, background: bool, replicas: int) -> float | None:
        """Seconds until there may be a token: 0 for now; None while an answer must come first."""
        self._refill(now)
        if now < self._held_until:
            return self._held_until - now
        if self._in_flight and self._may_be_refused():
            return None
        own_wait_s = self._own_wait_s(now, background, replicas)
        return None if own_wait_s is None else max(own_wait_s, self._service_wait_s(now, background, replicas))

    def _may_be_refused(self) -> bool:
        return self._count is None or self._count.left <= self.limit * COMMANDS_SHARE

    def _own_wait_s(self, now: float, background: bool, replicas: int) -> float | None:
        share = max(1, self.limit // replicas)
        allowed = share - int(share * COMMANDS_SHARE) if background else share
        over = self._in_flight + len(self._returns) - allowed
        if over < 0:
            return 0.0
        return self._returns[over] - now if over < len(self._returns) else None

    def _service_wait_s(self, now: float, background: bool, replicas: int) -> float:
        if self._count is None:
            return 0.0
        # Others are replicas too: the service counts for the whole key.
        others_spent = self._count.left < self.limit - len(self._returns)
        share = COMMANDS_SHARE if background else OTHERS_SHARE if others_spent else 0
        return 0.0 if (self._count.left - int(self.limit * share)) // replicas > 0 else self._count.resets_at - now

    def take(self) -> None:
        self._in_flight += 1
        if self._count:
            self._count.left -= 1

    def answered(self, now: float, reading: RateReading | None, hold_s: float | None = None) -> None:
        """Note the end of a request, with its rate headers.

        `hold_s` is the wait that a 429 asked for. The service then has room (Interface, Errors), so the wait replaces
        every count.
        """
        self._refill(now)
        self._in_flight -= 1
        self._returns.append(now + WINDOW_S)
        if hold_s is not None:
            self.hold(now + hold_s)
            self._count = None
            self._returns.clear()
        elif reading is not None:
            self._correct(now, reading)

    def hold(self, until: float) -> None:
        self._held_until = max(self._held_until, until)

    def _correct(self, now: float, reading: RateReading) -> None:
        self.limit = reading.limit or self.limit
        count = _ServiceCount(
            reading.window,
            (self.limit if reading.remaining is None else reading.remaining) - self._in_flight,
            now + (reading.resets_in_s or WINDOW_S),
        )
        known = self._count
        if known and known.window and count.window and count.window < known.window:
            return  # The answer is of the minute before, and came late.
        if known and (known.window == count.window or None in (known.window, count.window)):
            count.left = min(count.left, known.left)
            count.resets_at = min(count.resets_at, known.resets_at)
        self._count = count

    def _refill(self, now: float) -> None:
        while self._returns and self._returns[0] <= now:
            self._returns.popleft()
        if self._count and now >= self._count.resets_at:
            self._count = None


def one_replica() -> int:
    return 1


@dataclass
class Slot:
    """The right to send one request. The caller notes the answer's headers."""

    reading: RateReading | None = None
    hold_s: float | None = None


class Throttle:
    """`replicas` counts the live replicas that share the key's limit."""

    def __init__(self, timing: Timing, *, replicas: Callable[[], int] = one_replica) -> None:
        self._timing = timing
        self._replicas = replicas
        self._bucket = TokenBucket()
        self._answered = asyncio.Event()

    def learn_limit(self, per_minute: int) -> None:
        """For answers without a limit in their headers."""
        self._bucket.limit = per_minute

    def hold(self, wait_s: float) -> None:
        """For a refusal that another replica met."""
        self._bucket.hold(self._timing.monotonic() + wait_s)

    def wait_s(self, *, background: bool) -> float | None:
        now = self._timing.monotonic()
        return self._bucket.wait_s(now, background=background, replicas=self._replicas())

    @asynccontextmanager
    async def slot(self, path: str, *, background: bool, patience_s: float) -> AsyncGenerator[Slot]:
        """RateLimited, without a request, after more than `patience_s`."""
        await self._wait_for_room(path, background=background, patience_s=patience_s)
        self._bucket.take()
        slot = Slot()
        try:
            yield slot
        finally:
            self._bucket.answered(self._timing.monotonic(), slot.reading, slot.hold_s)
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
