"""`POST /webhooks/racing` as an ASGI application with a real database."""

import asyncio
import hashlib
import hmac
import json
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Route

from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.admission import Admission
from bot.deliveries.endpoint import WEBHOOK_PATH, WebhookEndpoint
from bot.deliveries.ingest import Ingest
from bot.deliveries.signature_mismatches import MismatchRun
from bot.deliveries.signing_secrets import SigningSecrets
from bot.errors import StorageUnavailable
from bot.web.request_body import BodyReader

SECRETS = ("first-secret", "second-secret")
MAX_BYTES = 4096


def sign(body: bytes, secret: str = SECRETS[0]) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Seen:
    """What the endpoint told whom."""

    def __init__(self) -> None:
        self.mismatches: list[int] = []
        self.can_tell = True
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

    async def tell_mismatches(self, count: int) -> bool:
        self.mismatches.append(count)
        return self.can_tell

    async def tell_too_large(self) -> None:
        self.too_large += 1


def make_app(seen: Seen, store, *, admission=None, read_stored=None, budget=16 * MAX_BYTES, body_s=0.3):
    async def none_stored() -> list[str]:
        return []

    endpoint = WebhookEndpoint(
        bodies=BodyReader(max_bytes=MAX_BYTES, budget_bytes=budget, body_s=body_s),
        signing_secrets=SigningSecrets(SECRETS, read_stored or none_stored, lambda: 0.0),
        mismatches=MismatchRun(seen.tell_mismatches),
        store=store,
        admission=admission or Admission(),
        tell_too_large=seen.tell_too_large,
        clock=lambda: datetime(2026, 11, 20, tzinfo=UTC),
        counts=seen,
    )

    async def receive(request):
        return await endpoint(request)

    return Starlette(routes=[Route(WEBHOOK_PATH, receive, methods=["POST"])])


def client_of(app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def client(database: Database, seen: Seen):
    ingest = Ingest(database, patience_s=20)
    async with client_of(make_app(seen, ingest.store)) as client:
        yield SimpleNamespace(post=client.post, database=database)


async def post(client, body: bytes, **headers):
    return await client.post(WEBHOOK_PATH, content=body, headers={"X-SVC-Signature": sign(body)} | headers)


async def test_delivery_is_stored_before_it_is_accepted(client):
    body = b'{"event": "result.received", "race_id": "rc_1"}'
    answer = await post(client, body)
    assert (answer.status_code, answer.json()) == (200, {"status": "accepted"})
    (stored,) = await client.database.write(lambda s: inbox.waiting(s, datetime(2026, 11, 20, tzinfo=UTC), 5))
    assert (stored.body, stored.event_key) == (body, "result.received:rc_1")
    again = await post(client, body)
    assert (again.status_code, again.json()) == (200, {"status": "duplicate"})


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("spelling", [str.lower, str.upper])
async def test_any_active_secret_and_either_case_is_taken(client, secret, spelling):
    body = b'{"event": "result.received", "race_id": "rc_2"}'
    assert (await post(client, body, **{"X-SVC-Signature": spelling(sign(body, secret))})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-SVC-Signature", "0" * 63)],
        [("X-SVC-Signature", "g" * 64)],
        [("X-SVC-Signature", sign(b"{}") + " x")],
        [("X-SVC-Signature", f"sha256={sign(b'{}')}")],
        [("X-SVC-Signature", sign(b"{}")), ("X-SVC-Signature", sign(b"{}"))],
        [("X-SVC-Signature", sign(b"{}", "not ours"))],
        [("X-SVC-Signature", sign(b"{ }"))],
    ],
)
async def test_anything_but_one_right_signature_is_401(client, headers):
    answer = await client.post(WEBHOOK_PATH, content=b"{}", headers=headers)
    assert answer.status_code == 401
    assert answer.json().keys() == {"error", "reference"}


async def test_other_methods_are_405(seen):
    async def never(_arrival):
        raise AssertionError

    async with client_of(make_app(seen, never)) as client:
        assert (await client.get(WEBHOOK_PATH)).status_code == 405


async def test_too_large_is_413_by_its_length_and_by_what_arrives(client, seen):
    large = b"x" * (MAX_BYTES + 1)

    async def without_length():
        yield large[:4000]
        yield large[4000:]

    signature = {"X-SVC-Signature": sign(large)}
    assert (await client.post(WEBHOOK_PATH, content=large, headers=signature)).status_code == 413
    assert (await client.post(WEBHOOK_PATH, content=without_length(), headers=signature)).status_code == 413
    assert seen.too_large == 2
    exact = b"x" * MAX_BYTES
    assert (await post(client, exact)).status_code == 200


async def test_body_that_does_not_end_is_408(client, seen):
    never = asyncio.Event()

    async def half():
        yield b"{"
        await never.wait()

    answer = await client.post(WEBHOOK_PATH, content=half(), headers={"X-SVC-Signature": "0" * 64})
    assert answer.status_code == 408


async def test_bodies_in_flight_have_a_budget(seen):
    async def store(_arrival):
        await asyncio.sleep(0.1)
        return True

    async with client_of(make_app(seen, store, budget=6000)) as client:
        bodies = [json.dumps({"n": n, "pad": "x" * 2500}).encode() for n in range(4)]
        answers = await asyncio.gather(*(post(client, body) for body in bodies))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, 200, 503, 503]
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)


async def test_storage_that_refuses_is_503_with_retry_after(seen):
    async def store(_arrival):
        raise StorageUnavailable("database or disk is full")

    async with client_of(make_app(seen, store)) as client:
        answer = await post(client, b"{}")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "disk" not in answer.text


async def test_run_of_wrong_signatures_is_told_once_with_the_count(client, seen):
    for _ in range(12):
        await client.post(WEBHOOK_PATH, content=b"{}", headers={"X-SVC-Signature": "a" * 64})
    assert seen.mismatches == [5]
    await post(client, b"{}")
    for _ in range(4):
        await client.post(WEBHOOK_PATH, content=b"{}", headers={"X-SVC-Signature": "a" * 64})
    assert seen.mismatches == [5]


async def test_run_that_could_not_be_told_is_told_with_the_next_one(client, seen):
    seen.can_tell = False
    for count in range(1, 8):
        seen.can_tell = count > 6
        await client.post(WEBHOOK_PATH, content=b"{}", headers={"X-SVC-Signature": "a" * 64})
    assert seen.mismatches == [5, 6, 7]


async def test_secret_that_was_stored_meanwhile_is_found(seen):
    stored: list[str] = ["learned-secret"]

    async def read_stored():
        return stored

    async def store(_arrival):
        return True

    async with client_of(make_app(seen, store, read_stored=read_stored)) as client:
        answer = await client.post(
            WEBHOOK_PATH, content=b"{}", headers={"X-SVC-Signature": sign(b"{}", "learned-secret")}
        )
    assert answer.status_code == 200


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=MAX_BYTES), signature=st.text(max_size=80))
def test_no_body_and_no_signature_of_a_stranger_is_a_500(body, signature):
    async def store(_arrival):
        return True

    async def send():
        seen = Seen()
        async with client_of(make_app(seen, store)) as client:
            forged = await client.post(WEBHOOK_PATH, content=body, headers={"X-SVC-Signature": signature.encode()})
            signed = await post(client, body)
        return forged.status_code, signed.status_code

    forged, signed = asyncio.run(send())
    assert forged == 401
    assert signed == 200
