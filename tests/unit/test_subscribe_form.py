"""The form of subscriptions: within Slack's limits whatever the service publishes, and read back as filled in."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.slack.forms.form_fields import PublishedChoices
from bot.slack.forms.subscribe_form import FormOf, read_form, subscribe_form
from sandbox.slack import modals
from sandbox.slack.block_rules import view_problems

NEW = FormOf(channel_id="C1")
KNOWN = PublishedChoices(("GB", "IRE"), courses=True)

NAMES = st.text(max_size=90) | st.sampled_from(["<!channel>", "&" * 400, "🐎" * 200, "GB", ALL_REGIONS, " ", "\u202e"])
REGIONS = st.none() | st.lists(NAMES, unique=True, max_size=5)
COURSES = st.lists(st.builds(Course, course_id=st.none() | NAMES, name=st.none() | NAMES), max_size=5, unique=True)
MENTIONS = st.lists(st.sampled_from(["U1", "W2", "S3", HERE]), unique=True).map(tuple)
FILTERS = st.builds(
    ChannelFilter,
    region=NAMES,
    topics=st.frozensets(st.sampled_from(Topic)),
    courses=COURSES.map(tuple),
    not_courses=COURSES.map(tuple),
    mentions=MENTIONS,
)


def submitted(view, values):
    """The read values of a view filled in by a person."""
    return read_form({**view, "state": {"values": modals.filled_in(view, values)}})


CODES = tuple(f"R{number}" for number in range(1_500))
PEOPLE = tuple(f"U{number}" for number in range(40))
LONG_FILTER = ChannelFilter(
    region="GB",
    topics=frozenset(Topic),
    courses=tuple(Course(course_id=f"cr_{number}", name="&" * 10_000) for number in range(150)),
    mentions=(*PEOPLE, HERE, "S7"),
    escalate=(*PEOPLE, "C1", "S7"),
)


@given(st.none() | FILTERS, st.builds(PublishedChoices, REGIONS, courses=st.booleans()))
@example(None, PublishedChoices(CODES, courses=True))
@example(LONG_FILTER, PublishedChoices(CODES, courses=True))
@example(LONG_FILTER, PublishedChoices(None, courses=False, chosen=CODES[:120]))
def test_slack_takes_the_form_with_any_contents(chosen, known):
    view = subscribe_form(FormOf(channel_id="C1", editing=chosen.region if chosen else None), chosen, known)
    assert view_problems(view, "modal") == []
    assert len(json.dumps(view)) < 250_000
    for element in (block.get("element", {}) for block in view["blocks"]):
        assert len(element.get("initial_value", "")) <= element.get("max_length", 3_000)
        initial = [element[name] for name in element if name.startswith("initial_") and name != "initial_value"]
        assert all(len(chosen) <= element.get("max_selected_items", 100) for chosen in initial)


def test_form_is_read_as_it_was_filled_in():
    view = subscribe_form(NEW, None, KNOWN)
    course = {"text": {"type": "plain_text", "text": "York"}, "value": "cr_2"}
    group = {"text": {"type": "plain_text", "text": "@here"}, "value": HERE}
    values = {"regions": ["GB", "IRE"], "not_courses": [course], "people": ["U1"], "groups": [group]}
    form, found = submitted(view, values)
    assert form == NEW
    assert (found["region"], found["topics"]) == (("GB", "IRE"), DEFAULT_TOPICS)
    assert (found["courses"], found["not_courses"], found["mentions"]) == ((), ("cr_2",), ("U1", HERE))


@given(st.sampled_from(["GB", "IRE", ALL_REGIONS, "GONE"]), st.frozensets(st.sampled_from(Topic), min_size=1), MENTIONS)
def test_edited_subscription_without_a_change_stays(region, topics, mentions):
    ascot = Course(course_id="cr_1", name="Ascot")
    chosen = ChannelFilter(region=region, topics=topics, courses=(ascot,), mentions=mentions)
    form, found = submitted(subscribe_form(FormOf(channel_id="C1", editing=region), chosen, KNOWN), {})
    assert form.editing == region
    assert (found["region"], found["topics"], found["courses"]) == ((region,), topics, ("cr_1",))
    assert set(found["mentions"]) == set(mentions)


@pytest.mark.parametrize(
    ("typed", "regions"), [("GB, IRE", ("GB", "IRE")), ("ALL", (ALL_REGIONS,)), ("GB GB", ("GB",))]
)
def test_form_without_regions_takes_typed_ones(typed, regions):
    view = subscribe_form(NEW, None, PublishedChoices(None, courses=False))
    assert "have not been read yet" in view["blocks"][0]["text"]["text"]
    _, found = submitted(view, {"regions": typed})
    assert found["region"] == regions


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=3))
def test_form_with_nothing_filled_in_is_read_as_nothing(values):
    view = {"private_metadata": NEW.model_dump_json(), "state": {"values": {"regions": {"regions": values}}}}
    _, found = read_form(view)
    assert not found["topics"]
