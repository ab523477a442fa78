"""Which race is a part of which abandoned meeting, and what a later version of an event leaves known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of, own_reason, says_all_of
from bot.events.merge import completed, filled_in, filled_in_from_meeting
from bot.events.races import Course, OffTime, Race, Runner

ASCOT = Race(course=Course(name="Ascot"), race_date="2026-11-20", region="GB")


def meeting(*races, reason=None, **card):
    race = ASCOT.model_copy(update=card)
    return RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=race, races=races, reason=reason)


def lost(reason=None, **race):
    event_race = ASCOT.model_copy(update=race)
    return RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=event_race, reason=reason)


NAMED = Race(race_id="rc_1")


@pytest.mark.parametrize(
    ("race", "card", "is_part"),
    [
        (lost(race_id="rc_1", meeting_id="mt_2", race_date=None), meeting(NAMED, meeting_id="mt_1"), True),
        (lost(race_id="rc_9", meeting_id="mt_1"), meeting(NAMED, meeting_id="mt_1"), True),
        (lost(race_id="rc_9"), meeting(NAMED), False),
        (lost(), meeting(NAMED), True),
        (lost(race_id="rc_9"), meeting(Race(off=OffTime(text="14:30"))), True),
        (lost(meeting_id="mt_1"), meeting(), True),
        (lost(meeting_id="mt_1"), meeting(meeting_id="mt_2"), False),
        (lost(race_date=None), meeting(race_date=None), False),
        (lost(course=Course()), meeting(course=Course()), False),
        (lost(course=Course(name="ASCOT")), meeting(), False),
        (lost(region="AUS"), meeting(), False),
        (lost(region=None), meeting(), True),
    ],
)
def test_race_is_part_of_a_meeting_by_the_best_that_was_sent(race, card, is_part):
    assert is_part_of(race, card) is is_part


def test_meeting_says_all_of_a_race_that_it_names_and_that_has_no_reason_of_its_own():
    assert says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1", reason="frost "))
    assert says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1"))
    assert not says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1", reason="fog"))
    assert not says_all_of(meeting(reason="Frost"), lost(reason="frost"))
    assert own_reason("fog", meeting(reason="frost")) == "fog"


def result(**race):
    return RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=ASCOT.model_copy(update=race))


def test_later_version_keeps_what_only_the_earlier_said():
    earlier = result(going="Good", runners=(Runner(horse="A", position="1"),), off=OffTime(text="14:30"))
    later = result(going="Soft", runners=(Runner(horse="A"),), course=Course(course_id="cr_1"))
    race = completed(later, earlier).race
    assert (race.going, race.off.text, race.course) == ("Soft", "14:30", Course(course_id="cr_1", name="Ascot"))
    assert race.runners == earlier.race.runners


def test_later_version_does_not_take_over_the_name_of_another_course():
    earlier, later = result(course=Course(course_id="cr_1", name="Ascot")), result(course=Course(course_id="cr_2"))
    assert completed(later, earlier).race.course == Course(course_id="cr_2")


def test_later_version_has_its_own_data_and_the_highest_sequence():
    earlier = result().model_copy(update={"sequence": 4, "data_as_of": "then"})
    assert completed(result(), earlier) == result().model_copy(update={"sequence": 4})


def test_races_that_either_version_names_are_named_once():
    earlier = meeting(Race(race_id="rc_1", title="First"), Race(off=OffTime(text="14:30")), reason="frost")
    later = meeting(Race(race_id="rc_1"), Race(race_id="rc_2", off=OffTime(text="14:30")), Race(race_id="rc_3"))
    named = completed(later, earlier)
    assert [race.race_id for race in named.races] == ["rc_1", "rc_2", "rc_3"]
    assert named.races[0].title == "First"
    assert named.reason == "frost"


NAMES = st.none() | st.sampled_from(["a", "b", "c"])
RACES = st.lists(
    st.builds(Race, race_id=NAMES, off=st.builds(OffTime, text=NAMES), number=NAMES, title=NAMES), max_size=4
)


@given(RACES, RACES)
def test_no_race_is_lost_by_a_later_version(earlier, later):
    named = completed(meeting(*later), meeting(*earlier)).races
    for race in (*earlier, *later):
        ids = {one.race_id for one in named}
        assert race.race_id is None or race.race_id in ids
    assert len(named) >= max(len(earlier) if not later else 0, len(later))


@given(RACES)
def test_same_version_again_names_no_more_races(races):
    assert len(completed(meeting(*races), meeting(*races)).races) == len(races)


def test_race_is_filled_in_where_its_delivery_left_out_and_says_so():
    known = ASCOT.model_copy(
        update={"title": "Cup", "off": OffTime(text="14:30"), "status": "declared", "reason": "fog"}
    )
    race = filled_in(Race(race_id="rc_1", title="Plate"), known, kind=EventKind.RESULT_RECEIVED)
    assert (race.title, race.off.text, race.region, race.course.name) == ("Plate", "14:30", "GB", "Ascot")
    assert race.from_book == ("course.name", "off", "race_date", "region")
    # What has become of a race only its own events say.
    assert (race.status, race.reason) == (None, None)
    assert filled_in(Race(), known, kind=EventKind.RACE_ABANDONED).reason == "fog"


def test_filled_in_values_are_no_facts_and_go_again():
    said = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=Race(race_id="rc_1", going="Soft"))
    filled = said.model_copy(update={"race": filled_in(said.race, ASCOT, kind=said.kind)})
    assert filled.race.course.name == "Ascot"
    assert filled.as_delivered() == said
    assert RacingEvent.model_validate_json(filled.model_dump_json(exclude_defaults=True)) == filled


def test_course_of_another_name_is_not_filled_in():
    race = Race(course=Course(course_id="cr_2"))
    assert filled_in(race, Race(course=Course(course_id="cr_1", name="Ascot"))).course == race.course


def test_race_takes_from_its_meeting_what_all_races_have_in_common_but_not_the_meetings_id():
    races = (ASCOT.model_copy(update={"meeting_id": "mt_1"}), ASCOT.model_copy(update={"race_date": "2026-11-21"}))
    race = filled_in_from_meeting(Race(race_id="rc_1"), races, is_meeting=False)
    assert (race.meeting_id, race.race_date, race.course.name) == (None, None, "Ascot")
    assert filled_in_from_meeting(Race(), races, is_meeting=True).meeting_id == "mt_1"


def test_racecard_is_part_of_the_meeting_that_names_one_of_its_races():
    card = RacingEvent(key="c", kind=EventKind.RACECARD_PUBLISHED, races=(Race(race_id="rc_2"), NAMED))
    assert is_part_of(card, meeting(NAMED))
    assert not is_part_of(card, meeting(Race(race_id="rc_3")))
