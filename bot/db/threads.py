"""Where units of work run. One thread writes, as SQLite has one writer anyway, and other threads read."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
    """A unit of work, and its `result` or `error` after the commit."""

    work: Callable[[Session], Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """The result or the error is there."""


Commit = Callable[[Sequence[WorkUnit]], None]
"""Commits units together, and settles each unit. Errors are left with the units."""


class WorkRunner(Protocol):
    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        """The work's result after the commit. Raises the work's error, or QueueFull."""

    async def read(self, read: Callable[[], T]) -> T:
        """The result of `read`."""

    async def read_for_alerts(self, read: Callable[[], T]) -> T:
        """As `read`. No alert waits for another read."""

    async def close(self, let_go: Callable[[], None]) -> None:
        """Finish waiting work, and let the connections go."""


@dataclass(eq=False)
class _Waiting(WorkUnit):
    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def settle(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._set)
        except RuntimeError:
            # The loop and the caller have ended. The work is committed or rolled back.
            return

    def _set(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Threads:
    """For a process of its own."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[_Waiting | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="storage-reader")
        self._alert_reader = ThreadPoolExecutor(1, thread_name_prefix="storage-alerts")

    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        if self._waiting.qsize() >= UNITS_WAITING_MAX:
            raise QueueFull(f"{UNITS_WAITING_MAX} writes are waiting")
        unit = _Waiting(work)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, args=(commit,), name="storage-writer", daemon=True)
            self._thread.start()
        self._waiting.put(unit)
        result: T = await unit.future
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
            commit([unit for unit in batch if not unit.future.cancelled()])
            if stop:
                return
