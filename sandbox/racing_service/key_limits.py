"""A key's requests per minute and per month (Interface, Limits)."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(slots=True)
class KeyCounts:
    """A rotated key starts anew: "Both limits apply per key"."""

    _minute: int = -1
    _in_minute: int = 0
    months: Counter[str] = field(default_factory=Counter)

    def count_request(self, now: datetime) -> int:
        """Every request counts, whatever the answer (Limits 5)."""
        minute = int(now.timestamp() // 60)
        if minute != self._minute:
            self._minute, self._in_minute = minute, 0
        self._in_minute += 1
        return self._in_minute

    def in_minute(self, now: datetime) -> int:
        return self._in_minute if int(now.timestamp() // 60) == self._minute else 0

    def in_month(self, now: datetime) -> int:
        return self.months[month_of(now)]


def minute_reset(now: datetime) -> int:
    """Unix time."""
    return (int(now.timestamp() // 60) + 1) * 60


def seconds_until(reset: int, now: datetime) -> int:
    """Whole seconds, at least one."""
    return max(1, math.ceil(reset - now.timestamp()))


def month_of(now: datetime) -> str:
    """Such as "2025-11". Spec gap G13: months turn in UTC."""
    return now.astimezone(UTC).strftime("%Y-%m")


def month_reset(now: datetime) -> int:
    """Unix time (Limits 2)."""
    utc = now.astimezone(UTC)
    year, month = (utc.year + 1, 1) if utc.month == 12 else (utc.year, utc.month + 1)
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp())
