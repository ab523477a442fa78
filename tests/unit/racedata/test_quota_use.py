"""The month's use: by the service's figures, by day, and the requests that may be spent."""

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.db.tables import QuotaSample
from bot.racedata import quota_book
from bot.racedata.month_quota import (
    TIERS,
    Purpose,
    QuotaReading,
    QuotaSource,
    UsageRow,
    commands_left,
    month_before,
    month_key,
    read_usage,
    staleness_s,
)
from bot.racedata.quota_book import QuotaBook, days_of
from tests.rows import over
from tests.unit.pages import settings


def test_month_is_that_of_utc():
    assert month_key(datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=10)))) == "2026-11"
    assert (month_before("2027-01"), month_before("2026-12")) == ("2026-12", "2026-11")


def reading(used=90, **fields):
    taken_at = datetime(2026, 11, 20, tzinfo=UTC)
    given = {"certain": True, "source": QuotaSource.ROWS} | fields
    return QuotaReading(taken_at=taken_at, month="2026-11", used=used, **given)


def test_staleness_grows_as_the_quota_shrinks_and_commands_may_spend_their_share_and_no_more():
    assert [staleness_s(left) for left in (None, 0, 15_000, 15_001, 99_999, 100_000)] == [900, 900, 900, 300, 300, 60]

    def left(limit, used, *, spent=0, at_reading=0, share=25):
        return commands_left(reading(used, limit=limit, spent_by_commands=at_reading), spent=spent, share=share)

    assert left(None, 5) is None
    assert left(1_000, 600) == 100
    assert left(1_000, 600, spent=101) == 0
    assert left(1_000, 700, spent=100, at_reading=100) == 0
    assert left(1_000, 700, spent=100, at_reading=300) == 50
    # The last of the month is nobody's.
    assert [left(1_000, used, share=100) for used in (989, 990, 1_001)] == [11, 0, 0]


def test_less_that_is_left_is_spent_on_less():
    tiers = [reading(15_000 - left, limit=15_000).tier for left in (15_000, 751, 750, 151, 150, 0)]
    assert [len(tier.purposes) for tier in tiers] == [2, 2, 1, 1, 0, 0]
    assert tiers[2].purposes == {Purpose.PEOPLE}
    assert reading(15_000).tier == TIERS[0]
    for wider, narrower in pairwise(TIERS):
        assert wider.above_percent > narrower.above_percent
        assert wider.purposes > narrower.purposes
        assert narrower.words


DAYS = [("2026-10-31", 5), ("2026-11-01", 7), ("2026-11-20", 12)]


def requests_of(data, month):
    return read_usage(data).in_month(month).requests


@over(
    "data",
    [
        [{"date": day, "requests": count} for day, count in DAYS],
        {"rows": [{"day": day, "requests": count} for day, count in DAYS], "total": 24},
        {"by_day": [{"period": day, "requests": count} for day, count in DAYS], "limit": 15_000},
        [{"date": day, "requests": str(count)} for day, count in DAYS],
        [{"date": day, "requests": float(count)} for day, count in DAYS],
    ],
)
def test_usage_of_days_is_summed_over_a_month(data):
    assert requests_of(data, "2026-11") == 19
    assert requests_of(data, "2026-12") == 0


def test_usage_of_endpoints_belongs_to_no_month_and_that_of_a_named_month_to_the_month():
    usage = read_usage([{"endpoint": "/races/search", "requests": 4, "errors": 1, "refusals": {"rate_limited": 2}}])
    assert usage.in_month("2026-11") == UsageRow()
    assert [(row.label, row.requests, row.errors, row.refusals) for row in usage.rows] == [("/races/search", 4, 1, 2)]
    assert requests_of([{"month": "2026-11", "requests": 40}], "2026-11") == 40
    named = read_usage({"period": "2026-11", "used": 123, "limit": 15000, "by_day": []})
    assert named.in_month("2026-11") == UsageRow(label="2026-11", requests=123)
    last_days = [{"date": "2026-11-29", "requests": 8}, {"date": "2026-11-30", "requests": 9}]
    assert requests_of({"month": "2026-11", "total": 14_500, "days": last_days}, "2026-11") == 14_500
    assert requests_of({"month": "2026-11", "total": 16, "days": last_days}, "2026-11") == 17
    assert requests_of({"month": "2026-12", "total": 14_500, "days": last_days}, "2026-11") == 17


