"""The demo at a terminal: its process, what people type, and what is printed."""

import asyncio
import io
import os
from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sandbox.demo_bot import BotProcess, DemoFailed
from sandbox.demo_markup import body_lines, readable, small_print, unescaped
from sandbox.demo_prompt import answer, typed_lines
from sandbox.demo_screen import POST_LINES, WIDTH_OF_A_PIPE, Screen, make_console
from sandbox.demo_stage import Stage
from sandbox.slack.values import EphemeralMessage, PostedMessage

# The process


def sleeps():
    return asyncio.create_subprocess_exec("sleep", "30")


async def test_bot_that_does_not_start_is_told_of_with_its_log(tmp_path, monkeypatch):
    # What the developer has set for a bot of their own must not reach this one: it would start, or fail otherwise.
    monkeypatch.setenv("RACING_API_KEY", "a-real-key")
    (tmp_path.parent / ".env").write_text("RACING_API_KEY=another-real-key\n", encoding="utf-8")
    bot = BotProcess(tmp_path)
    with pytest.raises(DemoFailed, match="exit code 2"):
        await bot.start({})
    await bot.stop()
    assert "RACING_API_KEY is missing" in bot.log_end()


async def test_work_ends_with_the_process_that_it_needs(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await sleeps()
    waiting = asyncio.create_task(bot.while_alive(asyncio.sleep(30)))
    await asyncio.sleep(0)
    bot._process.kill()
    with pytest.raises(DemoFailed, match="ended by itself"):
        await waiting


async def test_end_of_the_process_is_told_where_work_fails_because_of_it(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = process = await sleeps()

    async def fails_when_it_ends():
        process.kill()
        raise DemoFailed("no answer")

    with pytest.raises(DemoFailed, match="ended by itself, with exit code -9"):
        await bot.while_alive(fails_when_it_ends())


async def test_work_that_fails_by_itself_is_told_as_it_was(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await sleeps()

    async def fails():
        raise DemoFailed("no answer")

    with pytest.raises(DemoFailed, match="no answer"):
        await bot.while_alive(fails())
    await bot.stop()


async def test_work_that_is_done_gives_its_result_and_leaves_the_process(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = await sleeps()
    assert await bot.while_alive(asyncio.sleep(0, "done")) == "done"
    codes = [bot._process.returncode]
    for _ in range(2):
        await bot.stop()
        codes.append(bot._process.returncode)
    assert codes == [None, -15, -15]


async def test_killed_bot_is_down_at_once_and_starts_again_at_once(tmp_path):
    bot = BotProcess(tmp_path)
    bot._process = killed = await sleeps()
    bot.kill()
    assert (bot.is_running, bot.pid, killed.returncode) == (False, None, None)
    with pytest.raises(DemoFailed, match="exit code 2"):
        await bot.start({})
    assert killed.returncode == -9


async def test_log_that_was_never_written_has_no_end(tmp_path):
    assert BotProcess(tmp_path).log_end() == ""


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
    async with asyncio.timeout(5):
        await task
    os.close(reading)
    assert lines == ["/racecard IRE", "/usage", "\N{REPLACEMENT CHARACTER}"]


async def test_loop_goes_on_after_a_line_while_no_other_is_typed():
    reading, writing = os.pipe()
    lines = typed_lines(reading)
    async with asyncio.timeout(5):
        os.write(writing, b"/usage\n")
        assert await anext(lines) == "/usage"
        waiting = asyncio.ensure_future(anext(lines))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        os.write(writing, b"/racecard\n")
        assert await waiting == "/racecard"
    await lines.aclose()
    os.close(writing)
    os.close(reading)


class Said:
    """A stage that keeps what is said on it."""

    def __init__(self):
        self.said, self.notes, self.screen = [], [], self

    async def say(self, channel_id, user_id, line):
        self.said.append((channel_id, line))
        return None if line.startswith("/rac") else "no such command"

    def note(self, words):
        self.notes.append(words)


async def test_line_is_said_where_its_first_word_says():
    stage = Said()
    for line in ("/racecard IRE", " #gb-racing  /racing list ", "#gb-racing", "", "/foo", "#nowhere /racing"):
        await answer(cast("Stage", stage), line)
    assert stage.said == [("C0ALL", "/racecard IRE"), ("C0GB", "/racing list"), ("C0ALL", "/foo")]
    assert stage.notes == [
        "no such command",
        "#nowhere is no channel here; the channels are #gb-racing, #ire-racing, #everything, #racing-admins.",
    ]


# Markup


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("Smoke &amp; Mirrors", "Smoke & Mirrors"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("*14:30* at `rc_1`, _soon_", "14:30 at rc_1, soon"),
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


def test_table_reads_as_its_rows():
    rows = [
        [{"type": "raw_text", "text": text} for text in row] for row in (("Position", "Horse"), ("1", "A &amp; <B>"))
    ]
    shown = [line.plain for line in body_lines([{"type": "data_table", "rows": rows}], "text")]
    assert shown == ["Position  Horse", "1  A &amp; <B>"]


def test_markup_keeps_its_styles():
    spans = {
        text.plain[span.start : span.end]: span.style for text in [readable("*bold* and `code`")] for span in text.spans
    }
    assert spans == {"bold": "bold", "code": "cyan"}


@given(st.text())
def test_readable_takes_any_text(markup):
    readable(markup)


@given(st.text(alphabet=st.characters(exclude_characters="*_`", exclude_categories=["Cs", "Cc"])))
def test_escaped_text_comes_back_as_it_was(text):
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert unescaped(escaped) == text
    assert readable(escaped).plain == text


BLOCKS = (
    {"type": "header", "text": {"type": "plain_text", "text": "ABANDONED: Nip &amp; Tuck *Stakes*"}},
    {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": "*Course*\nAscot"}, {"type": "mrkdwn", "text": "*Off*\n14:30"}],
    },
    {"type": "section", "text": {"type": "mrkdwn", "text": "one\n*two*"}},
    {"type": "actions", "elements": [{"type": "button"}]},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "GB"}, {"type": "plain_text", "text": "race rc_1"}]},
)


def test_blocks_become_lines():
    assert [line.plain for line in body_lines(BLOCKS, "not shown")] == [
        "ABANDONED: Nip & Tuck *Stakes*",
        "Course: Ascot · Off: 14:30",
        "one",
        "two",
    ]
    assert [line.plain for line in small_print(BLOCKS)] == ["GB · race rc_1"]


def test_text_is_shown_where_blocks_show_nothing():
    assert [line.plain for line in body_lines((), "a\n*b*")] == ["a", "b"]
    assert [line.plain for line in body_lines([{"type": "divider"}], "a")] == ["a"]


# The screen

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
CHANNELS = {"C1": "gb-racing", "C2": "everything"}


class Terminal(io.StringIO):
    """A terminal, as far as anybody asks."""

    def isatty(self):
        return True


def post(text, channel="C1", blocks=(), edited=None):
    return PostedMessage(
        ts="1.0", channel=channel, text=text, user="U0BOT", received_at=NOW, blocks=tuple(blocks), edited=edited
    )


def whisper(text):
    return EphemeralMessage(ts="1.0", channel="C1", user="U1", text=text, received_at=NOW, via="response_url")


def screen_on(file, environ=None):
    return Screen(CHANNELS, {"U1": "alice"}, make_console(file, environ or {"TERM": "xterm-256color"}))


def printed(*messages):
    out = io.StringIO()
    screen = screen_on(out)
    for message in messages:
        screen.message(message)
    return out.getvalue()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (post("Result: 1 Smoke &amp; Mirrors"), "#gb-racing      │ Result: 1 Smoke & Mirrors\n"),
        (post("ABANDONED: Ascot 14:30 (GB)"), "#gb-racing      ┃ ABANDONED: Ascot 14:30 (GB)\n"),
        (post("Result", edited="2.0"), "#gb-racing      │ Result (edited)\n"),
    ],
)
def test_message_stands_beside_its_channel_and_an_abandonment_stands_out(message, line):
    assert printed(message) == line


