"""The whole service and its world in one process, by a virtual clock."""

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import httpx
from sqlmodel import Session

from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.outbox.pace import Pace
from bot.ports import Ports
from bot.settings import load_settings
from sandbox.slack.answers import Answer
from sandbox.slack.values import Json
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import START
from tests.front import Receiver
from tests.sim.ports import Died, Failpoints, Inline, SlackSession, VirtualLoop, Wire
from tests.soak.databases import SUBSCRIBER, receipts, subscribe, unfinished, unread
from tests.soak.life import DyingService
from tests.soak.oracle import ADMINS, Oracle, Verdict, missing, received_in_order
from tests.soak.racing import SECRET, Delivery, SoakChannel

BOT = "http://bot"
SLACK = "http://127.0.0.1:9"
BOT_TOKEN = "xoxb-sim-test-token"
SIGNING_SECRET = "sim-signing-secret-test"
AGAIN_S = 30.0
KILLED = "killed at no failpoint"
JOURNAL = "commit of the journal"
ANSWER_S = 2.0
AGAIN_TYPED_S = 2.0
WELL_S = 240.0
"""The time after Slack is well in which everything is told, also messages that waited for a moment."""

PACE = Pace(channel_s=1.0)

_LIFE: ContextVar["Life | None"] = ContextVar("life", default=None)
"""The life of the running task; None in the world's own tasks."""


def make_template(file: Path, channels: Sequence[SoakChannel]) -> Path:
    """A database with the subscriptions of `channels`, to be copied."""
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    with Session(database.writer) as session, session.begin():
        subscribe(session, channels, START)
    with database.writer.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.reopen()
    return file


class Life:
    """From a start of the bot to its end."""

    def __init__(self, world: "World", die_at: int | None) -> None:
        self.failpoints = Failpoints(die_at)
        self.tasks: set[asyncio.Task[Any]] = set()
        self._context = copy_context()
        self._context.run(_LIFE.set, self)
        check = self.failpoints.check
        ports = Ports(
            clock=world.clock,
            wall=world.clock,
            monotonic=world.loop.time,
            worked=lambda: 0.0,
            chance=world.random.random,
            token=world.token,
            runner=lambda: Inline(check),
            slack_session=lambda: SlackSession(Wire(world.slack.app, check, world.start)),
            racing_transport=httpx.MockTransport(_nobody),
        )
        self.service = DyingService(world.settings, world.pace, self.failpoints, ports)
        self.service.journal.durable = False
        self.transport = httpx.ASGITransport(self.service.app)

    @property
    def is_over(self) -> bool:
        return self.failpoints.died.is_set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Starts a task in the life."""
        return asyncio.get_running_loop().create_task(work, context=self._context)

    async def bury(self) -> None:
        """Drop the dead process's memory."""
        self.failpoints.die()
        self.service.jobs.stop()
        left = {task for task in self.tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            _, stuck = await asyncio.wait(left, timeout=60)
            assert not stuck
        self.service.database.reopen()
        self.service.journal.close()

    # The line from the receiver, as asyncio's transports are.

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, line: bytes) -> None:
        self.start(self.service.receiver_news.hear(line))


class _ToReceiver(httpx.AsyncBaseTransport):
    """The receiver outlives the bot; a death at the journal is the death of both."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        app = self._world.receiver().app
        return await httpx.ASGITransport(app).handle_async_request(request)


class _ToBot(httpx.AsyncBaseTransport):
    """Sends requests to the present life. A death breaks the connection; a living bot goes on after the client left."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        life = await self._world.alive()
        try:
            return await asyncio.shield(life.start(life.transport.handle_async_request(request)))
        except (Died, asyncio.CancelledError):
            if not life.is_over:
                raise
            raise httpx.ConnectError("the bot died", request=request) from None


