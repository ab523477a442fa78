"""Which events a channel's filter takes: an unread field never hides an abandonment."""

import pytest

from bot.domain.events import EventKind, RacingEvent, Topic
from bot.domain.filters import ALL_REGIONS, ChannelFilter
from bot.domain.races import Course, Race

ASCOT = Course(course_id="cr_1", name="Ascot")
YORK = Course(course_id="cr_2", name="York")


def event(kind=EventKind.RACE_ABANDONED, region="GB", course=ASCOT):
    return RacingEvent(key="k", kind=kind, race=Race(region=region, course=course))


def takes(event, region="GB", topics=frozenset(Topic), courses=(), not_courses=()):
    return ChannelFilter(region=region, topics=topics, courses=courses, not_courses=not_courses).matches(event)


def test_filter_takes_its_region_exactly():
    assert takes(event(region="GB"))
    assert not takes(event(region="gb"))
    assert not takes(event(region="IE"))


def test_filter_of_all_regions_takes_a_region_nobody_knew():
    assert takes(event(region="NEW"), region=ALL_REGIONS)


@pytest.mark.parametrize("kind", [EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED])
def test_abandonment_of_unknown_region_goes_to_every_region(kind):
    assert takes(event(kind, region=None))


@pytest.mark.parametrize("kind", [EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED])
def test_other_event_of_unknown_region_goes_only_where_all_are_taken(kind):
    assert not takes(event(kind, region=None))
    assert takes(event(kind, region=None), region=ALL_REGIONS)


def test_filter_takes_only_its_topics():
    assert not takes(event(), topics=frozenset({Topic.RESULTS}))
    assert takes(event(EventKind.RESULT_RECEIVED), topics=frozenset({Topic.RESULTS}))


def test_unreadable_payload_goes_where_all_regions_and_courses_are_taken():
    unread = RacingEvent(key="unreadable:1")
    assert takes(unread, region=ALL_REGIONS, topics=frozenset())
    assert not takes(unread)
    assert not takes(unread, region=ALL_REGIONS, courses=(ASCOT,))


def test_filter_takes_only_its_courses():
    assert takes(event(), courses=(YORK, ASCOT))
    assert not takes(event(), courses=(YORK,))


def test_filter_leaves_out_a_course():
    assert not takes(event(), not_courses=(ASCOT,))
    assert not takes(event(course=Course(name="Ascot")), not_courses=(ASCOT,))
    assert takes(event(course=YORK), not_courses=(ASCOT,))


def test_course_is_told_by_id_before_name():
    assert not takes(event(course=Course(course_id="cr_9", name="Ascot")), courses=(ASCOT,))
    assert takes(event(course=Course(course_id="cr_1", name="Royal Ascot")), courses=(ASCOT,))


@pytest.mark.parametrize("course", [Course(), Course(course_id="cr_1")])
def test_course_that_cannot_be_told_from_the_filters_is_not_hidden(course):
    named_only = Course(name="Ascot")
    assert takes(event(course=course), courses=(named_only,))
    assert takes(event(course=course), not_courses=(named_only,))