def test_same_message_in_a_second_channel_is_one_line():
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Racecard: Ascot"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(f"race {n}" for n in range(20))}},
    ]
    lines = printed(*(post("Racecard: Ascot: 20 races", channel, blocks) for channel in ("C1", "C2"))).splitlines()
    assert lines[0] == "#gb-racing      │ Racecard: Ascot"
    assert lines[POST_LINES - 1].endswith(f"… and {21 - (POST_LINES - 1)} more lines")
    assert lines[POST_LINES:] == ["#everything     │ Racecard: Ascot: 20 races"]


def test_command_and_answer_stand_together():
    out = io.StringIO()
    screen = screen_on(out)
    screen.typed("C1", "U1", "/usage")
    screen.message(whisper("Used: *12*"))
    assert out.getvalue().splitlines() == ["#gb-racing      ┊ alice types /usage", "                ┊ Used: 12"]


def test_answer_to_a_person_at_the_terminal_is_shown_whole():
    out = io.StringIO()
    screen = screen_on(out)
    screen.message(whisper("\n".join(f"line {n}" for n in range(30))))
    assert out.getvalue().endswith("more lines\n")
    screen.show_to_a_person()
    screen.message(whisper("\n".join(f"line {n}" for n in range(30))))
    assert out.getvalue().endswith("line 29\n")


def test_person_at_the_terminal_sees_buttons_and_whose_message_it_is():
    button = {"type": "button", "text": {"type": "plain_text", "text": "I have it"}, "action_id": "a"}
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": "frost"}},
        {"type": "actions", "elements": [button]},
    ]
    out = io.StringIO()
    screen = Screen(CHANNELS, {"U1": "alice"}, make_console(out))
    screen.message(post("ABANDONED: Ascot", blocks=blocks))
    assert "I have it" not in out.getvalue()
    screen.show_to_a_person()
    screen.message(post("ABANDONED: York", channel="D0ALICE", blocks=blocks))
    assert out.getvalue().endswith("direct message  ┃ frost\n                ┃ [I have it]\n")


@given(st.text(), st.text())
def test_lines_stay_within_the_width_whatever_they_say(text, header):
    out = io.StringIO()
    screen = screen_on(out)
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": header}}] if header else []
    screen.message(post(text, blocks=blocks))
    screen.message(whisper(text))
    screen.note(text)
    assert all(cell_len(line) <= WIDTH_OF_A_PIPE for line in out.getvalue().split("\n"))


def test_terminal_has_colours_unless_told_otherwise():
    shown = {}
    for name, environ in {"colours": {"TERM": "xterm"}, "none": {"TERM": "xterm", "NO_COLOR": "1"}}.items():
        out = Terminal()
        screen_on(out, environ).message(post("ABANDONED: Ascot"))
        shown[name] = out.getvalue()
    assert "\x1b[" in shown["colours"]
    assert shown["none"] == "#gb-racing      ┃ ABANDONED: Ascot\n"


def test_terminal_without_the_letters_gets_question_marks():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    screen_on(file).message(post("Result: Compiègne"))
    file.flush()
    assert raw.getvalue() == b"#gb-racing      ? Result: Compi?gne\n"