def _nobody(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody is there", request=request)


class World:
    """`seed` settles whatever is drawn."""

    def __init__(
        self, loop: VirtualLoop, folder: Path, template: Path, channels: Sequence[SoakChannel], seed: int
    ) -> None:
        self.loop = loop
        self.clock = loop.clock
        self.random = Random(seed)
        self.channels = channels
        self.pace = PACE
        self.slack = SlackWorkspace(BOT_TOKEN, SIGNING_SECRET, clock=loop.clock)
        self.slack.address = SLACK
        self.slack.bot_transport = _ToBot(self)
        self.slack.add_user(SUBSCRIBER)
        for channel_id in (*(channel.channel_id for channel in channels), ADMINS):
            self.slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
        file = Path(shutil.copy(template, folder / f"{seed}-{id(self)}.db"))
        self.database = Database(f"sqlite:///{file}", runner=Inline())
        self.settings = load_settings(
            env_file=None,
            racing_api_url=f"{SLACK}/v1",
            racing_api_key="sim-racing-key",
            racing_webhook_secrets=SECRET,
            slack_bot_token=BOT_TOKEN,
            slack_signing_secret=SIGNING_SECRET,
            slack_api_url=self.slack.api_url,
            admin_channel=ADMINS,
            database_url=f"sqlite:///{file}",
        )
        self.delivered: list[Delivery] = []
        self.wrong: list[str] = []
        self.refused: set[str] = set()
        """Keys of messages refused for good by Slack."""
        self.elsewhere: Collection[str] = ()
        """Channels that others judge."""
        self.closed: set[str] = set()
        """At some time, in Slack."""
        self._welcomes: set[str] = set()
        self.ends: list[str] = []
        self._life: Life | None = None
        self._receiver: Receiver | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        loop.set_task_factory(_noting)

    def token(self, size: int) -> str:
        return f"{self.random.getrandbits(8 * size):0{2 * size}x}"

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Starts a task of the world: the task outlives the bot."""
        context = copy_context()
        context.run(_LIFE.set, None)
        task = self.loop.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def alive(self) -> Life:
        """The present life, or a new one."""
        if self._life is not None and self._life.is_over:
            await self.end()
        if self._life is None:
            await self.begin()
        assert self._life is not None
        return self._life

    async def begin(self, die_at: int | None = None) -> None:
        self._life = life = Life(self, die_at)
        with contextlib.suppress(Died):
            await life.start(life.service.start())
            self.receiver().report.connect(life)

    async def end(self) -> None:
        """Kill the bot, wherever it is."""
        if self._life is not None:
            place = self._life.failpoints.place
            self.ends.append(place or KILLED)
            if self._receiver is not None:
                self._receiver.report.connect(None)
            await self._life.bury()
            self._life = None
            if place.endswith(JOURNAL):
                self.end_receiver()

    def receiver(self) -> Receiver:
        """The present receiver, or a new one."""
        if self._receiver is None:
            journal = Journal(self.settings.database_url.get_secret_value(), self.loop.time)
            journal.append = partial(self._append, journal.append)  # type: ignore[method-assign]  # a death at the append
            ports = Ports(clock=self.clock, monotonic=self.loop.time, token=self.token)
            self._receiver = receiver = Receiver(self.settings, ports, _nobody, journal)
            if self._life is not None and not self._life.is_over:
                receiver.report.connect(self._life)
        return self._receiver

    def _append(self, append: Callable[[Any], list[bool]], letters: Any) -> list[bool]:
        life = self._life
        if life is not None and not life.is_over:
            life.failpoints.passed("before", {JOURNAL})
        new = append(letters)
        if life is not None and not life.is_over:
            life.failpoints.passed("after", {JOURNAL})
        return new

    def end_receiver(self) -> None:
        """Kill the receiver. The bot goes with it."""
        if self._receiver is not None:
            self._receiver.journal.close()
            self._receiver = None

    async def die_after(self, failpoints: int) -> None:
        life = await self.alive()
        life.failpoints.die_at = life.failpoints.count + failpoints

    async def archive(self, channel_id: str, *, is_archived: bool, is_told: bool = False) -> None:
        self.slack.channels[channel_id].is_archived = is_archived
        self.closed.add(channel_id)
        if is_told:
            what = "channel_archive" if is_archived else "channel_unarchive"
            await self._happens({"type": what, "channel": channel_id, "user": SUBSCRIBER})

    async def remove_bot(self, channel_id: str, *, is_told: bool) -> None:
        self.slack.channels[channel_id].members.discard(self.slack.bot_user_id)
        self.closed.add(channel_id)
        if is_told:
            await self._happens({"type": "channel_left", "channel": channel_id, "actor_id": SUBSCRIBER})

    async def invite_bot(self, channel_id: str) -> None:
        """Does nothing where the bot is a member."""
        channel = self.slack.channels[channel_id]
        if self.slack.bot_user_id in channel.members:
            return
        channel.members.add(self.slack.bot_user_id)
        event_id = f"EvJOIN{len(self._welcomes)}"
        self._welcomes.add(f"welcome:{event_id}@{channel_id}")
        joined = {"type": "member_joined_channel", "user": self.slack.bot_user_id, "channel": channel_id}
        await self._happens(joined, event_id)

    async def _happens(self, event: Json, event_id: str | None = None) -> None:
        event_id = event_id or self.token(8)
        await self.asked(lambda: self.slack.event(BOT, event, event_id=event_id))

    async def types(self, channel_id: str, line: str) -> None:
        await self.asked(lambda: self.slack.person(SUBSCRIBER, BOT).types(f"/racing {line}", channel=channel_id))

    async def asked(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        """Ask the bot until the bot answers."""
        while (await ask()).error is not None:
            await self.passes(AGAIN_TYPED_S)

    async def deliver(self, delivery: Delivery) -> None:
        """Send the delivery until a 2xx, as the data service does."""
        delivery.sent_at = self.clock()
        while (status := await self.send(delivery)) is None:
            await self.passes(AGAIN_S)
        delivery.answered_at = self.clock()
        assert status in {"accepted", "duplicate"}
        self.delivered.append(delivery)

    async def deliver_again(self, delivery: Delivery) -> None:
        status = await self.send(delivery)
        if status not in {"duplicate", None}:
            self.wrong.append(f"{delivery.name} was answered {status!r} when it came again")

    async def send(self, delivery: Delivery) -> str | None:
        """None without an answer 2xx."""
        headers = {"Content-Type": "application/json", "X-SVC-Signature": delivery.signature}
        try:
            async with (
                asyncio.timeout(ANSWER_S),
                httpx.AsyncClient(transport=_ToReceiver(self), base_url=BOT) as client,
            ):
                answer = await client.post("/webhooks/racing", content=delivery.body, headers=headers)
        except TimeoutError:
            return None
        return str(answer.json()["status"]) if answer.is_success else None

    async def passes(self, seconds: float) -> None:
        """Let time pass, with a new life after each death."""
        until_s = self.loop.time() + seconds
        while (left_s := until_s - self.loop.time()) > 0:
            life = await self.alive()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await life.failpoints.died.wait()

    async def finish(self) -> Verdict:
        """Let the bot finish, and judge."""
        until_s = self.loop.time() + WELL_S
        while left := await self._unfinished():
            if self.loop.time() > until_s:
                self.wrong.append(f"{left} still to be done {WELL_S:g} s after all was well")
                break
            await self.passes(1.0)
        await self.end()
        self.end_receiver()
        for task in self._tasks.copy():
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        verdict = await self._judge()
        await self.database.close()
        return verdict

    async def _unfinished(self) -> int:
        # The journal first: what the bot reads meanwhile stands in the inbox.
        left = unread(self.receiver().journal, await self.database.read(place_in))
        return left or await self.database.read(unfinished)

    async def _judge(self) -> Verdict:
        known = await self.database.read(receipts)
        oracle = Oracle(
            self.delivered,
            [channel for channel in self.channels if channel.channel_id not in self.elsewhere],
            received_in_order(known, one_process=True),
            self.pace.channel_s,
            self.refused,
            self.closed,
            self._welcomes,
            self.elsewhere,
        )
        verdict = oracle.judge({channel_id: self.slack.messages(channel_id) for channel_id in self.slack.channels})
        verdict.lost += missing(known, self.delivered)
        verdict.noise += self.wrong
        return verdict


def _noting(loop: Any, work: Any, **more: Any) -> asyncio.Task[Any]:
    """Notes each task of a life."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
    context = more.get("context")
    life = context.get(_LIFE) if context is not None else _LIFE.get()
    if life is not None:
        life.tasks.add(task)
        task.add_done_callback(life.tasks.discard)
    return task
