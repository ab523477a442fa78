import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.racedata.client.records import (
    CountryPage,
    CoursePage,
    CourseRecord,
    DeliveryPage,
    RacePage,
    SubscriptionRecord,
)

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


def test_course_has_every_specified_field_under_its_name():
    assert CourseRecord.model_validate(COURSE).model_dump() == COURSE


def test_record_keeps_fields_that_are_not_specified():
    course = CourseRecord.model_validate({**COURSE, "surface": "turf", "copy": 1})
    assert course.fields == {"surface": "turf", "copy": 1}


def test_record_with_fields_of_another_type_is_read_without_them():
    course = CourseRecord.model_validate({"course_id": 12, "name": ["Ascot"], "races": "many", "meetings": "130"})
    assert (course.course_id, course.name, course.races, course.meetings) == ("12", None, None, 130)


def test_page_takes_null_fields_and_plans_nobody_knows():
    page = CountryPage.model_validate(
        {"meta": {"plan": "platinum", "window": None, "colour": "red"}, "data": [{"country_code": "GB", "note": None}]}
    )
    assert page.meta.plan == "platinum"
    assert page.meta.fields == {"colour": "red"}
    assert page.data[0].note is None


def test_page_leaves_out_items_that_are_no_objects():
    page = CoursePage.model_validate({"meta": {}, "data": [None, COURSE, "Ascot"]})
    assert [course.name for course in page.data] == ["Ascot"]


def test_race_is_kept_as_it_came():
    race = {"race_id": "rc_1", "runners": [{"horse": {"name": "A"}}], "fields": 8}
    assert RacePage.model_validate({"meta": {}, "data": [race]}).data[0].fields == race


@pytest.mark.parametrize("data", [[{"id": 1}], {"deliveries": [{"id": 1}]}, {"total": 1, "items": [{"id": 1}]}])
def test_deliveries_are_read_bare_or_within_an_object(data):
    page = DeliveryPage.model_validate({"meta": {}, "data": data})
    assert [record.fields for record in page.data] == [{"id": 1}]


@pytest.mark.parametrize(
    "data",
    [
        {"signing_secret": "whsec_1"},
        {"secret": "whsec_1"},
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


@pytest.mark.parametrize(
    "data",
    [
        {"id": "wh_1"},
        {"secret_note": "shown once", "signing": {"key": "whsec_1"}},
        {"secret_expires_at": "2027-01-01"},
        {"secret": "whsec_1", "old": {"secret": "whsec_0"}},
    ],
)
def test_subscription_without_a_secret_that_is_sure_has_none(data):
    assert SubscriptionRecord.model_validate(data).secret is None


@pytest.mark.parametrize(
    "data",
    [
        {"secret": "whsec_1", "before": {"secret": "whsec_0"}},
        {"secret": "whsec_1", "signing_secret": "whsec_0"},
        {"secret_id": "ws_7", "secret_value": "whsec_1"},
        {"secret": 7, "secrets": ["whsec_1"]},
    ],
)
def test_subscription_takes_none_of_several_that_may_be_its_secret(data):
    assert SubscriptionRecord.model_validate(data).secret is None


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.sampled_from(["secret", "signing_secret", "other"]))
def test_subscription_from_a_stranger_has_a_secret_or_none_without_a_crash(data, name):
    secret = SubscriptionRecord.model_validate({name: data, "deep": [data]}).secret
    assert secret is None or secret.get_secret_value()


@given(st.dictionaries(st.sampled_from([*COURSE, "model_config", "model_extra", "self", "__dict__"]), json_values))
def test_record_from_a_stranger_is_read_without_a_crash(data):
    course = CourseRecord.model_validate(json.loads(json.dumps(data)))
    assert set(course.fields) == set(data) - set(COURSE)
