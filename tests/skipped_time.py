"""Loops with a time apart from the machine's: busy other processes make no test meet a limit of seconds."""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Done = TypeVar("Done")
Given = TypeVarTuple("Given")


class _Waits(selectors.DefaultSelector):
    waited_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        # What is there already is not waited for, however long the processor is away meanwhile.
        if (found := super().select(0)) or timeout == 0:
            return found
        began_s = time.monotonic()
        found = super().select(timeout)
        passed_s = time.monotonic() - began_s
        self.waited_s += passed_s if timeout is None else min(passed_s, max(0.0, timeout))
        return found


class PatientLoop(asyncio.SelectorEventLoop):
    """Counts the time of its own work and waits, without the time in which another process has the processor."""

    def __init__(self) -> None:
        self._waits = _Waits()
        self._thread, self._seen_s = threading.get_ident(), 0.0
        super().__init__(self._waits)

    def time(self) -> float:
        """Another thread gets the time that the loop has seen last: the thread's work is not the loop's."""
        if threading.get_ident() == self._thread:
            self._seen_s = time.thread_time() + self._waits.waited_s
        return self._seen_s


class _Selector(selectors.DefaultSelector):
    skips = False
    skipped_s = 0.0
    threads = 0
    """Threads at work for the loop. While a thread works, no time is skipped."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if not self.skips or timeout is None or self.threads:
            return super().select(timeout)
        self.skipped_s += max(0.0, timeout)
        return super().select(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    """Skips idle time, once `skips` is set. For tests without threads and sockets."""

    def __init__(self) -> None:
        self._chosen = _Selector()
        super().__init__(self._chosen)

    @property
    def skips(self) -> bool:
        return self._chosen.skips

    @skips.setter
    def skips(self, skips: bool) -> None:
        self._chosen.skips = skips

    def time(self) -> float:
        return super().time() + self._chosen.skipped_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Given], Done], *args: *Given
    ) -> asyncio.Future[Done]:
        work = super().run_in_executor(executor, func, *args)
        self._chosen.threads += 1
        work.add_done_callback(self._thread_is_done)
        return work

    def _thread_is_done(self, _work: asyncio.Future[Any]) -> None:
        self._chosen.threads -= 1
