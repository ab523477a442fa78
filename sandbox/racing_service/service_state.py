"""The state of the stand-in, shared by the gate and the endpoints."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from sandbox.racing_service.account import Account, KeyCounts
from sandbox.racing_service.delivery_queue import DeliveryQueue
from sandbox.racing_service.faults import Faults
from sandbox.racing_service.plan_table import PLANS, Window
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import Switches

Clock = Callable[[], datetime]
Position = tuple[str, str]
USAGE = "/account/usage"
ENDPOINTS = (
    "/countries",
    "/courses",
    "/reference",
    "/races/search",
    "/webhooks/subscribe",
    "/webhooks/deliveries",
    USAGE,
)


@dataclass(slots=True)
class Call:
    """A request. `status` is None after a cut connection.

    `keyed`: with the account's own key. `counts` are the key's own, or the strangers' for an unknown key.
    """

    request_id: str
    at: datetime
    method: str
    path: str
    endpoint: str
    parameters: list[tuple[str, str]]
    keyed: bool
    counts: KeyCounts
    per_minute: int
    in_minute: int = 0
    status: int | None = None
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> dict[str, str]:
        return dict(self.parameters)


@dataclass(eq=False)
class State:
    """`strangers` counts requests without a known key."""

    clock: Clock
    racing: Racing
    account: Account
    delivery_queue: DeliveryQueue
    switches: Switches
    faults: Faults = field(default_factory=Faults)
    strangers: KeyCounts = field(default_factory=KeyCounts)
    requests: list[Call] = field(default_factory=list)
    numbered: int = 0
    cursors: dict[str, tuple[str, Position | None]] = field(default_factory=dict)
    """Cursor → its query, and the position before the next page."""

    @property
    def today(self) -> date:
        return self.racing.today

    @property
    def window(self) -> Window:
        return self.account.plan.window(self.today)

    def plans_reaching(self, endpoint: str) -> tuple[str, ...]:
        """All plans, unless a switch says otherwise."""
        return self.switches.reach.get(endpoint, tuple(PLANS))

    def next_request_id(self) -> str:
        self.numbered += 1
        return f"req_{self.numbered:010x}"
