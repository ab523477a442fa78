"""The parts of messages: blocks, text, times and names, with any letters of strangers."""

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from bot.channels.filters import ChannelFilter
from bot.db.tables import WatchRow
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, OffTime, Race
from bot.outbox.acknowledgements import PersonsAbandonment
from bot.outbox.notices import Urgency
from bot.outbox.said_anew import DeadLetter
from bot.slack.listeners.app_home import (
    ABANDONMENTS_MAX,
    CHANNELS_MAX,
    DEAD_LETTERS_MAX,
    HomeChannel,
    HomePage,
    home_view,
)
from bot.slack.messages.alerts.alert_context import MessageContext, late_in_words
from bot.slack.messages.alerts.alert_notes import admin_notice
from bot.slack.messages.kit.blocks import actions, command_button, context_block, fields, header, section, weight
from bot.slack.messages.kit.layout import lines, listing, message, section_of, sentence, turns
from bot.slack.messages.kit.text import MESSAGE_MAX, clip, code, escape, flatten, is_as_it_is, named, plain, safe, size
from bot.slack.messages.kit.times import in_readers_zone, off_for_readers, off_text, utc_clock
from sandbox.slack.block_rules import MESSAGE_BLOCKS, block_problems, view_problems
from tests.clock import START
from tests.rows import over
from tests.said import BEGINNINGS


def test_empty_words_and_lines_that_no_button_can_carry_make_no_block():
    assert [section(""), fields(("Course", None), ("Date", "")), context_block()] == [None] * 3
    assert [actions([command_button("Empty", "")]), turns("results " + "🐎" * 1_100, 2, 3)] == [None] * 2


def test_blocks_hold_their_limits():
    assert len(header("x" * 500)["text"]["text"]) == 150
    made = message("text", [section("x" * 5_000), fields(*[("Label", "x" * 3_000)] * 12), context_block(*"x" * 12)])
    assert len(made.blocks[0]["text"]["text"]) == 3_000
    assert [len(field["text"]) for field in made.blocks[1]["fields"]] == [2_000] * 10
    assert len(made.blocks[2]["elements"]) == 10


def test_row_of_buttons_has_as_many_as_slack_takes_and_begins_with_the_first():
    made = actions([command_button(f"Ascot {number}", f"courses {number}") for number in range(40)])
    assert made is not None
    assert [one["value"] for one in made["elements"]] == [f"courses {number}" for number in range(25)]
    assert block_problems([made], most=MESSAGE_BLOCKS) == []


def test_message_counts_the_lines_without_room():
    listed = message("text", [header("Head"), lines(["one", "two"])]).blocks[1]
    assert listed["text"]["text"] == "one\ntwo"
    made = message("text", [header("Head"), lines(["x" * 99] * 1_000), section("Foot")])
    shown = sum(block["text"]["text"].count("x" * 99) for block in made.blocks[1:-1])
    assert made.blocks[-2]["text"]["text"].endswith(f"\nand {1_000 - shown} more")
    assert made.blocks[-1]["text"]["text"] == "Foot"
    assert 100 < shown < 120
    assert weight(made.blocks) <= MESSAGE_MAX


def test_section_makes_no_line_after_those_that_fit():
    """The lines of a hundred races with a hundred runners each would take seconds."""
    made = count()
    block = section_of((f"{next(made)} {'x' * 298}" for _ in range(1_000)), 1_000)
    assert block["text"]["text"].endswith("and 991 more")
    assert next(made) == 10


def test_message_text_is_cut_at_its_end():
    assert message("ABANDONED: " + "x" * 9_000, []).text == "ABANDONED: " + "x" * (3_900 - 12) + "…"


LOOK_ALIKES = {
    "STAR": "\N{ASTERISK OPERATOR}",
    "TILDE": "\N{TILDE OPERATOR}",
    "TICK": "\N{MODIFIER LETTER GRAVE ACCENT}",
    "LINE": "\N{FULLWIDTH LOW LINE}",
    "ANGLE": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "RATIO": "\N{RATIO}",
    "DOT": "\N{ONE DOT LEADER}",
}


