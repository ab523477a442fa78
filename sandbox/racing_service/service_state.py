"""The state of the stand-in, shared by the gate and the endpoints."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sandbox.racing_service.account import KeyCounts, Usage
from sandbox.racing_service.delivery_queue import DeliveryQueue
from sandbox.racing_service.plan_table import Plan, Window
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import Switches

Clock = Callable[[], datetime]
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


@dataclass(eq=False)
class State:
    """`strangers` counts requests without a known key."""

    clock: Clock
    racing: Racing
    api_key: str
    plan: Plan
    delivery_queue: DeliveryQueue
    switches: Switches
    counts: KeyCounts = field(default_factory=KeyCounts)
    strangers: KeyCounts = field(default_factory=KeyCounts)
    usage: Usage = field(default_factory=lambda: defaultdict(Counter))
    failures: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))
    """Scripted failures of the next requests, by endpoint."""

    requests: list[Call] = field(default_factory=list)
    numbered: int = 0
    cursors: dict[str, tuple[str, Position | None]] = field(default_factory=dict)
    """Cursor → its query, and the position before the next page."""

    @property
    def window(self) -> Window:
        return self.plan.window(self.racing.today)

    def next_failure(self, endpoint: str) -> str | None:
        """Uses up the failure."""
        scripted = self.failures[endpoint] or self.failures[ANY]
        return scripted.popleft() if scripted else None
