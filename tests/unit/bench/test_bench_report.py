"""The arithmetic of the report: what a percentile, a ratio and a verdict are."""

import importlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.__main__ import said
from bench.common import AtLeast, AtMost, Below, Measure, number, paired_ratio, percentile, percentiles, summary, table

SECONDS = st.lists(st.floats(0, 100), min_size=1)


def test_percentile_is_a_value_that_occurred():
    values = [0.004, 0.001, 0.003, 0.002]
    assert [percentile(values, percent) for percent in (0, 25, 50, 75, 99, 100)] == [
        0.001, 0.001, 0.002, 0.003, 0.004, 0.004,
    ]  # fmt: skip


def test_percentile_of_a_hundred_is_the_one_of_that_rank():
    values = [float(rank) for rank in range(1, 101)]
    assert (percentile(values, 50), percentile(values, 95), percentile(values, 99)) == (50, 95, 99)


@given(SECONDS, st.integers(1, 100))
def test_percentile_is_exceeded_by_no_more_than_the_rest(values, percent):
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= len(values) * percent


def test_percentile_of_nothing_is_not_a_number():
    assert math.isnan(percentile([], 99))


def test_ratio_is_the_median_of_the_rounds_own():
    # The second round was slow for both: dividing the medians of each side would say 0.25.
    assert paired_ratio([100, 20, 90], [200, 40, 400]) == 0.5


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([10.0], [0.0])])
def test_ratio_to_nothing_is_not_a_number(ours, theirs):
    assert math.isnan(paired_ratio(ours, theirs))


@pytest.mark.parametrize(
    ("target", "value", "verdict"),
    [
        (AtLeast(8), 8.0, "met"),
        (AtLeast(8), 7.99, "NOT MET"),
        (AtMost(8), 8.0, "met"),
        (AtMost(8), 8.01, "NOT MET"),
        (AtMost(8), math.nan, "NOT MET"),
        (Below(15), 14.99, "met"),
        (Below(15), 15.0, "NOT MET"),
        (Below(15), math.nan, "NOT MET"),
        (AtLeast(8), math.nan, "NOT MET"),
        (None, 1.0, ""),
    ],
)
def test_verdict_follows_the_target(target, value, verdict):
    assert Measure("it", value, "ms", target).verdict == verdict


def test_percentiles_are_told_in_milliseconds():
    lines = percentiles("webhook", [0.001, 0.020], {50: None, 99: Below(15)})
    assert [(line.name, line.value, line.unit, line.verdict) for line in lines] == [
        ("webhook, p50", 1.0, "ms", ""),
        ("webhook, p99", 20.0, "ms", "NOT MET"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12,346"), (123.4, "123"), (12.34, "12.3"), (1.234, "1.23"), (0.02371, "0.0237"), (0, "0")],
)
def test_number_has_as_many_digits_as_say_something(value, text):
    assert number(value) == text


def test_table_has_a_line_for_each_measure_in_order():
    lines = table([Measure("ingest", 4000, "/s"), Measure("ratio", 0.2, "ratio", AtLeast(0.25))]).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["ingest", "4,000", "/s"],
        ["ratio", "0.2", "ratio", "≥", "0.25", "NOT", "MET"],
    ]


def test_summary_names_the_lines_whose_target_is_not_met():
    lines = [Measure("CPU", 5.0, "ms", AtMost(5)), Measure("· bare", 9.0, "ms"), Measure("p95", 15.7, "ms", AtMost(15))]
    assert summary(lines).splitlines() == ["1 of 2 targets met", "NOT MET: p95: 15.7 ms, target ≤ 15.0"]


async def test_part_that_fails_is_a_line_that_is_not_met(capsys):
    async def fails():
        raise OSError("no room")

    assert [(line.name, line.verdict) for line in await said("posting", fails)] == [
        ("posting: failed, OSError", "NOT MET"),
    ]
    assert "no room" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "entry"),
    [
        ("__main__", "main"),
        ("bot_unpaced", "main"),
        ("channels", "measure"),
        ("client", "measure"),
        ("delivery", "measure"),
        ("drain", "measure"),
        ("history", "main"),
        ("ingest", "measure"),
        ("keys", "measure"),
        ("overload", "measure"),
        ("servers", "main"),
        ("starts", "measure"),
        ("statements", "time_statements"),
    ],
)
def test_part_can_be_imported_and_has_its_entry(part, entry):
    assert callable(getattr(importlib.import_module(f"bench.{part}"), entry))
