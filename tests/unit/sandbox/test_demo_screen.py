"""What the demo prints."""

import io
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sandbox.demo_screen import POST_LINES, WIDTH_OF_A_PIPE, Screen, make_console
from sandbox.slack.values import EphemeralMessage, PostedMessage

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


def test_message_stands_beside_its_channel():
    out = io.StringIO()
    screen_on(out).message(post("Result: Ascot 14:30 (GB): 1 Smoke &amp; Mirrors"))
    assert out.getvalue() == "#gb-racing      │ Result: Ascot 14:30 (GB): 1 Smoke & Mirrors\n"


def test_abandonment_stands_out_without_colours_too():
    out = io.StringIO()
    screen_on(out).message(post("ABANDONED: Ascot 14:30 (GB)"))
    assert out.getvalue() == "#gb-racing      ┃ ABANDONED: Ascot 14:30 (GB)\n"


def test_same_message_in_a_second_channel_is_one_line():
    out = io.StringIO()
    screen = screen_on(out)
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Racecard: Ascot"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(f"race {n}" for n in range(20))}},
    ]
    screen.message(post("Racecard: Ascot: 20 races", "C1", blocks))
    screen.message(post("Racecard: Ascot: 20 races", "C2", blocks))
    lines = out.getvalue().splitlines()
    assert lines[0] == "#gb-racing      │ Racecard: Ascot"
    assert lines[POST_LINES - 1].endswith(f"… and {21 - (POST_LINES - 1)} more lines")
    assert lines[POST_LINES:] == ["#everything     │ Racecard: Ascot: 20 races"]


def test_edit_is_marked():
    out = io.StringIO()
    screen_on(out).message(post("Result", edited="2.0"))
    assert out.getvalue().endswith("Result (edited)\n")


def test_command_and_answer_stand_together():
    out = io.StringIO()
    screen = screen_on(out)
    screen.typed("C1", "U1", "/usage")
    screen.message(whisper("Used: *12*"))
    assert out.getvalue().splitlines() == [
        "#gb-racing      ┊ alice types /usage",
        "                ┊ Used: 12",
    ]


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
