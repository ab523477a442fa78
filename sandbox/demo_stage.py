"""The demo's stage: stand-ins, channels and people around the real bot."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bot.clock import utc_now
from bot.db.engine import Database
from sandbox.demo_bot import BotProcess, DemoFailed
from sandbox.demo_choices import EVENTS_OF, Choices
from sandbox.demo_screen import Screen
from sandbox.loopback_server import serve
from sandbox.racing_day import Race
from sandbox.racing_service.delivery_queue import SIGNATURE_HEADER, sign
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import RETRY_GAPS_S as SPECIFIED_GAPS_S
from sandbox.racing_service.switches import Switches
from sandbox.slack.answers import Answer
from sandbox.slack.values import DEFAULT_SCOPES, Json
from sandbox.slack.workspace import SlackWorkspace

CHANNELS = {"C0GB": "gb-racing", "C0IRE": "ire-racing", "C0ALL": "everything", "C0ADMIN": "racing-admins"}
ADMINS = "C0ADMIN"
PEOPLE = {"U0ALICE": "alice", "U0BOB": "bob"}
ADMIN = "U0ALICE"
COMMANDS = ("/racing", "/racecard", "/results", "/usage")
FULL_DAY = 60
"""The seed of a day with racing in every region, and in GB on the flat and over jumps."""

PLAN = "live"
QUOTA_CHECK_S = 2
REPAIR_CHECK_S = 5
SERVICE_TIMEOUT_S = 10.0
"""Longer than the real services wait, for slow machines."""

RETRY_GAPS_S: tuple[float, ...] = (2.0, 5.0, *[10.0] * 6, *SPECIFIED_GAPS_S)
"""A watcher need not wait half a minute for a delivery that a busy bot refused."""

LISTS = {"/courses", "/reference"}
LISTS_S = 10.0
POLL_S = 0.05
ANSWER_S = 30.0
ARRIVE_S = 30.0


@dataclass
class Stage:
    """`speed` divides the pauses, and nothing else."""

    service: RacingService
    slack: SlackWorkspace
    bot: BotProcess
    screen: Screen
    service_url: str
    speed: float
    choices: Choices
    is_begun: bool = True
    """False while the demo subscribes or plays by itself, which troubles would break."""

    @property
    def webhook_url(self) -> str:
        return f"{self.bot.url}/webhooks/racing"

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    async def say(self, channel_id: str, user_id: str, line: str) -> str | None:
        """None after an answer, else the problem."""
        name, _, words = line.strip().partition(" ")
        if name not in COMMANDS:
            return f"{name} is no command here; Slack knows {', '.join(COMMANDS)}."
        open_before = set(self.slack.views)
        return await self._outcome(line, await self.type(channel_id, user_id, name, words), open_before)

    async def type(self, channel_id: str, user_id: str, name: str, words: str) -> Answer:
        """A command as Slack sends it: `should_escape` of /racing puts ids in place of names."""
        if name == COMMANDS[0]:
            ids = {f"@{one.name}": f"<@{one.id}|{one.name}>" for one in self.slack.users.values()}
            ids |= {f"#{one.name}": f"<#{one.id}|{one.name}>" for one in self.slack.channels.values()}
            words = re.sub(r"[@#][\w-]+", lambda found: ids.get(found[0], found[0]), words)
        return await self.slack.person(user_id, self.bot.url).types(f"{name} {words}", channel=channel_id)

    async def press(self, channel_id: str, user_id: str, label: str) -> str | None:
        """The newest button of this label in the channel. None after an answer, else the problem."""
        open_before = set(self.slack.views)
        try:
            answer = await self.slack.person(user_id, self.bot.url).clicks(label, channel=channel_id)
        except LookupError:
            return f"There is no button {label!r} in #{CHANNELS.get(channel_id, channel_id)}."
        return await self._outcome(label, answer, open_before)

    async def _outcome(self, line: str, answer: Answer, open_before: set[str]) -> str | None:
        if answer.error is not None:
            return f"{line}: Slack would show {answer.error}."
        views, said = self.slack.views, answer.response_url.responses if answer.response_url else []
        try:
            await self.slack.wait_for(lambda: bool(said or views.keys() - open_before), ANSWER_S)
        except TimeoutError:
            return f"{line}: no answer within {ANSWER_S:g} seconds."
        await self.look()
        return next((self._form(view) for view_id, view in views.items() if view_id not in open_before), None)

    async def look(self) -> None:
        """Notes the channels' choices after a person's act."""
        if self.bot.is_running:
            await self.choices.look()

    def _form(self, view: Json) -> str:
        """Nobody can fill in a form at a terminal."""
        labels = [block["label"]["text"] for block in view["blocks"] if "label" in block]
        return f"Slack shows the form “{view['title']['text']}”: {', '.join(labels)}. Here, type the words after it."

    async def wait_for(self, arrived: Callable[[], bool], what: str) -> None:
        """Raises DemoFailed after ARRIVE_S."""
        try:
            await self.slack.wait_for(arrived, ARRIVE_S)
        except TimeoutError as error:
            raise DemoFailed(f"Nothing came within {ARRIVE_S:g} seconds, but should have: {what}.") from error

    def subscribe_webhook(self) -> None:
        self.service.subscribe(self.webhook_url, frozenset().union(*EVENTS_OF.values()))

    async def forge(self, race: Race) -> httpx.Response:
        """The bot's answer to a delivery signed with a stranger's secret."""
        told = {"event": "race.abandoned", "race": {"race_id": race.race_id, "region": race.course.region}}
        body = json.dumps(told).encode()
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign("a stranger's secret", body)}
        return await self.service.delivery_queue.client.post(self.webhook_url, content=body, headers=headers)

    async def start_bot(self) -> None:
        """The first start subscribes to the data service, and lets the bot read the service's lists."""
        if self.service.subscriptions:
            await self.bot.start(self.settings())
            return
        self.subscribe_webhook()
        await self.bot.start(self.settings())
        for _ in range(round(LISTS_S / POLL_S)):
            if {one.endpoint for one in self.service.requests if one.status == httpx.codes.OK} >= LISTS:
                break
            await asyncio.sleep(POLL_S)

    def settings(self) -> dict[str, str]:
        return {
            "RACING_API_URL": self.service_url,
            "RACING_API_KEY": self.service.api_key,
            "RACING_WEBHOOK_SECRETS": self.service.subscriptions[0].secret,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_SIGNING_SECRET": self.slack.signing_secret,
            "SLACK_API_URL": self.slack.api_url,
            "ADMIN_CHANNEL": ADMINS,
            "ADMIN_USERS": ADMIN,
            "PUBLIC_URL": self.bot.url,
            "QUOTA_CHECK_S": str(QUOTA_CHECK_S),
            "REPAIR_CHECK_S": str(REPAIR_CHECK_S),
        }


@asynccontextmanager
async def open_stage(
    folder: Path, screen: Screen, speed: float, database_url: str | None = None
) -> AsyncIterator[Stage]:
    """Both stand-ins run while the block runs. The bot stops first."""
    slack = SlackWorkspace(scopes=DEFAULT_SCOPES | {"im:history"})
    slack.ack_timeout_s = SERVICE_TIMEOUT_S
    for user_id, name in PEOPLE.items():
        slack.add_user(user_id, name)
        slack.direct_message(user_id)
    for channel_id, name in CHANNELS.items():
        slack.add_channel(channel_id, name)
    slack.listeners.append(screen.message)
    switches = Switches(allow_http_loopback=True, delivery_timeout_s=SERVICE_TIMEOUT_S, retry_gaps_s=RETRY_GAPS_S)
    service = RacingService(utc_now().date(), seed=FULL_DAY, plan=PLAN, switches=switches)
    async with service, slack.running(), serve(service.app) as address:
        bot = BotProcess(folder, database_url)
        database = Database(bot.database_url)
        stage = Stage(service, slack, bot, screen, f"{address}/v1", speed, Choices(database))
        try:
            yield stage
        finally:
            await bot.stop()
            await database.close()
