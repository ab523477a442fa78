"""The webhook endpoint as an ASGI application, and what the endpoint told whom."""

import hashlib
import hmac
import secrets
from datetime import UTC, datetime

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from bot.deliveries.admission import Admission
from bot.deliveries.endpoint import WEBHOOK_PATH, WebhookEndpoint
from bot.deliveries.signature_mismatches import Mismatches
from bot.deliveries.signing_secrets import SigningSecrets
from bot.web.request_body import BodyReader

SECRETS = ("first-secret", "second-secret")
MAX_BYTES = 4096
SMALL_BYTES = 1024


def sign(body: bytes, secret: str = SECRETS[0]) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Seen:
    """What the endpoint told whom."""

    def __init__(self) -> None:
        self.notes: list[int] = []
        self.alarms: list[int] = []
        self.can_tell = True
        self.now_s = 0.0
        self.too_large = 0
        self.statuses: list[str] = []
        self.stored: list[str] = []
        self.events: list[tuple[str | None, str]] = []
        self.signature_failures: list[str] = []

    def delivery(self, status: str) -> None:
        self.statuses.append(status)

    def event(self, name: str | None, outcome: str) -> None:
        self.events.append((name, outcome))

    def signature_failure(self, reason: str) -> None:
        self.signature_failures.append(reason)

    async def note(self, count: int) -> bool:
        self.notes.append(count)
        return self.can_tell

    async def alarm(self, count: int) -> bool:
        self.alarms.append(count)
        return self.can_tell

    async def tell_too_large(self) -> None:
        self.too_large += 1


def make_app(
    seen: Seen, store, *, admission=None, read_stored=None, budget=16 * MAX_BYTES, body_s=0.3, monotonic=lambda: 0.0
):
    async def none_stored() -> list[str]:
        return []

    endpoint = WebhookEndpoint(
        bodies=BodyReader(max_bytes=4 * MAX_BYTES, budget_bytes=budget, small_bytes=SMALL_BYTES, body_s=body_s),
        max_body_bytes=MAX_BYTES,
        signing_secrets=SigningSecrets(SECRETS, read_stored or none_stored, monotonic),
        mismatches=Mismatches(seen.note, seen.alarm, lambda: seen.now_s),
        store=store,
        admission=admission or Admission(lambda: 0.0),
        tell_too_large=seen.tell_too_large,
        clock=lambda: datetime(2026, 11, 20, tzinfo=UTC),
        token=secrets.token_hex,
        counts=seen,
    )

    async def receive(request):
        return await endpoint(request)

    return Starlette(routes=[Route(WEBHOOK_PATH, receive, methods=["POST"])])


def client_of(app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")


async def post(client, body: bytes, **headers):
    return await client.post(WEBHOOK_PATH, content=body, headers={"X-SVC-Signature": sign(body)} | headers)
