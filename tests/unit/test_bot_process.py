"""The receiver and its child: each ends with the other, and a system without room for a bot ends neither."""

import asyncio
import socket
from typing import Any

import pytest

from bot.receiver import bot_process
from bot.receiver.bot_process import BotProcess, CountsForBot
from bot.receiver.program import until_stopped


class Dead:
    """Ends at once."""

    def wait(self) -> int:
        return 1

    def send_signal(self, number: int) -> None: ...


@pytest.fixture
def inner():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


async def test_receiver_outlives_a_system_without_room_for_a_bot(inner, monkeypatch):
    outcomes = iter([Dead(), OSError(12, "Cannot allocate memory"), OSError(24, "Too many open files"), Dead()])
    started = asyncio.Event()

    def spawn(_fds):
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        started.set()
        return outcome

    monkeypatch.setattr(bot_process, "spawn", spawn)
    monkeypatch.setattr(bot_process, "START_AGAIN_MAX_S", 0.01)
    bot = BotProcess(inner, CountsForBot())
    bot.start()
    started.clear()
    bot.was_up = True
    running = asyncio.create_task(bot.run())
    await started.wait()
    bot.stop()
    assert await running in {0, 1}


class Running:
    """A bot, and a server that ends at once, by an error or by itself."""

    def __init__(self, error: OSError | None) -> None:
        self.should_exit = False
        self.error = error
        self.stopped = asyncio.Event()

    def stop(self) -> None:
        self.stopped.set()

    async def run(self) -> int:
        await self.stopped.wait()
        return 7

    async def serve(self, _sockets: Any) -> None:
        if self.error:
            raise self.error


@pytest.mark.parametrize("error", [None, OSError("no more sockets")])
async def test_receiver_whose_server_ends_stops_the_bot_and_ends(inner, error):
    running: Any = Running(error)
    async with asyncio.timeout(10):
        ending = until_stopped(running, inner, running)
        if error is None:
            assert await ending == 7
        else:
            with pytest.raises(OSError, match="no more sockets"):
                await ending
    assert running.stopped.is_set()
