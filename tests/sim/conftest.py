"""The whole bot and the world in one process, by a virtual clock: no thread, no socket, no real time."""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.logged import capture_logs
from tests.sim.ports import Died, VirtualLoop, set_wall_clock
from tests.sim.world import World, make_template
from tests.soak.racing import SoakChannel

OF_SLACK = {"blocks_refused", "notice_not_posted"}
"""Errors in the log where Slack refuses a message."""

MakeWorld = Callable[[int, Sequence[SoakChannel]], World]


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Callable[[Sequence[SoakChannel]], Path]:
    folder: Path = tmp_path_factory.mktemp("sim")

    def made(channels: Sequence[SoakChannel]) -> Path:
        file = folder / f"{'-'.join(channel.channel_id for channel in channels)}.db"
        return file if file.exists() else make_template(file, channels)

    return made


@pytest.fixture(autouse=True)
def bugs() -> Iterator[None]:
    """The bot's own code must log no error."""
    # APScheduler reports each job that dies.
    logging.getLogger("apscheduler").setLevel(logging.CRITICAL + 1)
    with capture_logs() as lines:
        yield
    logging.getLogger("apscheduler").setLevel(logging.NOTSET)
    errors = [line for line in lines if line["log_level"] == "error" and line["event"] not in OF_SLACK]
    assert [line for line in errors if not isinstance(line.get("exc_info"), Died)] == []


@pytest.fixture
def make_world(template, tmp_path) -> Iterator[MakeWorld]:
    """Makes worlds, one after another. The seed settles a world's draws."""
    loops: list[VirtualLoop] = []
    with pytest.MonkeyPatch.context() as patched:
        # An event for two channels takes two transactions, and the bot may die between them.
        patched.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)

        def make(seed: int, channels: Sequence[SoakChannel]) -> World:
            loops.append(VirtualLoop())
            set_wall_clock(patched, loops[-1].clock)
            return World(loops[-1], tmp_path, template(channels), channels, seed)

        yield make
    for loop in loops:
        loop.close()
