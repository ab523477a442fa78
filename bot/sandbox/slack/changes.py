"""Waiting for something to become true, without asking again and again."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 20.0
"""How long is waited unless told: on a busy machine things take their time, and nothing waits once they are there."""


class Changes:
    """Wakes whoever waits each time something in the workspace changed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Wakes all that wait; they look at their own condition again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float) -> None:
        """Returns when `predicate()` is true, looked at now and after every change; else raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while not predicate():
                await self._changed.wait()
