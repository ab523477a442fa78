"""The receiver's child, where the system refuses another process."""

import asyncio
import socket

import pytest

from bot.receiver import bot_process
from bot.receiver.bot_process import BotProcess, CountsForBot


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
