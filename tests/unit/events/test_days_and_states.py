"""Values of payloads: days, times and text as people type them, a plan's window, and the words of a race's state."""

import unicodedata
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.days import DayUnclearError, day_before, is_day, is_outside, likely_day, parse_day, widens, zone_of
from bot.events.lost_part import extent_in
from bot.events.race_state import (
    CONFLICTS,
    HAS_RUN,
    NOT_HELD,
    WITH_RESULT,
    RaceOutcome,
    express_losses,
    is_amended,
    is_doubtful_or_reinstated,
    is_in_doubt,
    is_reinstated,
    letters,
    reason_in,
    state_in,
)
from bot.events.typed_text import folded, tidy, with_flags_in_words
from bot.events.typed_times import read_clock, read_length
from tests.rows import Answers, over

TODAY = date(2026, 3, 1)
"""A Sunday."""

# The coming day, the last day, and words for both.
DAYS = """
2026-03-01 2026-03-01: today, Sunday, this sun, 1st march
2026-03-02 2026-03-02: Tomorrow, in one day, in 1 day
2026-03-08 2026-03-08: in a week
2026-02-26 2026-02-26: 3 days ago, three days ago
2026-02-28 2026-02-28: yesterday, 28 Feb
2026-03-02 2026-02-23: monday
2026-03-03 2026-02-24: Tues
2026-03-07 2026-02-28: SATURDAY, sat, this saturday
2026-02-22 2026-02-22: last sunday
2026-03-08 2026-03-08: next sunday
2026-02-27 2026-02-27: last friday
2026-03-06 2026-03-06: next friday, next fri
2026-03-07 2025-03-07: march 7th
2024-12-25 2024-12-25: 25 dec 2024
2028-02-29 2024-02-29: 29 feb
2026-11-21 2026-11-21: 2026-11-21
2026-11-22 2026-11-22: 22/11/2026, 22.11.26, 22-11-2026, 22 11 2026
2026-03-26 2025-03-26: 26/3, 26-3, 26.3
2026-03-20 2026-02-20: 20th
2026-11-05 2026-11-05: 5/11/2026
2025-11-22 2025-11-22: 22nd of Nov 2025
2099-12-31 2099-12-31: 31-12-99
2025-12-26 2025-12-26: Boxing Day, St Stephen's Day
2026-01-01 2026-01-01: new year's day
"""
NO_DAY = ("Ascot", "GB", "2026", "last", "next race", "last last friday", "21 mar chester", "7 furlongs", "22 11 26")


def rows(table):
    for row in table.strip().splitlines():
        days, _, words = row.partition(": ")
        yield from ((word, days.split()) for word in words.split(", "))


@over(("word", "days"), [*rows(DAYS), *((word, ()) for word in (*NO_DAY, "2 days", "in 2 days ago", "a"))])
def test_day_is_what_the_word_means_ahead_and_looking_back(word, days):
    coming, last = map(date.fromisoformat, days or ("0001-01-01",) * 2)
    assert parse_day(word, TODAY) == (coming if days else None)
    assert parse_day(word, TODAY, looks_back=True) == (last if days else None)


@over(("word", "day"), [("5/4", "2026-04-05"), ("22 of november", "2025-11-22")])
def test_day_without_a_year_is_the_nearest(word, day):
    assert parse_day(word, TODAY) == date.fromisoformat(day)
    assert is_day(word, TODAY)


@over(
    ("word", "meant"),
    [
        *(("11/22/2026", ["2026-11-22"]), ("4/22", ["2026-04-22"]), ("10-11-12", ["2012-11-10", "2010-11-12"])),
        *(("2nd", ["2026-03-02"]), ("12th", ["2026-03-12"])),
        *(("11 22", ["2026-11-22"]), ("last 2 days", ["2026-03-01", "2026-02-28"])),
        *(("26-13-11", []), ("31/11/2026", []), ("29/2/2026", [])),
    ],
)
def test_impossible_or_ambiguous_day_in_figures_is_refused_with_the_possible_days(word, meant):
    with pytest.raises(DayUnclearError) as caught:
        parse_day(word, TODAY)
    assert [day.isoformat() for day in caught.value.meant] == meant
    assert is_day(word, TODAY)


@over(
    "word",
    [
        *("31 Feb", "feb 31", "0 march", "29 feb 2026", "31 sept"),
        *("2026-02-30", "2026-13-01", "11/21/2026", "20261121", "2026-1-2", "0000-01-01"),
    ],
)
def test_day_that_is_none_is_refused(word):
    with pytest.raises(ValueError, match=r"."):
        parse_day(word, TODAY)


