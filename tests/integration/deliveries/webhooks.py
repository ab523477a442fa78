"""The door for deliveries as an ASGI application, and what the door told whom."""

import asyncio
import hashlib
import hmac
import secrets
from datetime import UTC, datetime

import httpx
from starlette.responses import JSONResponse

from bot.db.vault import OpenedSecrets
from bot.deliveries.signing_secrets import SigningSecrets
from bot.operations.metrics import ReceiverNews
from bot.operations.signature_mismatches import Mismatches
from bot.receiver.bot_process import CountsForBot
from bot.receiver.door import Door
from bot.receiver.relay import Front
from bot.web.plain_answers import WEBHOOK_PATH
from bot.web.request_body import BodyReader
from tests.answering import answering

SECRETS = ("first-secret", "second-secret")
MAX_BYTES = 4096
SMALL_BYTES = 1024


def sign(body: bytes, secret: str = SECRETS[0]) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Seen:
    """The door's news for the bot and the log."""

    def __init__(self) -> None:
        self.notes: list[int] = []
        self.alarms: list[int] = []
        self.can_tell = True
        self.now_s = 0.0
        self.too_large = 0
        self.events: list[tuple[str, ...]] = []
        self.signature_failures: list[str] = []
        self.unread: list[bytes] = []
        self.report = CountsForBot()
        self.report.connect(self)
        self.news = ReceiverNews(
            self,  # type: ignore[arg-type]  # counted here, and not for /metrics
            Mismatches(self.tell_today, lambda: self.now_s),
            lambda: None,
            0,
        )

    def count(self, metric: str, *labels: str, times: int = 1) -> None:
        if metric == "webhook_events":
            self.events += [labels] * times
        if metric == "signature_failures":
            self.signature_failures += labels * times

    async def tell_today(self, name: str, count: int = 0, **_facts: object) -> bool:
        if name == "too-large":
            self.too_large += 1
        else:
            (self.alarms if name == "signature-mismatch" else self.notes).append(count)
        return self.can_tell

    # The line to the bot, as asyncio's transports are.

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, line: bytes) -> None:
        self.unread.append(line)

    async def hear(self) -> None:
        """Until the bot has heard all lines."""
        self.report.tell()
        while self.unread:
            line = self.unread.pop(0)
            assert line.endswith(b"\n")
            await self.news.hear(line)


def make_app(
    seen: Seen, store, *, places=None, read_stored=None, budget=16 * MAX_BYTES, body_s=0.3, monotonic=lambda: 0.0
):
    report = seen.report

    def warn(event: str, **values: object) -> None:
        """To the log."""

    door = Door(
        bodies=BodyReader(max_bytes=4 * MAX_BYTES, budget_bytes=budget, small_bytes=SMALL_BYTES, body_s=body_s),
        max_body_bytes=MAX_BYTES,
        signing_secrets=SigningSecrets(SECRETS, read_stored or answering(OpenedSecrets({}, {})), monotonic, warn),
        store=store,
        places=places or asyncio.Semaphore(128),
        clock=lambda: datetime(2026, 11, 20, tzinfo=UTC),
        token=secrets.token_hex,
        counts=report,
    )
    return Front(door, JSONResponse({"bot": "here"}), report.request_refused)


def client_of(app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")


async def post(client, body: bytes, **headers):
    return await client.post(WEBHOOK_PATH, content=body, headers={"X-SVC-Signature": sign(body)} | headers)
