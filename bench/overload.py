"""More deliveries than the bot can take: how many are accepted, how soon, and whether all are kept."""

from pathlib import Path

from sqlalchemy import select
from sqlmodel import Session, col

from bench import processes
from bench.common import NONE, AtLeast, AtMost, Measure, Plan, percentile, percentiles
from bench.ingest import CONNECTIONS, WARM_UP_S
from bench.load import LATE_S, Load, closed_loop, fixed_rate
from bench.payloads import Results
from bench.processes import apart, empty_inbox
from bot.db.engine import Database
from bot.db.tables import InboxDelivery

CLOSED_S = 3.0
"""Long enough for the fan-out, which pauses at first."""

TIMES = 2.4
MOST = 8_000
"""Deliveries a second: the most that a generator can keep beside the bot."""

UNDER_WAY = 512
"""Requests at once. Further requests are not sent, or the generator would drown in connections."""

REFUSED = 503
PREFIX = "o"


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """The outcome at several times the rate of the closed loop, and whether the accepted deliveries are kept."""
    url = f"sqlite:///{folder / 'overload.db'}"
    async with processes.bot(folder, outside_url, url) as bot:
        requests = Results("e").requests()
        for seconds in (WARM_UP_S, CLOSED_S):
            closed = await closed_loop(bot.port, requests, seconds=seconds, connections=CONNECTIONS)
        per_s = min(TIMES * closed.per_s, MOST)
        load = await apart(offer, bot.port, per_s, plan.overload_s)
        database = Database(url)
        await empty_inbox(database)
        lost = await database.read(lambda session: not_kept(session, load))
        await database.close()
    return report(closed, load, lost)


async def offer(port: int, per_s: float, seconds: float) -> Load:
    """An even rate, whatever the answers, on as many connections as needed."""
    return await fixed_rate(port, Results(PREFIX).requests(), per_s=per_s, seconds=seconds, most=UNDER_WAY)


def not_kept(session: Session, load: Load) -> int:
    """The number of accepted deliveries missing in the inbox."""
    kept = set(session.execute(select(col(InboxDelivery.event_key))).scalars())
    results = Results(PREFIX)
    return sum(f"result.received:{results.race_id(number)}" not in kept for number in load.accepted)


def report(closed: Load, load: Load, lost: int) -> list[Measure]:
    """The lines; `lost` were accepted and are not in the inbox."""
    return [
        Measure("overload: bot in a closed loop before it", closed.per_s, "/s"),
        Measure("overload: offered", load.offered_per_s, "/s"),
        # Where a target here is missed, the rate was hardly an overload, and the lines below say less.
        Measure("overload: offered / closed loop", load.offered_per_s / closed.per_s, "ratio", AtLeast(2)),
        Measure("overload: offered / accepted", load.offered_per_s / load.per_s, "ratio", AtLeast(1.5)),
        Measure("overload: accepted", load.per_s, "/s"),
        Measure("overload: accepted / closed loop", load.per_s / closed.per_s, "ratio", AtLeast(0.8)),
        *percentiles("overload: accepted", load.latencies, {50: None, 99: AtMost(250)}),
        Measure("overload: refused (503)", load.answers[REFUSED] / load.seconds, "/s"),
        Measure("overload: accepted and not in the inbox", lost, "deliveries", NONE),
        Measure("overload: neither accepted nor refused", load.refused - load.answers[REFUSED], "requests", NONE),
        Measure("overload: generator late, p99", percentile(load.lateness, 99) * 1000, "ms", AtMost(LATE_S * 1000)),
    ]
