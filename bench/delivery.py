"""From the webhook to Slack: how long a delivery takes to be a post, and the processor time that it costs."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlmodel import Session

from bench import processes
from bench.common import NONE, AtMost, Measure, Plan, percentiles
from bench.load import connected, fixed_rate
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import Server
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
"""Between the end of a single delivery and the next delivery."""

SETTLE_S = 0.2
"""After the last post the bot still writes the outcome, also a part of the processor time."""

READ_S = 2.0
"""After the start the bot still reads the data service's lists, once."""

WARM_UP = 10
WARM_UP_RATE_S = 0.5
LOST_AFTER_S = 60.0


@dataclass
class Turns:
    """The figures of the turns under one load."""

    seconds: list[float] = field(default_factory=list)
    """From each request to the post; with a plan, from the planned moment."""
    cpu_s: float = 0.0
    done: int = 0
    lost: int = 0

    @property
    def cpu_ms(self) -> float:
        """Processor time per delivery."""
        return self.cpu_s / self.done * 1000 if self.done else float("nan")


class Deliveries:
    """Results for the channels, to a bot."""

    def __init__(self, server: Server, outside: Outside, prefix: str) -> None:
        self.server, self.outside, self.results = server, outside, Results(prefix, REGIONS)
        self.requests, self._number = self.results.requests(), itertools.count()

    async def alone(self, count: int, turns: Turns) -> None:
        """`count` deliveries, one after another."""
        before_s = self.server.cpu_s
        async with connected(self.server.port) as (connection,):
            for _ in range(count):
                await asyncio.sleep(APART_S)
                request, arrived = next(self.requests), len(self.outside.arrived)
                sent = time.perf_counter()
                await connection.ask(request)
                await self._count([sent], arrived + 1, turns)
        await self._end(before_s, turns)

    async def at_rate(self, seconds: float, turns: Turns) -> None:
        """RATE a second for so long."""
        before_s, arrived = self.server.cpu_s, len(self.outside.arrived)
        load = await fixed_rate(self.server.port, self.requests, per_s=RATE, seconds=seconds)
        await self._count(load.due, arrived + len(load.accepted), turns)
        await self._end(before_s, turns)

    async def _count(self, began: Sequence[float], arrived: int, turns: Turns) -> None:
        await self.outside.wait_for(arrived, timeout_s=LOST_AFTER_S)
        turns.done += len(began)
        for at, number in zip(began, self._number, strict=False):
            key = f"result.received:{self.results.race_id(number)}#1@{CHANNELS[number % len(CHANNELS)]}"
            arrived_at = self.outside.arrived.get(key)
            turns.lost += arrived_at is None
            turns.seconds += [] if arrived_at is None else [arrived_at - at]

    async def _end(self, before_s: float, turns: Turns) -> None:
        await asyncio.sleep(SETTLE_S)
        turns.cpu_s += self.server.cpu_s - before_s


async def measure(folder: Path, outside: Outside, outside_url: str, plan: Plan) -> list[Measure]:
    """Times from request to post and processor time, alone and at a fixed rate."""
    url = f"sqlite:///{folder / 'delivery.db'}"
    await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
    alone, loaded = Turns(), Turns()
    async with processes.bot(folder, outside_url, url, "bench.bot_unpaced") as bot:
        deliveries = Deliveries(bot, outside, "d")
        await asyncio.sleep(READ_S)
        await deliveries.alone(WARM_UP, Turns())
        await deliveries.at_rate(WARM_UP_RATE_S, Turns())
        for _ in range(plan.rounds):
            await deliveries.alone(plan.alone, alone)
            await deliveries.at_rate(plan.delivery_s / plan.rounds, loaded)
    return [
        Measure("CPU per delivery that comes alone", alone.cpu_ms, "ms", AtMost(5)),
        Measure(f"CPU per delivery at {RATE}/s", loaded.cpu_ms, "ms", AtMost(2)),
        *percentiles("webhook to Slack, alone", alone.seconds, {50: AtMost(8), 95: None, 99: None}),
        *percentiles(f"webhook to Slack at {RATE}/s", loaded.seconds, {50: None, 95: AtMost(25), 99: None}),
        Measure("webhook to Slack, refused or not arrived", alone.lost + loaded.lost, "posts", NONE),
    ]


async def subscribe(database: Database, pairs: Iterable[tuple[str, str]]) -> None:
    """A new database, with channels subscribed to the results of regions."""

    def save(session: Session) -> None:
        for channel_id, region in pairs:
            chosen = ChannelFilter(region=region, topics=frozenset({Topic.RESULTS}))
            subscriptions.save(session, channel_id, chosen, user_id="UBENCH", now=utc_now())

    upgrade(database)
    await database.write(save)
    await database.close()
