"""Posting as slack_sdk does it, and nothing else: no lane, no lease, no row that says that it was sent."""

import asyncio
import time
from collections.abc import Iterator

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.cli.server import loop_factory
from bot.outbox.poster import CALLS_AT_ONCE

TEXT = "Result: Ascot 14:30 (GB): 1 Measured Pace 1, 2 Measured Pace 2, 3 Measured Pace 3"


def post_all(api_url: str, prefix: str, count: int) -> None:
    """Post so many short messages, as many at once as the bot does."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_post_all(api_url, prefix, count))


async def _post_all(api_url: str, prefix: str, count: int) -> None:
    numbers = iter(range(count))
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        client = AsyncWebClient(token="xoxb-bench-0123456789", base_url=api_url, session=session)
        for _ in range(CALLS_AT_ONCE):
            tasks.create_task(_work(client, prefix, numbers))


async def _work(client: AsyncWebClient, prefix: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        metadata = {"event_type": "bench", "event_payload": {"post": f"{prefix}-{number}"}}
        await client.chat_postMessage(channel="C000", text=TEXT, metadata=metadata)


def post_evenly(api_url: str, prefix: str, count: int, per_s: float) -> float:
    """Post at an even rate; returns the processor time of it, in seconds, without the start of the process."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_post_evenly(api_url, prefix, count, per_s))


async def _post_evenly(api_url: str, prefix: str, count: int, per_s: float) -> float:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(token="xoxb-bench-0123456789", base_url=api_url, session=session)
        await _work(client, f"{prefix}-first", iter(range(1)))
        began, began_cpu_s = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                await asyncio.sleep(began + number / per_s - time.perf_counter())
                tasks.create_task(_work(client, prefix, iter((number,))))
        return time.process_time() - began_cpu_s
