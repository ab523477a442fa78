from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.month_quota import (
    commands_left,
    month_before,
    month_end,
    month_key,
    month_start,
    staleness_s,
    thresholds_reached,
)

moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def test_month_is_that_of_utc():
    assert month_key(datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=10)))) == "2026-11"
    assert (month_before("2027-01"), month_before("2026-12")) == ("2026-12", "2026-11")


def test_thresholds_are_reached_exactly():
    assert thresholds_reached(7_499, 15_000, (50, 80)) == ()
    assert thresholds_reached(7_500, 15_000, (80, 50)) == (50,)
    assert thresholds_reached(99_999, 15_000, (50, 100, 80)) == (50, 80, 100)


@given(now=moments)
def test_moment_lies_within_its_month(now):
    assert month_start(now) <= now < month_end(now)


def test_staleness_grows_as_the_quota_shrinks():
    assert [staleness_s(left) for left in (None, 0, 15_000, 15_001, 99_999, 100_000)] == [900, 900, 900, 300, 300, 60]


def test_commands_may_spend_their_share_and_no_more():
    assert commands_left(None, 5, spent=0, spent_at_reading=0, share=25) is None
    assert commands_left(1_000, 600, spent=0, spent_at_reading=0, share=25) == 100
    assert commands_left(1_000, 700, spent=100, spent_at_reading=100, share=25) == 0
    assert commands_left(1_000, 2_000, spent=0, spent_at_reading=0, share=25) == 0
