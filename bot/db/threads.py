"""Where units of work run. One thread writes, as SQLite has one writer anyway, and other threads read."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlmodel import Session

from bot.errors import QueueFull, StorageUnavailable

T = TypeVar("T")

UNITS_PER_COMMIT = 200
"""More units would make the first unit wait."""

UNITS_WAITING_MAX = 10_000
"""`write` refuses further units."""

READERS = 4


@dataclass(eq=False)
class WorkUnit:
    """A unit of work. `result`: before the commit. `done` has the result or the error after the commit."""

    work: Callable[[Session], Any]
    result: Any = None
    done: Future[Any] = field(default_factory=Future)


Commit = Callable[[Sequence[WorkUnit]], None]
"""Commits units together. Each unit is `done` then, also after an error."""


class Threads:
    """Runs units on threads of the process. The simulation overrides the methods, and has no threads."""

    def __init__(self) -> None:
        self._waiting: deque[WorkUnit] = deque()
        self._is_closed = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="storage-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="storage-reader")
        self._alert_reader = ThreadPoolExecutor(1, thread_name_prefix="storage-alerts")

    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        """The work's result after the commit. Raises the work's error, QueueFull, or StorageUnavailable once closed."""
        if self._is_closed:
            raise StorageUnavailable("the database is closed")
        if len(self._waiting) >= UNITS_WAITING_MAX:
            raise QueueFull(f"{UNITS_WAITING_MAX} writes are waiting")
        unit = WorkUnit(work)
        self._waiting.append(unit)
        self._writer.submit(self._commit_waiting, commit)
        result: T = await asyncio.wrap_future(unit.done)
        return result

    async def read(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)

    async def read_for_alerts(self, read: Callable[[], T]) -> T:
        """As `read`. No alert waits for another read."""
        return await asyncio.get_running_loop().run_in_executor(self._alert_reader, read)

    async def close(self, let_go: Callable[[], None]) -> None:
        """Finish waiting work, and let the connections go."""
        self._is_closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._close, let_go)

    def _close(self, let_go: Callable[[], None]) -> None:
        for threads in (self._writer, self._readers, self._alert_reader):
            threads.shutdown()
        let_go()

    def _commit_waiting(self, commit: Commit) -> None:
        """Called once for each unit. A call finds no unit if an earlier call committed several units."""
        units = [self._waiting.popleft() for _ in range(min(UNITS_PER_COMMIT, len(self._waiting)))]
        if batch := [unit for unit in units if unit.done.set_running_or_notify_cancel()]:
            commit(batch)
