"""Everything the stand-in holds while it runs, in one value that the gate and the endpoints share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from bot.sandbox.racing_service.account_usage import UsageBook
from bot.sandbox.racing_service.cursors import CursorMint
from bot.sandbox.racing_service.delivery_queue import DeliveryQueue
from bot.sandbox.racing_service.faults import Faults
from bot.sandbox.racing_service.key_limits import KeyCounts
from bot.sandbox.racing_service.plan_table import PLANS, Plan, Window
from bot.sandbox.racing_service.racing import Racing
from bot.sandbox.racing_service.switches import Switches

Clock = Callable[[], datetime]
Sleep = Callable[[float], Awaitable[None]]
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
class Account:
    """The one account: its key, its plan, and what the key has used."""

    key: str
    plan: Plan
    counts: KeyCounts = field(default_factory=KeyCounts)
    usage: UsageBook = field(default_factory=UsageBook)


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One line of the request log. No key is in it, nor is the `key` parameter in `query`.

    `status` is None where the connection was cut. `keyed`: a key came that was the account's own.
    """

    at: datetime
    request_id: str
    method: str
    path: str
    endpoint: str
    query: dict[str, str]
    keyed: bool
    status: int | None


@dataclass(slots=True)
class State:
    """What the service knows. `strangers` counts the requests that came without a known key."""

    clock: Clock
    sleep: Sleep
    racing: Racing
    account: Account
    mint: CursorMint
    switches: Switches = field(default_factory=Switches)
    delivery_queue: DeliveryQueue = field(default_factory=DeliveryQueue)
    faults: Faults = field(default_factory=Faults)
    strangers: KeyCounts = field(default_factory=KeyCounts)
    requests: list[ServedRequest] = field(default_factory=list)
    numbered: int = 0

    @property
    def today(self) -> date:
        """The day that the service takes for today."""
        return self.racing.today

    @property
    def window(self) -> Window:
        """The dates that the account's plan reads."""
        return self.account.plan.window(self.today)

    def plans_reaching(self, endpoint: str) -> tuple[str, ...]:
        """The plans that reach an endpoint: all, unless a switch says otherwise."""
        return self.switches.reach.get(endpoint, tuple(PLANS))

    def next_request_id(self) -> str:
        """A new request's identifier."""
        self.numbered += 1
        return f"req_{self.numbered:010x}"
