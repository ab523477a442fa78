"""Admission control: a bounded queue of deliveries. A full queue refuses at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from bot.errors import QueueFull

ADMITTED_AT_ONCE = 128
"""Deliveries between last byte and answer.

A delivery takes 0.25 ms of processor time beside the fan-out of earlier deliveries. A full queue is answered within
a quarter of a second. At 1,000 deliveries a second the queue holds the deliveries of a pause of 0.1 s.
"""


class Admission:
    def __init__(self, limit: int = ADMITTED_AT_ONCE) -> None:
        self._limit = limit
        self.admitted_now = 0

    def check(self) -> None:
        """Raise QueueFull if the queue is full."""
        if self.admitted_now >= self._limit:
            raise QueueFull(f"{self.admitted_now} deliveries are waiting for their answer")

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Hold a place in the queue. Raises QueueFull."""
        self.check()
        self.admitted_now += 1
        try:
            yield
        finally:
            self.admitted_now -= 1
