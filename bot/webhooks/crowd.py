"""Requests that are under way: where they are more than can be answered in time, the next ones come again later."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.errors import QueueFull

BEGUN = "begun_s"
"""In a request's ASGI state: when its first byte was read, by the monotonic clock. `bot/serving.py` puts it there."""

MANY = 50
"""Under way at once, from which on it counts how late their turn comes."""

LATE_S = 0.05
"""A request whose turn comes so long after its first byte is one of too many: each waits about three such turns."""


TOLD_EVERY_S = 1.0
"""A line for each that is turned away would keep the others waiting."""


class Crowd:
    """Counts requests while they are answered."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.under_way = 0
        self._turned_away = 0
        self._told_s = -TOLD_EVERY_S

    @contextmanager
    def joined(self, begun_s: float | None) -> Iterator[None]:
        """Be one of them. Raises QueueFull where the turn came too late among too many; None: nobody knows how late."""
        late_s = 0.0 if begun_s is None else self._monotonic() - begun_s
        if self.under_way >= MANY and late_s > LATE_S:
            raise QueueFull(f"{self.under_way} requests are under way, and this one's turn came after {late_s:.2f} s")
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    def turned_away(self) -> int:
        """One more was turned away. How many that makes since they were last told of; 0 where that was a moment ago."""
        self._turned_away += 1
        now_s = self._monotonic()
        if now_s - self._told_s < TOLD_EVERY_S:
            return 0
        count, self._turned_away, self._told_s = self._turned_away, 0, now_s
        return count
