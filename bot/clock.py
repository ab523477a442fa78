"""Time is passed in as a Clock. Only the composition root passes the real clock."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present time, aware, in UTC."""


def utc_now() -> datetime:
    return datetime.now(UTC)
