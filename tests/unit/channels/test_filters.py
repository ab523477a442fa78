"""The events taken by a channel's filter: an unread field never hides an abandonment."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.channels.conditions.condition import EVERY_VALUE
from bot.channels.filters import (
    ALL_REGIONS,
    ChannelFilter,
    Meeting,
    abandonments_taken,
    joint,
    mentions,
    overrides,
    without,
    without_abandonments,
)
from bot.channels.watches import Watches
from bot.events.drill_mark import Drill
from bot.events.event import TOPIC_OF, EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.racedata.lexicon import Lexicon
from tests.rows import over

ASCOT = Course(course_id="cr_1", name="Ascot")
YORK = Course(course_id="cr_2", name="York")


ABANDONED, RESULT, CARD = EventKind.RACE_ABANDONED, EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED
MEETING = EventKind.MEETING_ABANDONED
EVERYWHERE = {"region": ALL_REGIONS}
ONLY_LOST = {"topics": frozenset({Topic.ABANDONMENTS})}
ONLY_ASCOT = {"courses": (ASCOT,)}
NAMED, UNNAMED = Course(name="Ascot"), Course(course_id="cr_1")


def event(kind=ABANDONED, region="GB", course=ASCOT, **race):
    return RacingEvent(key="k", kind=kind, race=Race(region=region, course=course, **race))


def chosen_by(**fields):
    return ChannelFilter(**{"region": "GB", "topics": frozenset(Topic)} | fields)


def takes(chosen, told):
    """Whether fan-out finds the filter, which asks the filters of a region alone."""
    found = FanoutKnowledge([("C1", chosen)], Lexicon(), (), Watches()).taking(told)
    assert bool(found) is chosen.matches(told)
    return bool(found)


@over(
    ("fields", "told", "is_taken"),
    [
        ({}, event(), True),
        ({}, event().model_copy(update={"drill": Drill(drill_id="0" * 16)}), False),
        ({}, event(region="gb"), False),
        ({}, event(region="IE"), False),
        (EVERYWHERE, event(region="NEW"), True),
        # Of an unknown region: an abandonment goes to every region, other events where all are taken.
        ({}, event(ABANDONED, None), True),
        ({}, event(MEETING, None), True),
        ({}, event(RESULT, None), False),
        ({}, event(CARD, None), False),
        ({}, event(CARD, None, abandoned=True), True),
        ({}, event(RESULT, None, abandoned=True), True),
        (EVERYWHERE, event(RESULT, None), True),
        # The delivery's own words, where no list gives a code.
        ({"region": "Britain"}, event(RESULT, None, said_region="Britain"), True),
        ({"region": "Ireland"}, event(RESULT, None, said_region="Britain"), False),
        ({"region": "Britain"}, event(RESULT, said_region="Britain"), True),
        (EVERYWHERE, event(CARD, None), True),
        ({"topics": frozenset({Topic.RESULTS})}, event(), False),
        ({"topics": frozenset({Topic.RESULTS})}, event(RESULT), True),
        # What could not be read.
        (EVERYWHERE | {"topics": frozenset()}, RacingEvent(key="unreadable:1"), True),
        ({}, RacingEvent(key="unreadable:1"), False),
        (EVERYWHERE | ONLY_ASCOT, RacingEvent(key="unreadable:1"), False),
        ({"courses": (YORK, ASCOT)}, event(), True),
        ({"courses": (YORK,)}, event(), False),
        ({"not_courses": (ASCOT,)}, event(), False),
        ({"not_courses": (ASCOT,)}, event(course=NAMED), False),
        ({"not_courses": (ASCOT,)}, event(course=YORK), True),
        # The id decides before the name.
        (ONLY_ASCOT, event(course=Course(course_id="cr_9", name="Ascot")), False),
        (ONLY_ASCOT, event(course=Course(course_id="cr_1", name="Royal Ascot")), True),
        # A course that can't be told from the filter's is not hidden.
        *(
            ({field: (NAMED,)}, event(course=one), True)
            for field in ("courses", "not_courses")
            for one in (Course(), UNNAMED)
        ),
        # An abandonment at an unlisted course is taken in any letter case.
        ({"courses": (Course(name="ascot"),)}, event(EventKind.RACE_ABANDONED), True),
        ({"courses": (Course(name="ascot"),)}, event(RESULT), False),
        # A lost race is an abandonment, whichever event says so.
        (ONLY_LOST, event(RESULT, abandoned=True), True),
        (ONLY_LOST, event(RESULT, abandoned=True, status="Postponed"), True),
        (ONLY_LOST, event(CARD, abandoned=True), True),
        (ONLY_LOST, event(RESULT, status="Void"), True),
        (ONLY_LOST, event(RESULT), False),
        (ONLY_LOST, event(RESULT, abandoned=False, status="Official"), False),
    ],
)
def test_event_is_taken_or_left(fields, told, is_taken):
    assert takes(chosen_by(**fields), told) is is_taken


SINCE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@over(
    ("region", "chosen", "is_taken"),
    [
        ("gb", {}, True),
        ("GB", {}, True),
        ("ire", {}, False),
        ("gb", {"courses": (Course(name="ascot"),)}, True),
        ("gb", {"courses": (Course(name="CR_1"),)}, True),
        ("gb", {"courses": (Course(name="york"),)}, False),
        ("gb", {"courses": (YORK,)}, False),
        # A course that is left out in another letter case may not be meant.
        ("gb", {"not_courses": (Course(name="ascot"),)}, True),
        ("gb", {"not_courses": (Course(name="Ascot"),)}, False),
        ("gb", {"courses": (Course(name="ascot"),), "not_courses": (ASCOT,)}, False),
        ("gb", {"topics": frozenset({Topic.RESULTS})}, False),
        (ALL_REGIONS, {"courses": (Course(name="ascot"),)}, True),
    ],
)
def test_unchecked_filter_takes_an_abandonment_whatever_the_letter_case(region, chosen, is_taken):
    chosen = {"region": region, "topics": frozenset(Topic)} | chosen
    unchecked = ChannelFilter(**chosen, unchecked_since=SINCE)
    for kind in (EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED):
        assert takes(unchecked, event(kind)) is is_taken
    # What is no abandonment waits for the check.
    for kind in (EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED):
        assert takes(unchecked, event(kind)) == ChannelFilter(**chosen).matches(event(kind))
    assert unchecked.fingerprint() == ChannelFilter(**chosen).fingerprint()


def test_fingerprint_is_the_same_in_every_process_and_version():
    """Buttons and forms that were sent before hold fingerprints."""
    bath = Course(course_id="cr_3", name="Bath")
    chosen = ChannelFilter(region="GB", topics=frozenset(Topic), courses=(bath,), mentions=("U1",))
    assert chosen.fingerprint() == "7602a38ea0c40dd0"


def test_escalation_ends_with_the_acknowledgement_alone():
    chosen = chosen_by(ack=("10m",), escalate=("C1",), mentions=("U1",))
    without_ack, without_mention = without(chosen, {"ack": (EVERY_VALUE,)}), without(chosen, {"mentions": ("U1",)})
    assert without_ack == chosen_by(mentions=("U1",))
    assert without_mention == chosen_by(ack=("10m",), escalate=("C1",))


REGION_OF = {ASCOT: "GB", YORK: "GB", Course(course_id="cr_3", name="Cork"): "IRE"}
CORK = next(course for course, region in REGION_OF.items() if region == "IRE")
RESULTS, LOST = frozenset({Topic.RESULTS}), frozenset({Topic.ABANDONMENTS})


def gb(topics=RESULTS, **changes):
    return ChannelFilter(**{"region": "GB", "topics": topics} | changes)


def everywhere(topics=RESULTS, **changes):
    return gb(topics, region=ALL_REGIONS, **changes)


AT_YORK, AT_ASCOT, CLASS_1 = {"courses": (YORK,)}, {"courses": (ASCOT,)}, {"classes": ("1",)}


@over(
    ("chosen", "by", "is_overridden"),
    [
        # Courses that a region leaves out come by all regions.
        (gb(not_courses=(ASCOT, YORK)), everywhere(not_courses=(YORK,)), True),
        (gb(not_courses=(ASCOT, YORK)), everywhere(not_courses=(YORK, ASCOT)), False),
        (gb(not_courses=(ASCOT, YORK)), gb(region="IRE"), False),
        # A course that all regions leave out comes by its own region alone.
        (everywhere(not_courses=(ASCOT, CORK)), gb(), True),
        (everywhere(not_courses=(CORK,)), gb(), False),
        (everywhere(LOST, not_courses=(ASCOT,)), gb(RESULTS), False),
        # What a region does not take comes by all regions.
        (gb(LOST), everywhere(RESULTS | LOST), True),
        (gb(**AT_YORK), everywhere(), True),
        (gb(**CLASS_1), everywhere(), True),
        (gb(LOST, **AT_YORK), everywhere(RESULTS | LOST), True),
        (gb(LOST, **AT_YORK, **CLASS_1), everywhere(), True),
        # What a region adds to all regions is left out by nobody.
        (gb(**AT_YORK, **CLASS_1), everywhere(**AT_ASCOT), False),
        (gb(RESULTS | LOST), everywhere(), False),
        (everywhere(LOST), everywhere(RESULTS | LOST), False),
        (everywhere(LOST), gb(RESULTS | LOST), False),
        (everywhere(courses=(CORK,)), gb(), False),
    ],
)
def test_filter_brings_what_another_filter_of_the_channel_leaves_out(chosen, by, is_overridden):
    assert overrides(by, chosen, REGION_OF.get) is is_overridden
    # Where the region of an excluded course is unknown, only a filter that names the course brings the course.
    for named, comes in ((gb(), False), (gb(**AT_ASCOT), True)):
        assert overrides(named, everywhere(not_courses=(ASCOT,)), lambda _course: None) is comes
    assert not overrides(gb(region="IRE", **AT_ASCOT), gb(not_courses=(ASCOT,)), lambda _course: None)


SOME_COURSES = st.lists(st.sampled_from(list(REGION_OF)), unique=True, max_size=2).map(tuple)
SOME_TOPICS = st.sets(st.sampled_from(list(Topic)), min_size=1).map(frozenset)


@st.composite
def filters(draw, regions):
    courses, not_courses = draw(SOME_COURSES), draw(SOME_COURSES)
    return ChannelFilter(
        region=draw(st.sampled_from(regions)), topics=draw(SOME_TOPICS), courses=courses, not_courses=not_courses
    )


@given(filters(["GB", ALL_REGIONS]), filters(["GB", ALL_REGIONS]))
def test_whatever_all_regions_bring_beside_a_region_is_said(chosen, by):
    is_wide = (chosen.region, by.region, by.courses) == ("GB", ALL_REGIONS, ())
    for course, region in REGION_OF.items():
        for kind in (EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED):
            one = event(kind, region, course)
            comes = by.matches(one) and not chosen.matches(one)
            assert overrides(by, chosen, REGION_OF.get) or not (comes and is_wide and region == "GB")


BOTH = RESULTS | LOST
UNCHECKED = {"courses": (Course(name="ascot"),), "unchecked_since": SINCE}


@over(
    ("filters", "region", "taken"),
    [
        *(([], "GB", False), ([gb(BOTH)], "GB", True), ([gb()], "GB", False), ([gb(BOTH, region="IRE")], "GB", False)),
        *(([gb(BOTH, region="IRE"), gb()], "GB", False), ([everywhere(BOTH)], "GB", True)),
        *(([everywhere(BOTH)], None, True), ([gb(BOTH)], None, None), ([gb(BOTH), everywhere(BOTH)], None, True)),
        *(([gb(BOTH, **UNCHECKED)], "GB", None), ([gb()], None, False)),
        *(([gb(BOTH, not_courses=(ASCOT,))], "GB", False), ([gb(BOTH, **AT_YORK)], "GB", False)),
        *(([gb(BOTH, courses=courses)], "GB", True) for courses in ((ASCOT, YORK), (NAMED,))),
        ([gb(BOTH, courses=(Course(course_id="cr_9", name=None),))], "GB", False),
    ],
)
def test_abandonments_of_a_meeting_are_promised_only_where_a_filter_takes_them(filters, region, taken):
    assert abandonments_taken(filters, Meeting(course=ASCOT, race_date="2026-11-20", region=region)) is taken


DAY = "2026-11-20"


@over(
    ("meeting", "is_known"),
    [
        (Meeting(meeting_id="mt_1"), True),
        (Meeting(course=NAMED, race_date=DAY), True),
        (Meeting(course=UNNAMED, race_date=DAY), True),
        (Meeting(course=ASCOT), False),
        (Meeting(race_date=DAY), False),
    ],
)
def test_meeting_is_known_by_its_id_or_by_course_and_date(meeting, is_known):
    assert meeting.is_known is is_known
    assert meeting.is_same(meeting.model_copy(update={"region": "GB"}))
    assert not meeting.is_same(meeting.model_copy(update={"race_date": "2026-11-21"}))


@over(
    ("race", "has"),
    [
        ({"meeting_id": "mt_1", "course": YORK}, True),
        ({"meeting_id": "mt_2", "course": ASCOT, "race_date": DAY}, False),
        ({"course": NAMED, "race_date": DAY}, True),
        ({"course": YORK, "race_date": DAY}, False),
        ({"course": ASCOT, "race_date": "2026-11-21"}, False),
        ({"course": ASCOT}, False),
    ],
)
def test_meeting_has_the_races_of_its_id_or_else_of_its_course_and_date(race, has):
    assert Meeting(meeting_id="mt_1", course=ASCOT, race_date=DAY).has(Race(**race)) is has
    assert not Meeting(course=ASCOT).has(Race(course=ASCOT))
    assert Meeting(course=ASCOT, race_date=DAY).has(Race(meeting_id="mt_1", course=ASCOT, race_date=DAY))


@over(
    ("every", "is_without"),
    [([gb()], True), ([gb(), gb(LOST, region="IRE")], True), ([gb(LOST)], False), ([everywhere(LOST)], False)],
)
def test_filter_is_without_abandonments_unless_another_of_the_channel_takes_those_of_its_region(every, is_without):
    assert without_abandonments([gb()], every) == ((gb(),) if is_without else ())


def test_mentions_are_those_of_the_filters_that_take_the_event_each_once():
    filters = [gb(mentions=("U1", "here")), everywhere(mentions=("here", "U2")), gb(LOST, mentions=("U3",))]
    assert mentions(filters, event(RESULT)) == ("U1", "here", "U2")


@given(filters(["GB"]), filters(["GB"]), st.sampled_from(EventKind), st.sampled_from([ASCOT, YORK, Course()]))
def test_joint_filter_takes_what_either_takes(one, other, kind, course):
    both, told = joint(one, other), event(kind, course=course)
    assert both.matches(told) or not (one.matches(told) or other.matches(told))
    if one.topics == other.topics:
        assert both.matches(told) == (one.matches(told) or other.matches(told))
    assert joint(one, one).covers(one)
    assert one.covers(joint(one, one))


@over("since", [None, SINCE + timedelta(seconds=1)], ids=["checked", "later"])
def test_joint_filter_is_unchecked_since_the_earlier_moment_and_mentions_all(since):
    one = gb(mentions=("UANN", "here"), unchecked_since=since)
    other = gb(mentions=("UBEN", "here"), unchecked_since=SINCE)
    for both in (joint(one, other), joint(other, one)):
        assert both.unchecked_since == SINCE
        assert sorted(both.mentions) == ["UANN", "UBEN", "here"]


@given(filters(["GB", ALL_REGIONS]))
def test_filter_covers_itself_and_no_filter_of_further_events(chosen):
    assert chosen.covers(chosen)
    for kind in EventKind:
        one = event(kind)
        narrow = gb(frozenset({TOPIC_OF[kind]}))
        assert not chosen.covers(narrow) or chosen.matches(one)
