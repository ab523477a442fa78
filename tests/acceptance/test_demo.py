"""`racing-bot demo` as a newcomer runs it: a process, the output, and an end that leaves no rest."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^(?:#(?P<channel>[\w-]+))? +[│┃┊] (?P<text>.*)$")
DONE_S = 240


@contextmanager
def demo(folder: Path, *options: str):
    """The running demo, with output in a file; killed with all children where the test fails."""
    env = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LD_PRELOAD"}}
    with (folder / "demo.out").open("wb") as out:
        process = psutil.Popen(
            [sys.executable, "-m", "bot", "demo", "--speed", "50", *options],
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
    """The posts by channel: a line without a channel's name belongs to the channel above."""
    texts: dict[str, list[str]] = {}
    channel = ""
    for line in output(folder).splitlines():
        if (found := LINE.match(line)) and "┊" not in line:
            channel = found["channel"] or channel
            texts.setdefault(channel, []).append(found["text"])
    return texts


def leave(process, folder, *, when):
    """Press Ctrl-C after the words, twice as people do: the demo ends in good order."""
    deadline = time.monotonic() + DONE_S
    while when not in output(folder):
        assert process.poll() is None, output(folder)
        assert time.monotonic() < deadline, output(folder)
        time.sleep(0.05)
    children = process.children(recursive=True)
    assert children, "the service is a process of its own"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0, output(folder)
    _, left = psutil.wait_procs(children, timeout=60)
    assert left == []
    assert output(folder).endswith("Stopped.\n")


def of(day, pattern):
    """The messages with the first line, by channel."""
    return {name: [text for text in texts if re.search(pattern, text)] for name, texts in shown(day).items()}


@pytest.mark.long
def test_day_is_told_where_it_was_asked_for_and_left_without_a_traceback(tmp_path):
    with demo(tmp_path) as process:
        leave(process, tmp_path, when="Still up. Press Ctrl-C")
    said = output(tmp_path)
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["demo.out"]
    assert max(map(len, said.splitlines())) <= 100
    assert "the same once more: 200 duplicate, not posted twice" in said
    assert "10 taken, 1 known already and not posted twice. A forged delivery was refused." in " ".join(said.split())
    abandoned = of(tmp_path, "^(🛑 )?ABANDONED: ")
    results = of(tmp_path, r"^(✏️ )?CORRECTION: |\d\d:\d\d.* \(\w+\)\s+1 ")
    channels = ("gb-racing", "ire-racing", "everything")
    assert [len(abandoned[name]) for name in channels] == [1, 1, 2]
    assert [len(results[name]) for name in channels] == [3, 1, 0]
    assert all("(GB)" in text for text in (*abandoned["gb-racing"], *results["gb-racing"]))
    assert re.search(r"quota|requests", " ".join(shown(tmp_path)["racing-admins"]))
