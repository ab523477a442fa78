"""The demo at a terminal: the process, people's words, and the output."""

import asyncio
import io
import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from sandbox.demo import answer, typed_lines
from sandbox.demo_bot import BotProcess, DemoFailed
from sandbox.demo_screen import (
    POST_LINES,
    Screen,
    body_lines,
    make_console,
    readable,
    small_print,
)
from sandbox.demo_stage import Stage
from sandbox.page.counts import Reading
from sandbox.slack.values import PostedMessage
from tests.rows import over

# The process


@pytest.fixture
async def sleeping(tmp_path):
    """A bot whose process only sleeps."""
    bot = BotProcess(tmp_path)
    bot._process = await asyncio.create_subprocess_exec("sleep", "30")
    yield bot
    await bot.stop()


async def test_killed_bot_is_down(sleeping):
    killed = sleeping._process
    sleeping.kill()
    assert (sleeping.is_running, sleeping.pid) == (False, None)
    assert await killed.wait() == -9


@pytest.mark.parametrize(
    ("kills", "fails", "told"),
    [
        (True, False, "The bot ended by SIGKILL. Start the demo again"),
        (True, True, "The bot ended by SIGKILL. Start the demo again"),
        (False, True, "no answer"),
    ],
    ids=["work goes on", "work fails because of it", "work fails by itself"],
)
async def test_work_ends_with_the_process_and_is_told_by_its_cause(sleeping, kills, fails, told):
    async def work():
        if kills:
            sleeping._process.kill()
        if fails:
            raise DemoFailed("no answer")
        await asyncio.sleep(30)

    with pytest.raises(DemoFailed, match=told):
        await sleeping.while_alive(work())


async def test_work_that_is_done_gives_its_result_and_leaves_the_process(sleeping):
    assert await sleeping.while_alive(asyncio.sleep(0, "done")) == "done"
    codes = [sleeping._process.returncode]
    for _ in range(2):
        await sleeping.stop()
        codes.append(sleeping._process.returncode)
    assert codes == [None, -15, -15]


# Typed lines


async def test_lines_come_whole_however_they_arrive():
    reading, writing = os.pipe()
    lines = []

    async def read():
        async for line in typed_lines(reading):
            lines.append(line)  # noqa: PERF401  what came before the end is what counts

    task = asyncio.create_task(read())
    for part in (b"/racecard", b" IRE\n/us", b"age\n\xff\n", b"unfinished"):
        os.write(writing, part)
        await asyncio.sleep(0)
    os.close(writing)
    await task
    os.close(reading)
    assert lines == ["/racecard IRE", "/usage", "\N{REPLACEMENT CHARACTER}"]