def test_zone_is_utc_where_there_is_no_such_zone():
    assert zone_of("Europe/London").utcoffset(datetime(2026, 7, 1, tzinfo=UTC)) == timedelta(hours=1)
    assert zone_of(None) is zone_of("Nowhere/At all") is zone_of("../etc/passwd") is UTC


MISTYPED = """
tomorrow: tomorow, Tommorow
today: todya
yesterday: yesturday
saturday: saterday
this saturday: this satuday
"""


@over(
    ("word", "meant"),
    [
        *(
            (word, row.partition(": ")[0])
            for row in MISTYPED.strip().splitlines()
            for word in row.partition(": ")[2].split(", ")
        ),
        *((word, None) for word in ("Sandown", "Sundarland", "GB", "this one")),
        ("saturday week", "saturday"),
    ],
)
def test_mistyped_day_is_known_by_its_likeness(word, meant):
    assert likely_day(word) == meant


@given(word=st.text(max_size=12))
def test_day_of_any_text_is_a_day_or_none_or_refused(word):
    try:
        assert parse_day(word, TODAY) is None or isinstance(parse_day(word, TODAY), date)
    except ValueError:
        assert any(character.isdigit() for character in word)


def test_day_before_is_the_day_before():
    assert day_before(TODAY) == "2026-02-28"


@over(
    ("window", "day", "outside"),
    [
        *(("2023 → upcoming", "2022-12-31", True), ("2023 → upcoming", "2023-01-01", False)),
        *(("2023 -> 2024", "2024-12-31", False), ("2023 -> 2024", "2025-01-01", True)),
        *(("2023-06-01→2024-02-03", day, True) for day in ("2023-05-31", "2024-02-04")),
        *(("2023-06-01→2024-02-03", "2024-02-03", False), ("whatever", "2026-01-01", False)),
        *((None, "2026-01-01", False), (None, "2016-12-31", True)),
    ],
)
def test_window_excludes_days_before_and_after_it(window, day, outside):
    assert is_outside(window, date.fromisoformat(day)) is outside


@over(
    ("before", "now", "wider"),
    [
        *((None, "2023 → upcoming", False), ("2023 → upcoming", None, False), ("unread", "2017 → upcoming", True)),
        *(("2023 → upcoming", f"{year} → upcoming", year < 2023) for year in (2023, 2024, 2017)),
        ("2023 → 2024", "2023 → upcoming", True),
    ],
)
def test_window_is_wider_where_it_may_show_more(before, now, wider):
    assert widens(before, now) is wider


# Times of day and lengths of time


@given(st.times().map(lambda at: at.replace(second=0, microsecond=0)), st.sampled_from(["%H:%M", "%H.%M", "%I:%M %p"]))
def test_time_that_is_written_out_is_read_as_the_time(at, written):
    assert read_clock(at.strftime(written)) == at


@given(st.integers(1, 52), st.integers(0, 6), st.integers(0, 23), st.integers(0, 59))
def test_length_that_is_written_out_is_read_as_the_length(weeks, days, hours, minutes):
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
    assert read_length(f"{weeks}w {days} days, {hours} hours and {minutes}m") == length
    assert read_length(f"{weeks}w{days}d{hours}h{minutes}m") == length


@given(st.text() | st.text(alphabet="0123456789hm .:apnd"))
def test_any_text_is_a_time_or_none_and_a_length_or_none(text):
    at, length = read_clock(text), read_length(text)
    assert at is None or at.second == 0
    assert length is None or length >= timedelta(0)


@over("text", ["24:30", "13pm", "0am", "6", "noonish", ""])
def test_other_words_are_no_time(text):
    assert read_clock(text) is None


# Text as phones, keyboards and copied answers write text, in plain characters


# Code points, in hexadecimal, between characters; the text, {} for the character; and the plain text.
SIGNS = {
    "dropped": ("{}li{}st{}", "list", """
        AD 34F 61C 200B 200C 200D 200E 200F 202A 202E 2060 2066 FE0F FEFF 0 115F 180E 3164 E0020 E0101"""),
    "a space": ("GB{}results", "GB results", "9 A A0 1680 2002 2009 2028 202F 2800 3000"),
    "a hyphen": ("{}course:York", "-course:York", "2010 2011 2012 2013 2014 2015 2212 FE63 FF0D"),
    "a single quote": ("Fairyhouse{}s End", "Fairyhouse's End", "2018 2019 201B 2BC 2032 FF07 60 B4"),
    "a double quote": ("{}Ascot Heath{}", '"Ascot Heath"', "201C 201D 201E AB BB 2039 203A 301D 301E FF02 2033"),
}  # fmt: skip


