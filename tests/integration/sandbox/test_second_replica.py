"""The demo on PostgreSQL: a second replica is started at its switch, and each message comes once."""

import asyncio
import io

import pytest

from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, open_stage
from sandbox.page.page_app import open_page
from tests.postgres import new_postgres_database

SETTLED = 8

pytestmark = pytest.mark.usefixtures("real_time")


async def test_second_replica_is_switched_on_and_off_and_each_message_comes_once(postgres_server, tmp_path):
    screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()))
    address = new_postgres_database(postgres_server)
    async with open_stage(tmp_path, screen, 50.0, address) as stage, open_page(stage) as page:
        await stage.start_bot()
        assert await stage.say("C0ALL", "U0ALICE", "/racing subscribe all") is None
        assert "Each message comes once" in str(await page.trouble({"name": "second_replica", "on": True}))
        (second,) = stage.others
        assert second.is_running
        for race in stage.service.racing.races(stage.service.racing.today)[:SETTLED]:
            stage.service.settle(race.race_id)
        delivering = asyncio.create_task(stage.service.run_deliveries())
        await stage.slack.wait_for(lambda: len(stage.slack.messages("C0ALL")) >= SETTLED, 60)
        await page.trouble({"name": "second_replica", "on": False})
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
        assert stage.others == []
        page._counted_at = float("-inf")
        counts = page.counts()
    assert (counts["told"], counts["lost"], counts["doubled"]) == (SETTLED, 0, 0)
