"""The bot dies at every failpoint, and replicas die on one PostgreSQL, again and again: nothing is lost or doubled."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.outbox.pace import Pace
from tests.clock import move_clock
from tests.databases import OwnPostgres, new_postgres_database
from tests.soak.oracle import Verdict
from tests.soak.racing import BOTH, BRINGS, REGIONS, SoakChannel
from tests.soak.world import World, failpoints_of, figures_of, run_world

PACE = Pace(channel_s=0.1, workspace_per_minute=None)
LIVES_S = (0.5, 2.0)
AT_RANDOM = 0.3


@dataclass(frozen=True)
class Size:
    """How long: deaths at each failpoint, deaths at random, and all together.

    `within_s`: for deaths and outcomes of each sort. A slow machine is killed at random from then on, until the kills
    are enough.
    """

    at_each: int
    at_random: int
    kills: int
    within_s: float


SHORT = Size(at_each=0, at_random=10, kills=40, within_s=90)
LONG = Size(at_each=10, at_random=60, kills=250, within_s=3_000)


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_soak_of_kills_loses_and_doubles_nothing(tmp_path, record_property):
    """The simulation dies at every failpoint, in the test's process: here are a real process and its file."""
    await live_and_die(f"sqlite:///{tmp_path / 'soak.db'}", SHORT, tmp_path, record_property)


@pytest.mark.long_soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_soak_at_every_failpoint_loses_and_doubles_nothing(engine, request, tmp_path, record_property):
    url = f"sqlite:///{tmp_path / 'soak.db'}"
    if engine == "postgresql":
        url = new_postgres_database(request.getfixturevalue("own_server").address)
        move_clock(url)
    outcomes, verdict = await live_and_die(url, LONG, tmp_path, record_property)
    # The weather's own outcomes are no failpoints that the soak would miss by itself.
    assert set(BRINGS) <= outcomes
    assert verdict.given_up > 0
    assert verdict.closings > 0


async def live_and_die(url: str, size: Size, folder: Path, record_property) -> tuple[frozenset[str], Verdict]:
    async with run_world(folder, url, pace=PACE) as world:
        async with asyncio.TaskGroup() as group:
            group.create_task(world.sender.run())
            seldom = await die_everywhere(world, size)
            world.sender.stopping = True
            # Deliveries under way need the bot.
            group.create_task(world.finish(timeout_s=180))
        verdict = await world.judge(one_process=True)
        record_property("soak", f"{figures_of(world, verdict)}\n{failpoints_of(world.tally)}")
        assert verdict.problems == []
        assert seldom == {}
        assert world.tally.killed >= size.kills
        return world.tally.outcomes, verdict


async def die_everywhere(world: World, size: Size) -> dict[str, int]:
    """The failpoints at which the bot died too seldom."""
    give_up_at = time.monotonic() + size.within_s
    tally = world.tally
    while not is_done(world, size) and (tally.killed < size.kills or time.monotonic() < give_up_at):
        await world.jobs_are_due()
        world.weather.change()
        spared = frozenset(name for name in tally.passed if tally.died_at[name] >= max(1, size.at_each))
        at_random = (
            time.monotonic() >= give_up_at
            or (size.at_each > 0 and is_everywhere(world, size))
            or (tally.killed_at_random < size.at_random and world.random.random() < AT_RANDOM)
        )
        # Seldom by many: some failpoints are passed once in a life.
        skip = None if at_random else world.random.choice((0, 0, 0, 1, 4))
        running = world.start(world.ports[0], spared=spared, skip=skip)
        # Some failpoints are passed on a stop in good order alone: a life that dies nowhere else comes so far.
        end = world.random.choices((running.kill, running.pause), weights=(80, 20))[0] if at_random else running.stop
        await running.live(world.random.uniform(*LIVES_S), end)
    return {name: tally.died_at[name] for name in tally.passed if not enough(world, name, size)}


def enough(world: World, name: str, size: Size) -> bool:
    return world.tally.died_at[name] >= size.at_each


def is_everywhere(world: World, size: Size) -> bool:
    return world.tally.outcomes.issuperset(BRINGS) and all(enough(world, name, size) for name in world.tally.passed)


def is_done(world: World, size: Size) -> bool:
    tally = world.tally
    return is_everywhere(world, size) and tally.killed_at_random >= size.at_random and tally.killed >= size.kills


# Several processes on one PostgreSQL, killed, stopped past their leases, and the database restarted under them


@dataclass(frozen=True)
class Torment:
    """How much is done to how many processes until there are so many posts, and at least so many kills."""

    processes: int
    posts: int
    kills: int
    restarts: int
    channels: int
    life_s: tuple[float, float]


TORMENTS = [
    pytest.param(
        Torment(processes=2, posts=150, kills=6, restarts=3, channels=12, life_s=(1.0, 3.0)),
        marks=(pytest.mark.soak, pytest.mark.timeout(900)),
        id="short",
    ),
    pytest.param(
        Torment(processes=4, posts=4_000, kills=200, restarts=20, channels=60, life_s=(2.0, 6.0)),
        marks=(pytest.mark.long_soak, pytest.mark.timeout(2_400)),
        id="long",
    ),
]


@pytest.mark.parametrize("size", TORMENTS)
async def test_soak_of_replicas_loses_and_doubles_nothing(size, own_server, tmp_path, record_property):
    channels = [SoakChannel(f"C{number:02}", (REGIONS[number % 30],), BOTH) for number in range(size.channels)]
    url = new_postgres_database(own_server.address)
    move_clock(url)
    async with run_world(
        tmp_path,
        url,
        processes=size.processes,
        pace=Pace(channel_s=0.2, workspace_per_minute=None),
        channels=channels,
        waiting_at_most=200,
    ) as world:
        async with asyncio.TaskGroup() as group:
            group.create_task(world.sender.run())
            await torment(world, size, own_server)
            world.sender.stopping = True
            group.create_task(world.finish(timeout_s=180))
        verdict = await world.judge(one_process=False)
        record_property("soak", figures_of(world, verdict))
        assert verdict.problems == []


async def torment(world: World, size: Torment, own_server: OwnPostgres) -> None:
    """Kill, stop and restart, each at moments of its own, until there are posts and kills enough."""

    def go_on() -> bool:
        tally = world.tally
        return world.expected() < size.posts or tally.killed < size.kills or tally.restarted < size.restarts

    async def live_at(port: int) -> None:
        while go_on():
            running = world.start(port)
            end = world.random.choices((running.kill, running.pause), weights=(70, 30))[0]
            await running.live(world.random.uniform(*size.life_s), end)

    async def restart() -> None:
        while world.tally.restarted < size.restarts:
            await asyncio.sleep(world.random.uniform(*size.life_s))
            await asyncio.to_thread(own_server.restart)
            world.tally.restarted += 1

    async with asyncio.TaskGroup() as group:
        for port in world.ports:
            group.create_task(live_at(port))
        group.create_task(restart())
