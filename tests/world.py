"""The world around a bot: people in Slack, a data service, signed deliveries, and everything shown to people.

In `tests/acceptance` the bot is a process; in `tests/integration/walk` a part of the test's process.
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
from random import Random
from typing import Any

import httpx

from sandbox.loopback_server import LOOPBACK, serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches
from sandbox.slack.answers import Answer
from sandbox.slack.person import Person
from sandbox.slack.values import PostedMessage
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import DAY, PATIENCE_S, START, now

WEBHOOK_SECRET = "whsec-acceptance-1"
SIGNING_SECRET = "slack-signing-secret-test"
BOT_TOKEN = "xoxb-test-token-acceptance"
APP_TOKEN = "xapp-test-token-acceptance"
API_KEY = "acceptance-racing-key"
NOT_IN_TIME = "That took too long. Nothing was changed"
"""The beginning of the answer on a busy machine. The answer asks people to try again in a moment."""
FORM = "subscribe_form"


def own_port() -> int:
    """A port that no other process gets: our process holds the port to its end, and does not listen."""
    holder = socket.socket()
    holder.bind((LOOPBACK, 0))
    # From here on a bot can bind the port too.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port: int = holder.getsockname()[1]
    holder.detach()
    return port


@dataclass
class Address:
    """Where a bot listens."""

    port: int

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def readiness(self) -> tuple[int, dict[str, Any]]:
        """The status of /readyz, and the answer."""
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{self.url}/readyz")
        return answer.status_code, answer.json()

    async def wait_degraded(self, part: str, words: str = "") -> None:
        """Wait until /readyz says `words` of the part. A degraded bot is ready."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                status, body = await self.readiness()
                assert status == 200
                if words in body["degraded"].get(part, ()):
                    return
                await asyncio.sleep(0.05)

    async def deliver(self, payload: object, *, secret: str = WEBHOOK_SECRET, **changes: object) -> httpx.Response:
        """Send a payload the way the service does. `signature` can be given to be wrong."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        signature = changes.get("signature", hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
        headers = {"Content-Type": "application/json"}
        if signature is not None:
            headers["X-SVC-Signature"] = str(signature)
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
            return await client.post(f"{self.url}/webhooks/racing", content=body, headers=headers)

    async def accept(self, payload: object) -> None:
        """Deliver until taken, as the service does: a busy bot may ask for a repeat."""
        while (answer := await self.deliver(payload)).status_code == 503:  # noqa: ASYNC110  another process is busy
            await asyncio.sleep(0.1)
        assert answer.status_code == 200, answer.text


async def until(holds: Callable[[], bool], *, timeout_s: float = PATIENCE_S) -> None:
    """Wait by looking again and again: no event tells of the change."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110  another process makes the change
            await asyncio.sleep(0.01)


async def settled(answer: Answer, *, timeout_s: float = PATIENCE_S) -> PostedMessage:
    """The last answer to a command or click: on a slow machine words on the progress come first."""
    assert (answer.status, answer.error) == (200, None), answer
    number = 0
    while True:
        response = (await answer.responses(number := number + 1, timeout_s=timeout_s))[number - 1]
        if not response.text.endswith(("The answer comes here.", "the answer follows.")):
            return response


def shown(message: Any) -> str:
    """All words of a message, an answer or a view."""
    if isinstance(message, dict):
        return json.dumps(message["blocks"], ensure_ascii=False)
    return json.dumps([message.text, message.blocks], ensure_ascii=False)


