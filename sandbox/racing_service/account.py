"""The counts of a key's requests (Interface, Limits) and of the account's usage, and the turns of minute and month."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Literal

By = Literal["endpoint", "day"]
Usage = dict[tuple[str, str], Counter[str]]
"""By day and endpoint: `requests` paid by the quota, `errors`, and refusals by their code. Survives the key."""


@dataclass(slots=True)
class KeyCounts:
    """Requests by minute, whatever the answer (Limits 5), and charged requests by month.

    A rotated key starts anew: "Both limits apply per key".
    """

    minutes: Counter[int] = field(default_factory=Counter)
    months: Counter[str] = field(default_factory=Counter)


def grouped(usage: Usage, month: str, by: By) -> dict[str, Counter[str]]:
    """Sums of a month ("2025-11") by day or by endpoint, sorted."""
    groups: dict[str, Counter[str]] = {}
    for (day, endpoint), counts in usage.items():
        if day.startswith(month):
            groups.setdefault(endpoint if by == "endpoint" else day, Counter()).update(counts)
    return dict(sorted(groups.items()))


def minute_of(now: datetime) -> int:
    return int(now.timestamp() // 60)


def minute_reset(now: datetime) -> int:
    """Unix time."""
    return (minute_of(now) + 1) * 60


def seconds_until(reset: int, now: datetime) -> int:
    """Whole seconds, at least one."""
    return max(1, math.ceil(reset - now.timestamp()))


def day_of(now: datetime) -> str:
    """For example "2025-11-20". Spec gap G13: months turn in UTC."""
    return now.astimezone(UTC).date().isoformat()


def month_of(now: datetime) -> str:
    return day_of(now)[:7]


def month_reset(now: datetime) -> int:
    """Unix time (Limits 2)."""
    next_month = now.astimezone(UTC).date().replace(day=1) + timedelta(days=32)
    return int(datetime.combine(next_month.replace(day=1), time(), UTC).timestamp())
