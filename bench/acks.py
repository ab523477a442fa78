"""Acks of reading commands: how long Slack waits, idle and while deliveries arrive; and the reading of a line."""

import asyncio
import itertools
import time
import timeit
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from slack_sdk.signature import SignatureVerifier

from bench.common import NONE, AtMost, Measure, Plan, percentiles
from bench.delivery import READ_S
from bench.load import Load, connected
from bench.overload import offer
from bench.payloads import request
from bench.processes import SIGNING_SECRET, apart, bot
from bot.clock import utc_now
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.slack.language.request import read

COMMANDS = (("/racecard", "GB"), ("/usage", ""), ("/racing", "help"))
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
APART_S = 0.05
"""Between two commands: the answer after an ack must not delay the next ack."""

WEBHOOKS_PER_S = 300

LINES = (
    "GB",
    "results from GB and Ireland only",
    "GB except Ffos Las, results and racecards",
    "York and Ascot digest at 6pm London time",
    "GB results and IRE racecards",
    "no results for York but abandonments",
    "class 1 and 2 in GB, quiet from 10pm to 7am",
)
"""Lines for `subscribe`: with one meaning, and with several."""
ROUNDS = 20


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """Milliseconds from a signed request to the end of the ack."""
    requests = commands(outside_url)
    async with bot(folder, outside_url, f"sqlite:///{folder / 'acks.db'}") as server:
        await asyncio.sleep(READ_S)
        await acked(server.port, requests, len(COMMANDS) * 2)
        idle = await acked(server.port, requests, plan.acks)
        seconds = plan.acks * APART_S
        webhooks = asyncio.create_task(apart(offer, server.port, WEBHOOKS_PER_S, seconds + 2))
        await asyncio.sleep(1.0)
        busy = await acked(server.port, requests, plan.acks)
        refused = idle.refused + busy.refused + (await webhooks).refused
    return [
        *percentiles("ack of a command, idle", idle.latencies, {50: None, 99: AtMost(5)}),
        *percentiles(f"ack of a command, {WEBHOOKS_PER_S} deliveries/s", busy.latencies, {50: None, 99: AtMost(10)}),
        Measure("acks and deliveries refused", refused, "answers", NONE),
        Measure("CPU to read a typed line", read_lines() / len(LINES) * 1000, "ms", AtMost(0.3)),
    ]


def read_lines() -> float:
    """The seconds of CPU that the best of some rounds takes for LINES."""
    names = ("York", "Ascot", "Bath", "Ffos Las", "Curragh", *(f"Course {number}" for number in range(1_500)))
    courses = [KnownCourse(course_id=f"cr_{at}", name=name, region="GB") for at, name in enumerate(names)]
    lexicon = Lexicon(("GB", "IRE", "FR", "HK"), courses)
    return min(
        timeit.repeat(lambda: [read(line, lexicon) for line in LINES], timer=time.process_time, number=1, repeat=ROUNDS)
    )


def commands(outside_url: str) -> Iterator[bytes]:
    """Signed commands without end, each signed at the last moment: Slack's timestamps are good for minutes."""
    for name, text in itertools.cycle(COMMANDS):
        fields = {"command": name, "text": text, "channel_id": "C0", "user_id": "U0", "team_id": "T0"}
        body = urlencode(fields | {"response_url": f"{outside_url}/commands/1", "trigger_id": "1.2.3"}).encode()
        at = str(int(utc_now().timestamp()))
        signature = SignatureVerifier(SIGNING_SECRET).generate_signature(timestamp=at, body=body) or ""
        headers = {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": signature, **FORM}
        yield request("POST /slack/events", body, headers)


async def acked(port: int, requests: Iterator[bytes], count: int) -> Load:
    """Commands one after another, over the same connection."""
    load = Load()
    async with connected(port) as (connection,):
        for request in itertools.islice(requests, count):
            await asyncio.sleep(APART_S)
            sent = time.perf_counter()
            load.note(await connection.ask(request), time.perf_counter() - sent)
    return load
