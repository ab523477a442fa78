"""The state of the stand-in, shared by the gate and the endpoints: the racing, and the account with its counts.

Requests of a key are counted (Interface, Limits), usage of the account; minutes and months turn.
"""

import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

import httpx

from bot.clock import Clock, utc_now
from sandbox.racing_service.delivery_queue import DeliveryQueue
from sandbox.racing_service.plan_table import PLANS, Window
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import Switches

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


Position = tuple[str, str]
USAGE = "/account/usage"
ANY = "*"
"""Stands for all endpoints in `State.failures`."""


@dataclass(slots=True)
class Call:
    """A request, without its key. `status` is None after a cut connection.

    `keyed`: with the account's own key. `counts` are the key's own, or the strangers' for an unknown key.
    """

    request_id: str
    at: datetime
    method: str
    endpoint: str
    parameters: list[tuple[str, str]]
    body: bytes
    keyed: bool
    counts: KeyCounts
    per_minute: int
    in_minute: int
    status: int | None = None
    code: str | None = None


class State:
    """`strangers` counts requests without a known key."""

    def __init__(
        self,
        today: date,
        *,
        seed: int = 1,
        plan: str = "free",
        api_key: str = "demo-racing-key",
        switches: Switches | None = None,
        clock: Clock = utc_now,
        delivery_client: httpx.AsyncClient | None = None,
        days_back: int = 7,
        days_ahead: int = 4,
    ) -> None:
        self.clock = clock
        self.racing = Racing(today, seed, days_back=days_back, days_ahead=days_ahead)
        self.api_key = api_key
        self.plan = PLANS[plan]
        self.delivery_queue = DeliveryQueue(delivery_client)
        self.switches = switches or Switches()
        self.counts, self.strangers = KeyCounts(), KeyCounts()
        self.usage: Usage = defaultdict(Counter)
        self.failures: dict[str, deque[str]] = defaultdict(deque)
        """Scripted failures of the next requests, by endpoint."""
        self.requests: list[Call] = []
        self.numbered = 0
        self.cursors: dict[str, tuple[str, Position | None]] = {}
        """Cursor → its query, and the position before the next page."""

    @property
    def window(self) -> Window:
        return self.plan.window(self.racing.today)

    def next_failure(self, endpoint: str) -> str | None:
        """Uses up the failure."""
        scripted = self.failures[endpoint] or self.failures[ANY]
        return scripted.popleft() if scripted else None