@over(
    ("refusals", "total", "kinds"),
    [
        ({"rate_limited": 2, "quota_exceeded": 3}, 5, (("quota_exceeded", 3), ("rate_limited", 2))),
        ({"rate\x00_limited": 1, "\x00": 1, "of_which": "some"}, 1, (("rate_limited", 1),)),
        ({"rate_limited\ud800": 1}, 1, (("rate_limited\ufffd", 1),)),
        ({}, 0, ()),
        *((refusals, 7, ()) for refusals in (7, "7", 7.0)),
        *((refusals, None, ()) for refusals in ("-7", "7e9", 7.5, 1e30, -7, True, ["rate_limited"], None)),
    ],
)
def test_refusals_are_read_by_kind_where_kinds_came(refusals, total, kinds):
    (row,) = read_usage([{"date": "2026-11-01", "requests": 1, "refusals": refusals}]).rows
    assert row.refusals == total
    assert row.refusal_kinds == kinds


def test_figures_of_a_month_are_summed_where_every_day_has_them():
    rows = [{"date": f"2026-11-0{day}", "requests": 1, "refusals": {"rate_limited": day}} for day in (1, 2)]
    row = read_usage(rows).in_month("2026-11")
    assert (row.refusals, row.refusal_kinds) == (3, (("rate_limited", 3),))
    usage = read_usage([{"date": "2026-11-01", "requests": 7}, {"date": "2026-11-02", "errors": 1}])
    assert usage.in_month("2026-11") == UsageRow()


@over(
    "data",
    [
        *("nothing of use", None, {"usage": {"by_day": []}}, {"2026-11-20": 12}, [{"date": "2026-11-20", "hits": 12}]),
        {"by_day": [{"date": "2026-11-20", "requests": 12}], "by_endpoint": [{"endpoint": "/x", "requests": 12}]},
    ],
)
def test_usage_of_another_shape_has_no_figure_and_usage_is_empty_where_neither_days_nor_a_total_came(data):
    usage = read_usage(data)
    assert (usage.rows, usage.is_empty, usage.in_month("2026-11").requests) == ((), False, None)
    some: list[Any] = [[], {"days": []}, {"used": 42}, {"used": 42, "period": "2026-11", "days": []}]
    assert [read_usage(one).is_empty for one in some] == [True, True, False, False]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["date", "requests", "2026-11-01", "/x", "errors", "total", "rows"]), inner)
    ),
    max_leaves=12,
)


@given(data=json_values)
def test_usage_of_any_shape_is_read_without_an_error(data):
    usage = read_usage(data)
    assert usage.whole.requests is None or usage.whole.requests >= 0
    assert all(row.label for row in usage.rows)


def sample(at, used, *, certain=True, source=QuotaSource.TOTAL, **figures):
    return QuotaSample(taken_at=at, month=month_key(at), used=used, certain=certain, source=source, **figures)


def at(day, hour=0, minute=0, month=11):
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def used(samples):
    return days_of(samples, "used")


OWN = {"certain": False, "source": QuotaSource.OWN_COUNT}
TURN_OF_THE_YEAR = datetime(2026, 12, 31, 23, 50, tzinfo=UTC)
A_DAY = timedelta(days=1)


