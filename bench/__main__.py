"""`python -m bench [--quick]`: every measure in one run, and one table of them."""

import asyncio
import math
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from bench import acks, client, delivery, ingest, overload, postgres
from bench.common import FULL, QUICK, Below, Measure, Plan, summary, table
from bench.outside import Outside
from bot.cli.server import loop_factory
from sandbox.loopback_server import serve


async def measure_bot(plan: Plan) -> list[Measure]:
    """Everything that is measured of the bot's own process, one after another."""
    outside = Outside()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with postgres.server(folder / "postgres") as new_postgres:
            async with serve(outside) as outside_url:
                parts = {
                    "taking deliveries": partial(ingest.measure, folder, outside_url, new_postgres, plan),
                    "more than it can take": partial(overload.measure, folder, outside_url, plan),
                    "posting": partial(delivery.measure, folder, outside, outside_url, plan),
                    "acks of commands": partial(acks.measure, folder, outside_url, plan),
                }
                return [line for name, part in parts.items() for line in await said(name, part)]


def measure_client(plan: Plan) -> list[Measure]:
    """The data service's client beside bare httpx; see bench/client.py."""
    _say("reading races")
    with client.serving() as base_url:
        ours, bare = asyncio.run(client.measure(base_url, plan.client_s))
    return [
        Measure("reading races: bare httpx", bare, "/s"),
        Measure("reading races: the bot's client", ours, "/s"),
        Measure("reading races: client / httpx", ours / bare, "ratio"),
    ]


async def said(what: str, part: Callable[[], Awaitable[list[Measure]]]) -> list[Measure]:
    """The lines of a part; of one that failed, a line that says so. It costs no other part its own."""
    _say(what)
    try:
        return await part()
    except Exception as error:  # noqa: BLE001  whatever went wrong is to be read in the table
        traceback.print_exc()
        return [Measure(f"{what}: failed, {type(error).__name__}", math.nan, "", Below(1))]


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr)


def main() -> None:
    """Measure, and print."""
    report(measure_bot, measure_client)


def report(bot: Callable[[Plan], Coroutine[Any, Any, list[Measure]]], *others: Callable[[Plan], list[Measure]]) -> None:
    plan = QUICK if "--quick" in sys.argv[1:] else FULL
    started = time.perf_counter()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        measures = runner.run(bot(plan))
    for measure in others:
        measures += measure(plan)
    print(table(measures))
    print(f"\n{summary(measures)}")
    print(f"\nin {time.perf_counter() - started:.0f} s{', quick: rough' if plan is QUICK else ''}")


if __name__ == "__main__":
    main()
