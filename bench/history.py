"""The cost of a long history: the bot with a million past deliveries beside the bot with ten thousand, in turns.

python -m bench.history            # a million, on both engines, under ten minutes
python -m bench.history --quick    # a hundred thousand, about two minutes; rough
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from bench.__main__ import main, said
from bench.common import AtMost, Measure, Plan, paired_ratio, percentile
from bench.delivery import CHANNELS, READ_S, REGIONS, WARM_UP, Deliveries, Turns, subscribe
from bench.filled import fill
from bench.ingest import WARM_UP_S, Contender
from bench.outside import Outside
from bench.payloads import Results
from bench.processes import bot, postgresql
from bot.db.engine import Database
from sandbox.loopback_server import serve

FEW = 10_000
TIMES = 1.3
"""A time with many deliveries, divided by the time with few, may be at most this."""

ROUNDS = 3
ROUND_S = 0.3
"""The length of a closed loop. The fan-out of the loop's deliveries takes several times as long."""


@dataclass
class Side:
    """A bot with the figures of the rounds: single deliveries, and a closed loop without a listening channel."""

    deliveries: Deliveries
    pressed: Contender
    cpu_ms: list[float] = field(default_factory=list)
    alone_ms: list[float] = field(default_factory=list)
    """The median of each round."""

    @property
    def pressed_ms(self) -> list[float]:
        return [1_000 / rate if rate else float("nan") for rate in self.pressed.rates]

    async def warm_up(self) -> None:
        await self.deliveries.alone(WARM_UP, Turns())
        await self.pressed.take_turn(WARM_UP_S)
        self.pressed.loads.clear()

    async def take_turn(self, plan: Plan) -> None:
        turns = Turns()
        await self.deliveries.alone(plan.alone, turns)
        self.cpu_ms.append(turns.cpu_ms)
        self.alone_ms.append(percentile(turns.seconds, 50) * 1_000)
        await self.pressed.take_turn(ROUND_S)


async def measure(engine: str, urls: Sequence[str], folder: Path, plan: Plan) -> list[Measure]:
    """The lines of one engine, from two databases."""
    outside = Outside()
    for url, rows in zip(urls, (FEW, plan.history), strict=True):
        await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
        fill(Database(url), rows)
    async with (
        serve(outside) as outside_url,
        _side(urls[0], folder, outside, outside_url) as few,
        _side(urls[1], folder, outside, outside_url) as full,
    ):
        await asyncio.sleep(READ_S)
        for side in (few, full):
            await side.warm_up()
        for _ in range(ROUNDS):
            for side in (few, full):
                await side.take_turn(plan)
    compared = {
        "CPU per delivery that comes alone": (few.cpu_ms, full.cpu_ms),
        "webhook to Slack alone, p50": (few.alone_ms, full.alone_ms),
        "closed loop, time per delivery": (few.pressed_ms, full.pressed_ms),
    }
    return [
        line
        for name, (of_few, of_full) in compared.items()
        for line in (
            Measure(f"{engine}: {name}, {FEW:,} past deliveries", median(of_few), "ms"),
            Measure(f"{engine}: {name}, {plan.history:,} past deliveries", median(of_full), "ms"),
            Measure(f"{engine}: {name}, many / few", paired_ratio(of_full, of_few), "ratio", AtMost(TIMES)),
        )
    ]


@asynccontextmanager
async def _side(url: str, folder: Path, outside: Outside, outside_url: str) -> AsyncIterator[Side]:
    database = Database(url)
    async with bot(folder, outside_url, url, "bench.bot_unpaced") as server:
        pressed = Contender(server.port, Results(f"q{server.port}x").requests(), database)
        yield Side(Deliveries(server, outside, f"h{server.port}x"), pressed)
    await database.close()


async def measure_both(plan: Plan) -> list[Measure]:
    """The lines of both engines; of PostgreSQL where the package is there."""
    # A folder for each: a million deliveries take five gigabytes.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        urls = [f"sqlite:///{name}/{side}.db" for side in ("few", "full")]
        lines = await said("SQLite", partial(measure, "SQLite", urls, Path(name), plan))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, postgresql(Path(name) / "postgres") as new_postgres:
        if new_postgres is not None:
            urls = [new_postgres() for _ in urls]
            lines += await said("PostgreSQL", partial(measure, "PostgreSQL", urls, Path(name), plan))
    return lines


if __name__ == "__main__":
    main(measure_both)
