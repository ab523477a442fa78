"""`python -m bench [--quick]`: every measure in one run, in one table."""

import argparse
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

from bench import acks, delivery, footprint, ingest, overload, processes, wide
from bench.common import FULL, NONE, QUICK, Measure, Plan, table
from bench.outside import Outside
from bot.web.uvicorn_server import loop_factory
from sandbox.loopback_server import serve


async def measure_bot(plan: Plan) -> list[Measure]:
    """Every measure of the bot's own process, one after another."""
    outside = Outside()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        with processes.postgresql(folder / "postgres") as new_postgres:
            async with serve(outside) as outside_url:
                parts = {
                    "taking deliveries": partial(ingest.measure, folder, outside_url, new_postgres, plan),
                    "more than it can take": partial(overload.measure, folder, outside_url, plan),
                    "posting": partial(delivery.measure, folder, outside, outside_url, plan),
                    "one event for many channels": partial(wide.measure, folder, outside, outside_url, plan),
                    "start and memory": partial(footprint.measure, folder, outside_url, plan),
                    "acks of commands": partial(acks.measure, folder, outside_url, plan),
                }
                return [line for name, part in parts.items() for line in await said(name, part)]


async def said(what: str, part: Callable[[], Awaitable[list[Measure]]]) -> list[Measure]:
    """The lines of a part; for a failed part, a line with the failure. The other parts go on."""
    print(f"{what} …", file=sys.stderr)
    try:
        return await part()
    except Exception as error:  # noqa: BLE001  whatever went wrong is to be read in the table
        traceback.print_exc()
        return [Measure(f"{what}: failed, {type(error).__name__}", math.nan, "", NONE)]


def main(measure: Callable[[Plan], Coroutine[Any, Any, list[Measure]]] = measure_bot) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure the bot, and print the figures with their targets.")
    parser.add_argument("--quick", dest="plan", action="store_const", const=QUICK, default=FULL, help="soon, and rough")
    plan = parser.parse_args().plan
    started = time.perf_counter()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        measures = runner.run(measure(plan))
    print(table(measures))
    print(f"\nin {time.perf_counter() - started:.0f} s{', quick: rough' if plan is QUICK else ''}")


if __name__ == "__main__":
    main()
