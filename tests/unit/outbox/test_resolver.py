"""Before a call: the search for a message in doubt in the history of a channel, and the bucket that paces a method."""

import asyncio
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.db.tables import MessageKind, OutboxMessage
from bot.errors import SlackDoubtful, SlackScopeMissing, SlackWait
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_outcomes import Found, GivenUp, LookAgain, Repeated
from bot.outbox.message import Call, HistoryPage
from bot.outbox.message_store import Priority
from bot.outbox.pace import TIER_3, Bucket, CallLimit, Pace
from bot.outbox.resolve import Resolver, Unanswered, UnansweredCalls
from bot.settings import DoubtfulPosts
from tests.rows import over
from tests.sim.ports import VirtualLoop

SENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEADLINE = SENT + timedelta(seconds=5)
FAILS = SlackDoubtful("conversations.history", "HTTP 503")
MORE = HistoryPage(None, "next")
ENDS = HistoryPage(None, None)


class History:
    """Gives a page for each call, and notes the calls."""

    def __init__(self, *pages):
        self.pages = list(pages)
        self.asked = []

    async def find(self, _channel_id, search):
        self.asked.append(search)
        if isinstance(page := self.pages.pop(0), Exception):
            raise page
        return page


def claim(number=1, *, after_s=60.0, ahead=None, **counts):
    """Claimed so long after the message's call."""
    post = OutboxMessage(
        id=number,
        channel_id="CGB",
        idempotency_key=f"key {number}",
        kind=MessageKind.EVENT,
        priority=0,
        received_at=SENT,
        sending_at=SENT,
        deadline_at=DEADLINE,
        **{"looks": 0, "failed_looks": 0, "may_be_repeat": False, "plain": False, "thread_of": None} | counts,
    )
    return Claim(
        "CGB", "token", post, None, in_doubt=True, claimed_at=SENT + timedelta(seconds=after_s), slack_ahead=ahead
    )


def test_look_that_our_code_fails_on_does_not_move_the_time_of_the_call():
    unanswered = UnansweredCalls()
    unanswered.begin(replace(claim(), begun_at_s=40.0))
    unanswered.count(replace(claim(), begun_at_s=100.0), left=True)
    assert (unanswered.of(claim()).called_at_s, unanswered.of(claim(2)).called_at_s) == (40, None)


def test_message_that_fan_out_makes_urgent_keeps_what_is_known_of_its_unanswered_call():
    unanswered, passing = UnansweredCalls(), claim(2)
    result = replace(claim(), begun_at_s=40.0)
    for one in (result, passing):
        unanswered.begin(one)
    unanswered.count(result, left=True)
    unanswered.sent(passing)
    result.post.priority = Priority.ABANDONMENT
    assert (unanswered.of(result).times, unanswered.of(result).called_at_s) == (1, 40)


async def look(*claims, pages, choice=DoubtfulPosts.REPEAT, seen=None):
    history: Any = History(*pages)
    resolver = Resolver(history, 10, choice)
    return history, [await resolver(one, seen or Unanswered()) for one in claims]


@over(("ahead_s", "since_s", "until_s"), [(None, -86_400, 86_405), (0, -300, 305), (60, -240, 365), (-60, -360, 245)])
async def test_history_is_read_around_the_call_by_slacks_clock(ahead_s, since_s, until_s):
    ahead = None if ahead_s is None else timedelta(seconds=ahead_s)
    history, _ = await look(claim(ahead=ahead), pages=[ENDS])
    (asked,) = history.asked
    assert (asked.since - SENT).total_seconds() == since_s
    assert (asked.until - SENT).total_seconds() == until_s


