"""One event for very many channels: when its first post arrives, when its last, and what the fan-out alone costs."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.apart import apart
from bench.common import AtMost, Below, Measure, Plan, paired_ratio, percentiles
from bench.delivery import LOST_AFTER_S, subscribe
from bench.fanouts import seconds_alone
from bench.load import Connection, connected
from bench.outside import Outside
from bench.payloads import Results, post
from bench.processes import bot_settings, running
from bot.db.engine import Database
from sandbox.loopback_server import free_port

SIZES = (10, 100, 1_000)
IDLE_S = 0.06
FEWEST, MOST = SIZES[0], SIZES[-1]


@dataclass
class Spread:
    """How many seconds after their request the posts of some events arrived, and how many never did."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    lost: int = 0


def region(channels: int) -> str:
    """The region that so many channels take."""
    return f"R{channels}"


async def measure(folder: Path, outside: Outside, outside_url: str, plan: Plan) -> list[Measure]:
    """Milliseconds from the request, when idle and without Slack's pace; and of the fan-out in a process of its own."""
    url, alone_url = (f"sqlite:///{folder / name}.db" for name in ("channels", "alone"))
    for each in (url, alone_url):
        await subscribe(Database(each), ((f"C{number:04}", region(size)) for size in SIZES for number in range(size)))
    port = free_port()
    settings = bot_settings(port, outside_url, url)
    async with running("bench.bot_unpaced", port=port, folder=folder, settings=settings):
        spreads = await _spread(port, outside, plan.events)
    settings = bot_settings(port, outside_url, alone_url)
    alone = await apart(seconds_alone, settings, [region(size) for size in SIZES], plan.events, folder / "alone.log")
    return [
        *(line for size in SIZES for line in _lines(size, spreads[size], alone[region(size)])),
        *_growth(spreads, alone),
    ]


async def _spread(port: int, outside: Outside, events: int) -> dict[int, Spread]:
    """Each size in turn, after one event of each that does not count."""
    spreads = {size: Spread() for size in SIZES}
    async with connected(port) as (connection,):
        for number in range(events + 1):
            for size, spread in spreads.items():
                await take(connection, outside, size, f"s{size}x{number}", spread if number else Spread())
    return spreads


async def take(connection: Connection, outside: Outside, size: int, race: str, spread: Spread) -> None:
    """A result of a race that no other has, to so many channels; when its posts arrived is added to `spread`."""
    await asyncio.sleep(IDLE_S)
    request, before = post(Results(race, (region(size),)).body(0)), len(outside.arrived)
    sent = time.perf_counter()
    await connection.ask(request)
    await outside.wait_for(before + size, timeout_s=LOST_AFTER_S)
    arrived = list(outside.arrived.values())[before:]
    spread.lost += size - len(arrived)
    if len(arrived) == size:
        spread.first.append(arrived[0] - sent)
        spread.last.append(arrived[-1] - sent)


def _lines(size: int, spread: Spread, alone: list[float]) -> list[Measure]:
    name = f"one event to {size:,} channels"
    return [
        *percentiles(f"{name}, first post", spread.first, {50: AtMost(40), 95: None}),
        *percentiles(f"{name}, last post", spread.last, {50: None}),
        *percentiles(f"{name}, fan-out alone", alone, {50: None}),
    ]


def _growth(spreads: dict[int, Spread], alone: dict[str, list[float]]) -> list[Measure]:
    few, many = spreads[FEWEST], spreads[MOST]
    name = f"one event to {MOST:,} channels / {FEWEST}"
    return [
        Measure(f"{name}, first post", paired_ratio(many.first, few.first), "ratio", AtMost(1.5)),
        Measure(f"{name}, fan-out alone", paired_ratio(alone[region(MOST)], alone[region(FEWEST)]), "ratio"),
        Measure(
            "one event to many channels, not arrived", sum(each.lost for each in spreads.values()), "posts", Below(1)
        ),
    ]
