"""Waits that a wake-up can end early, and the backoff of a failing loop."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

POLL_S = 1.0

BACKOFF_MAX_S = 60.0

LOGGED_EVERY = timedelta(hours=1)


@dataclass
class Backoff:
    """`refused_alone`: failures in a row of single deliveries, with the database otherwise idle."""

    refused_alone: int = 0
    _logged_at: datetime | None = None

    @property
    def wait_s(self) -> float:
        # Failures can go on for months.
        return min(POLL_S * 2.0 ** min(self.refused_alone, 10), BACKOFF_MAX_S)

    def is_news(self, now: datetime) -> bool:
        """True once an hour."""
        if self._logged_at is not None and abs(now - self._logged_at) < LOGGED_EVERY:
            return False
        self._logged_at = now
        return True


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await wake.wait()
