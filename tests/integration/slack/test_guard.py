"""`POST /slack/events`: refusals, and never a 500."""

import asyncio
import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.routing import Route

from bot.slack.request_guard import SLACK_PATH, SlackEndpoint
from bot.web.request_body import BodyReader
from sandbox.slack import bot_requests
from tests.clock import START
from tests.rows import over

SECRET = "guard-secret"
MAX_BYTES = 64 * 1024
NOW = int(START.timestamp())
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
NO_SIGNATURE = "v0=" + "0" * 64

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def authorize(**_):
    return AuthorizeResult(enterprise_id=None, team_id="T1", bot_token="xoxb-test", bot_user_id="UBOT")


@dataclass
class Guarded:
    """An endpoint before a Bolt app of the test's. `heard`: the words of commands. `retries`: the words of events."""

    secret: str | None = SECRET
    heard: list[str] = field(default_factory=list)
    retries: list[Any] = field(default_factory=list)

    def __post_init__(self):
        bolt = AsyncApp(
            process_before_response=True,
            request_verification_enabled=False,
            authorize=authorize,
            client=AsyncWebClient(retry_handlers=[]),
        )

        @bolt.command("/racecard")
        async def on_racecard(ack, body):
            self.heard.append(body["text"])
            await ack()

        @bolt.event("channel_archive")
        async def on_archive(request):
            self.retries.append(request.headers.get("x-slack-retry-num"))

        endpoint = SlackEndpoint(
            bolt=bolt,
            signing_secret=SecretStr(self.secret) if self.secret else None,
            bodies=BodyReader(max_bytes=MAX_BYTES, budget_bytes=16 * MAX_BYTES, body_s=0.05),
            clock=lambda: START,
            count=lambda _status: None,
            token=secrets.token_hex,
        )
        app = Starlette(routes=[Route(SLACK_PATH, endpoint.__call__, methods=["POST"])])
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")

    async def post(self, content, *headers):
        return await self.client.post(SLACK_PATH, content=content, headers=list(headers))

    async def send(self, body: bytes, kind=FORM, *more):
        """The body as Slack sends it."""
        return await self.post(body, *signed(body, kind), *more)


def signed(body: bytes, kind=FORM, *, at: Any = NOW, secret=SECRET):
    return [
        ("X-Slack-Request-Timestamp", str(at)),
        ("X-Slack-Signature", bot_requests.sign(secret, at, body)),
        ("Content-Type", kind),
    ]


def command(text: str) -> bytes:
    return urlencode(
        {"command": "/racecard", "text": text, "channel_id": "C1", "user_id": "U1", "team_id": "T1"}
    ).encode()


GB = command("GB")


@pytest.fixture(scope="module")
def built():
    return Guarded()


@pytest.fixture
def guard(built):
    """The endpoint of all tests: a request takes less time than building."""
    built.heard.clear()
    built.retries.clear()
    return built


@pytest.mark.parametrize("text", ["payload", "payload=1", "GB payload=x", "100% & more", "Vélizy", ""])
async def test_command_reaches_bolt_whatever_its_words(guard, text):
    assert (await guard.send(command(text))).status_code == 200
    assert guard.heard == [text]


async def test_url_verification_is_answered_and_an_event_that_comes_again_says_so_to_bolt(guard):
    answer = await guard.send(json.dumps({"type": "url_verification", "challenge": "c-1"}).encode(), JSON)
    assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})
    body = json.dumps({"type": "event_callback", "event": {"type": "channel_archive", "channel": "C1"}}).encode()
    again = [("X-Slack-Retry-Num", "1"), ("X-Slack-Retry-Reason", "http_timeout")]
    for more in ([], again):
        assert (await guard.send(body, JSON, *more)).status_code == 200
    assert guard.retries == [None, ["1"]]


