"""From the webhook to Slack: how long a delivery takes to be a post, the processor time that it costs, and the memory.

The bot takes turns with others under the same load: slack_sdk, which posts without having taken anything, and a bare
server, which takes deliveries without posting.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sqlmodel import Session

from bench import drain, processes
from bench.bare_posts import post_evenly
from bench.common import AtMost, Below, Measure, Plan, Target, percentiles
from bench.load import connected, fixed_rate
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import Server, apart, baseline
from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.events.event import Topic

CHANNELS = tuple(f"C{number:03}" for number in range(100))
REGIONS = tuple(f"R{number:02}" for number in range(100))
"""Each channel takes one region, and the deliveries' regions take turns: a delivery is one post."""

RATE = 200
APART_S = 0.06
"""Between the end of a delivery that comes alone and the next."""

SETTLE_S = 0.2
"""After its last post arrived the bot still writes down that it was sent. That is part of its processor time."""

READ_S = 2.0
"""After it is ready the bot still reads what the data service publishes, once."""

WARM_UP = 10
WARM_UP_RATE_S = 0.5
LOST_AFTER_S = 60.0
BOT, SDK, BARE = "bot", "slack_sdk alone", "bare server"


@dataclass
class Turns:
    """What one contender's turns came to, under one of the loads."""

    seconds: list[float] = field(default_factory=list)
    """From each request to its post; from the planned moment, where there is a plan."""
    cpu_s: float = 0.0
    done: int = 0
    lost: int = 0

    @property
    def cpu_ms(self) -> float:
        """Processor time per delivery."""
        return self.cpu_s / self.done * 1000 if self.done else float("nan")


class Contender(Protocol):
    """Takes deliveries, makes posts, or both."""

    async def alone(self, count: int, turns: Turns) -> None:
        """So many, one after another."""

    async def at_rate(self, seconds: float, turns: Turns) -> None:
        """RATE a second for so long."""


@dataclass
class ByHttp:
    """A server. `key_of`: the key of a delivery's post, by the delivery's number; None where nothing is posted."""

    server: Server
    outside: Outside
    requests: Iterator[bytes]
    key_of: Callable[[int], str] | None = None
    _number: Iterator[int] = field(default_factory=itertools.count)

    async def alone(self, count: int, turns: Turns) -> None:
        before_s = self.server.cpu_s
        async with connected(self.server.port) as (connection,):
            for _ in range(count):
                await asyncio.sleep(APART_S)
                request, arrived = next(self.requests), len(self.outside.arrived)
                sent = time.perf_counter()
                await connection.ask(request)
                if self.key_of:
                    await self.outside.wait_for(arrived + 1, timeout_s=LOST_AFTER_S)
                self._count([sent], turns)
        await self._end(before_s, turns)

    async def at_rate(self, seconds: float, turns: Turns) -> None:
        before_s, arrived = self.server.cpu_s, len(self.outside.arrived)
        load = await fixed_rate(self.server.port, self.requests, per_s=RATE, seconds=seconds)
        if self.key_of:
            await self.outside.wait_for(arrived + len(load.accepted), timeout_s=LOST_AFTER_S)
        self._count(load.due, turns)
        await self._end(before_s, turns)

    def _count(self, began: Collection[float], turns: Turns) -> None:
        turns.done += len(began)
        for at, number in zip(began, self._number, strict=False):
            if self.key_of is None:
                continue
            arrived_at = self.outside.arrived.get(self.key_of(number))
            if arrived_at is None:
                turns.lost += 1
            else:
                turns.seconds.append(arrived_at - at)

    async def _end(self, before_s: float, turns: Turns) -> None:
        await asyncio.sleep(SETTLE_S)
        turns.cpu_s += self.server.cpu_s - before_s


