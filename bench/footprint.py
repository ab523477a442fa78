"""The time of a start, and the memory of both processes together: after the start, and after many deliveries."""

import asyncio
from pathlib import Path
from statistics import median

from bench import processes
from bench.common import AtMost, Measure, Plan
from bench.delivery import CHANNELS, READ_S, REGIONS, subscribe
from bench.load import ACCEPTED, closed_loop
from bench.payloads import Results
from bench.processes import empty_inbox
from bot.db.engine import Database

PIECE_S = 1.0
CONNECTIONS = 8


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    url = f"sqlite:///{folder / 'footprint.db'}"
    database, starts, done = Database(url), [], 0
    await subscribe(Database(url), zip(CHANNELS, REGIONS, strict=True))
    for _ in range(plan.rounds):
        async with processes.bot(folder, outside_url, url) as bot:
            starts.append((bot.listens_s, bot.ready_s, bot.cpu_s))
    async with processes.bot(folder, outside_url, url, "bench.bot_unpaced") as bot:
        await asyncio.sleep(READ_S)
        before_mib, requests = bot.memory_mib, Results("m", REGIONS).requests()
        while done < plan.deliveries:
            done += (await closed_loop(bot.port, requests, seconds=PIECE_S, connections=CONNECTIONS)).answers[ACCEPTED]
            await empty_inbox(database)
        after_mib = bot.memory_mib
    await database.close()
    listens_s, ready_s, cpu_s = map(median, zip(*starts, strict=True))
    return [
        Measure("start: the receiver answers", listens_s, "s", AtMost(0.4)),
        Measure("start: ready", ready_s, "s", AtMost(1.2)),
        Measure("start: CPU of both processes", cpu_s, "s"),
        Measure("memory of both processes after the start", before_mib, "MiB", AtMost(115)),
        Measure(f"memory of both processes after {done:,} deliveries", after_mib, "MiB", AtMost(130)),
    ]
