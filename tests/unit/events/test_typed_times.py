"""Times of day and lengths of time: what is written out is read as written."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.typed_times import read_clock, read_length


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


@pytest.mark.parametrize("text", ["24:30", "13pm", "0am", "6", "noonish", ""])
def test_other_words_are_no_time(text):
    assert read_clock(text) is None
