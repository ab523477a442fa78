from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.days import (
    DayUnclearError,
    day_before,
    is_day,
    is_day_phrase,
    is_outside,
    likely_day,
    parse_day,
    widens,
    zone_of,
)

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("word", "day"),
    [
        ("today", TODAY),
        ("Tomorrow", date(2026, 3, 2)),
        ("yesterday", date(2026, 2, 28)),
        ("2026-11-21", date(2026, 11, 21)),
        ("Ascot", None),
        ("GB", None),
        ("2026", None),
    ],
)
def test_day_is_what_the_word_means(word, day):
    assert parse_day(word, TODAY) == day


@pytest.mark.parametrize(
    ("word", "coming", "last"),
    [
        ("Sunday", date(2026, 3, 1), date(2026, 3, 1)),
        ("monday", date(2026, 3, 2), date(2026, 2, 23)),
        ("SATURDAY", date(2026, 3, 7), date(2026, 2, 28)),
        ("last sunday", date(2026, 2, 22), date(2026, 2, 22)),
        ("next sunday", date(2026, 3, 8), date(2026, 3, 8)),
        ("last friday", date(2026, 2, 27), date(2026, 2, 27)),
        ("next friday", date(2026, 3, 6), date(2026, 3, 6)),
        ("last", None, None),
        ("next race", None, None),
        ("last last friday", None, None),
    ],
)
def test_weekday_is_the_coming_or_the_last_one(word, coming, last):
    assert parse_day(word, TODAY) == coming
    assert parse_day(word, TODAY, looks_back=True) == last


@pytest.mark.parametrize(
    ("word", "coming", "last"),
    [
        ("sat", date(2026, 3, 7), date(2026, 2, 28)),
        ("Tues", date(2026, 3, 3), date(2026, 2, 24)),
        ("this saturday", date(2026, 3, 7), date(2026, 2, 28)),
        ("this sun", TODAY, TODAY),
        ("next fri", date(2026, 3, 6), date(2026, 3, 6)),
        ("28 Feb", date(2026, 2, 28), date(2026, 2, 28)),
        ("1st march", TODAY, TODAY),
        ("march 7th", date(2026, 3, 7), date(2025, 3, 7)),
        ("25 dec 2024", date(2024, 12, 25), date(2024, 12, 25)),
        ("29 feb", date(2028, 2, 29), date(2024, 2, 29)),
        ("21 mar chester", None, None),
        ("7 furlongs", None, None),
    ],
)
def test_day_may_be_short_or_written_out(word, coming, last):
    assert parse_day(word, TODAY) == coming
    assert parse_day(word, TODAY, looks_back=True) == last


@pytest.mark.parametrize(
    ("word", "day"),
    [
        ("22/11/2026", date(2026, 11, 22)),
        ("5/11/2026", date(2026, 11, 5)),
        ("22.11.26", date(2026, 11, 22)),
        ("22-11-2026", date(2026, 11, 22)),
        ("5/4", date(2026, 4, 5)),
        ("22 of november", date(2025, 11, 22)),
        ("22nd of Nov 2025", date(2025, 11, 22)),
        ("31-12-99", date(2099, 12, 31)),
    ],
)
def test_day_in_figures_comes_before_the_month(word, day):
    assert parse_day(word, TODAY) == day
    assert is_day(word, TODAY)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("11/22/2026", [date(2026, 11, 22)]),
        ("4/22", [date(2026, 4, 22)]),
        ("10-11-12", [date(2012, 11, 10), date(2010, 11, 12)]),
        ("26-13-11", []),
        ("31/11/2026", []),
        ("29/2/2026", []),
    ],
)
def test_day_in_figures_that_is_none_or_two_is_refused_with_what_it_may_be(word, meant):
    with pytest.raises(DayUnclearError) as caught:
        parse_day(word, TODAY)
    assert list(caught.value.meant) == meant
    assert is_day(word, TODAY)


def test_zone_is_utc_where_there_is_no_such_zone():
    assert zone_of("Europe/London").utcoffset(datetime(2026, 7, 1, tzinfo=UTC)) == timedelta(hours=1)
    assert zone_of(None) is zone_of("Nowhere/At all") is zone_of("../etc/passwd") is UTC


@pytest.mark.parametrize("word", ["31 Feb", "feb 31", "0 march", "29 feb 2026", "31 sept"])
def test_day_that_no_month_has_is_refused(word):
    with pytest.raises(ValueError, match=r"."):
        parse_day(word, TODAY)
    assert is_day_phrase(word)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tomorow", "tomorrow"),
        ("Tommorow", "tomorrow"),
        ("todya", "today"),
        ("yesturday", "yesterday"),
        ("saterday", "saturday"),
        ("this satuday", "this saturday"),
        ("Sandown", None),
        ("Sundarland", None),
        ("GB", None),
        ("this one", None),
    ],
)
def test_mistyped_day_is_known_by_its_likeness(word, meant):
    assert likely_day(word) == meant


@pytest.mark.parametrize(
    "word", ["2026-02-30", "2026-13-01", "31/11/2026", "11/21/2026", "20261121", "2026-1-2", "0000-01-01", "10-11-12"]
)
def test_day_that_is_none_is_refused(word):
    with pytest.raises(ValueError, match=r"."):
        parse_day(word, TODAY)


@given(word=st.text(max_size=12))
def test_day_of_any_text_is_a_day_or_none_or_refused(word):
    try:
        assert parse_day(word, TODAY) is None or isinstance(parse_day(word, TODAY), date)
    except ValueError:
        assert any(character.isdigit() for character in word)


def test_day_before_is_the_day_before():
    assert day_before(TODAY) == "2026-02-28"


@pytest.mark.parametrize(
    ("window", "day", "outside"),
    [
        ("2023 → upcoming", "2022-12-31", True),
        ("2023 → upcoming", "2023-01-01", False),
        ("2023 -> 2024", "2024-12-31", False),
        ("2023 -> 2024", "2025-01-01", True),
        ("2023-06-01→2024-02-03", "2023-05-31", True),
        ("2023-06-01→2024-02-03", "2024-02-04", True),
        ("2023-06-01→2024-02-03", "2024-02-03", False),
        ("whatever", "2026-01-01", False),
        (None, "2026-01-01", False),
        (None, "2016-12-31", True),
    ],
)
def test_window_excludes_days_before_and_after_it(window, day, outside):
    assert is_outside(window, date.fromisoformat(day)) is outside


@pytest.mark.parametrize(
    ("before", "now", "wider"),
    [
        (None, "2023 → upcoming", False),
        ("2023 → upcoming", None, False),
        ("2023 → upcoming", "2023 → upcoming", False),
        ("2023 → upcoming", "2024 → upcoming", False),
        ("2023 → upcoming", "2017 → upcoming", True),
        ("2023 → 2024", "2023 → upcoming", True),
        ("unread", "2017 → upcoming", True),
    ],
)
def test_window_is_wider_where_it_may_show_more(before, now, wider):
    assert widens(before, now) is wider
