"""The real process against stand-ins over real sockets: signed bytes in at one end, channels out at the other.

A test of this tier may not import from `bot`. A test that leaves the bot's process alone shares a bot with other tests,
in a channel of its own, with races of its own (`World.channel`, `World.race`).
"""

import asyncio
import hashlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.loopback_server import LOOPBACK, serve
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
NOWHERE = "http://127.0.0.1:9"
"""An address where nobody listens."""
NOT_IN_TIME = "I could not do this in time. Nothing was changed"
"""The beginning of the answer on a machine that is too busy. The answer asks people to try again in a moment."""
FORM = "subscribe_form"


def own_port() -> int:
    """A port that no other process is given: this process holds the port to its end, and does not listen."""
    holder = socket.socket()
    holder.bind((LOOPBACK, 0))
    # From here on a bot can bind the port too.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port: int = holder.getsockname()[1]
    holder.detach()
    return port


@dataclass
class Bot:
    """The bot as a process of its own."""

    folder: Path
    env: dict[str, str]
    port: int
    process: Forked | None = None
    prepare: Callable[[Path], None] | None = None
    """Run in the process before the bot is, with the folder."""

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "bot.log").read_text(encoding="utf-8")

    async def start(self, *, ready: bool = True) -> None:
        env = {"PORT": str(self.port)} | self.env
        self.process = Forked(("serve",), self.folder, env, self.folder / "bot.log", prepare=self.prepare)
        if ready:
            await self.wait_for_answer(200)

    async def readiness(self) -> tuple[int, dict[str, Any]]:
        """The status of /readyz, and the answer."""
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{self.url}/readyz")
        return answer.status_code, answer.json()

    async def wait_for_answer(self, status: int) -> dict[str, Any]:
        """What /readyz answers, once it answers with this status."""
        async with asyncio.timeout(READY_S):
            while True:
                assert self.process is not None
                assert self.process.poll() is None, f"the bot has ended:\n{self.log}"
                try:
                    found, body = await self.readiness()
                except httpx.TransportError:
                    found, body = 0, {}
                if found == status:
                    return body
                await asyncio.sleep(0.05)

    async def wait_degraded(self, part: str, words: str = "") -> None:
        """Wait until /readyz says these words of the part. A degraded bot is ready."""
        async with asyncio.timeout(60):
            while True:
                status, body = await self.readiness()
                assert status == 200
                if words in body["degraded"].get(part, ()):
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
        return await self.ended()

    async def ended(self) -> int:
        """The exit code of a process that ends by itself."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, 40)

    async def deliver(self, payload: object, *, secret: str = WEBHOOK_SECRET, **changes: object) -> httpx.Response:
        """Send a payload the way the service does. `signature` can be given to be wrong."""
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
    assert (answer.status, answer.error) == (200, None), answer
    number = 0
    while True:
        response = (await answer.responses(number := number + 1, timeout_s=timeout_s))[number - 1]
        if not response.text.endswith(("The answer comes here.", "the answer follows.")):
            return response


def shown(message: Any) -> str:
    """All that a message, an answer or a view shows."""
    if isinstance(message, dict):
        return json.dumps(message["blocks"], ensure_ascii=False)
    return json.dumps([message.text, message.blocks], ensure_ascii=False)


@dataclass
class World:
    """The bot with a Slack and a data service around it."""

    bot: Bot
    slack: SlackWorkspace
    service: RacingService
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def channel(self, *people: str, bot_is_member: bool = True) -> str:
        """A new channel, with Alice and these people."""
        name = f"CTEST{next(self.numbers)}"
        self.slack.add_channel(name, name.lower(), bot_is_member=bot_is_member)
        self.slack.channels[name].members.update({"UALICE", *people})
        return name

    def race(self) -> tuple[str, str]:
        """The id and the course of a new race."""
        number = next(self.numbers)
        # No digits: words of a command with digits are times and ids.
        letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        return f"rc_{number}", f"{letters.title()} Park"

    async def say(self, command: str, text: str, *, channel: str, user: str = "UALICE") -> str:
        """The answer to a command, text and blocks. It is typed again where the bot was too busy, and says so."""
        async with asyncio.timeout(60):
            while True:
                response = await settled(await self.person(user).types(f"{command} {text}", channel=channel))
                if not response.text.startswith(NOT_IN_TIME):
                    return shown(response)

    async def subscribe(self, channel: str, words: str) -> None:
        said = await self.say("/racing", f"subscribe {words}", channel=channel)
        assert "receives" in said, said

    async def clicked(self, label: str, channel: str, user: str = "UALICE") -> SentResponse:
        """The answer to a click."""
        return await settled(await self.person(user).clicks(label, channel=channel))

    async def opened_form(self, channel: str) -> str:
        """The id of the form that `/racing subscribe` opens."""
        answer = await self.person().types("/racing subscribe", channel=channel)
        assert answer.error is None, answer
        return await self.person().opened(FORM)

    async def submitted(self, view_id: str, values: dict[str, Any], user: str = "UALICE") -> dict[str, Any]:
        """The answer to a form that is submitted."""
        answer = await self.person(user).submits(view_id, values)
        assert answer.error is None, answer
        said: dict[str, Any] = json.loads(answer.body)
        return said

    async def home(self, words: str, user: str = "UALICE") -> str:
        """What a person's App Home shows. It is opened again until it shows these words."""
        async with asyncio.timeout(60):
            while True:
                assert (await self.slack.open_home(user, self.bot.url)).status == 200
                try:
                    return await self.shown_at_home(words, user, timeout_s=1)
                except TimeoutError:
                    continue

    async def shown_at_home(self, words: str, user: str = "UALICE", *, timeout_s: float = 60.0) -> str:
        views = self.slack.views
        await self.slack.wait_for(
            lambda: words in shown(views.get(f"VHOME{user}", {"blocks": []})), timeout_s=timeout_s
        )
        return shown(views[f"VHOME{user}"])

    async def press_at_home(self, label: str, user: str = "UALICE") -> None:
        answer = await self.person(user).clicks_in_view(f"VHOME{user}", label)
        assert answer.status == 200, answer

    async def wait_for_lists(self) -> None:
        """Until the bot has read the data service's lists."""
        while "I know no region" not in await self.say("/racecard", "Nowhere", channel="CADMIN"):
            continue

    def person(self, user: str = "UALICE") -> Person:
        return self.slack.person(user, self.bot.url)

    def texts(self, channel: str) -> list[str]:
        return [message.text for message in self.slack.messages(channel)]

    async def wait_for_posts(self, channel: str, number: int, *, timeout_s: float = 60.0) -> list[str]:
        await self.slack.wait_for(lambda: len(self.slack.messages(channel)) >= number, timeout_s=timeout_s)
        return self.texts(channel)

    async def wait_for_text(self, channel: str, words: str) -> None:
        await self.slack.wait_for(lambda: any(words in text for text in self.texts(channel)), timeout_s=60)


@asynccontextmanager
async def run_world(
    folder: Path, *, switches: Switches | None = None, start: bool = True, port: int | None = None, **settings: str
) -> AsyncIterator[World]:
    """The bot between its stand-ins; by Socket Mode where the settings have `SLACK_APP_TOKEN`, else by HTTP."""
    socket_mode = "SLACK_APP_TOKEN" in settings
    slack = SlackWorkspace(BOT_TOKEN, SIGNING_SECRET, app_token=APP_TOKEN, socket_mode=socket_mode)
    service = RacingService(
        START.date(),
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
    for user in ("UALICE", "UBOB", "UADMIN"):
        slack.add_user(user, user.lower())
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
            port or own_port(),
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


@pytest.fixture
def make_world(tmp_path: Path):
    """A world whose start and settings the test chooses."""

    def make(**settings: object):
        return run_world(tmp_path, **settings)  # type: ignore[arg-type]

    return make
