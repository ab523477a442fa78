"""How long the bot takes to be ready, from nothing: a new process and a new database each time."""

import asyncio
from pathlib import Path
from statistics import median

from bench.common import AtMost, Measure, Plan
from bench.processes import bot_settings, running
from sandbox.loopback_server import free_port

SETTLE_S = 1.0
"""After it is ready the bot still reads what the data service publishes, once."""


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """Seconds from the start of the process to the first 200 of /readyz, and the memory soon after; medians."""
    seconds, memory = [], []
    for number in range(plan.starts):
        port = free_port()
        settings = bot_settings(port, outside_url, f"sqlite:///{folder / f'start-{number}.db'}")
        async with running("bot", "serve", port=port, folder=folder, settings=settings) as bot:
            seconds.append(bot.ready_s)
            await asyncio.sleep(SETTLE_S)
            memory.append(bot.memory_mib)
    return [
        Measure("start of the process to ready", median(seconds), "s", AtMost(1.0)),
        Measure("memory of the bot at start", median(memory), "MiB", AtMost(85)),
    ]
