"""Taking deliveries: the bot, on both databases, beside a bare server and a commit for each request; its latency."""

import hashlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from sqlalchemy import select
from sqlmodel import Session, col

from bench import processes
from bench.common import AtLeast, AtMost, Below, Measure, Plan, paired_ratio, percentile, percentiles
from bench.load import LATE_S, Load, closed_loop, fixed_rate
from bench.payloads import Results
from bench.postgres import NewDatabase
from bench.processes import Server, baseline, empty_inbox
from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import InboxDelivery
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.deliveries.payload import identify

CONNECTIONS = 32
BOT = "bot (stored, then answered)"
BOT_ON_POSTGRESQL = "bot on PostgreSQL"
FIXED_RATE = 1_000
OF_ONE_COURSE = 300
"""Each delivery is compared with all that is known of its course and day."""

WARM_UP_S = 0.3


@dataclass
class Contender:
    """A server under load, and what its rounds came to. `database`: the bot's, in which its fan-out goes on."""

    server: Server
    requests: Iterator[bytes]
    database: Database | None = None
    loads: list[Load] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Accepted requests a second, by round."""
        return [load.per_s for load in self.loads]

    async def take_turn(self, seconds: float) -> None:
        """Be loaded for so long. The bot ends its fan-out before the next one's turn."""
        self.loads.append(await closed_loop(self.server.port, self.requests, seconds=seconds, connections=CONNECTIONS))
        if self.database is not None:
            await empty_inbox(self.database)


async def measure(folder: Path, outside_url: str, new_postgres: NewDatabase | None, plan: Plan) -> list[Measure]:
    """Requests a second of each, their ratios, and the bot's latency at a fixed rate."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        named = {
            "bare server": Contender(await enter(baseline("bare", folder=folder)), Results("a").requests()),
            BOT: await enter(_bot(f"sqlite:///{folder / 'ingest.db'}", "b", folder, outside_url)),
            "a commit for each request": Contender(
                await enter(baseline("commit-per-request", f"sqlite:///{folder / 'commits.db'}", folder=folder)),
                Results("c").requests(),
            ),
        }
        if new_postgres is not None:
            named[BOT_ON_POSTGRESQL] = await enter(_bot(new_postgres(), "p", folder, outside_url))
        await _alternate(named.values(), plan)
        bot = named[BOT]
        steady = await fixed_rate(bot.server.port, Results("d").requests(), per_s=FIXED_RATE, seconds=plan.fixed_rate_s)
        assert bot.database is not None
        fanned_out = await _fan_out(bot.database, plan.backlog, plan)
        of_one_course = await _fan_out(bot.database, OF_ONE_COURSE, plan, one_course=True)
        memory = Measure("memory of the bot after these requests", bot.server.memory_mib, "MiB", AtMost(95))
    return [
        *_rates(named),
        *_latency(steady),
        Measure(
            f"fan-out of {plan.backlog:,} waiting deliveries, no channel listening", fanned_out, "/s", AtLeast(3_000)
        ),
        Measure(f"fan-out of {OF_ONE_COURSE:,} waiting deliveries, all of one course and day", of_one_course, "/s"),
        memory,
    ]


@asynccontextmanager
async def _bot(database_url: str, prefix: str, folder: Path, outside_url: str) -> AsyncIterator[Contender]:
    database = Database(database_url)
    upgrade(database)
    async with processes.bot(folder, outside_url, database_url) as server:
        yield Contender(server, Results(prefix).requests(), database)
    await database.close()


async def _alternate(contenders: Collection[Contender], plan: Plan) -> None:
    """Each in turn, after a warm-up that does not count."""
    for seconds in (WARM_UP_S, *[plan.round_s] * plan.rounds):
        for contender in contenders:
            await contender.take_turn(seconds)
    for contender in contenders:
        del contender.loads[0]


async def _fan_out(database: Database, count: int, plan: Plan, *, one_course: bool = False) -> float:
    """Deliveries a second, the median of the rounds: all wait in the inbox of a running bot, and nothing else comes."""
    rates = []
    for number in range(plan.rounds):
        await empty_inbox(database)
        results = Results(f"w{count}-{number}x", one_course=one_course)
        arrivals = [arrival(results.body(each)) for each in range(count)]
        await database.write(partial(inbox.store, arrivals=arrivals))
        await empty_inbox(database)
        rates.append(await database.read(partial(_rate_of_last, count=count)))
    return median(rates)


def _rate_of_last(session: Session, count: int) -> float:
    """How many of the last deliveries were done a second, from the end of the first transaction to that of the last."""
    row = InboxDelivery
    last = select(col(row.done_at)).order_by(col(row.id).desc()).limit(count)
    done_at = sorted(at for at in session.execute(last).scalars() if at)
    seconds: float = (done_at[-1] - done_at[0]).total_seconds()
    return len([at for at in done_at if at > done_at[0]]) / seconds


def arrival(body: bytes) -> Arrival:
    """A delivery as it is stored."""
    key, name = identify(body)
    return Arrival(key, name, hashlib.sha256(body).hexdigest(), body, utc_now())


def _rates(named: Mapping[str, Contender]) -> list[Measure]:
    lines = []
    for name, contender in named.items():
        latencies = [latency for load in contender.loads for latency in load.latencies]
        lines.append(Measure(f"ingest: {name}", median(contender.rates), "/s"))
        lines += percentiles(f"ingest: {name}", latencies, {50: None, 99: None})
    refused = sum(load.refused for contender in named.values() for load in contender.loads)
    targets = {
        "bare server": AtLeast(0.3),
        "a commit for each request": AtLeast(8),
        BOT_ON_POSTGRESQL: None,
    }
    bot = named[BOT]
    return [
        *lines,
        *(
            Measure(f"ingest: bot / {name}", paired_ratio(bot.rates, named[name].rates), "ratio", target)
            for name, target in targets.items()
            if name in named
        ),
        Measure("ingest: refused", refused, "requests", Below(1)),
    ]


def _latency(steady: Load) -> list[Measure]:
    name = f"webhook at {FIXED_RATE:,}/s"
    return [
        *percentiles(name, steady.latencies, {50: None, 99: AtMost(15)}),
        Measure(f"{name}, refused", steady.refused, "requests", Below(1)),
        # Where this is not met, the rate was not kept, and the lines above say less than they seem to.
        Measure(f"{name}, generator late, p99", percentile(steady.lateness, 99) * 1000, "ms", Below(LATE_S * 1000)),
    ]
