"""The data service's answers are read: paths, headers, records and values."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.racedata.client.headers import LONGEST_RETRY_AFTER_S, WINDOW_S, read_rate, read_retry_after
from bot.racedata.client.records import (
    META_TEXT_MAX,
    CountryPage,
    DeliveryPage,
    KnownCourse,
    RacePage,
    SubscriptionRecord,
    read_reference,
)
from bot.racedata.client.service_client import fill_path
from tests.rows import over


@over(
    ("template", "values", "path", "query"),
    [
        ("races/{race_id}", {"race_id": "a/b?c#d e"}, "races/a%2Fb%3Fc%23d%20e", ()),
        (
            "days/{date}?region={region}&at={date}&all",
            {"date": "2026-11-20", "region": "A&B?"},
            "days/2026-11-20",
            (("region", "A&B?"), ("at", "2026-11-20"), ("all", "")),
        ),
    ],
)
def test_path_is_filled_with_quoted_values_and_told_apart_from_its_query(template, values, path, query):
    assert fill_path(template, **values) == (path, query)
    for left in ("", ".", ".."):
        with pytest.raises(ValueError, match="can't stand in a path"):
            fill_path("races/{race_id}", race_id=left)


NOW = datetime(2025, 11, 20, 12, 0, 0, tzinfo=UTC)
DATE = "Thu, 20 Nov 2025 12:00:00 GMT"
AT = int(NOW.timestamp())


@over(
    ("value", "wait_s"),
    [
        *(("7", 7), (" 7 ", 7), ("1.5", 1.5), ("0", 0), ("9" * 400, LONGEST_RETRY_AFTER_S)),
        *(("Thu, 20 Nov 2025 12:00:30 GMT", 30), ("Thu, 20 Nov 2025 11:00:00 GMT", 0)),
        *(("Thursday, 20-Nov-25 12:00:30 GMT", 30), ("Thu Nov 20 12:00:30 2025", 30)),
        ("Thu, 20 Nov 2025 12:00:60 GMT", 59),
        ("Fri, 01 Jan 2100 00:00:00 GMT", LONGEST_RETRY_AFTER_S),
        *((garbage, None) for garbage in ("-5", "soon", "", "٣", "1e9", "nan")),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_of_the_services_clock_and_kept_in_range(value, wait_s):
    assert read_retry_after({"retry-after": value}, NOW) == wait_s
    headers = {"retry-after": "Thu, 20 Nov 2025 13:00:10 GMT", "date": "Thu, 20 Nov 2025 13:00:00 GMT"}
    assert read_retry_after(headers, NOW) == 10


@over(
    ("reset", "date", "resets_in_s"),
    [
        *((str(AT + 30), DATE, 30), (str(AT), DATE, 1), (str(AT + 3600), DATE, WINDOW_S), ("0", DATE, 1)),
        *((str(AT * 1000), DATE, None), (str(AT - 3600), DATE, None), ("-1", DATE, None), ("soon", DATE, None)),
        *((str(AT + 30), None, None), (str(AT + 30), "yesterday", None), ("45", None, 45), (None, DATE, None)),
    ],
)
def test_rate_reset_is_taken_relative_to_the_answers_date(reset, date, resets_in_s):
    headers = {name: value for name, value in {"x-ratelimit-reset": reset, "date": date}.items() if value is not None}
    assert read_rate(headers).resets_in_s == resets_in_s


names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "date", "retry-after"]


@over("garbage", ["", "abc", "-1", "1.5", "60, 60", "9" * 40, "٦٠"])
def test_rate_garbage_counts_as_missing(garbage):
    assert not any(read_rate(dict.fromkeys(names[:3], garbage)))


texts = st.text() | st.integers().map(str) | st.floats().map(str) | st.datetimes().map(lambda at: at.strftime("%c GMT"))


@given(st.dictionaries(st.sampled_from(names), texts))
def test_headers_from_a_stranger_are_read_without_a_crash_and_in_range(headers):
    reading = read_rate(headers)
    assert reading.resets_in_s is None or 1 <= reading.resets_in_s <= WINDOW_S
    assert reading.limit is None or reading.limit > 0
    wait_s = read_retry_after(headers, NOW)
    assert wait_s is None or 0 <= wait_s <= LONGEST_RETRY_AFTER_S


COURSE = {
    "course_id": "cr_1a2b",
    "name": "Ascot",
    "shortcode": None,
    "country": "England",
    "region": "GB",
    "races": 900,
    "meetings": 130,
    "first_meeting": "2017-01-21",
    "last_meeting": "2025-11-22",
}


@over(
    ("record", "known"),
    [
        (COURSE, COURSE),
        (COURSE | {"surface": "turf", "copy": 1}, COURSE),
        (
            {"course_id": 12, "name": ["Ascot"], "races": "many", "meetings": "130"},
            dict.fromkeys(COURSE) | {"course_id": "12", "meetings": 130},
        ),
    ],
    ids=["as specified", "with more", "of other types"],
)
def test_record_has_each_specified_field_of_its_type_and_no_other(record, known):
    assert KnownCourse.model_validate(record).model_dump() == known


def test_page_takes_null_fields_unknown_plans_and_items_that_are_no_objects():
    meta = {"plan": "platinum", "window": None, "colour": "red"}
    page = CountryPage.model_validate({"meta": meta, "data": [None, {"country_code": "GB", "note": None}, "GB"]})
    assert (page.meta.plan, page.meta.model_extra) == ("platinum", {"colour": "red"})
    assert [(country.country_code, country.note) for country in page.data] == [("GB", None)]


@over("name", ["request_id", "data_as_of", "plan", "window"])
def test_text_of_the_envelope_that_is_too_long_to_be_shown_counts_as_missing(name):
    texts = ["x" * META_TEXT_MAX, "x" * (META_TEXT_MAX + 1)]
    pages = [CountryPage.model_validate({"meta": {name: text}, "data": []}) for text in texts]
    assert [getattr(page.meta, name) for page in pages] == [texts[0], None]


def test_record_of_a_race_is_kept_as_published_and_deliveries_are_read_within_an_object_too():
    race = {"race_id": "rc_1", "runners": [{"horse": {"name": "A"}}], "fields": 8}
    assert RacePage.model_validate({"meta": {}, "data": [race, None, "rc_2"]}).data == [race, {}, {}]
    for data in ([{"id": 1}], {"deliveries": [{"id": 1}]}, {"total": 1, "items": [{"id": 1}]}):
        assert DeliveryPage.model_validate({"meta": {}, "data": data}).data == [{"id": 1}]


@over(
    "data",
    [
        *({"signing_secret": "whsec_1"}, {"secret": "whsec_1"}),
        {"subscription": {"id": "wh_1", "webhookSecret": "whsec_1"}},
        {"data": [{"secret": "", "deep": {"Secret": "whsec_1"}}]},
        {"secret_hint": "…c_1", "secret_id": "ws_7", "signing-secret": "whsec_1"},
        {"webhook_secret": "whsec_1", "previous_secret": "whsec_0", "old": {"secret": "whsec_1"}},
        {"secret_expires_at": "2027-01-01", "signing_key": "whsec_1"},
        {"secret_id": "sec_9", "secret": {"id": "sec_9", "value": "whsec_1"}},
    ],
)
def test_subscription_gives_its_secret_and_shows_it_nowhere(data):
    subscription = SubscriptionRecord.model_validate(data)
    assert subscription.secret == SecretStr("whsec_1")
    assert "whsec_1" not in f"{subscription} {subscription!r}"


# Of several candidates none is sure.
@over(
    "data",
    [
        *({"id": "wh_1"}, {"secret_expires_at": "2027-01-01"}, {"secret": 7, "secrets": ["whsec_1"]}),
        *({"secret_note": "shown once", "signing": {"key": "whsec_1"}}, {"secret_id": "ws", "secret_value": "whsec_1"}),
        *({"secret": "whsec_1", "old": {"secret": "whsec_0"}}, {"secret": "whsec_1", "signing_secret": "whsec_0"}),
    ],
)
def test_subscription_without_a_secret_or_with_several_candidates_has_no_secret(data):
    assert SubscriptionRecord.model_validate(data).secret is None


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


NAMES = ["secret", "signing_secret", "regions", "values", "value", *COURSE, "model_config", "self", "__dict__"]


@given(st.dictionaries(st.sampled_from(NAMES), json_values))
def test_record_from_a_stranger_is_read_without_a_crash(data):
    assert KnownCourse.model_validate(json.loads(json.dumps(data)))
    secret = SubscriptionRecord.model_validate({**data, "deep": [data]}).secret
    assert secret is None or secret.get_secret_value()
    assert all(isinstance(value, str) for value in read_reference({**data, "regions": [data]}, "regions"))


@over(
    ("regions", "values"),
    [
        ([{"value": "GB", "races": 1}, {"value": "IRE", "races": 2}], ["GB", "IRE"]),
        ([{"code": "GB", "name": "Britain"}, "IRE", "GB"], ["GB", "IRE"]),
        (["Flat", "flat"], ["Flat", "flat"]),
        *((none, []) for none in (None, "GB", 7, {}, {"GB": 1})),
    ],
)
def test_reference_is_lists_of_texts_or_of_objects_with_a_value(regions, values):
    assert read_reference({"regions": regions, "goings": ["Good"]}, "regions") == values
    assert read_reference(regions, "regions") == []
