"""One event for many channels: how soon the first post comes, and how many follow a second, beside slack_sdk."""

import asyncio
from pathlib import Path
from statistics import median

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bench import processes
from bench.common import AtLeast, AtMost, Measure, Plan, paired_ratio
from bench.delivery import LOST_AFTER_S, READ_S, subscribe
from bench.load import connected
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import apart
from bot.db.engine import Database
from bot.outbox.poster import CALLS_AT_ONCE

FEW, MANY = 10, 1_000
SETTLE_S = 0.5
TEXT = "Result: Ascot 14:30 (GB): 1 Measured Pace 1, 2 Measured Pace 2, 3 Measured Pace 3"


async def measure(folder: Path, outside: Outside, outside_url: str, plan: Plan) -> list[Measure]:
    """In turns, after a first round that does not count."""
    url = f"sqlite:///{folder / 'wide.db'}"
    pairs = [(f"C{count}x{number}", f"W{count}") for count in (FEW, MANY) for number in range(count)]
    await subscribe(Database(url), pairs)
    requests = {count: Results(f"w{count}x", (f"W{count}",)).requests() for count in (FEW, MANY)}
    first_s: dict[int, list[float]] = {FEW: [], MANY: []}
    ours, bare = [], []
    async with processes.bot(folder, outside_url, url, "bench.bot_unpaced") as bot:
        await asyncio.sleep(READ_S)
        for number in range(plan.rounds + 1):
            for count in (FEW, MANY):
                before, began = len(outside.arrived), asyncio.get_running_loop().time()
                async with connected(bot.port) as (connection,):
                    await connection.ask(next(requests[count]))
                arrived = await _arrived(outside, before, count)
                first_s[count].append(arrived[0] - began)
                await asyncio.sleep(SETTLE_S)
            before = len(outside.arrived)
            await apart(post_all, f"{outside_url}/api/", f"bare-{number}", MANY)
            ours.append(_rate(arrived))
            bare.append(_rate(await _arrived(outside, before, MANY)))
    few, many = (first_s[count][1:] for count in (FEW, MANY))
    return [
        Measure(f"first post of an event to {FEW} channels", median(few) * 1000, "ms"),
        Measure(f"first post of an event to {MANY:,} channels", median(many) * 1000, "ms"),
        Measure(f"first post, {MANY:,} channels / {FEW} channels", paired_ratio(many, few), "ratio", AtMost(1.5)),
        Measure(f"drain: {MANY:,} posts, slack_sdk alone", median(bare[1:]), "/s"),
        Measure(f"drain: {MANY:,} posts", median(ours[1:]), "/s", AtLeast(1_500)),
        Measure("drain: bot / slack_sdk alone", paired_ratio(ours[1:], bare[1:]), "ratio", AtLeast(0.3)),
    ]


async def _arrived(outside: Outside, before: int, count: int) -> list[float]:
    """The moments of the posts."""
    if not await outside.wait_for(before + count, timeout_s=LOST_AFTER_S):
        raise TimeoutError(f"{before + count - len(outside.arrived)} of {count} posts did not arrive")
    return sorted(outside.arrived.values())[before:]


def _rate(arrived: list[float]) -> float:
    return (len(arrived) - 1) / (arrived[-1] - arrived[0])


async def post_all(api_url: str, prefix: str, count: int) -> None:
    """Post so many short messages by slack_sdk, as many at once as the bot does."""
    numbers = iter(range(count))
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        client = AsyncWebClient(token="xoxb-bench-0123456789", base_url=api_url, session=session)

        async def work() -> None:
            for number in numbers:
                metadata = {"event_type": "bench", "event_payload": {"post": f"{prefix}-{number}"}}
                await client.chat_postMessage(channel="C000", text=TEXT, metadata=metadata)

        for _ in range(CALLS_AT_ONCE):
            tasks.create_task(work())
