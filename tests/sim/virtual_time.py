"""Time that passes when nothing is left to do: a loop whose clock is a number."""

import asyncio
import selectors
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.clock import START

BEGIN_S = 1_000.0
TURN_S = 0.000_02
"""A turn of the loop takes so long, so that no two turns see the same moment."""


class NothingWillHappen(Exception):
    """Every task waits, and no timer is set."""


class _Selector(selectors.SelectSelector):
    """Has the time pass by which the loop wants to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = BEGIN_S

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingWillHappen
        self.now_s += max(timeout, TURN_S)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Work for threads is done at once, on the loop's own thread."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)
        # Nobody hears what the tasks of a dead process end with.
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self.selector.now_s

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.time() - BEGIN_S)

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]  # of any type
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  as a thread hands an error over
            future.set_exception(error)
        return future


def set_wall_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], datetime]) -> None:
    """Have APScheduler go by `clock`: APScheduler can't be given a clock."""

    class Wall(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return clock().astimezone(tz)

    for module in ("schedulers.base", "triggers.interval", "executors.base"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", Wall)
