from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.slack.commands.pause import read_duration
from bot.slack.messages.pause import paused, resumed


@pytest.mark.parametrize(
    ("typed", "length"),
    [
        ("", None),
        ("30m", timedelta(minutes=30)),
        (" 2h ", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("1h30m", timedelta(minutes=90)),
        ("1H 30min", timedelta(minutes=90)),
        ("2d 3h", timedelta(hours=51)),
    ],
)
def test_pause_reads_lengths_of_time(typed, length):
    assert read_duration(typed) == length


@pytest.mark.parametrize("typed", ["soon", "2", "0m", "-2h", "366d", "99999m", "30m2h", "2h <!here>", "٢h", "1.5h"])
def test_pause_says_what_would_have_been_right(typed):
    with pytest.raises(CommandError, match="1h30m"):
        read_duration(typed)


@given(st.text())
def test_pause_reads_any_text_or_says_that_it_can_not(typed):
    try:
        length = read_duration(typed)
    except CommandError:
        return
    assert length is None or timedelta(0) < length <= timedelta(days=365)


def test_pause_says_until_when_and_what_happens_meanwhile():
    text = paused(datetime(2026, 11, 20, 14, 30, tzinfo=UTC), 72).text
    for said in ("2026-11-20 14:30 UTC", "last 3 hours", "abandonments too", "72 hours", "/racing resume"):
        assert said in text
    assert "until somebody types `/racing resume`" in paused(None, 72).text
    assert "not paused" in resumed(0).text
