"""Several processes on one PostgreSQL, killed, stopped past their leases, and the database restarted under them."""

import asyncio
from dataclasses import dataclass

import pytest

from bot.outbox.pace import Pace
from tests.clock import move_clock
from tests.postgres import OwnPostgres, new_postgres_database
from tests.soak.racing import BOTH, REGIONS, SoakChannel
from tests.soak.world import World, figures_of, run_world

PACE = Pace(channel_s=0.2, workspace_per_minute=None)


@dataclass(frozen=True)
class Size:
    """How much is done to how many processes until there are so many posts, and at least so many kills."""

    processes: int
    posts: int
    kills: int
    restarts: int
    channels: int
    life_s: tuple[float, float]


SHORT = Size(processes=2, posts=150, kills=6, restarts=3, channels=12, life_s=(1.0, 3.0))
LONG = Size(processes=4, posts=4_000, kills=200, restarts=20, channels=60, life_s=(2.0, 6.0))

SIZES = [
    pytest.param(SHORT, marks=(pytest.mark.soak, pytest.mark.timeout(900)), id="short"),
    pytest.param(LONG, marks=(pytest.mark.long_soak, pytest.mark.timeout(2_400)), id="long"),
]


@pytest.mark.parametrize("size", SIZES)
async def test_soak_of_replicas_loses_and_doubles_nothing(size, own_server, tmp_path, record_property):
    channels = [SoakChannel(f"C{number:02}", (REGIONS[number % 30],), BOTH) for number in range(size.channels)]
    url = new_postgres_database(own_server.address)
    move_clock(url)
    async with run_world(
        tmp_path, url, processes=size.processes, pace=PACE, channels=channels, waiting_at_most=200
    ) as world:
        async with asyncio.TaskGroup() as group:
            group.create_task(world.sender.run())
            await torment(world, size, own_server)
            world.sender.stopping = True
            group.create_task(world.finish(timeout_s=180))
        verdict = await world.judge(one_process=False)
        record_property("soak", figures_of(world, verdict))
        assert verdict.problems == []


async def torment(world: World, size: Size, own_server: OwnPostgres) -> None:
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
