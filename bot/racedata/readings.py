"""Readings of the data service that go on when their callers give up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bot.logs import get_logger

log = get_logger(__name__)
T = TypeVar("T")


class Readings:
    def __init__(self) -> None:
        self.under_way: set[asyncio.Task[Any]] = set()

    async def finished(self, reading: Coroutine[Any, Any, T]) -> T:
        """The reading's result. The end of a caller's patience does not end the reading."""
        task = asyncio.create_task(reading)
        self.under_way.add(task)
        task.add_done_callback(self._end)
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """End the readings: they would use the client after the client's end."""
        for task in self.under_way:
            task.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)

    def _end(self, task: "asyncio.Task[Any]") -> None:
        self.under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("reading_failed", reason=str(error))
