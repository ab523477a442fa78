"""Waiting to be woken: the truth is in the tables, and a wake-up only makes it quicker."""

import asyncio


async def rest(wake: asyncio.Event, at_most_s: float) -> None:
    """Return when woken, or when so many seconds have passed."""
    try:
        async with asyncio.timeout(at_most_s):
            await wake.wait()
    except TimeoutError:
        return
