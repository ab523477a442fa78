"""Subscriptions and their deliveries: what is to be sent, what was, and what came back (Interface, Events)."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.sandbox.racing_service.event_payloads import Happening
from bot.sandbox.racing_service.switches import DeliveryShape

KEEP_RECORDS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who is told of what. It belongs to the account: a rotated key changes nothing here."""

    subscription_id: str
    url: str
    events: frozenset[str]
    region: str | None
    secret: str = field(repr=False)

    def wants(self, happening: Happening) -> bool:
        """Whether the subscription is told; without a region it takes all of them."""
        return happening.event in self.events and self.region in (None, happening.region)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST and its end. `status` is None where no answer came; then `error` says why."""

    at: datetime
    body: bytes
    status: int | None
    answer: str = ""
    error: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the receiver took it: any 2xx, and nothing else."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(eq=False, slots=True)
class Delivery:
    """One happening on its way to one subscription. `next_at` None: not to be attempted (again).

    `shape`: how its record is shown; None as the switch says.
    """

    number: int
    subscription: Subscription
    happening: Happening
    created_at: datetime
    next_at: datetime | None
    attempts: list[Attempt] = field(default_factory=list)
    shape: DeliveryShape | None = None

    @property
    def delivery_id(self) -> str:
        """Its identifier: "dl_00000001"."""
        return f"dl_{self.number:08d}"

    @property
    def status(self) -> str:
        """`delivered` once a receiver has taken it, `failed` when given up, else `pending`."""
        if any(attempt.accepted for attempt in self.attempts):
            return "delivered"
        return "pending" if self.next_at or not self.attempts else "failed"


class DeliveryQueue:
    """All subscriptions, and the deliveries of the last 30 days."""

    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self._deliveries: list[Delivery] = []
        self._numbered = 0

    def subscribe(self, url: str, events: frozenset[str], region: str | None) -> Subscription:
        """A new subscription with a secret of its own."""
        number = len(self.subscriptions) + 1
        subscription = Subscription(f"sub_{number}", url, events, region, "whsec_" + secrets.token_hex(24))
        self.subscriptions.append(subscription)
        return subscription

    def add(self, happening: Happening, now: datetime) -> list[Delivery]:
        """One delivery for each subscription that wants the happening, due at once."""
        queued = [
            Delivery(self._next_number(), subscription, happening, now, next_at=now)
            for subscription in self.subscriptions
            if subscription.wants(happening)
        ]
        self._deliveries += queued
        return queued

    def take_due(self, now: datetime) -> Iterator[Delivery]:
        """The deliveries to be attempted now. Each is taken once, so that two callers never send the same one."""
        for delivery in self._deliveries:
            if delivery.next_at is not None and delivery.next_at <= now:
                delivery.next_at = None
                yield delivery

    def deliveries(self, now: datetime) -> list[Delivery]:
        """The deliveries on record, oldest first; those past their 30 days are forgotten."""
        self._deliveries = [each for each in self._deliveries if each.created_at > now - KEEP_RECORDS]
        return list(self._deliveries)

    def _next_number(self) -> int:
        self._numbered += 1
        return self._numbered