def test_demo_ends_as_by_ctrl_c_once_nobody_reads_its_lines(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    ended = list[int]()
    monkeypatch.setattr(signal, "raise_signal", ended.append)
    with os.fdopen(writing, "w") as pipe:
        screen = Screen({}, {}, make_console(pipe))
        screen.plain("the first line after `head` has gone")
        screen.plain("a line while the demo ends")
    assert ended == [signal.SIGINT]


class Said:
    """A stage that keeps all words."""

    def __init__(self):
        self.said, self.notes, self.screen = [], [], self

    async def say(self, channel_id, user_id, line):
        self.said.append((channel_id, line))
        return None if line.startswith("/rac") else "no such command"

    def note(self, words):
        self.notes.append(words)


async def test_line_is_said_where_its_first_word_says():
    stage = Said()
    for line in ("/racecard IRE", " #gb-racing  /racing list ", "#gb-racing", "", "help", "/foo", "#nowhere /racing"):
        await answer(cast("Stage", stage), line)
    everywhere = [("C0ALL", line) for line in ("/racecard IRE", "/racing help", "/foo")]
    assert stage.said == [everywhere[0], ("C0GB", "/racing list"), *everywhere[1:]]
    assert stage.notes == [
        "no such command",
        "#nowhere is no channel here; the channels are #gb-racing, #ire-racing, #everything, #racing-admins.",
    ]


# Markup


@over(
    ("markup", "shown"),
    [
        ("Smoke &amp; Mirrors", "Smoke & Mirrors"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("*14:30* at `rc_1`", "14:30 at rc_1"),
        ("Off 14:30 (your clock: <!date^1795185130^{time}|14:32 UTC>)", "Off 14:30 (your clock: 14:32 UTC)"),
        ("See the <https://sandbox.slack.com/p1?a=1&amp;b=2|earlier message>", "See the earlier message"),
        ("<https://example.com/?a=1&amp;b=2>", "https://example.com/?a=1&b=2"),
        ("by <@U1> in <#C1> and <#C9|old>", "by @alice in #gb-racing and #old"),
        ("<@U404> <!here> <!subteam^S1|@desk>", "@U404 @here @desk"),
        ("2 * 3 * 4, snake_case_name, ** and a*b*c", "2 * 3 * 4, snake_case_name, ** and a*b*c"),
    ],
)
def test_markup_reads_as_slack_shows_it(markup, shown):
    assert readable(markup, {"U1": "alice", "C1": "gb-racing"}).plain == shown


def head(text):
    return {"type": "header", "text": {"type": "plain_text", "text": text}}


def section(text):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


FIELDS = [{"type": "mrkdwn", "text": text} for text in ("*Course*\nAscot", "*Off*\n14:30")]
SMALL = [{"type": "mrkdwn", "text": "GB"}, {"type": "plain_text", "text": "race rc_1"}]
BLOCKS = (
    *(head("ABANDONED: Nip &amp; Tuck *Stakes*"), {"type": "section", "fields": FIELDS}, section("one\n*two*")),
    *({"type": "actions", "elements": [{"type": "button"}]}, {"type": "context", "elements": SMALL}),
)


ROWS = [[{"type": "raw_text", "text": text} for text in row] for row in (("Position", "Horse"), ("1", "A &amp; <B>"))]


@over(
    ("blocks", "text", "lines"),
    [
        (BLOCKS, "not shown", ["ABANDONED: Nip & Tuck *Stakes*", "Course: Ascot · Off: 14:30", "one", "two"]),
        ([{"type": "data_table", "rows": ROWS}], "not shown", ["Position  Horse", "1  A &amp; <B>"]),
        ((), "a\n*b*", ["a", "b"]),
        ([{"type": "divider"}], "a", ["a"]),
    ],
    ids=["blocks", "table", "no blocks", "nothing to see"],
)
def test_blocks_become_lines(blocks, text, lines):
    assert [line.plain for line in body_lines(blocks, text)] == lines
    assert [line.plain for line in small_print(blocks)] == (["GB · race rc_1"] if blocks is BLOCKS else [])


# The screen

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
CHANNELS = {"C1": "gb-racing", "C2": "everything"}


def post(text, channel="C1", blocks=(), edited=None):
    return PostedMessage(
        ts="1.0", channel=channel, text=text, user="U0BOT", received_at=NOW, blocks=tuple(blocks), edited=edited
    )


def whisper(text):
    return PostedMessage(ts="1.0", channel="C1", user="U0BOT", text=text, received_at=NOW, only="U1")


def screen_on(file, environ=None):
    return Screen(CHANNELS, {"U1": "alice"}, make_console(file, environ or {"TERM": "xterm-256color"}))


def printed(*messages):
    out = io.StringIO()
    screen = screen_on(out)
    for message in messages:
        screen.message(message)
    return out.getvalue()


@over(
    ("message", "line"),
    [
        (post("Result: 1 Smoke &amp; Mirrors"), "#gb-racing      │ Result: 1 Smoke & Mirrors\n"),
        (post("ABANDONED: Ascot 14:30 (GB)"), "#gb-racing      ┃ ABANDONED: Ascot 14:30 (GB)\n"),
        (post("Result", edited="2.0"), "#gb-racing      │ Result (edited)\n"),
    ],
)
def test_message_stands_beside_its_channel_and_an_abandonment_stands_out(message, line):
    assert printed(message) == line
    # A terminal that lacks letters gets question marks.
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    screen_on(file).message(post("Result: Compiègne"))
    file.flush()
    assert raw.getvalue() == b"#gb-racing      ? Result: Compi?gne\n"


def test_same_message_in_a_second_channel_is_one_line():
    blocks = [head("Racecard: Ascot"), section("\n".join(f"race {n}" for n in range(20)))]
    lines = printed(*(post("Racecard: Ascot: 20 races", channel, blocks) for channel in ("C1", "C2"))).splitlines()
    assert lines[0] == "#gb-racing      │ Racecard: Ascot"
    assert lines[POST_LINES - 1].endswith(f"… and {21 - (POST_LINES - 1)} more lines")
    assert lines[POST_LINES:] == ["#everything     │ Racecard: Ascot: 20 races"]
    # A command and the answer stand together.
    out = io.StringIO()
    screen = screen_on(out)
    screen.typed("C1", "U1", "/usage")
    screen.message(whisper("Used: *12*"))
    assert out.getvalue().splitlines() == ["#gb-racing      ┊ alice types /usage", "                ┊ Used: 12"]


def test_person_at_the_terminal_sees_whole_answers_buttons_and_whose_message_it_is():
    button = {"type": "button", "text": {"type": "plain_text", "text": "I have it"}, "action_id": "a"}
    blocks = [section("frost"), {"type": "actions", "elements": [button]}]
    out, long = io.StringIO(), whisper("\n".join(f"line {n}" for n in range(30)))
    screen = screen_on(out)
    screen.message(long)
    assert out.getvalue().endswith("more lines\n")
    screen.message(post("ABANDONED: Ascot", blocks=blocks))
    assert "I have it" not in out.getvalue()
    screen.is_typed_at = True
    screen.message(long)
    assert out.getvalue().endswith("line 29\n")
    screen.message(post("ABANDONED: York", channel="D0ALICE", blocks=blocks))
    assert out.getvalue().endswith("direct message  ┃ frost\n                ┃ [I have it]\n")


KEPT = Path(__file__).parents[1] / "messages/snapshots"


@over("path", sorted(KEPT.glob("waited*.json")))
def test_every_summary_of_the_bot_is_read_as_a_summary(path):
    said = json.loads(path.read_text("utf-8"))
    assert Reading(post(said["text"])).is_summary
