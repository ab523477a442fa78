"""Work that goes on after its request was answered: kept track of, so that a graceful stop can finish it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from bot.logs import get_logger

log = get_logger(__name__)


class Tasks:
    """The tasks under way. Only reads may rest on one: a crash forgets them."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Begin some work in the background."""
        task = asyncio.create_task(work, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._note_end)

    async def finish(self, within_s: float) -> None:
        """Wait for what is under way; what is not done within that time is cancelled."""
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        """Drop what has ended; a bug in it, which nobody waits for, is for the log."""
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task_failed", task=task.get_name(), exc_info=error)
