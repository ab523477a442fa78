"""`racing-bot demo` as a newcomer runs it: a process, its output, and nothing left when it is gone."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from sandbox.demo_screen import Screen
from sandbox.demo_stage import Stage

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^(?:#(?P<channel>[\w-]+))? +[│┃┊] (?P<text>.*)$")
DONE_S = 60


def test_port_in_use_is_told_of_in_a_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with demo(tmp_path, "--port", str(port)) as process:
            assert process.wait(DONE_S) == 1
    said = (tmp_path / "demo.out").read_text()
    assert f"Port {port} is in use." in said
    assert "Traceback" not in said
    assert [one.name for one in tmp_path.iterdir()] == ["demo.out"], "the demo leaves its folder nowhere"


@contextmanager
def demo(folder: Path, *options: str):
    """The running demo, its output in a file; killed with all its children where the test fails."""
    env = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LD_PRELOAD"}}
    with (folder / "demo.out").open("wb") as out:
        process = psutil.Popen(
            [sys.executable, "-m", "bot", "demo", "--speed", "20", *options],
            cwd=folder,
            env=env | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    children = []
    try:
        children = process.children(recursive=True)
        yield process
    finally:
        if process.is_running():
            children = process.children(recursive=True)
            for each in (*children, process):
                each.kill()
        process.wait()


def output(folder: Path) -> str:
    return (folder / "demo.out").read_text(encoding="utf-8")


def shown(folder: Path) -> dict[str, list[str]]:
    """What was posted, by channel: a line without a channel's name belongs to the one above."""
    texts: dict[str, list[str]] = {}
    channel = ""
    for line in output(folder).splitlines():
        if (found := LINE.match(line)) and "┊" not in line:
            channel = found["channel"] or channel
            texts.setdefault(channel, []).append(found["text"])
    return texts


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """A folder with the output of one day that was played to its end, and left by Ctrl-C."""
    folder = tmp_path_factory.mktemp("day")
    with demo(folder) as process:
        leave(process, folder, when="Still up. Press Ctrl-C")
    return folder


def leave(process, folder, *, when):
    """Press Ctrl-C, twice as people do, once these words stand there: all ends, in good order."""
    deadline = time.monotonic() + DONE_S
    while when not in output(folder):
        assert process.poll() is None, output(folder)
        assert time.monotonic() < deadline, output(folder)
        time.sleep(0.05)
    children = process.children(recursive=True)
    assert children, "the service is a process of its own"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(40) == 0, output(folder)
    _, left = psutil.wait_procs(children, timeout=10)
    assert left == []
    assert output(folder).endswith("Stopped.\n")


def of(day, *beginnings):
    """The messages that begin so, by channel."""
    return {name: [text for text in texts if text.startswith(beginnings)] for name, texts in shown(day).items()}


def test_day_is_played_and_left_without_a_traceback_and_leaves_nothing(day):
    said = output(day)
    assert "Traceback" not in said
    assert [path.name for path in day.iterdir()] == ["demo.out"]
    assert max(map(len, said.splitlines())) <= 100
    assert "the same once more: 200 duplicate, not posted twice" in said
    assert "9 taken, 1 known already and not posted twice, 1 forged and refused" in " ".join(said.split())


def test_messages_stand_in_the_channels_that_asked_and_in_no_other(day):
    abandoned = of(day, "🛑 ABANDONED: ", "ABANDONED: ")
    results = of(day, "Result: ", "✏️ CORRECTION: ", "CORRECTION: ")
    channels = ("gb-racing", "ire-racing", "everything")
    assert [len(abandoned[name]) for name in channels] == [1, 1, 2]
    assert [len(results[name]) for name in channels] == [3, 1, 0]
    assert all("(GB)" in text for text in (*abandoned["gb-racing"], *results["gb-racing"]))
    assert re.search(r"quota|requests", " ".join(shown(day)["racing-admins"]))


async def test_form_is_told_of_at_the_terminal_at_once(make_world):
    async with make_world() as world:
        stage = Stage(world.service, world.slack, world.bot, Screen({}, {}), "", 1.0)
        told = await stage.say("CGB", "UALICE", "/racing subscribe") or ""
        assert told.startswith("Slack shows the form")
        assert await stage.say("CGB", "UALICE", "/racing help") is None
        await stage.say("CGB", "UALICE", "/racing subscirbe GB")
        assert await stage.press("CGB", "UALICE", "subscribe") is None
        assert await stage.press("CGB", "UALICE", "No such") == "There is no button 'No such' in #CGB."


def test_bot_that_dies_is_told_of_with_its_log(tmp_path):
    with demo(tmp_path) as process:
        deadline = time.monotonic() + DONE_S
        while "types /racing subscribe" not in output(tmp_path):
            assert process.poll() is None, output(tmp_path)
            assert time.monotonic() < deadline, output(tmp_path)
            time.sleep(0.05)
        (service,) = process.children()
        service.kill()
        assert process.wait(40) == 1
    said = output(tmp_path)
    assert "The bot ended by itself, with exit code -9." in said
    (log,) = tmp_path.glob("racing-bot-demo-*/bot.log")
    assert "".join(str(log).split()) in "".join(said.split())
    assert "Traceback" not in said
