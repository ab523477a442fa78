"""Waiting for a change of the workspace, without polling."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 60.0
"""Long for busy machines; a wait ends as soon as its condition holds."""


class Changes:
    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for(self, predicate: Callable[[], bool], timeout_s: float) -> None:
        """Checks now and after every change. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while not predicate():
                await self._changed.wait()
