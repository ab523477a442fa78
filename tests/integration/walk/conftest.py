"""The whole service in the test's process, on a real address between the stand-ins, and without Slack's pace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.app import Service
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.outbox.pace import Pace
from bot.ports import Ports
from bot.settings import Settings
from sandbox.loopback_server import serve
from sandbox.racing_service.switches import Switches
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import PATIENCE_S
from tests.front import receiver_of
from tests.sim.ports import Inline
from tests.world import Address, World, own_port, stand_ins


@asynccontextmanager
async def run_world(
    folder: Path,
    *,
    switches: Switches | None = None,
    before: Callable[[SlackWorkspace], None] = lambda _slack: None,
    **changes: str,
) -> AsyncIterator[World]:
    """`before` changes Slack before the bot starts. With DATABASE_URL the bot runs on that server."""
    server = changes.get("DATABASE_URL")
    if server:
        database = Database(server)
        await asyncio.to_thread(upgrade, database)
        await database.close()
    bot = Address(own_port())
    async with stand_ins(folder, switches, PUBLIC_URL=bot.url, **changes) as around:
        settings: Any = {name.lower(): value for name, value in around.settings.items()}
        pace = Pace(channel_s=0.0, workspace_per_minute=None)
        # On the loop's own thread and by the loop's time, so that Slack's three seconds are not met on a busy machine.
        ports = Ports(runner=Inline, monotonic=asyncio.get_running_loop().time)
        service = Service(Settings(_env_file=None, **settings), ports=ports, pace=pace)
        before(around.slack)
        await service.start()
        try:
            async with serve(receiver_of(service).app, bot.port):
                if around.slack.socket_mode:
                    await around.slack.wait_for(lambda: around.slack.sockets.connections > 0, timeout_s=PATIENCE_S)
                yield World(bot, around.slack, around.service)
        finally:
            await service.stop()


@pytest.fixture
def make_world(tmp_path: Path):
    """A world whose settings the test chooses."""

    def make(**settings: Any):
        return run_world(tmp_path, **settings)

    return make
