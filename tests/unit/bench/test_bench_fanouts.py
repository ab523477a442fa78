"""The fan-out that is timed by itself is the bot's own, and makes the posts that it is timed for."""

import asyncio
import logging
import sys

import pytest
import structlog
from sqlalchemy import func, select
from sqlmodel import col

from bench.channels import region
from bench.delivery import subscribe
from bench.fanouts import seconds_alone
from bench.processes import bot_settings
from bot.db.engine import Database
from bot.db.tables import OutboxMessage


@pytest.fixture
def log_as_before():
    """Puts the log back, which the timing configures for its process: loggers in use keep what they were given."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    for name, module in list(sys.modules.items()):
        if name.startswith("bot.") and hasattr(module, "log"):
            vars(module.log).pop("bind", None)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("log_as_before")
async def test_fan_out_is_timed_once_for_each_event_but_the_first(tmp_path):
    url = f"sqlite:///{tmp_path / 'alone.db'}"
    await subscribe(Database(url), [("C1", region(1)), ("C1", region(2)), ("C2", region(2))])
    settings = bot_settings(3000, "http://127.0.0.1:9", url)
    seconds = await asyncio.to_thread(seconds_alone, settings, [region(1), region(2)], 2, tmp_path / "log")
    assert [len(taken) for taken in seconds.values()] == [2, 2]
    assert all(second > 0 for taken in seconds.values() for second in taken)
    database = Database(url)
    by_channel = (
        select(col(OutboxMessage.channel_id), func.count())
        .group_by(col(OutboxMessage.channel_id))
        .order_by(OutboxMessage.channel_id)
    )
    posts = await database.read(lambda session: session.execute(by_channel).all())
    await database.close()
    assert [tuple(row) for row in posts] == [("C1", 6), ("C2", 3)]
    assert '"event": "fanned_out"' in (tmp_path / "log").read_text(encoding="utf-8")