@dataclass
class World:
    """The bot with a Slack and a data service around it."""

    bot: Any
    slack: SlackWorkspace
    service: RacingService
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def channel(self, *people: str, bot_is_member: bool = True) -> str:
        """A new channel, with Alice and `people`."""
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
        """The answer to a command, text and blocks. After the answer of a busy bot the command is typed again."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                response = await settled(await self.person(user).types(f"{command} {text}", channel=channel))
                if not response.text.startswith(NOT_IN_TIME):
                    return shown(response)

    async def subscribe(self, channel: str, words: str) -> None:
        said = await self.say("/racing", f"subscribe {words}", channel=channel)
        assert "receives" in said, said

    async def clicked(self, label: str, channel: str, user: str = "UALICE") -> PostedMessage:
        """The answer to a click."""
        return await settled(await self.person(user).clicks(label, channel=channel))

    async def opened_form(self, channel: str) -> str:
        """The id of the form that `/racing subscribe` opens."""
        answer = await self.person().types("/racing subscribe", channel=channel)
        assert answer.error is None, answer
        return await self.person().opened(FORM)

    async def submitted(self, view_id: str, values: dict[str, Any], user: str = "UALICE") -> dict[str, Any]:
        """The answer to a submitted form."""
        answer = await self.person(user).submits(view_id, values)
        assert answer.error is None, answer
        said: dict[str, Any] = json.loads(answer.body)
        return said

    async def home(self, words: str, user: str = "UALICE") -> str:
        """The words of a person's App Home, opened again until `words` are shown."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                assert (await self.person(user).opens_home()).status == 200
                try:
                    return await self.shown_at_home(words, user, timeout_s=1)
                except TimeoutError:
                    continue

    async def shown_at_home(self, words: str, user: str = "UALICE", *, timeout_s: float = PATIENCE_S) -> str:
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
        while "is called" not in await self.say("/racecard", "Nowhere", channel="CADMIN"):
            continue

    def person(self, user: str = "UALICE") -> Person:
        return self.slack.person(user, self.bot.url)

    def texts(self, channel: str) -> list[str]:
        return [message.text for message in self.slack.messages(channel)]

    async def wait_for_posts(self, channel: str, number: int, *, timeout_s: float = PATIENCE_S) -> list[str]:
        await self.slack.wait_for(lambda: len(self.slack.messages(channel)) >= number, timeout_s=timeout_s)
        return self.texts(channel)

    async def wait_for_text(self, channel: str, words: str) -> None:
        await self.slack.wait_for(lambda: any(words in text for text in self.texts(channel)), timeout_s=PATIENCE_S)


@dataclass
class StandIns:
    """Slack and the data service, with the settings of a bot for both."""

    slack: SlackWorkspace
    service: RacingService
    settings: dict[str, str]


@asynccontextmanager
async def stand_ins(
    folder: Path, switches: Switches | None = None, clock: Any = now, **settings: str
) -> AsyncIterator[StandIns]:
    """For Socket Mode where the settings have `SLACK_APP_TOKEN`, else for HTTP."""
    socket_mode = "SLACK_APP_TOKEN" in settings
    slack = SlackWorkspace(BOT_TOKEN, SIGNING_SECRET, app_token=APP_TOKEN, socket_mode=socket_mode, clock=clock)
    service = RacingService(
        START.date(),
        api_key=API_KEY,
        clock=clock,
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
        known = {
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
        yield StandIns(slack, service, known | settings)


# Deliveries as the service might send them


def result(race_id="rc_1", region="GB", **changes):
    race = {
        "race_id": race_id,
        "course": {"course_id": "cr_asc", "name": "Ascot"},
        "region": region,
        "date": DAY,
        "off_time": "14:30",
        "runners": [
            {"position": 1, "horse": "Blue Moon", "jockey": "A. Rider", "sp": "5/2"},
            {"position": 2, "horse": "Red Sky", "jockey": "B. Rider", "sp": "7/1"},
        ],
    }
    return {"event": "result.received", "data": {"race": race | changes}}


def abandoned(race_id="rc_9", region: str | None = "GB", **changes):
    race = {"race_id": race_id, "course": "Nowhere Park", "date": DAY, "off_time": "15:05"}
    if region is not None:
        race["region"] = region
    return {"event": "race.abandoned", "data": {"race": race | changes, "reason": "Frozen track"}}


# The same JSON, with the fields of each object in another order


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    items = [(name, shuffled(item, random)) for name, item in value.items()]
    random.shuffle(items)
    return dict(items)
