"""Where units of work run. One thread writes, as SQLite has one writer anyway, and other threads read."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sqlmodel import Session

from bot.errors import QueueFull

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


class WorkRunner(Protocol):
    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        """The work's result after the commit. Raises the work's error, or QueueFull."""

    async def read(self, read: Callable[[], T]) -> T:
        """The result of `read`."""

    async def read_for_alerts(self, read: Callable[[], T]) -> T:
        """As `read`. No alert waits for another read."""

    async def close(self, let_go: Callable[[], None]) -> None:
        """Finish waiting work, and let the connections go."""


class Threads:
    """For a process of its own."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[WorkUnit | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="storage-reader")
        self._alert_reader = ThreadPoolExecutor(1, thread_name_prefix="storage-alerts")

    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        if self._waiting.qsize() >= UNITS_WAITING_MAX:
            raise QueueFull(f"{UNITS_WAITING_MAX} writes are waiting")
        unit = WorkUnit(work)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, args=(commit,), name="storage-writer", daemon=True)
            self._thread.start()
        self._waiting.put(unit)
        result: T = await asyncio.wrap_future(unit.done)
        return result

    async def read(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)

    async def read_for_alerts(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._alert_reader, read)

    async def close(self, let_go: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._close, let_go)

    def _close(self, let_go: Callable[[], None]) -> None:
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
        self._readers.shutdown()
        self._alert_reader.shutdown()
        let_go()

    def _write(self, commit: Commit) -> None:
        while (first := self._waiting.get()) is not None:
            batch = [first]
            stop = False
            while len(batch) < UNITS_PER_COMMIT and not stop:
                try:
                    unit = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if unit is None:
                    stop = True
                else:
                    batch.append(unit)
            commit([unit for unit in batch if unit.done.set_running_or_notify_cancel()])
            if stop:
                return