@over("plain", SIGNS)
def test_signs_of_every_kind_are_plain(plain):
    text, expected, codes = SIGNS[plain]
    found = {code: tidy(text.replace("{}", chr(int(code, 16)))) for code in codes.split()}
    assert found == dict.fromkeys(codes.split(), expected)


@over(("text", "plain"), [("14\u223630", "14:30"), ("\uff11\uff14\uff1a\uff13\uff10", "14:30"), ("Cafe\u0301", "Café")])
def test_copied_colons_wide_letters_and_accents_by_themselves_are_plain(text, plain):
    assert tidy(text) == plain


def test_flag_is_a_region_and_no_emoji_without_meaning():
    words = with_flags_in_words("\U0001f1ee\U0001f1ea:flag-no: :gb: :racehorse: :ok:").split()
    assert words == ["region:IE", "region:NO", "region:GB", ":racehorse:", ":ok:"]


@given(st.text(max_size=60))
def test_tidy_text_stays_as_it_is_and_shows_all_its_characters(text):
    plain = tidy(text)
    assert tidy(plain) == plain
    assert not {unicodedata.category(one) for one in plain.replace("-", "")} & {"Cf", "Cc", "Cs", "Pd"}


def test_published_name_and_typed_name_are_the_same_whatever_their_signs():
    assert folded("Fontwell\u2019s\u00a0End \u2013 Park") == folded("fontwell's end - park")


# The words of a race's state, the reason and the extent of a loss, and the sets of outcomes


ROWS = Path(__file__).with_name("race_state.yaml")


@over(
    ("said", "state"),
    [
        *Answers(ROWS, "states"),
        *((f"{'.' * 194}Result", "run"), (f"{'.' * 195}Result", None), ("1" * 200, None), ("", None), (None, None)),
    ],
)
def test_state_is_read_of_the_words_of_its_kind(said, state):
    assert state_in(said) == state


@over(("said", "is_express"), Answers(ROWS, "notes"))
def test_note_tells_an_express_loss_of_the_race_alone(said, is_express):
    own = ("York Park", "Gimcrack Stakes", "Handicap")
    assert any(express_losses(said, own, is_note=True)) is is_express


@over(("words", "clause"), Answers(ROWS, "clauses"))
def test_express_loss_is_a_clause_about_a_race_alone(words, clause):
    found = [clause for _, clause in express_losses(words, ("York Handicap",))]
    assert found == {"all": [words], "none": []}.get(clause, [clause])


@over(("said", "is_express"), Answers(ROWS, "causes"))
def test_cause_of_a_loss_without_places_may_have_any_words(said, is_express):
    assert any(express_losses(said, ("York",), is_note=True, is_open=True)) is is_express


@over(("status", "reason"), Answers(ROWS, "reasons"))
def test_reason_of_a_lost_race_stands_behind_its_state(status, reason):
    assert reason_in(status) == reason


@over(("words", "races_run"), Answers(ROWS, "races run"))
def test_races_run_before_a_loss_are_counted_as_the_words_say(words, races_run):
    assert extent_in(words).run == races_run


@over(("status", "is_so"), Answers(ROWS, "amended"))
def test_result_is_amended_by_a_sure_word(status, is_so):
    assert is_amended(status) is is_so


@over(("status", "is_so"), Answers(ROWS, "in doubt"))
def test_status_may_say_that_places_are_in_doubt(status, is_so):
    assert is_in_doubt(status) is is_so


@over(("status", "is_so"), Answers(ROWS, "taken back"))
def test_abandonment_may_be_taken_back(status, is_so):
    assert is_doubtful_or_reinstated(status) is is_so


@over(("status", "is_so"), Answers(ROWS, "meeting taken back"))
def test_abandonment_of_a_meeting_may_be_taken_back(status, is_so):
    assert is_reinstated(status, "Curragh", of_meeting=True) is is_so


@over("status", ["Weighed In", "weighed_in", "WEIGHED-IN"])
def test_status_is_compared_by_its_letters(status):
    assert (letters(status), letters(None)) == ("weighedin", "")


@over(
    ("outcome", "sets"),
    [
        (RaceOutcome.SETTLED, {WITH_RESULT, HAS_RUN}),
        (RaceOutcome.BOTH, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.UNCERTAIN, {WITH_RESULT, HAS_RUN, CONFLICTS}),
        (RaceOutcome.IN_DOUBT, {CONFLICTS}),
        (RaceOutcome.VOID, {HAS_RUN, NOT_HELD}),
        (RaceOutcome.ABANDONED, {NOT_HELD}),
        (RaceOutcome.OPEN, set()),
    ],
)
def test_outcome_is_in_the_sets_of_its_kind(outcome, sets):
    assert {one for one in (WITH_RESULT, HAS_RUN, CONFLICTS, NOT_HELD) if outcome in one} == sets
