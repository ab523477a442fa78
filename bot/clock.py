"""Time, chance and tokens are passed in. Only composition roots pass the real ones (bot/ports.py)."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present time, aware, in UTC."""

Monotonic = Callable[[], float]
"""Returns seconds since any moment. Nobody sets this clock."""

Token = Callable[[int], str]
"""Returns so many random bytes, in hex."""


def utc_now() -> datetime:
    return datetime.now(UTC)
