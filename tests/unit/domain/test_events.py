"""What an event's versions are compared by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.events import EventKind, RacingEvent, Topic, changed_facts
from bot.domain.races import Course, OffTime, Race, Runner


def result_of(*placings, **fields):
    runners = tuple(Runner(horse=horse, position=position) for horse, position in placings)
    return RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=Race(runners=runners, **fields))


def changes_between(old, new):
    return changed_facts(old.facts(), new.facts())


def test_every_kind_has_a_topic_and_an_unread_payload_none():
    assert {RacingEvent(key="k", kind=kind).topic for kind in EventKind} == set(Topic)
    assert RacingEvent(key="k").topic is None


def test_facts_hold_only_what_came():
    assert RacingEvent(key="k", kind=EventKind.RACE_ABANDONED).facts() == {}


def test_facts_ignore_case_and_white_space():
    old, new = result_of(("Horse  A", "1"), going="Good"), result_of(("HORSE A", "1"), going=" good ")
    assert changes_between(old, new) == {}
    assert old.facts() == new.facts()


def test_facts_of_an_abandonment_have_no_placings():
    event = result_of(("A", "1")).model_copy(update={"kind": EventKind.RACE_ABANDONED})
    assert event.facts() == {}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ((("A", "1"), ("B", "2")), (("A", "2"), ("B", "1")), {"A": ("1", "2"), "B": ("2", "1")}),
        ((("A", "1"),), (("A", "1"), ("B", "2"), ("C", "3")), {}),
        ((("A", "1"),), (("C", "1"),), {"C": (None, "1")}),
        ((("A", "1"),), (("A", "1="), ("B", "1=")), {"B": (None, "1")}),
        ((("A", "1"), ("B", "2")), (("A", "DSQ"), ("B", "2")), {"A": ("1", "dsq")}),
        ((("A", "1"), ("B", "PU")), (("A", "1"), ("B", "PU"), ("C", "PU")), {}),
        ((("A", "1"),), (("A", None),), {}),
        ((), (("A", "1"),), {}),
    ],
    ids=[
        *("swapped", "more placings", "another winner", "dead heat", "disqualified", "one more pulled up"),
        *("no longer told", "first placings"),
    ],
)
def test_placings_changed_between_versions(old, new, changes):
    found = changes_between(result_of(*old), result_of(*new))
    assert found == {f"position of {horse.casefold()}": change for horse, change in changes.items()}


def test_a_course_that_gains_its_id_is_not_another_course():
    old = result_of(course=Course(name="Ascot"))
    assert changes_between(old, result_of(course=Course(name="Ascot", course_id="cr_1"))) == {}
    assert changes_between(old, result_of(course=Course(name="York"))) == {"course": ("ascot", "york")}


def test_a_changed_status_and_off_time_are_told():
    old = result_of(status="Provisional", off=OffTime(text="14:30"))
    changes = changes_between(old, result_of(status="Official", off=OffTime(text="14:35")))
    assert changes == {"status": ("provisional", "official"), "off": ("14:30", "14:35")}


FACTS = st.dictionaries(
    st.sampled_from(["status", "off", "position of a", "position of b", "position of c"]),
    st.sampled_from(["1", "2", "pu"]),
)


@given(FACTS)
def test_facts_do_not_differ_from_themselves_or_from_fewer(facts):
    assert changed_facts(facts, facts) == {}
    assert changed_facts({}, facts) == {}
    assert changed_facts(facts, {}) == {}
