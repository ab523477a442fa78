"""The real process against stand-ins over real sockets: signed bytes in at one end, channels out at the other.

A test of this tier may not import from `bot`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.racing_service.switches import Switches
from tests.acceptance.forked import Forked
from tests.clock import PATIENCE_S
from tests.world import Address, World, own_port, stand_ins

NOWHERE = "http://127.0.0.1:9"
"""An address where nobody listens."""


@dataclass
class Bot(Address):
    """The bot as a separate process."""

    folder: Path
    env: dict[str, str]
    process: Forked | None = None
    prepare: Callable[[Path], None] | None = None
    """Run in the process before the bot is, with the folder."""

    @property
    def log(self) -> str:
        return (self.folder / "bot.log").read_text(encoding="utf-8")

    async def start(self, *, ready: bool = True) -> None:
        env = {"PORT": str(self.port)} | self.env
        self.process = Forked(("serve",), self.folder, env, self.folder / "bot.log", prepare=self.prepare)
        if ready:
            await self.wait_for_answer(200)

    async def wait_for_answer(self, status: int, words: str = "") -> dict[str, Any]:
        """The answer of /readyz, once the answer has the status and the words."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                assert self.process is not None
                assert self.process.poll() is None, f"the bot has ended:\n{self.log}"
                try:
                    found, body = await self.readiness()
                except httpx.TransportError:
                    found, body = 0, {}
                if found == status and words in str(body):
                    return body
                await asyncio.sleep(0.05)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    async def stop(self) -> int:
        """The exit code after a graceful stop."""
        assert self.process is not None
        self.process.terminate()
        return await self.ended()

    async def ended(self) -> int:
        """The exit code, after the process has ended by itself."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)


@asynccontextmanager
async def run_world(
    folder: Path, *, switches: Switches | None = None, start: bool = True, **settings: str
) -> AsyncIterator[World]:
    """The bot between its stand-ins."""
    async with stand_ins(folder, switches, **settings) as around:
        # `tests/integration/walk` tests Slack's three seconds, by a time apart from the machine's.
        around.slack.ack_timeout_s = PATIENCE_S
        bot = Bot(own_port(), folder, around.settings)
        try:
            if start:
                await bot.start()
                if around.slack.socket_mode:
                    await around.slack.wait_for(lambda: around.slack.sockets.connections > 0, timeout_s=PATIENCE_S)
            yield World(bot, around.slack, around.service)
        finally:
            if bot.process is not None and bot.process.poll() is None:
                bot.kill()


@pytest.fixture
def make_world(tmp_path: Path):
    """A world whose start and settings the test chooses."""

    def make(**settings: object):
        return run_world(tmp_path, **settings)  # type: ignore[arg-type]

    return make
