import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.month_quota import UsageRow
from bot.racedata.usage_reading import read_usage

DAYS = [("2026-10-31", 5), ("2026-11-01", 7), ("2026-11-20", 12)]


def requests_of(data, month):
    row = read_usage(data).in_month(month)
    return row and row.requests


@pytest.mark.parametrize(
    "data",
    [
        [{"date": day, "requests": count} for day, count in DAYS],
        {"rows": [{"day": day, "calls": count} for day, count in DAYS], "total": 24},
        {"usage": {"by_day": [{"period": f"{day}T00:00:00Z", "count": str(count)} for day, count in DAYS]}},
        dict(DAYS),
        {"days": {day: {"requests": count} for day, count in DAYS}},
    ],
)
def test_usage_of_days_is_summed_over_a_month(data):
    assert requests_of(data, "2026-11") == 19
    assert requests_of(data, "2026-12") == 0


def test_usage_of_months_is_read():
    assert requests_of([{"month": "2026-11", "requests": 40}], "2026-11") == 40


def test_usage_of_endpoints_belongs_to_no_month():
    usage = read_usage([{"endpoint": "/races/search", "requests": 4, "errors": 1, "refusals": {"rate_limited": 2}}])
    assert usage.in_month("2026-11") is None
    assert [(row.label, row.requests, row.errors, row.refusals) for row in usage.rows] == [("/races/search", 4, 1, 2)]


@pytest.mark.parametrize(
    ("refusals", "total", "kinds"),
    [
        ({"rate_limited": 2, "quota_exceeded": 3}, 5, (("quota_exceeded", 3), ("rate_limited", 2))),
        ({"total": 2, "rate_limited": 2}, 2, (("rate_limited", 2),)),
        ([{"code": "rate_limited", "count": 4}, {"code": "outside_window"}], 5, None),
        (["rate_limited", "rate_limited"], 2, (("rate_limited", 2),)),
        (["rate\x00_limited", "\x00"], 1, (("rate_limited", 1),)),
        ({"rate_limited\ud800": 1}, 1, (("rate_limited\ufffd", 1),)),
        ({}, 0, ()),
        (7, 7, ()),
        ("7", 7, ()),
        (None, None, ()),
    ],
)
def test_refusals_are_read_by_kind_where_kinds_came(refusals, total, kinds):
    (row,) = read_usage([{"date": "2026-11-01", "requests": 1, "refusals": refusals}]).rows
    assert row.refusals == total
    assert row.refusal_kinds == ((("rate_limited", 4), ("outside_window", 1)) if kinds is None else kinds)


def test_refusals_of_a_month_are_summed_by_kind():
    rows = [{"date": f"2026-11-0{day}", "requests": 1, "refusals": {"rate_limited": day}} for day in (1, 2)]
    row = read_usage(rows).in_month("2026-11")
    assert row is not None
    assert (row.refusals, row.refusal_kinds) == (3, (("rate_limited", 3),))


def test_usage_of_a_named_period_is_that_months():
    usage = read_usage({"period": "2026-11", "used": 123, "limit": 15000, "by_day": []})
    assert (usage.total, usage.period, usage.in_month("2026-11")) == (123, "2026-11", None)


def test_usage_of_a_day_without_a_figure_is_no_sum():
    usage = read_usage([{"date": "2026-11-01", "requests": 7}, {"date": "2026-11-02", "errors": 1}])
    assert usage.in_month("2026-11") == UsageRow(label="2026-11")


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
    assert usage.total is None or usage.total >= 0
    assert all(row.label for row in usage.rows)
