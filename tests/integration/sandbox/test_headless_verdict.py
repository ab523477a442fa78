"""`racing-bot demo --headless` ends with 1 where the page counts a lost or a doubled message."""

import json

import pytest

from sandbox import demo
from sandbox.demo import Demo, run_demo
from sandbox.demo_day import Day
from sandbox.page.troubles import BY_NAME

pytestmark = pytest.mark.usefixtures("real_time")


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
