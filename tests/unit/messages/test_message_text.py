import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.messages.kit.text import clip, code, escape, flatten, is_as_it_is, plain, safe, size

LOOK_ALIKES = {
    "STAR": "\N{ASTERISK OPERATOR}",
    "TILDE": "\N{TILDE OPERATOR}",
    "TICK": "\N{MODIFIER LETTER GRAVE ACCENT}",
    "LINE": "\N{FULLWIDTH LOW LINE}",
    "ANGLE": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "RATIO": "\N{RATIO}",
    "DOT": "\N{ONE DOT LEADER}",
}


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("Tom & Jerry", "Tom &amp; Jerry"),
        ("<!channel>", "&lt;!channel&gt;"),
        ("<@U1>", "&lt;@U1&gt;"),
        ("<https://evil.example|Kempton>", "&lt;https{RATIO}//evil{DOT}example|Kempton&gt;"),
        ("<!date^0^{date}|x>", "&lt;!date^0^{{date}}|x&gt;"),
        ("&lt;!here&gt;", "&amp;lt;!here&amp;gt;"),
        ("*x* ~y~ `z`", "{STAR}x{STAR} {TILDE}y{TILDE} {TICK}z{TICK}"),
        ("_x_", "{LINE}x{LINE}"),
        ("rc_1_b", "rc_1_b"),
        (":skull: :100: at 14:30:00", "{RATIO}skull: {RATIO}100: at 14:30:00"),
        ("2026-11-20T14:00:00+00:00", "2026-11-20T14:00:00+00:00"),
        ("> quoted", "{ANGLE} quoted"),
        ("St. Leger 5.50, P.Nicholls", "St. Leger 5.50, P.Nicholls"),
        ("t.co evil.COM", "t{DOT}co evil{DOT}COM"),
        ("one\ntwo\r\n\tthree\u2028four", "one two three four"),
        ("abc\u202edef\u200b\x00\u2066", "abcdef"),
        ("\u3164\u2800", None),
        (" \n\t ", None),
        ("\u200b", None),
        ("", None),
        (None, None),
    ],
)
def test_data_shows_as_it_came_and_does_nothing(data, shown):
    assert safe(data) == (shown and shown.format(**LOOK_ALIKES))


def test_plain_text_keeps_ids_for_copying():
    assert plain("_rc*1_<x>") == "_rc*1_&lt;x&gt;"


def test_code_shows_names_for_copying_and_is_never_closed_by_them():
    assert code("race.re_opened") == "`race.re_opened`"
    assert code("a` <!here> `b") == "`a' &lt;!here&gt; 'b`"
    assert code(" ") is None


def test_clip_cuts_no_entity_and_no_token():
    assert clip("ab&amp;cd", 6) == "ab…"
    assert clip("ab&amp;cd", 8) == "ab&amp;…"
    assert clip("now <!date^1^{time}|14:30 UTC> then", 20) == "now…"


def test_clip_counts_a_character_outside_the_basic_plane_as_two():
    assert clip("🐎" * 5, 7) == "🐎🐎🐎…"


def test_ten_thousand_characters_become_a_line_with_an_ellipsis():
    shown = safe("x" * 10_000, 80)
    assert shown == "x" * 79 + "…"


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_clip_is_never_over_its_limit_and_always_a_beginning(text, limit):
    clipped = clip(escape(text), limit)
    assert size(clipped) <= limit
    assert escape(text).startswith(clipped.removesuffix("…"))


@given(st.text())
def test_escaped_data_has_nothing_that_slack_acts_on(text):
    shown = safe(text, 10_000) or ""
    assert not set("<>*~`\n") & set(shown)
    assert "://" not in shown
    assert not shown.startswith(("&gt;", " "))


@given(st.text())
def test_flatten_is_done_after_once(text):
    assert flatten(flatten(text)) == flatten(text)


@given(st.text("aB7 .:,'-&<>*_~`/é\u200b\t", max_size=20), st.integers(1, 20))
def test_short_way_for_plain_words_gives_what_the_long_way_gives(text, limit):
    assert safe(text, limit) == (clip(escape(flatten(text, limit)), limit) or None)
    assert not is_as_it_is(text, limit) or plain(text, limit) == safe(text, limit) == flatten(text, limit) == text


@pytest.mark.parametrize("text", ["Desert Crown (IRE)", "A. P. O'Brien", "7/2", "14:30", "2=", "Class 2", "cr-a1"])
def test_most_names_go_the_short_way(text):
    assert is_as_it_is(text, 40)
    assert not is_as_it_is(text, len(text) - 1)
