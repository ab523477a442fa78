"""Admission control: a bounded queue of deliveries. A delivery that finds the queue full is refused at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.errors import QueueFull

LIMIT = 128
"""Deliveries between their last byte and their answer, at most.

A delivery takes 0.25 ms of processor time, beside the fan-out of earlier deliveries. A full queue is therefore answered
within a quarter of a second. At 1,000 deliveries a second the queue holds what comes in a pause of 0.1 s.
"""

LOG_EVERY_S = 1.0
"""Refusals share a log line: a line for each would keep the admitted deliveries waiting."""


class Admission:
    """Counts the deliveries that are being worked at."""

    def __init__(self, limit: int = LIMIT, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._monotonic = monotonic
        self.admitted_now = 0
        self._refused = 0
        self._logged_s = -LOG_EVERY_S

    def check(self) -> None:
        """Raise QueueFull where the queue is full."""
        if self.admitted_now >= self._limit:
            raise QueueFull(f"{self.admitted_now} deliveries are waiting for their answer")

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Hold a place in the queue. Raises QueueFull where the queue is full."""
        self.check()
        self.admitted_now += 1
        try:
            yield
        finally:
            self.admitted_now -= 1

    def refusals_to_log(self) -> int:
        """Count a refusal. Returns the refusals since the last log line; 0 while that line is younger than a second."""
        self._refused += 1
        now_s = self._monotonic()
        if now_s - self._logged_s < LOG_EVERY_S:
            return 0
        count, self._refused, self._logged_s = self._refused, 0, now_s
        return count
