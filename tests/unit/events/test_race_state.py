"""Words for what became of a race, words that people type, and the topic of an event."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.race_state import RaceState, reason_in, state_in
from bot.events.typed_text import folded, tidy


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RaceState.ABANDONED, ["Abandoned", "ABANDONED - frost", "MEETINGABANDONED", "race_cancelled", "Called off"]),
        (RaceState.ABANDONED, ["COURSE_ANNULEE", "Abgesagt", "Canceled", "Not run", "RACE_WAS_NOT_RUN"]),
        (RaceState.ABANDONED, ["ABND", "ABORTED", "Race aborted", "Inställt"]),
        (RaceState.VOID, ["Void", "Void race", "RACE_VOIDED", "Declared void", "No race", "Annulled"]),
        (RaceState.POSTPONED, ["Postponed", "POSTPONED to Friday", "Rescheduled", "Moved", "Flyttad"]),
        (RaceState.WALKOVER, ["Walkover", "Walk over", "W/O", "walked_over"]),
        (RaceState.RUN, ["Result", "Weighed In", "WEIGHEDIN", "Official", "Final", "Paying", "Race finished"]),
        (RaceState.PROVISIONAL, ["Interim", "Provisional", "Photo finish", "Stewards inquiry"]),
        (None, ["", None, "Declared", "Going down", "Delayed", "Off", "Under review", "Avoid", "Runner"]),
        (None, ["Moved up", "First start aborted"]),
        (
            None,
            ["Not abandoned", "May be abandoned", "Subject to inspection", "Abandonment feared", "Unlikely to be void"],
        ),
    ],
)
def test_state_is_read_of_the_words_of_its_kind(state, words):
    assert {said: state_in(said) for said in words} == dict.fromkeys(words, state)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("Abandoned - waterlogged", "waterlogged"),
        ("MEETING ABANDONED: high winds", "high winds"),
        ("Void (false start)", "false start"),
        ("Abandoned", None),
        ("Abandoned (3)", None),
        ("Called-off", None),
        ("Official - photo", None),
        (None, None),
    ],
)
def test_reason_of_a_lost_race_stands_behind_its_state(status, reason):
    assert reason_in(status) == reason


# Text as phones, keyboards and copied answers write text, in plain characters


UNSEEN = (
    0x00AD,
    0x034F,
    0x061C,
    0x200B,
    0x200C,
    0x200D,
    0x200E,
    0x200F,
    0x202A,
    0x202E,
    0x2060,
    0x2066,
    0xFE0F,
    0xFEFF,
)


@pytest.mark.parametrize("code", [*UNSEEN, 0x0000, 0x115F, 0x180E, 0x3164, 0xE0020, 0xE0101], ids=hex)
def test_invisible_characters_are_dropped(code):
    assert tidy(f"{chr(code)}li{chr(code)}st{chr(code)}") == "list"


@pytest.mark.parametrize("code", [0x09, 0x0A, 0xA0, 0x1680, 0x2002, 0x2009, 0x2028, 0x202F, 0x2800, 0x3000], ids=hex)
def test_spaces_of_every_kind_are_spaces(code):
    assert tidy(f"GB{chr(code)}results") == "GB results"


@pytest.mark.parametrize("code", [0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE63, 0xFF0D], ids=hex)
def test_dashes_of_every_kind_are_hyphens(code):
    assert tidy(f"{chr(code)}course:York") == "-course:York"


@pytest.mark.parametrize("quotes", ["“”", "„“", "«»", "\u2039\u203a", "\u301d\u301e", "\uff02\uff02", "\u2033\u2033"])
def test_double_quotes_of_every_kind_are_double_quotes(quotes):
    assert tidy(f"{quotes[0]}Ascot Heath{quotes[1]}") == '"Ascot Heath"'


@pytest.mark.parametrize("code", [0x2018, 0x2019, 0x201B, 0x02BC, 0x2032, 0xFF07, 0x60, 0xB4], ids=hex)
def test_single_quotes_and_apostrophes_of_every_kind_are_single_quotes(code):
    assert tidy(f"Fairyhouse{chr(code)}s End") == "Fairyhouse's End"


@pytest.mark.parametrize(
    ("text", "plain"), [("14\u223630", "14:30"), ("\uff11\uff14\uff1a\uff13\uff10", "14:30"), ("Cafe\u0301", "Café")]
)
def test_copied_colons_wide_letters_and_accents_by_themselves_are_plain(text, plain):
    assert tidy(text) == plain


@given(st.text(max_size=60))
def test_tidy_text_stays_as_it_is_and_shows_all_its_characters(text):
    plain = tidy(text)
    assert tidy(plain) == plain
    assert not {unicodedata.category(one) for one in plain.replace("-", "")} & {"Cf", "Cc", "Cs", "Pd"}


def test_published_name_and_typed_name_are_the_same_whatever_their_signs():
    assert folded("Fontwell\u2019s\u00a0End \u2013 Park") == folded("fontwell's end - park")


# What an event is


def test_every_kind_has_a_topic_and_an_unread_payload_none():
    assert {RacingEvent(key="k", kind=kind).topic for kind in EventKind} == set(Topic)
    assert RacingEvent(key="k").topic is None
