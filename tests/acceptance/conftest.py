"""The real process against stand-ins over real sockets: signed bytes in at one end, channels out at the other.

A test of this tier may not import from `bot`.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from sandbox.loopback_server import free_port, serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches
from sandbox.slack.answers import Answer
from sandbox.slack.person import Person
from sandbox.slack.values import SentResponse
from sandbox.slack.workspace import SlackWorkspace
from tests.acceptance.forked import Forked
from tests.clock import START

WEBHOOK_SECRET = "whsec-acceptance-1"
SIGNING_SECRET = "slack-signing-secret-test"
BOT_TOKEN = "xoxb-test-token-acceptance"
APP_TOKEN = "xapp-test-token-acceptance"
API_KEY = "acceptance-racing-key"
READY_S = 30.0
NOT_IN_TIME = "I could not do this in time. Nothing was changed"
"""The beginning of the answer on a machine that is too busy. The answer asks people to try again in a moment."""


@dataclass
class Bot:
    """The bot as a process of its own."""

    folder: Path
    env: dict[str, str]
    port: int = field(default_factory=free_port)
    process: Forked | None = None
    prepare: Callable[[Path], None] | None = None
    """Run in the process before the bot is, with the folder."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "bot.log").read_text(encoding="utf-8")

    async def start(self, *, ready: bool = True) -> None:
        env = {"PORT": str(self.port)} | self.env
        self.process = Forked(("serve",), self.folder, env, self.folder / "bot.log", prepare=self.prepare)
        if ready:
            await self.wait_ready()

    async def wait_ready(self) -> None:
        async with httpx.AsyncClient() as client, asyncio.timeout(READY_S):
            while True:
                assert self.process is not None
                assert self.process.poll() is None, f"the bot has ended:\n{self.log}"
                try:
                    answer = await client.get(f"{self.url}/readyz")
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
                    continue
                if answer.status_code == 200:
                    return
                await asyncio.sleep(0.05)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    async def stop(self) -> int:
        """The exit code after a graceful stop."""
        assert self.process is not None
        self.process.terminate()
        return await asyncio.to_thread(self.process.wait, 40)

    async def deliver(self, payload: object, *, secret: str = WEBHOOK_SECRET, **changes: object) -> httpx.Response:
        """Send a payload the way the service does. `body` and `signature` can be given to be wrong."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        signature = changes.get("signature", hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
        headers = {"Content-Type": "application/json"}
        if signature is not None:
            headers["X-SVC-Signature"] = str(signature)
        async with httpx.AsyncClient(timeout=10) as client:
            return await client.post(f"{self.url}/webhooks/racing", content=body, headers=headers)


async def until(holds: Callable[[], bool], *, timeout_s: float = 60.0) -> None:
    """Wait for what nothing tells of: it is looked at again and again."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110  another process does it
            await asyncio.sleep(0.01)


async def settled(answer: Answer, *, timeout_s: float = 60.0) -> SentResponse:
    """What a command or click is answered with in the end: a slow machine is told of the progress first."""
    count = 0
    while True:
        response = (await answer.responses(count := count + 1, timeout_s=timeout_s))[count - 1]
        if not response.text.endswith(("The answer comes here.", "the answer follows.")):
            return response


@dataclass
class World:
    """The bot with a Slack and a data service around it."""

    bot: Bot
    slack: SlackWorkspace
    service: RacingService

    async def say(self, command: str, text: str, *, channel: str, user: str = "UALICE") -> str:
        """The answer to a command, text and blocks. It is typed again where the bot was too busy, and says so."""
        async with asyncio.timeout(60):
            while True:
                answer = await self.slack.command(self.bot.url, command, text, channel=channel, user=user)
                assert answer.status == 200, answer
                response = await settled(answer)
                if not response.text.startswith(NOT_IN_TIME):
                    return json.dumps([response.text, response.blocks], ensure_ascii=False)

    async def subscribe(self, channel: str, words: str) -> None:
        said = await self.say("/racing", f"subscribe {words}", channel=channel)
        assert "receives" in said, said

    def person(self, user: str = "UALICE") -> Person:
        return self.slack.person(user, self.bot.url)

    def texts(self, channel: str) -> list[str]:
        return [message.text for message in self.slack.messages(channel)]

    async def wait_for_posts(self, channel: str, count: int, *, timeout_s: float = 60.0) -> list[str]:
        await self.slack.wait_for(lambda: len(self.slack.messages(channel)) >= count, timeout_s=timeout_s)
        return self.texts(channel)


@asynccontextmanager
async def run_world(
    folder: Path, *, switches: Switches | None = None, start: bool = True, seed: int | str = 1, **settings: str
) -> AsyncIterator[World]:
    """The bot between its stand-ins; by Socket Mode where the settings have `SLACK_APP_TOKEN`, else by HTTP."""
    socket_mode = "SLACK_APP_TOKEN" in settings
    slack = SlackWorkspace(BOT_TOKEN, SIGNING_SECRET, app_token=APP_TOKEN, socket_mode=socket_mode)
    service = RacingService(
        START.date(),
        seed=int(seed),
        api_key=API_KEY,
        switches=switches or Switches(allow_http_loopback=True),
    )
    for channel_id, name in (
        ("CGB", "gb-racing"),
        ("CIRE", "ire-racing"),
        ("CALL", "all-racing"),
        ("CADMIN", "racing-admins"),
    ):
        slack.add_channel(channel_id, name, bot_is_member=True)
    slack.add_user("UALICE", "alice")
    async with service, slack.running(), serve(service.app) as service_address:
        bot = Bot(
            folder,
            {
                "RACING_API_URL": f"{service_address}/v1",
                "RACING_API_KEY": API_KEY,
                "RACING_WEBHOOK_SECRETS": WEBHOOK_SECRET,
                "SLACK_BOT_TOKEN": BOT_TOKEN,
                **({} if socket_mode else {"SLACK_SIGNING_SECRET": SIGNING_SECRET}),
                "SLACK_API_URL": slack.api_url,
                "ADMIN_CHANNEL": "CADMIN",
                "DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
                "LOG_FORMAT": "json",
            }
            | settings,
        )
        world = World(bot, slack, service)
        try:
            if start:
                await bot.start()
                if socket_mode:
                    await slack.wait_for(lambda: slack.sockets.connections > 0, timeout_s=READY_S)
            yield world
        finally:
            if bot.process is not None and bot.process.poll() is None:
                bot.kill()


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with run_world(tmp_path) as running:
        yield running


@pytest.fixture
def make_world(tmp_path: Path):
    """A world whose start and settings the test chooses."""

    def make(**settings: object):
        return run_world(tmp_path, **settings)  # type: ignore[arg-type]

    return make