@over(
    ("set_s", "after_s", "called_at_s", "parts"),
    [
        (0, 60, None, 1),
        (200, 60, None, 1),
        (3_600, 60, None, 2),
        (-3_600, 60, None, 2),
        (3_600, 60, 40.0, 2),
        # The clock was set ahead once more after the call, and the process died.
        (3_600, 60 + 3_600, None, 2),
        # The clock was set back to the right time between the call and the look.
        (3_600, 60 - 3_600, 40.0, 2),
        (-86_400, 60 + 86_400, 40.0, 2),
    ],
)
async def test_message_is_looked_for_at_the_time_of_the_call_too_if_our_clock_was_set(
    set_s, after_s, called_at_s, parts
):
    """Slack has the message at the call, by Slack's clock. Our clock was set before the call."""
    one = replace(claim(ahead=timedelta(0), after_s=after_s), begun_at_s=100.0)
    called_at = SENT - timedelta(seconds=set_s)
    slack_at = called_at + timedelta(seconds=60)
    more, ends = (HistoryPage(None, cursor, slack_at=slack_at) for cursor in ("next", None))
    seen = Unanswered(called_at_s=called_at_s)
    history, outcomes = await look(*[one] * 2 * parts, pages=[more, ends] * parts, seen=seen)
    assert [type(outcome) for outcome in outcomes] == [LookAgain] * 2 * parts
    assert [outcome.looks for outcome in outcomes] == [*[0] * (2 * parts - 1), 1]
    assert [asked.cursor for asked in history.asked] == [None, "next"] * parts
    assert any(asked.since <= called_at <= asked.until for asked in history.asked)


@over(
    ("after_s", "called_s", "began_s", "again_s"),
    [
        (5, None, 999, 10),
        (14.9, None, 999, 0.1),
        (15, None, 999, None),
        (600, None, 999, None),
        (15 - 60, None, 999, 60),
        (15 - 900, None, 999, 60),
        (15 - 901, None, 999, None),
        # Another process made the call, and this process began since: the clock may have been set.
        (7_200, None, 1, 9),
        (-7_200, None, 1, 9),
        (11, None, 7, 4),
        # The process that made the call knows better than the clock.
        (7_200, 3, 999, 12),
        (-7_200, 3, 999, 12),
        (5, 15, 999, None),
    ],
)
async def test_first_look_comes_ten_seconds_after_the_deadline(after_s, called_s, began_s, again_s):
    """`after_s`: by our clock. `called_s`, `began_s`: since the call, and since the start of the process.

    A longer wait is cut into minutes.
    """
    one = replace(claim(after_s=after_s), begun_at_s=1_000.0)
    history: Any = History(HistoryPage("1.1", None))
    resolver = Resolver(history, 10, DoubtfulPosts.REPEAT, 1_000 - began_s)
    seen = Unanswered(called_at_s=None if called_s is None else 1_000 - called_s)
    assert bool(resolver.wait(one, seen)) is (again_s is not None)
    outcome = await resolver(one, seen)
    if again_s is None:
        assert isinstance(outcome, Found)
    else:
        assert isinstance(outcome, LookAgain)
        assert outcome.after.total_seconds() == pytest.approx(again_s)
        assert (history.asked, outcome.looks, outcome.failed_looks) == ([], 0, 0)


@over(
    ("pages", "claims", "cursors"),
    [
        ([MORE, ENDS], [claim(), claim()], [None, "next"]),
        ([MORE, SlackWait("m", "ratelimited", 7), ENDS], [claim()] * 3, [None, "next", "next"]),
        # The place of a look that another replica has finished.
        ([MORE, ENDS], [claim(), claim(2)], [None, None]),
        ([MORE, ENDS], [claim(), claim(looks=1)], [None, None]),
        ([MORE, FAILS, ENDS], [claim(), claim(), claim()], [None, "next", None]),
    ],
    ids=["goes on", "after a wait", "other message", "other look", "after a failure"],
)
async def test_look_goes_on_with_the_next_page_of_the_same_look(pages, claims, cursors):
    history, _ = await look(*claims, pages=pages)
    assert [asked.cursor for asked in history.asked] == cursors
    # An abandonment that passes does not bring the second look forward.
    history, (outcome,) = await look(claim(after_s=16, looks=1), pages=[])
    assert (outcome.after.total_seconds(), outcome.looks, history.asked) == (4, 0, [])


