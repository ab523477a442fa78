"""`python -m bench [--quick]`: every measure in one run, and one table of them."""

import asyncio
import math
import multiprocessing
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from bench import acks, client, delivery, ingest, overload, postgres
from bench.common import FULL, QUICK, Below, Measure, Plan, summary, table
from bench.load import LOOPBACK
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
    listener = socket.create_server((LOOPBACK, 0))
    server = multiprocessing.get_context("spawn").Process(target=client.serve, args=(listener,), daemon=True)
    server.start()
    try:
        port = listener.getsockname()[1]
        ours, bare = asyncio.run(client.measure(f"http://{LOOPBACK}:{port}/v1", plan.client_s))
    finally:
        server.terminate()
        server.join()
        listener.close()
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
    plan = QUICK if "--quick" in sys.argv[1:] else FULL
    started = time.perf_counter()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        measures = runner.run(measure_bot(plan))
    _say("reading races")
    measures += measure_client(plan)
    print(table(measures))
    print(f"\n{summary(measures)}")
    print(f"\nin {time.perf_counter() - started:.0f} s{', quick: rough' if plan is QUICK else ''}")


if __name__ == "__main__":
    main()
