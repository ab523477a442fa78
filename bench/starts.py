"""How long the bot takes to be ready, from nothing: a new process and a new database each time."""

from pathlib import Path
from statistics import median

from bench.common import Below, Measure, Plan
from bench.processes import bot_settings, running
from bot.sandbox.serving import free_port


async def measure(folder: Path, outside_url: str, plan: Plan) -> list[Measure]:
    """Seconds from the start of the process to the first 200 of /readyz; the median of some."""
    seconds = []
    for number in range(plan.starts):
        port = free_port()
        settings = bot_settings(port, outside_url, f"sqlite:///{folder / f'start-{number}.db'}")
        async with running("bot", "serve", port=port, folder=folder, settings=settings) as bot:
            seconds.append(bot.ready_s)
    return [Measure("start of the process to ready", median(seconds), "s", Below(1.5))]
