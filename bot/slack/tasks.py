"""Work that goes on after its request was answered: kept track of, so that a graceful stop can finish it."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Tasks:
    """The tasks under way. Only reads may rest on one: a crash forgets them."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Begin some work in the background."""
        task = asyncio.create_task(work, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def finish(self, within_s: float) -> None:
        """Wait for what is under way; what is not done within that time is cancelled."""
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