@over(
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


def test_plain_text_and_code_keep_a_name_as_published_and_no_name_closes_the_code():
    assert plain("_rc*1_<x>") == "_rc*1_&lt;x&gt;"
    assert code("race.re_opened") == "`race.re_opened`"
    assert code("a` <!here> `b") == "`a' &lt;!here&gt; 'b`"
    assert code(" ") is None


@over(
    ("text", "limit", "shown"),
    [
        ("ab&amp;cd", 6, "ab…"),
        ("ab&amp;cd", 8, "ab&amp;…"),
        ("now <!date^1^{time}|14:30 UTC> then", 20, "now…"),
        # A character outside the basic plane counts as two.
        ("🐎" * 5, 7, "🐎🐎🐎…"),
        ("x" * 10_000, 80, "x" * 79 + "…"),
    ],
)
def test_clip_cuts_no_entity_and_no_token(text, limit, shown):
    assert clip(text, limit) == shown


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_clip_is_never_over_its_limit_and_always_a_beginning(text, limit):
    clipped = clip(escape(text), limit)
    assert size(clipped) <= limit
    assert escape(text).startswith(clipped.removesuffix("…"))


@given(st.text())
def test_escaped_data_has_nothing_that_slack_acts_on_and_flat_data_stays(text):
    shown = safe(text, 10_000) or ""
    assert not set("<>*~`\n") & set(shown)
    assert "://" not in shown
    assert not shown.startswith(("&gt;", " "))
    assert flatten(flatten(text)) == flatten(text)


@given(st.text("aB7 .:,'-&<>*_~`/é\u200b\t", max_size=20), st.integers(1, 20))
def test_short_way_for_plain_words_gives_what_the_long_way_gives(text, limit):
    assert safe(text, limit) == (clip(escape(flatten(text, limit)), limit) or None)
    assert not is_as_it_is(text, limit) or plain(text, limit) == safe(text, limit) == flatten(text, limit) == text


@over("text", ["Desert Crown (IRE)", "A. P. O'Brien", "7/2", "14:30", "2=", "Class 2", "cr-a1"])
def test_most_names_go_the_short_way(text):
    assert is_as_it_is(text, 40)
    assert not is_as_it_is(text, len(text) - 1)


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
LONDON, PARIS = ZoneInfo("Europe/London"), ZoneInfo("Europe/Paris")
HERS = in_readers_zone(NOON)


@over(
    ("off", "zone", "published", "for_readers"),
    [
        (OffTime(text="2:30"), None, "2:30", "2:30"),
        (OffTime(text="13:00", off_at=NOON), None, "13:00", f"13:00 (your clock: {HERS})"),
        (OffTime(text="13:00", off_at=NOON), LONDON, "13:00", f"13:00 (your clock: {HERS})"),
        (OffTime(text="1:00", off_at=NOON), PARIS, "1:00", f"1:00 (your clock: {HERS})"),
        (OffTime(text="after racing", off_at=NOON), PARIS, "after racing", f"after racing (your clock: {HERS})"),
        # The reader's clock is known to show the published time.
        (OffTime(text="13:00", off_at=NOON), PARIS, "13:00", "13:00"),
        (OffTime(text="1:00 pm", off_at=NOON), PARIS, "1:00 pm", "1:00 pm"),
        (OffTime(text="23:00", off_at=LAST), PARIS, "23:00", f"23:00 (your clock: {in_readers_zone(LAST)})"),
        (OffTime(off_at=NOON), None, "12:00 UTC", HERS),
        (OffTime(text="  "), None, None, None),
    ],
)
def test_off_time_shows_as_published_and_by_the_readers_clock(off, zone, published, for_readers):
    assert (off_text(off), off_for_readers(off, zone)) == (published, for_readers)
    assert HERS == "<!date^1795176000^{time}|12:00 UTC>"


@over("hours", [-14, 0, 14])
def test_clock_holds_at_both_ends_of_the_calendar(hours):
    zone = timezone(timedelta(hours=hours))
    for moment in (datetime.min.replace(tzinfo=zone), datetime.max.replace(microsecond=0, tzinfo=zone)):
        assert utc_clock(moment, seconds=True).endswith(" UTC")


@over(
    ("now", "had_at", "late"),
    [
        *((0, -42, "42 min"), (11, None, "11 min"), (355, None, "5 h 55 min"), (11828, None, "8 d 5 h")),
        *((-60, None, None), (0, 60, None), (10, None, None)),
    ],
)
def test_lateness_is_measured_from_when_the_service_had_the_event_or_from_receipt(now, had_at, late):
    """In minutes from receipt. Lateness is never negative, and little is not worth a word."""
    had = None if had_at is None else NOON + timedelta(minutes=had_at)
    told = MessageContext(received_at=NOON, now=NOON + timedelta(minutes=now), late_after_s=600, had_at=had)
    assert late_in_words(told) == (late and f"alert {late} late")


# Channels and people in notices, trace and audit: by the names that readers know, and nothing else by its id


@given(st.text(max_size=20))
def test_channel_or_person_is_shown_by_name_and_what_is_no_id_makes_no_mention(slack_id):
    shown = [named(f"{kind}0AB1") for kind in "CGUWD"]
    assert shown == ["<#C0AB1>", "<#G0AB1>", "<@U0AB1>", "<@W0AB1>", "a direct message"]
    assert "<" not in named(f"C<{slack_id}")


def test_notice_names_whom_it_was_told_to_name_and_nobody_else():
    words = "In channel C1 (U2, @U1, C12 and late:rc_1@C1 <@U1> <!channel>). Subscribed by U1."
    shown = "In channel <#C1> (U2, @U1, C12 and late:rc_1@C1 &lt;@U1&gt; &lt;!channel&gt;). Subscribed by <@U1>."
    for said in (sentence(words, ["C1", "U1"]), *(admin_notice(level, words, ["C1", "U1"]) for level in Urgency)):
        assert said.text.endswith(shown)
        assert said.blocks[-1]["text"]["text"].endswith(shown)


@given(st.text(max_size=60))
def test_strangers_words_in_a_notice_mention_nobody(words):
    shown = sentence(f"In C1: {words}", ["C1"]).text
    assert shown.startswith("In <#C1>: "[: len(shown)])
    assert "<" not in shown.replace("<#C1>", "")


@given(st.sampled_from(Urgency), st.sampled_from(["<!channel> & *more*", "&" * 9_999, ""]) | st.text(max_size=60))
def test_notice_begins_with_its_level_and_mentions_nobody_whatever_the_words(level, words):
    said = admin_notice(level, words)
    assert said.text.startswith(BEGINNINGS)
    assert "<" not in f"{said.text} {said.blocks}"
    assert block_problems(list(said.blocks), most=MESSAGE_BLOCKS) == []


LONG = ["&" * 10_000, "🐎" * 10_000, "Very Long Course Name"]


def test_home_of_the_longest_values_holds_every_limit():
    """https://docs.slack.dev/reference/views"""
    courses = tuple(Course(course_id=f"cr_{number}", name=LONG[number % 3]) for number in range(150))
    filters = [ChannelFilter(region=f"R{n}", topics=frozenset(Topic), courses=courses) for n in range(9)]
    race = Race(course=Course(name=LONG[0]), title=LONG[1])
    lost = RacingEvent(key="k", kind=EventKind.RACE_ABANDONED, race=race, reason=LONG[1])
    watch: dict[str, Any] = {"channel_id": "D1", "kind": "horse", "name_key": "k", "created_by": "U1"}
    page = HomePage(
        [HomeChannel(f"C{n}", filters, LONG[0], n % 2 == 1, START, 9, 9) for n in range(CHANNELS_MAX)],
        10**9,
        is_admin=True,
        watches=[WatchRow(id=n, name=LONG[n % 3], created_at=START, **watch) for n in range(50)],
        abandonments=[PersonsAbandonment(lost, "C1", None)] * ABANDONMENTS_MAX,
        status=listing(LONG[0], LONG * 40),
        dead_letters=[DeadLetter(n, "C1", lost, LONG[1], START) for n in range(DEAD_LETTERS_MAX)],
        said=LONG[1],
        at=START,
    )
    view = home_view(page)
    assert view_problems(view, "home") == []
    assert len(json.dumps(view)) < 250_000
