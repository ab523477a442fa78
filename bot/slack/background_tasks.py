"""Work after the answer to a request, tracked so that a graceful stop can finish the work."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from bot.logs import get_logger

log = get_logger(__name__)


class Tasks:
    """A crash forgets the tasks: an answer may be lost, and nothing else."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._note_end)

    async def finish(self, within_s: float) -> None:
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task_failed", task=task.get_name(), exc_info=error)
