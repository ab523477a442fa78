"""The demo with its own bots: a second replica at a switch, and the ends of `racing-bot demo`."""

import asyncio
import io
import json
import os
import signal
import socket
import tempfile
import webbrowser
from contextlib import aclosing

import pytest

from bot.cli.main import app
from sandbox import demo
from sandbox.demo_day import SUBSCRIBED, Day
from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, open_stage
from sandbox.page.page_app import Page
from tests.databases import new_postgres_database

SETTLED = 3

pytestmark = pytest.mark.usefixtures("real_time")


@pytest.mark.soak
async def test_second_replica_is_switched_on_and_off_and_each_message_comes_once(postgres_server, tmp_path):
    screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()))
    address = new_postgres_database(postgres_server)
    async with open_stage(tmp_path, screen, 50.0, address) as stage, aclosing(Page(stage)) as page:
        await stage.start_bot()
        assert await stage.say("C0ALL", "U0ALICE", "/racing subscribe all") is None
        assert "Each message comes once" in str(await page.trouble({"name": "second_replica", "on": True}))
        assert (tmp_path / "second.log").stat().st_size
        for race in stage.service.racing.races(stage.service.racing.today)[:SETTLED]:
            stage.service.settle(race.race_id)
        delivering = asyncio.create_task(stage.service.run_deliveries())
        await stage.slack.wait_for(lambda: len(stage.slack.messages("C0ALL")) >= SETTLED, 60)
        await page.trouble({"name": "second_replica", "on": False})
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
        page._counted_at = float("-inf")
        counts = page.counts()
    assert (counts["told"], counts["lost"], counts["doubled"]) == (SETTLED, 0, 0)


class ShortDay(Day):
    """A single result."""

    async def play(self):
        stage = self.stage
        assert await stage.say("C0GB", "U0ALICE", "/racing subscribe GB") is None
        race = stage.service.racing.races(stage.service.racing.today, "GB")[0]
        stage.service.settle(race.race_id)
        await stage.service.deliver_due()
        await stage.wait_for(lambda: any(call.method == "chat.postMessage" for call in stage.slack.calls), "a post")


class DeadlyDay(Day):
    """The bot is killed by somebody else."""

    async def play(self):
        pid = self.stage.bot.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(60)


@pytest.fixture
def demo_ends(tmp_path, monkeypatch):
    """Runs the command in the test's process, with a day; gives the exit code. The demo's folder is in `tmp_path`."""

    def run(day, *options):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.setattr(demo, "Day", day)
        with pytest.raises(SystemExit) as ended:
            app(["demo", "--speed", "50", *options])
        return ended.value.code

    return run


def test_headless_demo_prints_one_object(demo_ends, tmp_path, capsys):
    code = demo_ends(ShortDay, "--headless")
    said = json.loads(capsys.readouterr().out)
    assert (code, said["ok"], said["deliveries"], said["messages"]["gb-racing"]) == (0, True, 1, 1)
    assert said["counts"].items() >= {"told": 1, "lost": 0, "doubled": 0, "out_of_order": 0}.items()
    assert list(tmp_path.iterdir()) == []


def test_page_opens_on_channels_that_have_subscribed(demo_ends, monkeypatch, capsys):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert demo_ends(DeadlyDay, "--open", "--no-stay") == 0, "the terminal plays no day"
    said = capsys.readouterr().out
    assert f"The same in a browser: {opened[0]}" in said
    assert said.count("This channel receives") == len(SUBSCRIBED)


def test_headless_demo_that_fails_prints_one_object_with_the_reason(demo_ends, tmp_path, capsys):
    assert demo_ends(ShortDay, "--headless", "--database-url", "postgresql://nobody@127.0.0.1:9/none") == 1
    said = json.loads(capsys.readouterr().out)
    (folder,) = tmp_path.iterdir()
    failed = "The database could not be prepared: exit code 1."
    assert said == {"ok": False, "failed": failed, "log": str(folder / "bot.log")}


def test_port_in_use_is_told_of_in_a_line(demo_ends, tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert demo_ends(ShortDay, "--port", str(port)) == 1
    assert f"Port {port} is in use." in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [], "the demo leaves its folder nowhere"
