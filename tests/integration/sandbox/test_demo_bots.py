"""The demo with bots of its own: a second replica at its switch, and the verdict of `racing-bot demo --headless`."""

import asyncio
import io
import json

import pytest

from sandbox import demo
from sandbox.demo import Demo, run_demo
from sandbox.demo_day import Day
from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, open_stage
from sandbox.page.page_app import open_page
from sandbox.page.troubles import BY_NAME
from tests.postgres import new_postgres_database

SETTLED = 3

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


class ShortDay(Day):
    """A single result, while Slack has a fault that no bot can know of."""

    fault = ""

    async def play(self):
        stage = self.stage
        assert await stage.say("C0GB", "U0ALICE", "/racing subscribe GB") is None
        await BY_NAME[self.fault].begin(stage)
        race = stage.service.racing.races(stage.service.racing.today, "GB")[0]
        stage.service.settle(race.race_id)
        await stage.service.deliver_due()
        await stage.wait_for(lambda: any(call.method == "chat.postMessage" for call in stage.slack.calls), "a post")


@pytest.mark.parametrize(("fault", "verdict"), [("slack_swallows", "lost: "), ("slack_doubles", "doubled: ")])
def test_headless_demo_ends_with_one_and_says_which_message(fault, verdict, monkeypatch, capsys):
    monkeypatch.setattr(demo, "Day", type("Faulty", (ShortDay,), {"fault": fault}))
    assert run_demo(Demo(speed=50, stay=False, headless=True)) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert verdict in said["failed"]
