"""From the webhook to Slack: how long a delivery takes to be a post, and how fast what waits is posted."""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import Session

from bench import drain
from bench.common import Below, Measure, Plan, percentiles
from bench.load import connected, fixed_rate
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import bot_settings, running
from bot.domain.events import Topic
from bot.domain.filters import ChannelFilter
from bot.sandbox.serving import free_port
from bot.storage import subscriptions
from bot.storage.engine import Database
from bot.storage.migrate import upgrade

CHANNELS = tuple(f"C{number:03}" for number in range(100))
REGIONS = tuple(f"R{number:02}" for number in range(100))
"""Each channel takes one region, and the deliveries' regions take turns: a delivery is one post."""

RATE = 200
IDLE_S = 0.03
WARM_UP = 20
LOST_AFTER_S = 60.0


async def measure(folder: Path, outside: Outside, outside_url: str, plan: Plan) -> list[Measure]:
    """Times from request to post, when idle and at a fixed rate; posts a second of a queue; memory."""
    url, port = f"sqlite:///{folder / 'delivery.db'}", free_port()
    await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
    settings = bot_settings(port, outside_url, url)
    async with running("bench.bot_unpaced", port=port, folder=folder, settings=settings) as bot:
        await _one_by_one(port, outside, Results("w", REGIONS), WARM_UP)
        idle = await _one_by_one(port, outside, Results("i", REGIONS), plan.idle_deliveries)
        loaded, lost = await _at_rate(port, outside, plan.delivery_s)
        drained = await drain.measure(Database(url), outside, outside_url, CHANNELS, plan)
        memory = bot.memory_mib
    return [
        *percentiles("webhook to Slack, idle", idle, {50: None, 95: None, 99: None}),
        *percentiles(f"webhook to Slack at {RATE}/s", loaded, {50: None, 95: Below(25), 99: None}),
        Measure(f"webhook to Slack at {RATE}/s, not arrived", lost, "posts", Below(1)),
        *drained,
        Measure("memory of the bot after these posts", memory, "MiB", Below(110)),
    ]


async def subscribe(database: Database, pairs: Iterable[tuple[str, str]]) -> None:
    """A new database in which channels are subscribed to the results of regions."""

    def save(session: Session) -> None:
        for channel_id, region in pairs:
            chosen = ChannelFilter(region=region, topics=frozenset({Topic.RESULTS}))
            subscriptions.save(session, channel_id, chosen, user_id="UBENCH", now=datetime.now(UTC))

    upgrade(database)
    await database.write(save)
    await database.close()


async def _one_by_one(port: int, outside: Outside, results: Results, count: int) -> list[float]:
    """Seconds from each request to its post, with nothing else going on."""
    seconds = []
    requests = results.requests()
    async with connected(port) as (connection,):
        for number in range(count):
            await asyncio.sleep(IDLE_S)
            request, before = next(requests), len(outside.arrived)
            sent = time.perf_counter()
            await connection.ask(request)
            if await outside.wait_for(before + 1, timeout_s=LOST_AFTER_S):
                seconds.append(outside.arrived[_post_key(results, number)] - sent)
    return seconds


async def _at_rate(port: int, outside: Outside, seconds: float) -> tuple[list[float], int]:
    """Seconds from each planned moment to its post, and how many posts never came."""
    results, before = Results("r", REGIONS), len(outside.arrived)
    load = await fixed_rate(port, results.requests(), per_s=RATE, seconds=seconds)
    await outside.wait_for(before + len(load.due), timeout_s=LOST_AFTER_S)
    arrived = [outside.arrived.get(_post_key(results, number)) for number in range(len(load.due))]
    taken = [at - due for at, due in zip(arrived, load.due, strict=True) if at is not None]
    return taken, len(load.due) - len(taken)


def _post_key(results: Results, number: int) -> str:
    return f"result.received:{results.race_id(number)}#1@{CHANNELS[number % len(CHANNELS)]}"