@dataclass
class BySdk:
    """slack_sdk, which posts from a process of its own."""

    outside_url: str
    _number: Iterator[int] = field(default_factory=itertools.count)

    async def alone(self, count: int, turns: Turns) -> None:
        await self._post(count, 1 / APART_S, turns)

    async def at_rate(self, seconds: float, turns: Turns) -> None:
        await self._post(int(seconds * RATE), RATE, turns)

    async def _post(self, count: int, per_s: float, turns: Turns) -> None:
        prefix = f"even-{next(self._number)}"
        turns.cpu_s += await apart(post_evenly, f"{self.outside_url}/api/", prefix, count, per_s)
        turns.done += count


async def measure(folder: Path, outside: Outside, outside_url: str, plan: Plan) -> list[Measure]:
    """Times from request to post and processor time, alone and at a fixed rate; posts a second of a queue; memory."""
    url = f"sqlite:///{folder / 'delivery.db'}"
    await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
    async with processes.bot(folder, outside_url, url, "bench.bot_unpaced") as bot:
        named: dict[str, Contender] = {BOT: bot_contender(bot, outside, "d"), SDK: BySdk(outside_url)}
        async with baseline("bare", folder=folder) as server:
            named[BARE] = ByHttp(server, outside, Results("e").requests())
            await asyncio.sleep(READ_S)
            alone, loaded = await _alternate(named, plan)
        drained = await drain.measure(Database(url), outside, outside_url, CHANNELS, plan)
        memory = bot.memory_mib
    return [
        *_cpu("CPU per delivery that comes alone", alone, AtMost(5)),
        *_cpu(f"CPU per delivery at {RATE}/s", loaded, AtMost(1.5)),
        *_latency("webhook to Slack, alone", alone, {50: AtMost(8), 95: AtMost(15), 99: None}),
        *_latency(f"webhook to Slack at {RATE}/s", loaded, {50: None, 95: AtMost(20), 99: None}),
        Measure("webhook to Slack, refused or not arrived", alone[BOT].lost + loaded[BOT].lost, "posts", Below(1)),
        *drained,
        Measure("memory of the bot after these posts", memory, "MiB", AtMost(95)),
    ]


def bot_contender(server: Server, outside: Outside, prefix: str) -> ByHttp:
    """The bot: a result for one of the channels, whose post it is called by."""
    results = Results(prefix, REGIONS)

    def key_of(number: int) -> str:
        return f"result.received:{results.race_id(number)}#1@{CHANNELS[number % len(CHANNELS)]}"

    return ByHttp(server, outside, results.requests(), key_of)


async def _alternate(named: dict[str, Contender], plan: Plan) -> tuple[dict[str, Turns], dict[str, Turns]]:
    """Each in turn, alone and then at the rate, after a warm-up that does not count."""
    for contender in named.values():
        await contender.alone(WARM_UP, Turns())
        await contender.at_rate(WARM_UP_RATE_S, Turns())
    alone, loaded = ({name: Turns() for name in named} for _ in range(2))
    for _ in range(plan.rounds):
        for name, contender in named.items():
            await contender.alone(plan.alone, alone[name])
        for name, contender in named.items():
            await contender.at_rate(plan.delivery_s / plan.rounds, loaded[name])
    return alone, loaded


UNITS = {SDK: "per post", BARE: "per request"}


def _cpu(name: str, turns: dict[str, Turns], target: Target) -> list[Measure]:
    beside = {other: each for other, each in turns.items() if other != BOT}
    return [
        Measure(name, turns[BOT].cpu_ms, "ms", target),
        *(
            Measure(f"· {other}, {UNITS[other]}" if other in UNITS else f"· {other}", each.cpu_ms, "ms")
            for other, each in beside.items()
        ),
    ]


def _latency(name: str, turns: dict[str, Turns], targets: dict[int, Target | None]) -> list[Measure]:
    return percentiles(name, turns[BOT].seconds, targets)


async def subscribe(database: Database, pairs: Iterable[tuple[str, str]]) -> None:
    """A new database in which channels are subscribed to the results of regions."""

    def save(session: Session) -> None:
        for channel_id, region in pairs:
            chosen = ChannelFilter(region=region, topics=frozenset({Topic.RESULTS}))
            subscriptions.save(session, channel_id, chosen, user_id="UBENCH", now=utc_now())

    upgrade(database)
    await database.write(save)
    await database.close()