async def test_look_of_more_than_a_hundred_pages_fails():
    history, outcomes = await look(*[claim()] * 101, pages=[MORE] * 100)
    assert len(history.asked) == 100
    assert [one.failed_looks for one in outcomes] == [*[0] * 100, 1]
    assert {one.after for one in outcomes[:100]} == {timedelta(0)}


REPEAT, HOLD = DoubtfulPosts


@over("failure", [FAILS, TimeoutError(), ValueError("a bug")], ids=["503", "no answer", "bug"])
@over(("failed_looks", "kind"), [(0, LookAgain), (62, LookAgain), (63, GivenUp)])
async def test_message_that_is_held_is_given_up_with_the_64th_failed_look(failed_looks, kind, failure):
    """Of other looks `test_message_whose_call_fails` tells: waits, refusals, and both choices of the operator."""
    _, (outcome,) = await look(claim(failed_looks=failed_looks), pages=[failure], choice=HOLD)
    assert isinstance(outcome, kind)
    if isinstance(outcome, LookAgain):
        assert (outcome.after.total_seconds(), outcome.failed_looks) == (60 if failed_looks else 5, 1)


def test_look_without_an_answer_fails_after_seven_seconds():
    class Silent(History):
        async def find(self, *_what, **_how):
            await asyncio.Event().wait()

    silent: Any = Silent()
    with closing(VirtualLoop()) as loop:
        began = loop.time()
        outcome = loop.run_until_complete(Resolver(silent, 10, REPEAT)(claim(), Unanswered()))
        assert isinstance(outcome, LookAgain)
        assert (outcome.failed_looks, round(loop.time() - began, 1)) == (1, 7)


async def test_message_that_was_marked_stays_marked_when_it_is_repeated():
    marked = claim(looks=1, may_be_repeat=True, plain=True, thread_of=7)
    _, (outcome,) = await look(marked, pages=[ENDS])
    assert isinstance(outcome, Repeated)
    assert (outcome.may_be_repeat, outcome.plain, outcome.thread_of) == (True, True, 7)


@over(
    ("times", "while_others_passed", "page", "kind", "plain"),
    [
        (3, 3, ENDS, Repeated, False),
        (4, 4, ENDS, Repeated, True),
        (8, 7, ENDS, Repeated, True),
        (8, 8, ENDS, GivenUp, None),
        (8, 8, SlackScopeMissing("m", "missing_scope"), GivenUp, None),
    ],
)
async def test_message_that_alone_gets_no_answer_is_sent_plainly_and_then_given_up(
    times, while_others_passed, page, kind, plain
):
    seen = Unanswered(times=times, while_others_passed=while_others_passed)
    _, (outcome,) = await look(claim(looks=1), pages=[page], seen=seen)
    assert isinstance(outcome, kind)
    assert ("may have been posted" in getattr(outcome, "told", "")) is (page is not ENDS)
    assert getattr(outcome, "plain", None) is plain
    assert getattr(outcome, "is_stuck", True) is (times >= 8)


# The bucket: the number of calls let through, whatever the clock does


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
    """By true time. Each step is a wait, and the time by which the clock is set back afterwards."""
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
    later = set_back.at(START + timedelta(minutes=1 / limit.per_minute, seconds=-back_s))
    assert later.calls >= min(limit.burst, held + 0.999)


@given(limits, st.floats(0, 50), st.floats(0, 1e9))
def test_bucket_has_a_call_at_its_free_moment_and_never_more_than_its_burst(limit, calls, forward_s):
    assert full(limit).at(START + timedelta(seconds=forward_s)).calls == limit.burst
    bucket = Bucket(limit, min(calls, limit.burst), START)
    assert bucket.at(bucket.free_at + timedelta(microseconds=1)).calls >= 0.9999
    if bucket.calls >= 1:
        assert bucket.free_at == START


def test_no_minute_or_channel_exceeds_what_slack_allows_and_nothing_is_paced_without_a_figure():
    assert not Pace(channel_s=0, workspace_per_minute=None).limits
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
