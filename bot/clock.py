"""Time is passed in: everything that needs it takes a Clock, and only the composition root knows the real one."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present moment, aware, in UTC."""


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)