NEW_YEAR = [sample(TURN_OF_THE_YEAR + number * A_DAY, used) for number, used in ((-1, 900), (0, 960), (1, 30))]
NEW_MONTH = [sample(at(29, 23, 59), 900), sample(at(30, 23, 45), 960), sample(at(1, 0, 5, month=12), 4)]
GROWTH: dict[str, tuple[list[QuotaSample], dict[int, int], int]] = {
    "days": ([sample(at(1, 23, 59), 100), sample(at(2, 23, 59), 150), sample(at(3, 12), 170)], {1: 100, 2: 50}, 20),
    "over midnight": ([sample(at(1, 18), 60), sample(at(2, 18), 100), sample(at(3, 12), 110)], {2: 40}, 10),
    "a day and a half": ([sample(at(1, 12), 60), sample(at(2, 23), 130), sample(at(3, 12), 130)], {2: 48}, 0),
    "new month": (NEW_MONTH, {30: 60}, 4),
    "new year": (NEW_YEAR, {31: 60}, 30),
    "days unknown": ([sample(at(1, 23, 59), 100), sample(at(5, 12), 500)], {1: 100}, 0),
    "first reading": ([sample(at(16, 12), 8_000)], {}, 0),
    "other things counted": ([sample(at(1, 23, 59), 30, **OWN), sample(at(2, 23, 59), 9_000)], {}, 0),
}


@over(("samples", "whole", "today"), GROWTH.values(), ids=GROWTH)
def test_growth_between_samples_is_the_days(samples, whole, today):
    for days in (used(samples), used(samples[::-1])):
        assert {day.day: count for day, count in days.whole.items() if day.day in whole} == whole
        assert bool(whole) or days.whole == {}
        assert days.today == today


def test_figure_that_did_not_come_leaves_its_days_out():
    samples = [sample(at(1, 23, 59), 10, errors=1), sample(at(2, 23, 59), 20), sample(at(3, 23, 59), 30, errors=9)]
    assert days_of(samples, "errors").whole == {date(2026, 11, 1): 1}


def with_errors(errors_by_day):
    total, samples = 0, []
    for number, errors in enumerate(errors_by_day, start=1):
        total += errors
        samples.append(sample(at(number, 23, 59), number * 100, errors=total))
    return days_of(samples, "errors")


WEEK = [10, 12, 9, 11, 10, 8, 10]


@over(
    ("errors", "is_jump"),
    [
        ([*WEEK, 60], True),
        *(([*WEEK, today], False) for today in (0, 10, 20)),
        # A few errors are no jump, however rare errors were. A busy day is no jump for a key with busy days.
        *(([0] * 9 + [20], False), ([10, 200, 10, 220, 15, 190, 12, 230], False)),
        # A week is needed to compare with.
        *(([1] * 6 + [10_000], False), ([1] * 7 + [10_000], True)),
    ],
)
def test_jump_is_far_above_the_usual(errors, is_jump):
    jump = with_errors(errors).jump
    assert (jump is not None) is is_jump
    if errors == [*WEEK, 60]:
        assert (jump.today, jump.usual, jump.highest < 60) == (60, 10, True)


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(2026, 1, 1), datetime(2027, 2, 1), timezones=st.just(UTC)),  # noqa: DTZ001
            st.integers(0, 10**9),
            st.booleans(),
            st.none() | st.integers(0, 10**9),
        ),
        max_size=40,
    )
)
def test_days_of_any_samples_are_never_negative_nor_more_than_was_used(rows):
    samples = [sample(at, used, certain=certain, errors=errors) for at, used, certain, errors in rows]
    for figure in ("used", "errors"):
        days = days_of(samples, figure)
        assert all(count >= 0 for count in (*days.whole.values(), days.today))
        # Each growth is at most its later figure.
        grown = sum(days.whole.values()) + days.today
        assert grown <= sum(getattr(one, figure) or 0 for one in samples) + len(days.whole) + 1
        assert list(days.whole) == sorted(days.whole)


async def test_one_sample_a_day_is_kept(client, clock, database):
    book = QuotaBook(database, client, settings(), clock)
    client.answers["usage by day"] = {"period": "2026-11", "used": 0}
    for hours in range(0, 48, 6):
        client.answers["usage by day"]["used"] = hours * 10
        await book.read()
        clock.pass_(hours=6)
    kept = await database.read(quota_book.samples)
    by_day = [(sample.taken_at.day, sample.used) for sample in kept]
    assert by_day == [(20, 60), (21, 120), (21, 300), (22, 360), (22, 420)]
