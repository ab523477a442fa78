"""Subscriptions and their deliveries (Interface, Events)."""

import asyncio
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

import httpx

from sandbox.loopback_server import make_client
from sandbox.racing_service.event_payloads import Happening
from sandbox.racing_service.switches import DeliveryShape, Switches

SIGNATURE_HEADER = "X-SVC-Signature"
KEEP_RECORDS = timedelta(days=30)
_ANSWER_KEPT = 500
_AT_ONCE = 16


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
    """A POST. `status` is None without an answer; then `error` has the reason."""

    at: datetime
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
    is_under_way: bool = False
    shape: DeliveryShape = "counted"

    @property
    def delivery_id(self) -> str:
        return f"dl_{self.number:08d}"

    @property
    def status(self) -> str:
        if any(attempt.accepted for attempt in self.attempts):
            return "delivered"
        return "pending" if self.next_at or self.is_under_way or not self.attempts else "failed"


class DeliveryQueue:
    """Sends signed deliveries by the given client, at least once, retried for about a day."""

    def __init__(self, client: httpx.AsyncClient | None) -> None:
        self.subscriptions: list[Subscription] = []
        self._deliveries: list[Delivery] = []
        self._numbers = count(1)
        self._accepted = 0
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.client = client or make_client()

    def subscribe(self, url: str, events: frozenset[str], region: str | None) -> Subscription:
        number = len(self.subscriptions) + 1
        subscription = Subscription(f"sub_{number}", url, events, region, "whsec_" + secrets.token_hex(24))
        self.subscriptions.append(subscription)
        return subscription

    def add(self, happening: Happening, now: datetime) -> list[Delivery]:
        queued = [
            Delivery(next(self._numbers), subscription, happening, now, next_at=now)
            for subscription in self.subscriptions
            if subscription.wants(happening)
        ]
        self._deliveries += queued
        return queued

    def deliveries(self, now: datetime) -> list[Delivery]:
        """Oldest first. Deliveries older than 30 days are forgotten."""
        self._deliveries = [each for each in self._deliveries if each.created_at > now - KEEP_RECORDS]
        return list(self._deliveries)

    def hurry(self, now: datetime) -> None:
        """Failed deliveries are due at once."""
        for delivery in self._deliveries:
            if delivery.next_at is not None:
                delivery.next_at = now

    def forget(self) -> None:
        """Forget all deliveries. Those that wait are not sent."""
        self._deliveries.clear()

    async def deliver_due(self, now: datetime, switches: Switches) -> int:
        """The number of attempted deliveries. Each is attempted once, also with two callers."""
        due = [each for each in self._deliveries if each.next_at is not None and each.next_at <= now]
        for delivery in due:
            delivery.next_at, delivery.is_under_way = None, True
        await asyncio.gather(*(self._deliver(delivery, now, switches) for delivery in due))
        return len(due)

    async def _deliver(self, delivery: Delivery, now: datetime, switches: Switches) -> None:
        try:
            async with self._slots:
                accepted = await self._attempt(delivery, now, switches)
                self._accepted += accepted
                if accepted and switches.repeat_every and self._accepted % switches.repeat_every == 0:
                    await self._attempt(delivery, now, switches)
        except asyncio.CancelledError:
            # The next call takes the delivery up again.
            delivery.next_at = now
            raise
        finally:
            delivery.is_under_way = False
        tried = len(delivery.attempts)
        if not accepted and tried <= len(switches.retry_gaps_s):
            delivery.next_at = now + timedelta(seconds=switches.retry_gaps_s[tried - 1])

    async def _attempt(self, delivery: Delivery, now: datetime, switches: Switches) -> bool:
        """Redirects are not followed."""
        subscription, body = delivery.subscription, _body(delivery, switches)
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign(subscription.secret, body)}
        try:
            async with asyncio.timeout(switches.delivery_timeout_s):
                answer = await self.client.post(subscription.url, content=body, headers=headers, timeout=None)
            attempt = Attempt(now, answer.status_code, answer.text[:_ANSWER_KEPT])
        except TimeoutError:
            attempt = Attempt(now, None, error="timeout")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            attempt = Attempt(now, None, error=type(error).__name__)
        delivery.attempts.append(attempt)
        return attempt.accepted


def sign(secret: str, body: bytes) -> str:
    """Interface, Events 2: over the exact bytes."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _body(delivery: Delivery, switches: Switches) -> bytes:
    payload = delivery.happening.payload
    if switches.attempt_in_body:
        attempt = len(delivery.attempts) + 1
        payload = {**payload, "delivery": {"delivery_id": delivery.delivery_id, "attempt": attempt}}
    return json.dumps(payload, ensure_ascii=False).encode()
