"""What keeps accepted deliveries from being told for a minute is said by /readyz, and by a message to admins."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.payloads import abandoned
from tests.acceptance.test_resilience import readiness
from tests.notice_levels import URGENT

FASTER = 12.0
"""The bot's minute takes five seconds."""


def hurry(_folder: Path) -> None:
    """Have the bot's monotonic clock run faster than ours."""
    monotonic, start = time.monotonic, time.monotonic()
    time.monotonic = lambda: start + (monotonic() - start) * FASTER


def refuse(world, *tables: str) -> None:
    """Have the database refuse each new row of these tables, by an error that no outage of a database has."""
    with closing(sqlite3.connect(world.bot.folder / "bot.db")) as connection:
        for table in tables:
            connection.execute(
                f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )
        connection.commit()


@pytest.mark.long
async def test_accepted_delivery_that_is_told_nobody_is_said_by_readyz_and_to_admins(make_world):
    async with make_world(start=False) as world:
        world.bot.prepare = hurry
        await world.bot.start()
        await world.subscribe("CGB", "GB")
        # The notice is refused as well: no queue can take it.
        refuse(world, "event", "notice")
        assert (await world.bot.deliver(abandoned())).status_code == 200
        (told,) = await world.wait_for_posts("CADMIN", 1)
        assert told.startswith(f"{URGENT}inbox-")
        assert "was accepted more than a minute ago, and nobody is told (IntegrityError" in told
        assert world.texts("CGB") == []
        async with asyncio.timeout(60):
            while "deliveries" not in (await readiness(world))[1]["degraded"]:  # noqa: ASYNC110  another process
                await asyncio.sleep(0.1)
        assert (await readiness(world))[0] == 200
        assert len(world.texts("CADMIN")) == 1
