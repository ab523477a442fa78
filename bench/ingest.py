"""Taking deliveries: the bot, on both databases, beside a bare server, a commit for each request and `webhook`."""

import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import processes
from bench.common import NONE, AtLeast, AtMost, Measure, Plan, Target, paired_ratio, percentile, percentiles
from bench.load import LATE_S, Load, closed_loop, fixed_rate
from bench.payloads import Results
from bench.processes import NewDatabase, baseline, debian_webhook, empty_inbox
from bot.db.engine import Database
from bot.db.migrate import upgrade

CONNECTIONS = 32
BOT, ON_POSTGRESQL = "bot (stored, then answered)", "bot on PostgreSQL"
WARM_UP_S = 0.3
TARGETS: dict[str, Target | None] = {
    "bare server": AtLeast(0.3),
    "Debian's webhook": AtLeast(1.0),
    "a commit for each request": AtLeast(8),
    ON_POSTGRESQL: None,
}


@dataclass
class Contender:
    """A server under load, with the figures of the rounds. `database`: the bot's, where fan-out goes on."""

    port: int
    requests: Iterator[bytes]
    database: Database | None = None
    loads: list[Load] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Accepted requests a second, by round."""
        return [load.per_s for load in self.loads]

    async def take_turn(self, seconds: float) -> None:
        """Be loaded for so long. The bot's fan-out ends before the next server's turn."""
        self.loads.append(await closed_loop(self.port, self.requests, seconds=seconds, connections=CONNECTIONS))
        await self.fanned_out()

    async def fanned_out(self) -> None:
        if self.database is not None:
            await empty_inbox(self.database)


async def measure(folder: Path, outside_url: str, new_postgres: NewDatabase | None, plan: Plan) -> list[Measure]:
    """Requests a second of each, their ratios, and the bot's latency at half of its closed loop's rate."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        bare = await enter(baseline("bare", folder=folder))
        plain = await enter(baseline("commit-per-request", f"sqlite:///{folder / 'commits.db'}", folder=folder))
        named = {
            "bare server": Contender(bare.port, Results("a").requests()),
            BOT: await enter(_bot(f"sqlite:///{folder / 'ingest.db'}", "b", folder, outside_url)),
            "a commit for each request": Contender(plain.port, Results("c").requests()),
        }
        if shutil.which("webhook"):
            webhook = await enter(debian_webhook(folder))
            named["Debian's webhook"] = Contender(webhook.port, Results("w").requests())
        if new_postgres is not None:
            named[ON_POSTGRESQL] = await enter(_bot(new_postgres(), "p", folder, outside_url))
        for seconds in (WARM_UP_S, *[plan.round_s] * plan.rounds):
            for contender in named.values():
                await contender.take_turn(seconds)
        for contender in named.values():
            del contender.loads[0]
        bots = [name for name, contender in named.items() if contender.database is not None]
        steady = [line for name in bots for line in await _steady(f"half rate: {name}", named[name], plan.steady_s)]
    return [*_rates(named), *steady]


@asynccontextmanager
async def _bot(database_url: str, prefix: str, folder: Path, outside_url: str) -> AsyncIterator[Contender]:
    database = Database(database_url)
    upgrade(database)
    async with processes.bot(folder, outside_url, database_url) as server:
        yield Contender(server.port, Results(prefix).requests(), database)
    await database.close()


def _rates(named: dict[str, Contender]) -> list[Measure]:
    lines = [Measure(f"ingest: {name}", median(contender.rates), "/s") for name, contender in named.items()]
    refused = sum(load.refused for contender in named.values() for load in contender.loads)
    lines += [
        Measure(f"ingest: bot / {name}", paired_ratio(named[BOT].rates, named[name].rates), "ratio", target)
        for name, target in TARGETS.items()
        if name in named
    ]
    return [*lines, Measure("ingest: refused", refused, "requests", NONE)]


async def _steady(name: str, bot: Contender, seconds: float) -> list[Measure]:
    """At half of the rate of the closed loop, and until everything is fanned out."""
    per_s = median(bot.rates) / 2
    load = await fixed_rate(bot.port, bot.requests, per_s=per_s, seconds=seconds)
    ended = time.perf_counter()
    await bot.fanned_out()
    return [
        Measure(f"{name}: offered", per_s, "/s"),
        *percentiles(f"{name}: answer", load.latencies, {50: None, 99: AtMost(15)}),
        Measure(f"{name}: refused", load.refused, "requests", NONE),
        Measure(f"{name}: fanned out after the end", time.perf_counter() - ended, "s", AtMost(5)),
        # Where this target is missed, the rate was not kept, and the lines above say less.
        Measure(f"{name}: generator late, p99", percentile(load.lateness, 99) * 1000, "ms", AtMost(LATE_S * 1000)),
    ]
