"""The bucket that paces a method: the number of calls let through, whatever the clock does."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.outbox.messenger import Call
from bot.outbox.pace import TIER_3, Bucket, CallLimit, Pace
from tests.rows import over

START = datetime(2026, 11, 21, 12, tzinfo=UTC)

limits = st.builds(CallLimit, burst=st.integers(1, 50), per_minute=st.floats(0.5, 600))
waits_s = st.lists(st.floats(0, 120), min_size=1, max_size=40)


def full(limit, now=START):
    return Bucket(limit, limit.burst, now)


def drain(bucket, moments):
    """The number of calls for a greedy caller at each moment."""
    taken = []
    for moment in moments:
        bucket = bucket.at(moment)
        taken.append(int(bucket.calls))
        bucket = bucket.without(taken[-1])
    return taken


@given(limits, waits_s)
def test_bucket_gives_no_window_more_than_its_burst_and_rate(limit, waits):
    at_s = list(accumulate(waits))
    taken = drain(full(limit), [START + timedelta(seconds=seconds) for seconds in at_s])
    for first in range(len(at_s)):
        for last in range(first, len(at_s)):
            window_s = at_s[last] - at_s[first]
            assert sum(taken[first : last + 1]) <= limit.burst + limit.per_minute * window_s / 60 + 0.001


@given(limits, st.lists(st.tuples(st.floats(0, 120), st.floats(0, 7200)), min_size=1, max_size=40))
def test_bucket_is_not_overfilled_by_a_clock_that_is_set_back(limit, steps):
    """By true time, of which the clock shows ever less: each step is a wait, and by how much it is set back then."""
    true_s = list(accumulate(wait for wait, _ in steps))
    back_s = list(accumulate(back for _, back in steps))
    moments = [START + timedelta(seconds=true - back) for true, back in zip(true_s, back_s, strict=True)]
    assert sum(drain(full(limit), moments)) <= limit.burst + limit.per_minute * true_s[-1] / 60 + 0.001


@given(limits, st.floats(0, 50), st.floats(0, 1e6))
def test_bucket_is_not_emptied_by_a_clock_that_is_set_back(limit, calls, back_s):
    held = min(calls, limit.burst)
    set_back = Bucket(limit, held, START).at(START - timedelta(seconds=back_s))
    assert set_back.calls == held
    # The bucket fills from now on, and does not wait for the clock's earlier time.
    later = set_back.at(set_back.counted_at + timedelta(minutes=1 / limit.per_minute))
    assert later.calls >= min(limit.burst, held + 0.999)


@given(limits, st.floats(0, 1e9))
def test_bucket_holds_no_more_than_its_burst(limit, forward_s):
    assert full(limit).at(START + timedelta(seconds=forward_s)).calls == limit.burst


@given(limits, st.floats(0, 50))
def test_bucket_holds_a_call_when_it_says_so(limit, calls):
    bucket = Bucket(limit, min(calls, limit.burst), START)
    assert bucket.at(bucket.free_at + timedelta(microseconds=1)).calls >= 0.9999
    if bucket.calls >= 1:
        assert bucket.free_at == START


def test_no_minute_or_channel_exceeds_what_slack_allows():
    for call, limit in Pace().limits.items():
        assert limit.burst + limit.per_minute <= (300 if call is Call.POST else 50)
    assert TIER_3 in Pace().limits.values()
    assert Pace().channel_s == 1


@over(("call", "burst", "per_minute"), [(Call.POST, 20, 280), (Call.EDIT, 10, 40), (Call.LOOK, 10, 40)])
def test_all_calls_of_a_minute_are_given(call, burst, per_minute):
    limit = Pace().limits[call]
    seconds = [START + timedelta(seconds=second) for second in range(601)]
    assert drain(full(limit), seconds[:1]) == [burst]
    assert sum(drain(full(limit), seconds)) == pytest.approx(burst + 10 * per_minute, abs=1)


def test_nothing_is_paced_without_a_figure_for_the_workspace():
    assert not Pace(channel_s=0, workspace_per_minute=None).limits
