import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.racedata.client.filter_values import read_reference
from bot.racedata.near_misses import likely


@pytest.mark.parametrize(
    "data",
    [
        {"regions": [{"value": "GB", "races": 1}, {"value": "IRE", "races": 2}], "goings": ["Good"]},
        {"regions": ["GB", "IRE"], "goings": ["Good"]},
        {"Region": {"GB": 123, "IRE": 5}, "going": {"Good": 1}},
        {"regions": {"values": [{"code": "GB"}, {"code": "IRE"}]}, "goings": {"values": ["Good"]}},
        {"reference": {"regions": ["GB", "IRE", "GB"], "goings": [{"name": "Good", "runners": 9}]}},
        [
            {"category": "regions", "value": "GB", "count": 1},
            {"category": "regions", "value": "IRE", "count": 1},
            {"category": "goings", "value": "Good", "count": 1},
        ],
        [{"name": "regions", "values": ["GB", "IRE"]}, {"name": "goings", "values": [{"value": "Good"}]}],
        {"categories": [{"name": "regions", "items": ["GB", "IRE"]}, {"name": "goings", "items": ["Good"]}]},
    ],
)
def test_reference_is_read_in_any_likely_shape(data):
    assert read_reference(data) == {"regions": ["GB", "IRE"], "goings": ["Good"]}


@pytest.mark.parametrize("field", ["value", "code", "region_code", "region", "id", "key"])
def test_reference_takes_the_code_and_not_the_name_beside_it(field):
    named = {"name": "Great Britain", "label": "Britain", field: "GB"}
    assert read_reference({"regions": [named]}) == {"regions": ["GB"]}
    assert read_reference([{"category": "regions", **named}]) == {"regions": ["GB"]}


def test_reference_keeps_values_that_differ_in_case_alone():
    assert read_reference({"run types": ["Flat", "flat"]}) == {"run_types": ["Flat", "flat"]}


@pytest.mark.parametrize("data", [None, "GB", 7, [], {}, {"regions": None}, {"other": ["x"]}])
def test_reference_that_cannot_be_read_has_no_values(data):
    assert not any(read_reference(data).values())


@pytest.mark.parametrize(
    ("typed", "first"), [("gb", "GB"), ("IRL", "IRE"), ("good to firm", "Good to Firm"), ("Yuilding", "Yielding")]
)
def test_suggestion_finds_the_near_miss(typed, first):
    assert likely(typed, ["GB", "IRE", "Good to Firm", "Yielding", "FR"])[0] == first


def test_suggestion_is_silent_where_nothing_is_near():
    assert likely("zzzz", ["GB", "IRE"]) == []


names = st.sampled_from(["regions", "goings", "values", "category", "value", "x"])
shapes = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=15,
)


@given(shapes)
def test_reference_from_a_stranger_is_read_without_a_crash(data):
    found = read_reference(json.loads(json.dumps(data)))
    assert all(isinstance(value, str) for values in found.values() for value in values)
