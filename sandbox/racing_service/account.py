"""The account: its plan and key, the key's requests per minute and month (Interface, Limits), and its usage."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal

from sandbox.racing_service.plan_table import Plan

By = Literal["endpoint", "day"]


@dataclass(slots=True)
class Tally:
    """`requests`: the requests paid by the quota."""

    requests: int = 0
    errors: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.requests += other.requests
        self.errors += other.errors
        self.refusals.update(other.refusals)


@dataclass(slots=True)
class UsageBook:
    """The account's counts. A rotated key changes nothing here."""

    tallies: dict[tuple[date, str], Tally] = field(default_factory=dict)

    def of(self, day: date, endpoint: str) -> Tally:
        return self.tallies.setdefault((day, endpoint), Tally())

    def set_month_total(self, day: date, total: int) -> None:
        """Sets the month's requests, all on `day`."""
        for (counted_on, _), tally in self.tallies.items():
            if (counted_on.year, counted_on.month) == (day.year, day.month):
                tally.requests = 0
        self.of(day, "/races/search").requests = total

    def grouped(self, month: str, by: By) -> dict[str, Tally]:
        """Sums of a month ("2025-11") by day or by endpoint, sorted."""
        groups: dict[str, Tally] = {}
        for (day, endpoint), tally in self.tallies.items():
            if day.isoformat().startswith(month):
                groups.setdefault(endpoint if by == "endpoint" else day.isoformat(), Tally()).add(tally)
        return dict(sorted(groups.items()))


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

    def in_month(self, now: datetime) -> int:
        return self.months[month_of(now)]


def minute_reset(now: datetime) -> int:
    """Unix time."""
    return (int(now.timestamp() // 60) + 1) * 60


def seconds_until(reset: int, now: datetime) -> int:
    """Whole seconds, at least one."""
    return max(1, math.ceil(reset - now.timestamp()))


def month_of(now: datetime) -> str:
    """For example "2025-11". Spec gap G13: months turn in UTC."""
    return now.astimezone(UTC).strftime("%Y-%m")


def month_reset(now: datetime) -> int:
    """Unix time (Limits 2)."""
    utc = now.astimezone(UTC)
    year, month = (utc.year + 1, 1) if utc.month == 12 else (utc.year, utc.month + 1)
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp())


@dataclass(slots=True)
class Account:
    key: str
    plan: Plan
    counts: KeyCounts = field(default_factory=KeyCounts)
    usage: UsageBook = field(default_factory=UsageBook)
