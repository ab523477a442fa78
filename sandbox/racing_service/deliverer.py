"""Sends signed deliveries, at least once, retried for about a day."""

import asyncio
import hashlib
import hmac
import json
from datetime import datetime, timedelta

import httpx

from sandbox.racing_service.delivery_queue import Attempt, Delivery, DeliveryQueue
from sandbox.racing_service.switches import Switches

SIGNATURE_HEADER = "X-SVC-Signature"
_ANSWER_KEPT = 500
_AT_ONCE = 16


def sign(secret: str, body: bytes) -> str:
    """Interface, Events 2: over the exact bytes."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Deliverer:
    """Uses the given client, or a client of its own."""

    def __init__(self, queue: DeliveryQueue, client: httpx.AsyncClient | None) -> None:
        self._queue = queue
        self._given = client
        self._own: httpx.AsyncClient | None = None
        self._accepted = 0
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def aclose(self) -> None:
        if self._own is not None:
            await self._own.aclose()

    async def deliver_due(self, now: datetime, switches: Switches) -> int:
        """The number of attempted deliveries."""
        due = list(self._queue.take_due(now))
        await asyncio.gather(*(self._deliver(delivery, now, switches) for delivery in due))
        return len(due)

    async def _deliver(self, delivery: Delivery, now: datetime, switches: Switches) -> None:
        try:
            async with self._slots:
                accepted = await self._attempt(delivery, now, switches)
                if accepted and self._is_repeated(switches):
                    await self._attempt(delivery, now, switches)
        except asyncio.CancelledError:
            # The next deliverer takes the delivery up again.
            delivery.next_at = now
            raise
        tried = len(delivery.attempts)
        if not accepted and tried <= len(switches.retry_gaps_s):
            delivery.next_at = now + timedelta(seconds=switches.retry_gaps_s[tried - 1])

    def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        if self._own is None:
            # Receivers are on this machine: no proxy.
            self._own = httpx.AsyncClient(trust_env=False)
        return self._own

    def _is_repeated(self, switches: Switches) -> bool:
        self._accepted += 1
        return switches.repeat_every > 0 and self._accepted % switches.repeat_every == 0

    async def _attempt(self, delivery: Delivery, now: datetime, switches: Switches) -> bool:
        body = _body(delivery, switches)
        try:
            async with asyncio.timeout(switches.delivery_timeout_s):
                status, answer = await self._post(delivery, body)
            attempt = Attempt(now, body, status, answer)
        except TimeoutError:
            attempt = Attempt(now, body, None, error="timeout")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            attempt = Attempt(now, body, None, error=type(error).__name__)
        delivery.attempts.append(attempt)
        return attempt.accepted

    async def _post(self, delivery: Delivery, body: bytes) -> tuple[int, str]:
        """Status and first part of the body. Redirects are not followed."""
        subscription = delivery.subscription
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign(subscription.secret, body)}
        response = await self._client().post(subscription.url, content=body, headers=headers, timeout=None)
        return response.status_code, response.text[:_ANSWER_KEPT]


def _body(delivery: Delivery, switches: Switches) -> bytes:
    payload = delivery.happening.payload
    if switches.attempt_in_body:
        attempt = len(delivery.attempts) + 1
        payload = {**payload, "delivery": {"delivery_id": delivery.delivery_id, "attempt": attempt}}
    return json.dumps(payload, ensure_ascii=False).encode()
