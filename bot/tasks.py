"""Work in the background, tracked so that a stop can finish or end the work. A crash forgets the work."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bot.errors import RacingBotError
from bot.logs import get_logger

log = get_logger(__name__)
T = TypeVar("T")


class Tasks:
    def __init__(self) -> None:
        self.under_way: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """A failure goes to the log: an error of ours as a warning, any other error with its traceback."""
        task = asyncio.create_task(work, name=name)
        self.under_way.add(task)
        task.add_done_callback(self._note_end)
        return task

    async def finished(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """The work's result. The end of a caller's patience does not end the work."""
        return await asyncio.shield(self.start(work, name))

    async def finish(self, within_s: float = 0.0) -> None:
        """Wait for the work, and end late work."""
        if not self.under_way:
            return
        _, late = await asyncio.wait(self.under_way, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self.under_way.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RacingBotError):
            log.warning("task_failed", task=task.get_name(), reason=str(error))
        elif error is not None:
            log.error("task_failed", task=task.get_name(), exc_info=error)
