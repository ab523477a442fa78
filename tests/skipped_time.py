"""A loop that skips the time in which nothing would happen, for tests without threads and sockets."""

import asyncio
import selectors
from typing import Any


class _Selector(selectors.DefaultSelector):
    skips = False
    skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if not self.skips or timeout is None:
            return super().select(timeout)
        self.skipped_s += max(0.0, timeout)
        return super().select(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    """Goes by the real time until `skips` is set."""

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
