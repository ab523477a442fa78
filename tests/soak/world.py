"""The bot's processes between a Slack stand-in and a sender: started, killed, stopped, and judged at the end."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from random import Random

import aiohttp

from bot.db.engine import Database
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.outbox.pace import Pace
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import PATIENCE_S, now
from tests.soak.databases import SUBSCRIBER, forget_job_runs, prepare, receipts, unfinished, unread
from tests.soak.life import CALL_S, KILLED, SETTLE_S, Life, live
from tests.soak.oracle import ADMINS, Oracle, Verdict, given_up, missing, received_in_order
from tests.soak.racing import CHANNELS, SECRET, Delivery, Races, SoakChannel, Weather
from tests.world import own_port

BOT_TOKEN = "xoxb-soak-test-token"
SIGNING_SECRET = "soak-signing-secret-test"
PAUSE_S = 2.0
"""Longer than a lease."""

AFTER_PAUSE_S = 1.0
IN_FLIGHT = 4
AGAIN_S = 0.4
ANSWER_S = 3.0
TWICE = 0.15
"""The share of accepted bodies sent once more."""


@dataclass
class Sender:
    """Delivers stories to any of `ports`, while `has_room` says that the channels keep up."""

    session: aiohttp.ClientSession
    stories: Iterator[list[Delivery]]
    ports: Sequence[int]
    random: Random
    has_room: Callable[[], bool]
    delivered: list[Delivery] = field(default_factory=list)
    attempts: int = 0
    unheard: int = 0
    """Attempts without an answer: the bot was dead, or died meanwhile."""
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)
    stopping: bool = False

    async def run(self) -> None:
        """Deliver until told to stop. A begun story is told to the end."""
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(self._tell_stories())

    async def _tell_stories(self) -> None:
        while not self.stopping:
            if not self.has_room():
                await asyncio.sleep(0.05)
                continue
            for delivery in next(self.stories):
                await self.deliver(delivery)
                if self.random.random() < TWICE:
                    await self._deliver_again(self.random.choice(self.delivered))

    async def deliver(self, delivery: Delivery) -> None:
        """Send a delivery until a 2xx."""
        delivery.sent_at = now()
        await self._send(delivery)
        delivery.answered_at = now()
        self.delivered.append(delivery)

    async def _deliver_again(self, delivery: Delivery) -> None:
        self.repeated += 1
        status = await self._send(delivery)
        if status != "duplicate":
            self.wrong.append(f"{delivery.name} was answered {status!r} when it came again")

    async def _send(self, delivery: Delivery) -> str:
        headers = {"Content-Type": "application/json", "X-SVC-Signature": delivery.signature}
        while True:
            self.attempts += 1
            address = f"http://127.0.0.1:{self.random.choice(self.ports)}/webhooks/racing"
            try:
                async with self.session.post(address, data=delivery.body, headers=headers) as answer:
                    if 200 <= answer.status < 300:
                        return str((await answer.json())["status"])
            except (aiohttp.ClientError, TimeoutError):
                self.unheard += 1
            await asyncio.sleep(self.random.uniform(AGAIN_S / 2, AGAIN_S))


def make_session() -> aiohttp.ClientSession:
    """A session without kept connections: a killed process would leave broken connections."""
    connector = aiohttp.TCPConnector(force_close=True)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=ANSWER_S))


def seed() -> int:
    """SOAK_SEED, or always the same."""
    return int(os.environ.get("SOAK_SEED", "20261121"))


@dataclass
class Tally:
    """The figures so far."""

    lives: int = 0
    killed_at_failpoint: int = 0
    killed_at_random: int = 0
    stopped: int = 0
    paused: int = 0
    restarted: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    died_at: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def outcomes(self) -> frozenset[str]:
        """The outcomes of calls, committed or about to be committed: the words behind the comma of a failpoint."""
        return frozenset(name.rpartition(", ")[2] for name in self.passed if ", " in name)

    @property
    def killed(self) -> int:
        return self.killed_at_failpoint + self.killed_at_random


@dataclass
class World:
    """Everything around the bot. `ports`: a port for each process alive at the same time."""

    folder: Path
    database_url: str
    slack: SlackWorkspace
    sender: Sender
    random: Random
    channels: Sequence[SoakChannel]
    ports: Sequence[int]
    pace: Pace
    weather: Weather
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.database = Database(self.database_url)
        self.journal = Journal(self.database_url, lambda: 0.0)
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.soak.warm"])
        assert isinstance(self._processes, ForkServerContext)

    def expected(self) -> int:
        """The posts due for the deliveries so far."""
        made = [delivery for delivery in self.sender.delivered if not delivery.edits]
        return sum(channel.takes(delivery) for delivery in made for channel in self.channels)

    def posted(self) -> int:
        """The posts in channels, and the posts given up."""
        there = sum(len(self.slack.messages(channel.channel_id)) for channel in self.channels)
        return there + len(given_up(self.slack.messages(ADMINS)))

    def start(self, port: int, *, spared: frozenset[str] = frozenset(), skip: int | None = None) -> "Running":
        """A new life at this port."""
        self.tally.lives += 1
        number = self.tally.lives
        life = Life(
            settings=self._settings(port),
            log=self.folder / f"bot-{port}.log",
            passed=self.folder / f"passed-{number}",
            spared=spared,
            skip=skip,
            pace=self.pace,
        )
        process = self._processes.Process(target=live, args=(life,), name=f"life {number}")
        process.start()
        return Running(process, life, self.tally)

    def _settings(self, port: int) -> dict[str, str]:
        return {
            "host": "127.0.0.1",
            "port": str(port),
            # Nobody is there: no alert waits for the data service.
            "racing_api_url": "http://127.0.0.1:9/v1",
            "racing_api_key": "soak-racing-key",
            "racing_webhook_secrets": SECRET,
            "slack_bot_token": BOT_TOKEN,
            "slack_signing_secret": SIGNING_SECRET,
            "slack_api_url": self.slack.api_url,
            "admin_channel": ADMINS,
            "database_url": self.database_url,
            "log_format": "json",
            "settle_s": str(SETTLE_S),
        }

    async def finish(self, *, timeout_s: float) -> None:
        """Let new lives finish the work in peace, and stop the lives in good order."""
        self.weather.clear()
        # A life opens closed channels again.
        await self.jobs_are_due()
        running = [self.start(port) for port in self.ports]
        try:
            async with asyncio.timeout(timeout_s):
                while await self._is_unfinished():  # noqa: ASYNC110  the database is other processes', and tells nobody
                    await asyncio.sleep(0.2)
        except TimeoutError:
            self.tally.wrong.append(f"not done after {timeout_s:g} s")
        # Posts sent and given up by the last killed life would arrive by then.
        await asyncio.sleep(CALL_S + 0.5)
        for one in running:
            await one.live(0, one.stop)

    async def _is_unfinished(self) -> bool:
        left = await self.database.read(unfinished)
        return bool(left or unread(self.journal, await self.database.read(place_in)))

    async def judge(self, *, one_process: bool) -> Verdict:
        """The faults at the end."""
        known = await self.database.read(receipts)
        lost = missing(known, self.sender.delivered)
        precedes = received_in_order(known, one_process=one_process)
        weather = self.weather
        oracle = Oracle(
            self.sender.delivered, self.channels, precedes, self.pace.channel_s, weather.refused, weather.was_archived
        )
        verdict = oracle.judge({channel_id: self.slack.messages(channel_id) for channel_id in self.slack.channels})
        verdict.lost += lost
        verdict.noise += self.sender.wrong + self.tally.wrong
        return verdict

    async def jobs_are_due(self) -> None:
        await self.database.write(forget_job_runs)


@dataclass
class Running:
    """A process of the bot."""

    process: ForkServerProcess
    life: Life
    tally: Tally

    async def live(self, seconds: float, end: Callable[[], Awaitable[None]]) -> None:
        """Let a process live so long after the first failpoint, and then end the process, if still alive."""
        async with asyncio.timeout(PATIENCE_S):
            while self.process.is_alive() and not self.life.passed.exists():  # noqa: ASYNC110  another process
                await asyncio.sleep(0.02)
        await self._wait(seconds)
        if self.process.is_alive():
            await end()
        self.process.kill()
        await self._ended()

    async def kill(self) -> None:
        """SIGKILL, wherever the process is."""
        self.process.kill()

    async def stop(self) -> None:
        """Stop the process in good order, perhaps with a death at a failpoint on the way."""
        self.process.terminate()
        await self._wait(PATIENCE_S)

    async def pause(self) -> None:
        """SIGSTOP past the leases, and then let the process go on for a while."""
        self._signal(signal.SIGSTOP)
        self.tally.paused += 1
        await asyncio.sleep(PAUSE_S)
        self._signal(signal.SIGCONT)
        await self._wait(AFTER_PAUSE_S)

    async def _ended(self) -> None:
        await self._wait(PATIENCE_S)
        lines = self.life.passed.read_text(encoding="utf-8").splitlines() if self.life.passed.exists() else []
        self.life.passed.unlink(missing_ok=True)
        died_at = [line.removeprefix(KILLED) for line in lines if line.startswith(KILLED)]
        self.tally.passed.update(line for line in lines if not line.startswith(KILLED))
        self.tally.died_at.update(died_at)
        if self.process.exitcode == -signal.SIGKILL:
            self.tally.killed_at_failpoint += bool(died_at)
            self.tally.killed_at_random += not died_at
        elif self.process.exitcode == -signal.SIGTERM:
            self.tally.stopped += 1
        else:
            self.tally.wrong.append(f"{self.process.name} ended with {self.process.exitcode}: see {self.life.log}")

    async def _wait(self, seconds: float) -> None:
        await asyncio.to_thread(self.process.join, seconds)

    def _signal(self, number: int) -> None:
        assert self.process.pid
        # The process may have died at a failpoint this very moment.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)


@asynccontextmanager
async def run_world(
    folder: Path,
    database_url: str,
    *,
    processes: int = 1,
    pace: Pace,
    channels: Sequence[SoakChannel] = CHANNELS,
    waiting_at_most: int = 60,
) -> AsyncIterator[World]:
    """A world whose database is ready and whose Slack answers, without a process of the bot."""
    random = Random(seed())
    slack = SlackWorkspace(BOT_TOKEN, SIGNING_SECRET)
    slack.add_user(SUBSCRIBER)
    for channel_id in (*(channel.channel_id for channel in channels), ADMINS):
        slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    weather = Weather(slack, random, [channel.channel_id for channel in channels], seed())
    weather.begin()
    ports = [own_port() for _ in range(processes)]
    regions = tuple(sorted({region for channel in channels for region in channel.regions} - {"*"}))
    stories = Races(random, regions=regions).stories()
    async with slack.running(), make_session() as session:
        sender = Sender(session, stories, ports, random, lambda: world.expected() - world.posted() < waiting_at_most)
        world = World(folder, database_url, slack, sender, random, channels, ports, pace, weather)
        await prepare(world.database, channels)
        try:
            yield world
        finally:
            for process in multiprocessing.active_children():
                process.kill()
            await world.database.close()
            world.journal.close()


MOST_PROBLEMS = 50
"""So many faults are named one by one."""


def figures_of(world: World, verdict: Verdict) -> str:
    """The counts of a run: attacks on the bot, and the outcomes."""
    tally, sender = world.tally, world.sender
    refused = sum(1 for call in world.slack.calls if call.error == "ratelimited")
    done = (
        f"seed {seed()}: {tally.lives} lives, {tally.killed} SIGKILLs "
        f"({tally.killed_at_failpoint} at failpoints, {tally.killed_at_random} at random), {tally.paused} SIGSTOPs "
        f"past the lease, {tally.stopped} stops in good order, {tally.restarted} restarts of the database"
    )
    came = (
        f"{len(sender.delivered)} deliveries in {sender.attempts} attempts, {sender.unheard} of them unanswered; "
        f"{sender.repeated} deliveries once more; {verdict.posts} posts; {len(world.slack.calls)} calls of Slack, "
        f"{refused} over its limits; {verdict.given_up} posts given up, {verdict.closings} closings told"
    )
    wrong = (
        f"{len(verdict.lost)} lost, {len(verdict.doubled)} doubled, {len(verdict.out_of_order)} out of order, "
        f"{len(verdict.too_fast)} too fast, {len(verdict.noise)} else wrong"
    )
    return "\n".join([done, came, wrong, *verdict.problems[:MOST_PROBLEMS]])


def failpoints_of(tally: Tally) -> str:
    """The number of deaths at each failpoint, and of passes."""
    names = sorted(tally.passed)
    return "\n".join(f"died {tally.died_at[name]:3} times, passed {tally.passed[name]:6}  {name}" for name in names)
