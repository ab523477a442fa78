"""The fan-out by itself: no web, no poster, nothing else that has the interpreter or the database."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.ingest import arrival
from bench.payloads import Results
from bot.app import Service
from bot.cli.server import loop_factory
from bot.deliveries import inbox
from bot.deliveries.payload import read_events
from bot.fanout.fanout import Fanout
from bot.logs import configure_logging
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.settings import load_settings


def seconds_alone(
    settings: Mapping[str, str], regions: Sequence[str], events: int, log: Path
) -> dict[str, list[float]]:
    """Seconds of the fan-out of so many events of each region, in turns: read, made into posts, committed, logged."""
    loaded = load_settings(env_file=None, **{name.lower(): value for name, value in settings.items()})
    with log.open("w", encoding="utf-8") as lines, contextlib.redirect_stderr(lines):
        configure_logging(loaded.log_level, loaded.log_format)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_time(Service(loaded), regions, events))


async def _time(service: Service, regions: Sequence[str], events: int) -> dict[str, list[float]]:
    """The first of each does not count."""
    fanout = Fanout(
        service.database,
        read_events,
        arrivals=service.ingest,
        outbox=QueuedOnly(),
        notices=service.notices,
        clock=service.clock,
        wake=service.ingest.stored,
        monotonic=service.ports.monotonic,
    )
    seconds: dict[str, list[float]] = {region: [] for region in regions}
    for number in range(events + 1):
        for region, taken in seconds.items():
            one = arrival(Results(f"{region}x", (region,)).body(number))
            await service.database.write(partial(inbox.store, arrivals=[one]))
            started = time.perf_counter()
            assert await fanout.run_once() == 1
            taken.append(time.perf_counter() - started)
    await service.database.close()
    return {region: taken[1:] for region, taken in seconds.items()}
