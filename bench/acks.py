"""Acks of commands that only read: how long Slack waits for them, idle and while deliveries arrive."""

import asyncio
import hashlib
import hmac
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

from bench.common import Below, Measure, Plan, percentiles
from bench.load import Load, connected, fixed_rate
from bench.payloads import Results
from bench.processes import SIGNING_SECRET, apart, baseline, bot
from bot.cli.server import loop_factory
from bot.clock import utc_now

COMMANDS = (("/racecard", "GB"), ("/usage", ""), ("/racing", "help"))
PATH = "/slack/events"
APART_S = 0.05
"""Between two commands: the answer to one, which follows its ack, is no part of what the next is measured by."""

WEBHOOKS_PER_S = 300
SETTLE_S = 2.0
"""After it is ready the bot still reads what the data service publishes, once."""


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """Milliseconds from a signed request to the end of its ack."""
    requests = commands(SIGNING_SECRET, outside_url)
    async with bot(folder, outside_url, f"sqlite:///{folder / 'acks.db'}") as server:
        port = server.port
        await asyncio.sleep(SETTLE_S)
        await acked(port, requests, len(COMMANDS) * 2)
        idle = await acked(port, requests, plan.acks)
        async with under_webhooks(port, plan.fixed_rate_s) as webhooks:
            busy = await acked(port, requests, int(plan.fixed_rate_s / APART_S * 0.8))
        deliveries = await webhooks
    async with baseline("bare", folder=folder) as server:
        bare = await acked(server.port, Results("bare").requests(), plan.acks)
    lost = idle.refused + busy.refused + deliveries.refused
    return [
        *percentiles("answer of a bare server, idle", bare.latencies, {50: None, 99: None}),
        *percentiles("ack of a command, idle", idle.latencies, {50: None, 99: Below(5)}),
        *percentiles(f"ack of a command, {WEBHOOKS_PER_S} deliveries/s", busy.latencies, {50: None, 99: Below(10)}),
        Measure("acks and deliveries refused", lost, "answers", Below(1)),
    ]


def commands(signing_secret: str, outside_url: str) -> Iterator[bytes]:
    """Signed commands without end, each signed when it is asked for: Slack's timestamps are good for minutes."""
    for name, text in itertools.cycle(COMMANDS):
        fields = {"command": name, "text": text, "channel_id": "C0", "user_id": "U0", "team_id": "T0"}
        body = urlencode(fields | {"response_url": f"{outside_url}/commands/1", "trigger_id": "1.2.3"}).encode()
        at = str(int(utc_now().timestamp()))
        signature = hmac.new(signing_secret.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\nX-Slack-Request-Timestamp: {at}\r\n"
            f"X-Slack-Signature: v0={signature}\r\n\r\n"
        )
        yield head.encode() + body


async def acked(port: int, requests: Iterator[bytes], count: int) -> Load:
    """So many commands, one after another over one connection."""
    load = Load()
    async with connected(port) as (connection,):
        for _ in range(count):
            await asyncio.sleep(APART_S)
            request, sent = next(requests), time.perf_counter()
            load.note(await connection.ask(request), time.perf_counter() - sent)
    return load


@asynccontextmanager
async def under_webhooks(port: int, seconds: float) -> AsyncIterator[asyncio.Task[Load]]:
    """Deliveries arrive meanwhile, from a process of their own; the task has what became of them."""
    task = asyncio.create_task(apart(deliver, port, seconds))
    await asyncio.sleep(1.0)
    yield task


def deliver(port: int, seconds: float) -> Load:
    """Deliveries at an even rate."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(fixed_rate(port, Results("ack").requests(), per_s=WEBHOOKS_PER_S, seconds=seconds + 1.0))
