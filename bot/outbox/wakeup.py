"""Waiting to be woken: the truth is in the tables, and a wake-up only makes it quicker."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

POLL_S = 1.0

LONGEST_WAIT_S = 60.0

LOGGED_EVERY = timedelta(hours=1)


@dataclass
class Setbacks:
    """Failures of a loop in a row. `refused_alone`: how many came though nothing else was asked of the database."""

    refused_alone: int = 0
    _logged_at: datetime | None = None

    @property
    def wait_s(self) -> float:
        """How long to wait after the last of them."""
        # The exponent is bounded too: this can go on for months.
        return min(POLL_S * 2.0 ** min(self.refused_alone, 10), LONGEST_WAIT_S)

    def is_news(self, now: datetime) -> bool:
        """Whether the last of them is to be logged: the first is, and then one an hour."""
        if self._logged_at is not None and abs(now - self._logged_at) < LOGGED_EVERY:
            return False
        self._logged_at = now
        return True


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    """Return when woken, or when so many seconds have passed."""
    try:
        async with asyncio.timeout(at_most_s):
            await wake.wait()
    except TimeoutError:
        return