@over(("age_s", "status"), [(301, 401), (-301, 401), (86_400, 401), (300, 200), (-300, 200)])
async def test_timestamp_more_than_five_minutes_off_is_refused_either_way(guard, age_s, status):
    assert (await guard.post(GB, *signed(GB, at=NOW - age_s))).status_code == status


STAMP, *_ = RIGHT = signed(GB)
WRONG: dict[str, list[tuple[str, Any]]] = {
    **{
        f"timestamp {at!r}": [("X-Slack-Request-Timestamp", at), ("X-Slack-Signature", NO_SIGNATURE)]
        for at in ("", "now", "1e9", "-5", "١٢٣".encode(), "9" * 40)
    },
    "no signature": [STAMP],
    **{
        f"signature {one!r}": [STAMP, ("X-Slack-Signature", one)]
        for one in ("", "v0=", NO_SIGNATURE, "v1=" + "0" * 64, "v0=é".encode("latin-1"))
    },
    **{
        f"{name} twice, {one!r} {where}": order
        for name, one in (
            ("X-Slack-Signature", NO_SIGNATURE),
            ("X-Slack-Request-Timestamp", "1"),
            ("X-Slack-Signature", ""),
        )
        for where, order in (("first", [(name, one), *RIGHT]), ("last", [*RIGHT, (name, one)]))
    },
    "signature of another secret": signed(GB, secret="another"),
    "signature of another moment": [STAMP, signed(GB, at=NOW - 1)[1]],
    "signature of another body": signed(command("IRE")),
}


@over("wrong", WRONG)
async def test_request_that_is_not_surely_slacks_is_refused(guard, wrong):
    assert (await guard.post(GB, *WRONG[wrong])).status_code == 401
    assert guard.heard == []


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data; boundary=x", f"{FORM}; charset=x"])
async def test_command_is_read_whatever_its_content_type_says_but_json(guard, kind):
    assert (await guard.send(GB, kind)).status_code == 200
    assert (await guard.send(GB, JSON)).status_code == 400
    assert guard.heard == ["GB"]


async def test_without_a_signing_secret_everything_is_404_in_words_and_unread():
    answer = await Guarded(secret=None).send(b"x" * (MAX_BYTES // 2))
    assert answer.status_code == 404
    assert "Socket Mode" in answer.json()["error"]


async def test_body_that_never_ends_is_408_and_one_that_says_twenty_megabytes_is_413(guard):
    async def body():
        yield b"x"
        await asyncio.Event().wait()

    assert (await guard.post(body(), STAMP, ("X-Slack-Signature", NO_SIGNATURE))).status_code == 408
    said = ("Content-Length", str(20 * 1024 * 1024))
    assert (await guard.post(b"", STAMP, ("X-Slack-Signature", NO_SIGNATURE), said)).status_code == 413


async def test_unsigned_large_body_is_refused_without_being_read(guard):
    read = 0

    async def body():
        nonlocal read
        for _ in range(20 * 1024):
            read += 1024
            yield b"x" * 1024

    assert (await guard.post(body())).status_code == 401
    assert read <= 1024


@over(
    ("body", "kind"),
    [
        (b"\xff\xfe\xfa", FORM),
        (b"{", JSON),
        (b"[" * 100_000, JSON),
        (b"payload=" + b"%5B" * 20_000, FORM),
        (b"[1]", JSON),
        (b"payload=nope", FORM),
        (b"&".join(b"a=1" for _ in range(5_000)), FORM),
        (b"x" * (MAX_BYTES + 1), FORM),
    ],
)
async def test_signed_body_that_can_not_be_read_is_refused(guard, body, kind):
    assert (await guard.send(body, kind)).status_code in {400, 413}


@settings(max_examples=60)
@given(body=st.binary(max_size=2_000), kind=st.sampled_from([JSON, "text/plain", ""]))
async def test_no_signed_body_is_a_500(built, body, kind):
    assert (await built.send(body, kind)).status_code in {200, 400, 404}
