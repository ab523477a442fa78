"""What a long history costs: the bot with a million past deliveries beside the bot with none, in turns.

python -m bench.history            # a million, on both engines, under ten minutes
python -m bench.history --quick    # a hundred thousand, about two minutes; rough
"""

import asyncio
import math
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from bench import postgres
from bench.__main__ import report, said
from bench.common import AtMost, Measure, Plan, paired_ratio, percentile
from bench.delivery import CHANNELS, READ_S, REGIONS, WARM_UP, ByHttp, Turns, bot_contender, subscribe
from bench.filled import fill
from bench.ingest import CONNECTIONS, WARM_UP_S
from bench.load import closed_loop
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import bot, empty_inbox
from bot.db.engine import Database
from sandbox.loopback_server import serve

TIMES = 1.3
"""As many times as long as with an empty database something may take."""

ROUNDS = 3
ROUND_S = 0.3
"""Of a closed loop: the fan-out of what came in it takes several times as long."""


@dataclass
class Side:
    """A bot, its database, and what its rounds came to."""

    port: int
    database: Database
    deliveries: ByHttp
    cpu_ms: list[float] = field(default_factory=list)
    alone_s: list[float] = field(default_factory=list)
    """The median of each round."""
    ingest_s: list[float] = field(default_factory=list)
    """Seconds per delivery of the closed loop."""

    async def take_turn(self, plan: Plan) -> None:
        """Deliveries that come alone, then a closed loop that no channel listens to."""
        turns = Turns()
        await self.deliveries.alone(plan.alone, turns)
        self.cpu_ms.append(turns.cpu_ms)
        self.alone_s.append(percentile(turns.seconds, 50))
        await self.press(ROUND_S)

    async def press(self, seconds: float) -> None:
        """A closed loop, and the end of its fan-out."""
        requests = Results(f"q{len(self.ingest_s)}x").requests()
        load = await closed_loop(self.port, requests, seconds=seconds, connections=CONNECTIONS)
        self.ingest_s.append(1 / load.per_s if load.per_s else math.nan)
        await empty_inbox(self.database)


async def measure(engine: str, urls: Sequence[str], folder: Path, plan: Plan) -> list[Measure]:
    """The lines of one engine, of an empty database of it and another that is filled first."""
    outside = Outside()
    for url in urls:
        await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
    filled_s = _fill(urls[1], plan.history)
    async with (
        serve(outside) as outside_url,
        _side(urls[0], folder, outside, outside_url) as empty,
        _side(urls[1], folder, outside, outside_url) as full,
    ):
        await _alternate([empty, full], plan)
    return [
        Measure(f"{engine}: {plan.history:,} past deliveries made in", filled_s, "s"),
        *_lines(f"{engine}: CPU per delivery that comes alone", empty.cpu_ms, full.cpu_ms, "ms"),
        *_lines(f"{engine}: webhook to Slack alone, p50", _ms(empty.alone_s), _ms(full.alone_s), "ms"),
        *_lines(f"{engine}: closed loop, time per delivery", _ms(empty.ingest_s), _ms(full.ingest_s), "ms"),
    ]


def _fill(url: str, rows: int) -> float:
    """In how many seconds the history was made."""
    began = time.perf_counter()
    fill(Database(url), rows)
    return time.perf_counter() - began


@asynccontextmanager
async def _side(url: str, folder: Path, outside: Outside, outside_url: str) -> AsyncIterator[Side]:
    database = Database(url)
    async with bot(folder, outside_url, url, "bench.bot_unpaced") as server:
        yield Side(server.port, database, bot_contender(server, outside, f"h{server.port}x"))
    await database.close()


async def _alternate(sides: Sequence[Side], plan: Plan) -> None:
    await asyncio.sleep(READ_S)
    for side in sides:
        await side.deliveries.alone(WARM_UP, Turns())
        await side.press(WARM_UP_S)
        side.ingest_s.clear()
    for _ in range(ROUNDS):
        for side in sides:
            await side.take_turn(plan)


def _lines(name: str, empty: Sequence[float], full: Sequence[float], unit: str) -> list[Measure]:
    return [
        Measure(f"{name}, empty", median(empty), unit),
        Measure(f"{name}, full", median(full), unit),
        Measure(f"{name}, full / empty", paired_ratio(full, empty), "ratio", AtMost(TIMES)),
    ]


def _ms(seconds: Sequence[float]) -> list[float]:
    return [each * 1000 for each in seconds]


async def measure_both(plan: Plan) -> list[Measure]:
    """The lines of both engines; of PostgreSQL where there is a package of it."""
    # A folder for each: a million deliveries take five gigabytes.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        urls = [f"sqlite:///{name}/{side}.db" for side in ("empty", "full")]
        lines = await said("SQLite", partial(measure, "SQLite", urls, Path(name), plan))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, postgres.server(Path(name) / "postgres") as new_postgres:
        if new_postgres is not None:
            urls = [new_postgres() for _ in urls]
            lines += await said("PostgreSQL", partial(measure, "PostgreSQL", urls, Path(name), plan))
    return lines


def main() -> None:
    """Measure, and print."""
    report(measure_both)


if __name__ == "__main__":
    main()
