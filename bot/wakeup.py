"""Waits that a wake-up can end early."""

import asyncio
from contextlib import suppress


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await wake.wait()
