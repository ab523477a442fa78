"""Taking deliveries: the bot beside a bare server and a commit for each request; its latency at 1,000 a second."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.common import AtLeast, Below, Measure, Plan, paired_ratio, percentile, percentiles
from bench.load import LATE_S, Load, closed_loop, fixed_rate
from bench.payloads import Results
from bench.processes import Backlog, Server, bot_settings, empty_inbox, free_port, running

CONNECTIONS = 32
FIXED_RATE = 1_000
WARM_UP_S = 0.3


@dataclass
class Contender:
    """A server under load, and what its rounds came to."""

    server: Server
    requests: Iterator[bytes]
    loads: list[Load] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Accepted requests a second, by round."""
        return [load.per_s for load in self.loads]

    async def take_turn(self, seconds: float) -> None:
        """Be loaded for so long."""
        self.loads.append(await closed_loop(self.server.port, self.requests, seconds=seconds, connections=CONNECTIONS))


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """Requests a second of the three, their ratios, and the bot's latency at a fixed rate."""
    database, port = folder / "ingest.db", free_port()
    settings = bot_settings(port, outside_url, database)
    async with AsyncExitStack() as stack:
        bot = Contender(
            await stack.enter_async_context(running("bot", "serve", port=port, folder=folder, settings=settings)),
            Results("b").requests(),
        )
        bare = Contender(await stack.enter_async_context(_baseline("bare", folder=folder)), Results("a").requests())
        url = f"sqlite:///{folder / 'commits.db'}"
        commits = Contender(
            await stack.enter_async_context(_baseline("commit-per-request", url, folder=folder)),
            Results("c").requests(),
        )
        backlogs = await _alternate(bot, (bare, commits), database, plan)
        steady = await fixed_rate(port, Results("d").requests(), per_s=FIXED_RATE, seconds=plan.fixed_rate_s)
        memory = Measure("memory of the bot after these requests", bot.server.memory_mib, "MiB", Below(110))
    return [*_rates(bot, bare, commits, backlogs), *_latency(steady), memory]


def _baseline(name: str, *rest: str, folder: Path) -> AbstractAsyncContextManager[Server]:
    port = free_port()
    return running("bench.servers", name, str(port), *rest, port=port, folder=folder)


async def _alternate(bot: Contender, others: tuple[Contender, ...], database: Path, plan: Plan) -> list[Backlog]:
    """Each in turn, after a warm-up that does not count. The bot ends its fan-out before the next one's turn."""
    backlogs = []
    for seconds in (WARM_UP_S, *[plan.round_s] * plan.rounds):
        await bot.take_turn(seconds)
        backlogs.append(await empty_inbox(database))
        for other in others:
            await other.take_turn(seconds)
    for contender in (bot, *others):
        del contender.loads[0]
    return backlogs[1:]


def _rates(bot: Contender, bare: Contender, commits: Contender, backlogs: list[Backlog]) -> list[Measure]:
    named = {"bare server": bare, "bot (stored, then answered)": bot, "a commit for each request": commits}
    lines = []
    for name, contender in named.items():
        latencies = [latency for load in contender.loads for latency in load.latencies]
        lines.append(Measure(f"ingest: {name}", median(contender.rates), "/s"))
        lines += percentiles(f"ingest: {name}", latencies, {50: None, 99: None})
    refused = sum(load.refused for contender in named.values() for load in contender.loads)
    return [
        *lines,
        Measure("ingest: bot / bare server", paired_ratio(bot.rates, bare.rates), "ratio", AtLeast(0.25)),
        Measure("ingest: bot / a commit for each request", paired_ratio(bot.rates, commits.rates), "ratio", AtLeast(8)),
        Measure("ingest: refused", refused, "requests", Below(1)),
        Measure("fan-out of the backlog, no channel listening", median(each.per_s for each in backlogs), "/s"),
    ]


def _latency(steady: Load) -> list[Measure]:
    name = f"webhook at {FIXED_RATE:,}/s"
    return [
        *percentiles(name, steady.latencies, {50: None, 99: Below(15)}),
        Measure(f"{name}, refused", steady.refused, "requests", Below(1)),
        # Where this is not met, the rate was not kept, and the lines above say less than they seem to.
        Measure(f"{name}, generator late, p99", percentile(steady.lateness, 99) * 1000, "ms", Below(LATE_S * 1000)),
    ]
