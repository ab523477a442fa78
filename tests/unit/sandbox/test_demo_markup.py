"""Slack's markup in a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.demo_markup import body_lines, readable, small_print, unescaped


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
