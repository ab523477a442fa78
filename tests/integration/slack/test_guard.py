"""`POST /slack/events`: what is refused, and that nothing is a 500."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.routing import Route

from bot.clock import Clock
from bot.slack.request_guard import SLACK_PATH, SlackEndpoint
from bot.web.request_body import BodyReader
from sandbox.slack import signing
from tests.clock import now

SECRET = "guard-secret"
MAX_BYTES = 64 * 1024


def make_client(
    heard: list[str], retries: list[Any] | None = None, *, secret: str | None = SECRET, clock: Clock = now
) -> httpx.AsyncClient:
    async def authorize(**_):
        return AuthorizeResult(enterprise_id=None, team_id="T1", bot_token="xoxb-test", bot_user_id="UBOT")

    bolt = AsyncApp(
        process_before_response=True,
        request_verification_enabled=False,
        authorize=authorize,
        client=AsyncWebClient(retry_handlers=[]),
    )

    @bolt.command("/racecard")
    async def on_racecard(ack, body):
        heard.append(body["text"])
        await ack()

    @bolt.event("channel_archive")
    async def on_archive(request):
        if retries is not None:
            retries.append(request.headers.get("x-slack-retry-num"))

    endpoint = SlackEndpoint(
        bolt=bolt,
        signing_secret=SecretStr(secret) if secret else None,
        bodies=BodyReader(max_bytes=MAX_BYTES, budget_bytes=16 * MAX_BYTES, body_s=0.3),
        clock=clock,
        count=lambda _status: None,
    )

    async def receive(request):
        return await endpoint(request)

    app = Starlette(routes=[Route(SLACK_PATH, receive, methods=["POST"])])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")


async def send(
    client, body: bytes, content_type="application/x-www-form-urlencoded", *, at=None, secret=SECRET, **more
):
    timestamp = int(now().timestamp()) if at is None else at
    headers = {
        "X-Slack-Request-Timestamp": str(timestamp),
        "X-Slack-Signature": signing.sign(secret, timestamp, body),
        "Content-Type": content_type,
        **more,
    }
    return await client.post(SLACK_PATH, content=body, headers=headers)


def command(text: str) -> bytes:
    return urlencode(
        {"command": "/racecard", "text": text, "channel_id": "C1", "user_id": "U1", "team_id": "T1"}
    ).encode()


@pytest.mark.parametrize("text", ["payload", "payload=1", "GB payload=x", "100% & more", "Vélizy", ""])
async def test_command_reaches_bolt_whatever_its_words(text):
    heard: list[str] = []
    async with make_client(heard) as client:
        assert (await send(client, command(text))).status_code == 200
    assert heard == [text]


async def test_url_verification_is_answered():
    async with make_client([]) as client:
        body = json.dumps({"type": "url_verification", "challenge": "c-1"}).encode()
        answer = await send(client, body, "application/json")
    assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})


@pytest.mark.parametrize(("age_s", "status"), [(301, 401), (-301, 401), (86_400, 401), (300, 200), (-300, 200)])
async def test_timestamp_more_than_five_minutes_off_is_refused_either_way(age_s, status):
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    async with make_client([], clock=lambda: now) as client:
        assert (await send(client, command("GB"), at=int(now.timestamp()) - age_s)).status_code == status


@pytest.mark.parametrize("at", ["", "now", "1e9", "-5", "١٢٣".encode(), "9" * 40])
async def test_timestamp_that_is_no_number_is_refused(at):
    async with make_client([]) as client:
        headers = {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": "v0=" + "0" * 64}
        assert (await client.post(SLACK_PATH, content=b"x=1", headers=headers)).status_code == 401


@pytest.mark.parametrize("signature", [None, "", "v0=", "v0=" + "0" * 64, "v1=" + "0" * 64, "v0=é".encode("latin-1")])
async def test_wrong_signature_is_refused(signature):
    async with make_client([]) as client:
        headers = {"X-Slack-Request-Timestamp": str(int(now().timestamp()))}
        if signature is not None:
            headers["X-Slack-Signature"] = signature
        assert (await client.post(SLACK_PATH, content=command("GB"), headers=headers)).status_code == 401


@pytest.mark.parametrize(
    "repeated", [("X-Slack-Signature", "v0=" + "0" * 64), ("X-Slack-Request-Timestamp", "1"), ("X-Slack-Signature", "")]
)
async def test_header_that_comes_twice_is_refused_even_if_one_of_them_is_right(repeated):
    heard: list[str] = []
    async with make_client(heard) as client:
        timestamp, body = int(now().timestamp()), command("GB")
        headers = [
            ("X-Slack-Request-Timestamp", str(timestamp)),
            ("X-Slack-Signature", signing.sign(SECRET, timestamp, body)),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ]
        for order in ([*headers, repeated], [repeated, *headers]):
            assert (await client.post(SLACK_PATH, content=body, headers=order)).status_code == 401
    assert heard == []


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded; charset=x"],
)
async def test_command_is_read_whatever_its_content_type_says_but_json(content_type):
    heard: list[str] = []
    async with make_client(heard) as client:
        assert (await send(client, command("GB"), content_type)).status_code == 200
        assert (await send(client, command("GB"), "application/json")).status_code == 400
    assert heard == ["GB"]


async def test_signed_body_of_another_secret_timestamp_or_body_is_refused():
    heard: list[str] = []
    async with make_client(heard) as client:
        assert (await send(client, command("GB"), secret="another")).status_code == 401
        timestamp = int(now().timestamp())
        for sent_at, signed in ((timestamp - 1, command("GB")), (timestamp, command("IRE"))):
            headers = {
                "X-Slack-Request-Timestamp": str(timestamp),
                "X-Slack-Signature": signing.sign(SECRET, sent_at, signed),
            }
            assert (await client.post(SLACK_PATH, content=command("GB"), headers=headers)).status_code == 401
    assert heard == []


async def test_without_a_signing_secret_everything_is_404_in_words_and_unread():
    async with make_client([], secret=None) as client:
        answer = await send(client, b"x" * (MAX_BYTES // 2))
    assert answer.status_code == 404
    assert "Socket Mode" in answer.json()["error"]


async def test_body_that_never_ends_is_408():
    async def body():
        yield b"x"
        await asyncio.sleep(5)

    async with make_client([]) as client:
        timestamp = int(now().timestamp())
        headers = {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": "v0=" + "0" * 64}
        assert (await client.post(SLACK_PATH, content=body(), headers=headers)).status_code == 408


async def test_twenty_megabytes_are_refused_by_what_they_say_of_themselves():
    async with make_client([]) as client:
        headers = {
            "X-Slack-Request-Timestamp": str(int(now().timestamp())),
            "X-Slack-Signature": "v0=" + "0" * 64,
            "Content-Length": str(20 * 1024 * 1024),
        }
        assert (await client.post(SLACK_PATH, content=b"", headers=headers)).status_code == 413


async def test_event_that_comes_again_says_so_to_bolt():
    retries: list[Any] = []
    async with make_client([], retries) as client:
        body = json.dumps({"type": "event_callback", "event": {"type": "channel_archive", "channel": "C1"}}).encode()
        for retry in ({}, {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}):
            assert (await send(client, body, "application/json", **retry)).status_code == 200
    assert retries == [None, ["1"]]


async def test_unsigned_large_body_is_refused_without_being_read():
    read = 0

    async def body():
        nonlocal read
        for _ in range(20 * 1024):
            read += 1024
            yield b"x" * 1024

    async with make_client([]) as client:
        assert (await client.post(SLACK_PATH, content=body())).status_code == 401
    assert read <= 1024


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\xff\xfe\xfa", "application/x-www-form-urlencoded"),
        (b"{", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"payload=" + b"%5B" * 20_000, "application/x-www-form-urlencoded"),
        (b"[1]", "application/json"),
        (b"payload=nope", "application/x-www-form-urlencoded"),
        (b"&".join(b"a=1" for _ in range(5_000)), "application/x-www-form-urlencoded"),
        (b"x" * (MAX_BYTES + 1), "application/x-www-form-urlencoded"),
    ],
)
async def test_signed_body_that_can_not_be_read_is_refused(body, content_type):
    async with make_client([]) as client:
        assert (await send(client, body, content_type)).status_code in {400, 413}


@pytest.fixture
def runner():
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture
def lasting_client(runner):
    async def opened():
        return make_client([])

    client = runner.run(opened())
    yield client
    runner.run(client.aclose())


# One endpoint for all examples: to build it takes longer than to ask it.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=2_000), content_type=st.sampled_from(["application/json", "text/plain", ""]))
def test_no_signed_body_is_a_500(runner, lasting_client, body, content_type):
    answer = runner.run(send(lasting_client, body, content_type))
    assert answer.status_code in {200, 400, 404}
