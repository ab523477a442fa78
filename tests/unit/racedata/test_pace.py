"""The pace against a simulated service with real windows, rivals and replicas; and the forecast of a month."""

import heapq
import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bot.racedata.client.circuit_breakers import Minute
from bot.racedata.client.headers import RateReading, read_rate
from bot.racedata.month_quota import DAYS_KEPT, LEAST_DAYS, MONTHS_OF_TEN_IN_RANGE, Forecast, forecast, month_end
from tests.rows import over

START = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


@dataclass
class Minutes:
    """Counts requests in fixed minutes of its own clock, as the interface describes."""

    limit: int
    skew_s: float = 0.0
    used: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def ask(self, now_s, *, rival=False):
        """The headers of the answer, and the wait that a refusal asks for."""
        clock = START.timestamp() + now_s + self.skew_s
        window = int(clock // 60)
        self.used[window] += 1
        refused = self.used[window] > self.limit
        self.refused[window] += refused and not rival
        reset = (window + 1) * 60
        headers = {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(max(0, self.limit - self.used[window])),
            "x-ratelimit-reset": str(reset),
            "date": format_datetime(at(math.floor(now_s + self.skew_s)), usegmt=True),
        }
        return read_rate(headers), (reset - clock if refused else None)


def run(service, latencies, *, replicas=1, until=400.0, rivals=(), background=False):
    """Four workers of each replica ask as fast as the shared pace allows; gives when each request was sent."""
    pace, in_flight, waiting, sent = Minute(), Counter[int](), Counter[int](), []
    order, latency = itertools.count(), itertools.cycle(latencies)
    events: list[Any] = [(0.0, next(order), "free", replica, None) for replica in range(replicas) for _ in range(4)]
    events += [(moment, next(order), "rival", None, None) for moment in rivals]
    heapq.heapify(events)

    def happens(now_s, kind, replica, payload=None):
        heapq.heappush(events, (now_s, next(order), kind, replica, payload))

    while events and events[0][0] < until:
        now_s, _, kind, replica, payload = heapq.heappop(events)
        if kind == "rival":
            service.ask(now_s, rival=True)
        elif kind == "arrives":
            happens(now_s + payload, "answered", replica, service.ask(now_s))
        elif kind == "answered":
            reading, hold_s = payload
            in_flight[replica] -= 1
            now = at(now_s)
            pace = pace.answered(now, reading, in_flight[replica]) if hold_s is None else pace.held(now, hold_s)
            for _ in range(waiting.pop(replica, 0) + 1):
                happens(now_s, "free", replica)
        elif (wait_s := pace.wait_s(at(now_s), background=background, in_flight=in_flight[replica])) is None:
            waiting[replica] += 1
        elif wait_s > 0:
            happens(now_s + wait_s + 1e-6, "free", replica)
        else:
            pace = pace.taken()
            in_flight[replica] += 1
            sent.append(now_s)
            there = next(latency)
            happens(now_s + there, "arrives", replica, there)
    return sent


seconds = st.floats(0.01, 3.0)
skews = st.floats(-5000, 5000)


@given(limit=st.integers(1, 40), skew_s=skews, latencies=st.lists(seconds, min_size=1, max_size=9))
@example(limit=1, skew_s=0.0, latencies=[2.0])
def test_bot_alone_on_the_key_is_never_refused(limit, skew_s, latencies):
    service = Minutes(limit, skew_s)
    sent = run(service, latencies)
    assert not +service.refused
    assert len(sent) >= min(limit, 10)


@given(
    limit=st.integers(20, 40),
    skew_s=skews,
    latencies=st.lists(st.floats(0.01, 0.5), min_size=1, max_size=9),
    rivals=st.lists(st.floats(0, 400), max_size=600),
)
def test_rival_on_the_key_costs_at_most_one_refusal_a_minute(limit, skew_s, latencies, rivals):
    service = Minutes(limit, skew_s)
    run(service, latencies, rivals=rivals)
    assert max(service.refused.values(), default=0) <= 1, service.refused


LATENCIES = [0.1, 0.25, 0.4, 0.15, 0.9]
STEADY = [number * 1.5 for number in range(400)]
BURSTY = [minute * 60 + 20 + number * 0.05 for minute in range(10) for number in range(40)]
GREEDY = [minute * 60 + number / 1000 for minute in range(10) for number in range(60)]


# In ten minutes of a limit of 60: requests sent at least, and refused at most.
@over(
    ("replicas", "rivals", "least_sent", "refused"),
    [
        *((1, [], 575, 0), (1, STEADY, 440, 0), (1, BURSTY, 570, 5), (1, GREEDY, 10, 10)),
        *((2, [], 590, 0), (2, STEADY, 490, 0), (2, BURSTY, 590, 0), (5, [], 540, 0)),
    ],
    ids=["alone", "steady", "bursty", "greedy", "two alone", "two steady", "two bursty", "five"],
)
def test_minute_is_used_and_leaves_rivals_room(replicas, rivals, least_sent, refused):
    service = Minutes(60)
    sent = run(service, LATENCIES, replicas=replicas, until=600, rivals=rivals)
    assert service.refused.total() <= refused
    assert len(sent) >= least_sent
    # A part of the minute is kept free of background work.
    assert len(run(Minutes(60), [0.05], until=50, background=True)) == 45


def told(left, limit=60):
    """A pace that was told how many are left of a minute that has just begun."""
    return Minute().answered(START, RateReading(limit, left, 120, 60.0), 0)


# Left of 60, in flight, background, seconds since the answer: the wait.
WAITS = {
    "unknown": (None, 0, False, 0, 0),
    "unknown, one under way": (None, 1, False, 0, None),
    "more than the commands' share": (16, 1, True, 0, 0),
    "the commands' share": (15, 0, True, 0, 60),
    "low": (15, 0, False, 0, 0),
    "low, one under way": (15, 1, False, 0, None),
    "left to others": (6, 0, False, 20, 40),
    "just not": (7, 0, False, 20, 0),
    "minute not quite over": (0, 0, False, 59, 1),
    "minute over": (0, 0, False, 60, 0),
    "minute over, one under way": (50, 1, False, 60, None),
    "clock set back": (0, 0, False, -1, 0),
}


@over("name", WAITS)
def test_wait_is_that_of_the_table(name):
    left, in_flight, background, after_s, wait_s = WAITS[name]
    pace = Minute() if left is None else told(left)
    assert pace.wait_s(at(after_s), background=background, in_flight=in_flight) == wait_s


@over("holds_s", [(40, 2), (2, 40)], ids=["longer first", "longer last"])
def test_longer_of_two_holds_counts_and_the_next_request_goes_alone(holds_s):
    pace = told(30)
    for hold_s in holds_s:
        pace = pace.held(START, hold_s)
    waits = [pace.wait_s(at(after_s), background=False, in_flight=0) for after_s in (0, 39, 40)]
    assert waits == [40, 1, 0]
    assert pace.wait_s(at(40), background=False, in_flight=1) is None


# Of two answers: how many are left, in which window, and when the window ends. The second comes after so many seconds.
TOLD_TWICE = {
    "earlier end first": ((0, 120, 52.0), 0, (0, 120, 57.0), 52),
    "earlier end last": ((0, 120, 57.0), 0, (0, 120, 52.0), 52),
    "fewer first": ((0, 120, 52.0), 0, (30, 120, 52.0), 52),
    "no window first": ((0, None, 52.0), 0, (30, 120, 57.0), 52),
    "no window last": ((0, 120, 52.0), 0, (30, None, 57.0), 52),
    "the window before last": ((0, 120, 52.0), 1, (59, 60, 1.0), 51),
    "the next window early": ((0, 120, 52.0), 50, (30, 180, 60.0), 0),
    "after the end, without a window": ((30, 120, 52.0), 53, (0, None, None), 60),
}


@over("name", TOLD_TWICE)
def test_wait_goes_by_what_two_answers_tell(name):
    first, after_s, last, wait_s = TOLD_TWICE[name]
    pace = Minute()
    for moment, reading in ((0, first), (after_s, last)):
        pace = pace.taken().answered(at(moment), RateReading(60, *reading), 0)
    assert pace.wait_s(at(after_s), background=False, in_flight=0) == wait_s


# Left of 60 at the first answer of a minute, and our other requests in flight: whether others spend too.
@over(("left", "in_flight", "others"), [(59, 0, False), (58, 0, True), (59, 2, False), (57, 2, False), (56, 2, True)])
def test_other_users_of_a_key_are_seen_by_their_requests_and_an_untold_limit_is_the_lowest(left, in_flight, others):
    assert Minute().answered(START, RateReading(60, left, 120, 60.0), in_flight).others is others
    assert Minute().answered(START, RateReading(None, None, 120, 60.0), 0).left == 59


readings = st.builds(
    RateReading,
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(0, 10**12),
    st.none() | st.integers(61, 10**12),
    st.none() | st.floats(1, 60),
)


@given(
    steps=st.lists(st.tuples(st.floats(0, 90), readings, st.none() | st.floats(1, 300)), max_size=40),
    background=st.booleans(),
)
def test_wait_ends_whatever_was_told(steps, background):
    pace, now_s = Minute(), 0.0
    for passed_s, reading, hold_s in steps:
        now_s += passed_s
        pace = pace.taken().answered(at(now_s), reading, 0) if hold_s is None else pace.held(at(now_s), hold_s)
    for _ in range(3):
        now_s += (pace.wait_s(at(now_s), background=background, in_flight=0) or 0) + 1e-3
    assert pace.wait_s(at(now_s), background=background, in_flight=0) == 0


# The forecast of a month: what holds for all figures, and how often its range held on three months


NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
uses = st.lists(st.none() | st.integers(0, 10**9), max_size=70)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def days_before(now, uses):
    """Whole days up to yesterday; of a day without a figure nothing is known."""
    last = now.date() - timedelta(days=1)
    return {last - timedelta(days=ago): use for ago, use in enumerate(reversed(uses)) if use is not None}


def made(*given) -> Forecast:
    expected = forecast(*given)
    assert expected is not None
    return expected


# Used by the 16th, the allowance, and the days of November on which the allowance runs out, and may run out. 50 are
# left of the 16th, then 100 a day.
RUNS_OUT = [(1_550, 15_000, None, None), (1_550, 1_920, 20, 19), (1_550, 3_050, None, 30), (1_920, 1_920, None, None)]


@over(("used", "limit", "expected_day", "earliest_day"), RUNS_OUT)
def test_even_days_go_on_evenly_until_the_allowance_runs_out(used, limit, expected_day, earliest_day):
    expected = made(used, limit, NOON, days_before(NOON, [100] * 15))
    assert expected.month_total == used + 1_450
    assert expected.low < expected.month_total < expected.high
    days = [on and on.day for on in (expected.runs_out_on, expected.may_run_out_on)]
    assert days == [expected_day, earliest_day]


def test_quiet_and_busy_weekdays_count_alike():
    weekly = [100, 100, 100, 100, 100, 800, 800]
    known = [weekly[(NOON.date() - timedelta(days=ago)).weekday()] for ago in range(60, 0, -1)]
    totals = {made(0, None, NOON, days_before(NOON, known[-days:])).month_total for days in range(LEAST_DAYS, 60)}
    assert totals == {round(14.5 * sum(weekly) / 7)}


def test_forecast_is_quiet_before_enough_days_are_known_and_takes_neither_today_nor_days_of_long_ago():
    for uses in ([], [100] * 6, [100] * 6 + [None] * 60, [None] * 3):
        assert forecast(600, 15_000, NOON, days_before(NOON, uses)) is None
    days = days_before(NOON, [100] * 6)
    assert forecast(600, 15_000, NOON, days | {NOON.date(): 100}) is None
    assert forecast(600, 15_000, NOON, days | {NOON.date() - timedelta(29): 100}) is None
    assert forecast(600, 15_000, NOON, days | {NOON.date() - timedelta(28): 100}) is not None


@given(used=st.integers(0, 10**12), limit=st.none() | st.integers(1, 10**15), now=moments, uses=uses)
def test_forecast_holds_together(used, limit, now, uses):
    expected = forecast(used, limit, now, days_before(now, uses))
    if expected is None:
        assert sum(use is not None for use in uses[-DAYS_KEPT:]) < LEAST_DAYS
        return
    assert used <= expected.low <= expected.month_total <= expected.high
    if limit is None or used >= limit:
        assert (expected.runs_out_on, expected.may_run_out_on) == (None, None)
        return
    assert (expected.runs_out_on is not None) == (expected.month_total > limit)
    assert (expected.may_run_out_on is not None) == (expected.high > limit)
    if expected.runs_out_on and expected.may_run_out_on:
        assert expected.may_run_out_on <= expected.runs_out_on
    for day in filter(None, (expected.runs_out_on, expected.may_run_out_on)):
        assert now.date() <= day < month_end(now).date()


@given(used=st.integers(0, 10**9), more=st.integers(0, 10**9), now=moments, uses=uses)
def test_forecast_never_falls_as_use_grows(used, more, now, uses):
    days = days_before(now, uses)
    before, after = forecast(used, 10**9, now, days), forecast(used + more, 10**9, now, days)
    if before is not None and after is not None:
        assert after.month_total >= before.month_total
        assert after.high >= before.high
        if before.may_run_out_on and after.may_run_out_on:
            assert after.may_run_out_on <= before.may_run_out_on


@given(now=moments, uses=st.lists(st.integers(0, 10**6), min_size=7, max_size=56))
def test_forecast_of_a_month_that_ends_is_its_use(now, uses):
    end = month_end(now) - timedelta(microseconds=1)
    expected = made(10**7, None, end, days_before(end, uses))
    assert expected.low == expected.month_total == 10**7


# How often the range held. The months are made, with the noise of a fixed seed: no account's record is at hand.

FEBRUARY, MARCH = date(2026, 2, 1), date(2026, 3, 1)
SHAPES = {
    "even": [1.0] * 7,
    "weekly": [0.6, 0.6, 0.8, 0.8, 1.0, 1.8, 1.4],
}


def recorded(shape, seed):
    """Requests of each day of February and March 2026: some 400 a day, each a fifth off at random."""
    chance = random.Random(seed)
    days = {}
    for day in (FEBRUARY + timedelta(days=number) for number in range(28 + 31)):
        days[day] = round(max(0.0, 400 * SHAPES[shape][day.weekday()] * chance.gauss(1, 0.2)))
    return days


def forecasts_of_march(days, first_known):
    """At each noon of March, by the days from `first_known` on: the forecast where there is one."""
    for number in range(31):
        today = MARCH + timedelta(days=number)
        now = datetime(2026, 3, today.day, 12, tzinfo=UTC)
        used = sum(use for day, use in days.items() if MARCH <= day < today) + days[today] // 2
        known = {day: use for day, use in days.items() if first_known <= day < today}
        if (expected := forecast(used, None, now, known)) is not None:
            yield today, expected


@over(("since", "width"), [(FEBRUARY, 0.2), (MARCH, 0.25)])
@over("shape", SHAPES)
def test_range_of_a_forecast_holds_as_often_as_promised(shape, since, width):
    """Of forecasts at moments of twenty months each, at least eight of ten hold, with ranges of a bounded width."""
    held, widths = [], []
    for seed in range(20):
        days = recorded(shape, seed)
        came = sum(use for day, use in days.items() if day >= MARCH)
        for _, one in list(forecasts_of_march(days, since))[::3]:
            held.append(one.low <= came <= one.high)
            widths.append((one.high - one.low) / came)
    assert sum(held) >= len(held) * MONTHS_OF_TEN_IN_RANGE / 10
    assert sum(widths) / len(widths) < width
