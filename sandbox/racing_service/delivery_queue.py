"""Subscriptions and their deliveries (Interface, Events)."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sandbox.racing_service.event_payloads import Happening
from sandbox.racing_service.switches import DeliveryShape

KEEP_RECORDS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Belongs to the account: a rotated key changes nothing here."""

    subscription_id: str
    url: str
    events: frozenset[str]
    region: str | None
    secret: str = field(repr=False)

    def wants(self, happening: Happening) -> bool:
        return happening.event in self.events and self.region in (None, happening.region)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST. `status` is None without an answer; then `error` says why."""

    at: datetime
    body: bytes
    status: int | None
    answer: str = ""
    error: str | None = None

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(eq=False, slots=True)
class Delivery:
    """`next_at` None: no further attempt. `shape`: of the record (Spec gap G4)."""

    number: int
    subscription: Subscription
    happening: Happening
    created_at: datetime
    next_at: datetime | None
    attempts: list[Attempt] = field(default_factory=list)
    shape: DeliveryShape = "counted"

    @property
    def delivery_id(self) -> str:
        return f"dl_{self.number:08d}"

    @property
    def status(self) -> str:
        if any(attempt.accepted for attempt in self.attempts):
            return "delivered"
        return "pending" if self.next_at or not self.attempts else "failed"


class DeliveryQueue:
    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self._deliveries: list[Delivery] = []
        self._numbered = 0

    def subscribe(self, url: str, events: frozenset[str], region: str | None) -> Subscription:
        number = len(self.subscriptions) + 1
        subscription = Subscription(f"sub_{number}", url, events, region, "whsec_" + secrets.token_hex(24))
        self.subscriptions.append(subscription)
        return subscription

    def add(self, happening: Happening, now: datetime) -> list[Delivery]:
        queued = [
            Delivery(self._next_number(), subscription, happening, now, next_at=now)
            for subscription in self.subscriptions
            if subscription.wants(happening)
        ]
        self._deliveries += queued
        return queued

    def take_due(self, now: datetime) -> Iterator[Delivery]:
        """The deliveries due now. Each is taken once, also with two callers."""
        for delivery in self._deliveries:
            if delivery.next_at is not None and delivery.next_at <= now:
                delivery.next_at = None
                yield delivery

    def deliveries(self, now: datetime) -> list[Delivery]:
        """Oldest first. Deliveries older than 30 days are forgotten."""
        self._deliveries = [each for each in self._deliveries if each.created_at > now - KEEP_RECORDS]
        return list(self._deliveries)

    def _next_number(self) -> int:
        self._numbered += 1
        return self._numbered
