"""The forecast of a month: what holds for all figures, and how often its range held on three months."""

import random
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.month_quota import DAYS_KEPT, LEAST_DAYS, MONTHS_OF_TEN_IN_RANGE, Forecast, forecast, month_end
from tests.rows import over

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


@over("uses", [[], [100] * 6, [100] * 6 + [None] * 60, [None] * 3])
def test_forecast_is_quiet_before_enough_days_are_known(uses):
    assert forecast(600, 15_000, NOON, days_before(NOON, uses)) is None


def test_forecast_takes_neither_today_nor_days_of_long_ago_for_whole_days():
    days = days_before(NOON, [100] * 6)
    assert forecast(600, 15_000, NOON, days | {NOON.date(): 100}) is None
    assert forecast(600, 15_000, NOON, days | {NOON.date() - timedelta(DAYS_KEPT + 1): 100}) is None
    assert forecast(600, 15_000, NOON, days | {NOON.date() - timedelta(DAYS_KEPT): 100}) is not None


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
    "one burst": [0.6, 0.6, 0.8, 0.8, 1.0, 1.8, 1.4],
}
BURST_ON = date(2026, 3, 17)


def recorded(shape, seed=11):
    """Requests of each day of February and March 2026: some 400 a day, each a fifth off at random."""
    chance = random.Random(seed)
    days = {}
    for day in (FEBRUARY + timedelta(days=number) for number in range(28 + 31)):
        days[day] = round(max(0.0, 400 * SHAPES[shape][day.weekday()] * chance.gauss(1, 0.2)))
    return days | ({BURST_ON: days[BURST_ON] + 4_000} if shape == "one burst" else {})


def forecasts_of_march(days, first_known):
    """At each noon of March, by the days from `first_known` on: the forecast where there is one."""
    for number in range(31):
        today = MARCH + timedelta(days=number)
        now = datetime(2026, 3, today.day, 12, tzinfo=UTC)
        used = sum(use for day, use in days.items() if MARCH <= day < today) + days[today] // 2
        known = {day: use for day, use in days.items() if first_known <= day < today}
        if (expected := forecast(used, None, now, known)) is not None:
            yield today, expected


@over(
    ("shape", "first_known", "forecasts", "held"),
    [
        ("even", FEBRUARY, 31, 31),
        ("weekly", FEBRUARY, 31, 31),
        ("one burst", FEBRUARY, 31, 14),
        ("even", MARCH, 24, 22),
        ("weekly", MARCH, 24, 24),
        ("one burst", MARCH, 24, 14),
    ],
)
def test_range_held_on_recorded_months(shape, first_known, forecasts, held):
    days = recorded(shape)
    came = sum(use for day, use in days.items() if day >= MARCH)
    made = dict(forecasts_of_march(days, first_known))
    within = [day for day, one in made.items() if one.low <= came <= one.high]
    assert (len(made), len(within)) == (forecasts, held)
    if shape == "one burst":
        # Nobody foresees a burst. Once its day is over, every range holds.
        assert within == [day for day in made if day > BURST_ON]


@over("shape", ["even", "weekly"])
def test_range_holds_as_often_as_it_says(shape):
    """Of forecasts at ten moments of twenty months each, at least eight of ten hold, with ranges of a bounded width."""
    held, widths = [], []
    for seed in range(20):
        days = recorded(shape, seed)
        came = sum(use for day, use in days.items() if day >= MARCH)
        for _, one in list(forecasts_of_march(days, FEBRUARY))[::3]:
            held.append(one.low <= came <= one.high)
            widths.append((one.high - one.low) / came)
    assert sum(held) >= len(held) * MONTHS_OF_TEN_IN_RANGE / 10
    assert sum(widths) / len(widths) < 0.2
