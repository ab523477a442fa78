"""Time, chance and tokens are passed in, by composition roots alone (bot/ports.py). A wait that a wake-up ends."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present time, aware, in UTC."""

Monotonic = Callable[[], float]
"""Returns seconds since any moment. Nobody sets this clock."""

Token = Callable[[int], str]
"""Returns so many random bytes, in hex."""


def utc_now() -> datetime:
    return datetime.now(UTC)


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    try:
        async with asyncio.timeout(at_most_s):
            await wake.wait()
    except TimeoutError:
        return
