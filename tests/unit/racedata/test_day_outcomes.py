"""Outcomes of a day's races, and of one meeting of the day."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day_card import RaceOutcome, outcomes_of
from bot.racedata.meeting_day import DayRow, KnownDay, outcomes_at

DAY = "2026-11-20"
ASCOT, NAAS = Course(course_id="cr_1", name="Ascot"), Course(name="Naas")
WINNER = (Runner(horse="A", position="1"),)


def make_race(race_id, course=ASCOT, region="GB", **fields):
    return Race(race_id=race_id, course=course, region=region, race_date=DAY, **fields)


def make_event(kind, race, reason=None, races=()):
    return RacingEvent(key=f"{kind}:{race.race_id}", kind=kind, race=race, reason=reason, races=races)


def found(outcomes):
    return {
        race.race_id: outcomes.of[place, number]
        for place, meeting in enumerate(outcomes.meetings)
        for number, race in enumerate(meeting.races)
    }


def test_book_alone_tells_settled_abandoned_and_open():
    races = [
        make_race("a", runners=WINNER),
        make_race("b", abandoned=True),
        make_race("c"),
        make_race("d", status="Weighed In"),
        make_race("e", runners=(Runner(horse="A", position="0"),)),
        make_race("f", status="Void", runners=WINNER),
        make_race("g", status="Void", abandoned=True),
    ]
    assert found(outcomes_of(races, [], "GB", None)) == {
        "a": RaceOutcome.SETTLED,
        "b": RaceOutcome.ABANDONED,
        "c": RaceOutcome.OPEN,
        "d": RaceOutcome.SETTLED,
        "e": RaceOutcome.OPEN,
        "f": RaceOutcome.VOID,
        "g": RaceOutcome.ABANDONED,
    }


def test_deliveries_tell_what_the_book_does_not():
    told = [
        make_event(EventKind.RESULT_RECEIVED, make_race("a")),
        make_event(EventKind.RACE_ABANDONED, make_race("b"), reason="Frost"),
        make_event(EventKind.RESULT_RECEIVED, make_race("new", off=OffTime(text="15:00"), runners=WINNER)),
        make_event(EventKind.RESULT_RECEIVED, make_race("elsewhere", region="IRE")),
    ]
    outcomes = outcomes_of([make_race("a", title="Known"), make_race("b")], told, "GB", None)
    assert found(outcomes) == {"a": RaceOutcome.SETTLED, "b": RaceOutcome.ABANDONED, "new": RaceOutcome.SETTLED}
    races = {race.race_id: race for race in outcomes.meetings[0].races}
    assert (races["a"].title, races["b"].reason) == ("Known", "Frost")


def test_lost_meeting_takes_its_races_but_none_that_has_a_result():
    card = Race(course=ASCOT, region="GB", race_date=DAY)
    lost = make_event(EventKind.MEETING_ABANDONED, card, reason="Waterlogged")
    races = [make_race("a", runners=WINNER), make_race("b"), make_race("c", course=NAAS)]
    told = [lost, make_event(EventKind.RESULT_RECEIVED, make_race("d"))]
    outcomes = outcomes_of(races, told, "GB", None)
    assert found(outcomes) == {
        "a": RaceOutcome.SETTLED,
        "b": RaceOutcome.ABANDONED,
        "c": RaceOutcome.OPEN,
        "d": RaceOutcome.SETTLED,
    }
    assert outcomes.lost == (lost,)
    assert "Waterlogged" in {race.reason for meeting in outcomes.meetings for race in meeting.races}


def test_result_and_abandonment_of_one_race_are_both_told():
    told = [
        make_event(EventKind.RESULT_RECEIVED, make_race("a", runners=WINNER)),
        make_event(EventKind.RACE_ABANDONED, make_race("a")),
    ]
    assert found(outcomes_of([], told, "GB", None)) == {"a": RaceOutcome.BOTH}


def test_abandonment_of_unknown_region_or_course_hides_nowhere():
    told = [
        make_event(EventKind.RACE_ABANDONED, make_race("a", region=None)),
        make_event(EventKind.RACE_ABANDONED, make_race("b", course=Course())),
        make_event(EventKind.RESULT_RECEIVED, make_race("c", region=None)),
        make_event(EventKind.RESULT_RECEIVED, make_race("d", course=Course())),
    ]
    assert set(found(outcomes_of([], told, "GB", ASCOT))) == {"a", "b"}
    assert set(found(outcomes_of([], told, None, None))) == {"a", "b", "c", "d"}


def test_abandonment_without_an_id_is_of_the_listed_race_at_its_course_and_time():
    listed = [make_race("a", off=OffTime(text="14:30"), title="Hurdle"), make_race("b", off=OffTime(text="15:00"))]
    told = [
        make_event(EventKind.RACE_ABANDONED, make_race(None, off=OffTime(text="14:30")), reason="Frost"),
        make_event(EventKind.RACE_ABANDONED, make_race(None, course=NAAS, off=OffTime(text="15:00"))),
    ]
    outcomes = outcomes_of(listed, told, "GB", None)
    assert found(outcomes) == {"a": RaceOutcome.ABANDONED, "b": RaceOutcome.OPEN, None: RaceOutcome.ABANDONED}
    (lost,) = [race for meeting in outcomes.meetings for race in meeting.races if race.race_id == "a"]
    assert (lost.title, lost.reason) == ("Hurdle", "Frost")


def test_races_stand_in_order_where_a_delivery_told_no_moment():
    at = [OffTime(text=f"{hour:02}:30", off_at=datetime(2026, 11, 20, hour, 30, tzinfo=UTC)) for hour in (13, 14, 15)]
    listed = [make_race(off.text, off=off) for off in at]
    told = [
        make_event(EventKind.RACE_ABANDONED, make_race("14:30", off=OffTime(text="14:30"))),
        make_event(EventKind.RACE_ABANDONED, make_race("new", off=OffTime(text="14:00"))),
    ]
    (meeting,) = outcomes_of(listed, told, "GB", None).meetings
    assert [race.race_id for race in meeting.races] == ["13:30", "new", "14:30", "15:30"]
    assert [race.off.off_at for race in meeting.races if race.race_id == "14:30"] == [at[1].off_at]


def test_races_with_and_without_a_course_id_are_one_meeting_in_order():
    at = {"13:00": ASCOT, "1:35 pm": Course(name="Ascot"), "14:10": Course(course_id="cr_1"), "14:45": ASCOT}
    told = [
        make_event(EventKind.RACE_ABANDONED, make_race(off, course, off=OffTime(text=off)))
        for off, course in at.items()
    ]
    (meeting,) = outcomes_of([], told[::-1], "GB", None).meetings
    assert [race.race_id for race in meeting.races] == list(at)
    assert meeting.course == ASCOT


def test_two_courses_of_one_name_are_two_meetings():
    courses = (ASCOT, Course(course_id="cr_2", name="Ascot"), Course(name="Ascot"))
    told = [make_event(EventKind.RACE_ABANDONED, make_race(str(number), of)) for number, of in enumerate(courses)]
    assert len(outcomes_of([], told, "GB", None).meetings) == 3


def test_abandonment_without_an_id_and_a_result_with_one_contradict_each_other():
    off = OffTime(text="14:30")
    told = [
        make_event(EventKind.RACE_ABANDONED, make_race(None, off=off)),
        make_event(EventKind.RESULT_RECEIVED, make_race("a", off=off, runners=WINNER)),
    ]
    assert found(outcomes_of([], told, "GB", None)) == {"a": RaceOutcome.BOTH}


ids = st.none() | st.sampled_from("abcd")
some_races = st.builds(
    make_race,
    ids,
    course=st.sampled_from([ASCOT, NAAS, Course()]),
    region=st.sampled_from(["GB", "IRE", None]),
    abandoned=st.booleans(),
    runners=st.sampled_from([(), WINNER]),
)
some_events = st.builds(
    make_event,
    st.sampled_from([EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED]),
    some_races,
    races=st.lists(some_races, max_size=2).map(tuple),
)


@given(
    kept=st.lists(some_races, max_size=4, unique_by=lambda race: race.race_id),
    told=st.lists(some_events, max_size=5),
    region=st.sampled_from([None, "GB"]),
    course=st.sampled_from([None, ASCOT]),
)
def test_every_race_has_an_outcome_and_no_abandonment_is_left_out(kept, told, region, course):
    outcomes = outcomes_of(kept, told, region, course)
    places = {(p, n) for p, meeting in enumerate(outcomes.meetings) for n in range(len(meeting.races))}
    assert set(outcomes.of) == places
    if region is None and course is None:
        said = found(outcomes)
        for event in told:
            if event.kind is EventKind.RACE_ABANDONED:
                assert (
                    said[event.race.race_id] in {RaceOutcome.ABANDONED, RaceOutcome.BOTH} or event.race.race_id is None
                )
        assert len(outcomes.lost) == sum(event.kind is EventKind.MEETING_ABANDONED for event in told)


# One meeting out of a day: which races and events count, and how few are parsed


NAMED_ASCOT = Course(name="Ascot")


def race(race_id, off="14:30", *, course=NAMED_ASCOT, region="GB", **more):
    return Race(race_id=race_id, course=course, race_date=DAY, region=region, off=OffTime(text=off), **more)


def result(race_id, off="14:30", **more):
    told = race(race_id, off, runners=(Runner(horse="Blue Moon", position="1"),), **more)
    return RacingEvent(key=f"result.received:{race_id}", kind=EventKind.RESULT_RECEIVED, race=told)


def lost(race_id, off="14:30", **more):
    return RacingEvent(
        key=f"race.abandoned:{race_id}", kind=EventKind.RACE_ABANDONED, race=race(race_id, off, **more), reason="frost"
    )


def day(*told, book=(), parsed=None):
    def row(value, race_id):
        def read():
            if parsed is not None:
                parsed.append(race_id)
            return value

        return DayRow(race_id, value.model_dump_json(exclude_defaults=True), read)

    return KnownDay([row(one, one.race_id) for one in book], [row(one, one.race.race_id) for one in told])


def shown(known, course=NAMED_ASCOT, region="GB"):
    outcomes = outcomes_at(known, course, region)
    return {
        one.race_id: outcome.value
        for place in range(len(outcomes.meetings))
        for one, outcome in outcomes.of_meeting(place)
    }


def test_only_rows_that_may_be_of_the_meeting_are_parsed():
    parsed: list[str] = []
    courses = [Course(name=f"Park{number:02}") for number in range(30)]
    told = [result(f"rc_{course.name}_{n}", course=course) for course in courses for n in range(8)]
    book = [race(f"rc_{course.name}_{n}", course=course) for course in courses for n in range(8)]
    known = day(*told, book=book, parsed=parsed)
    assert set(shown(known, Course(name="Park07"))) == {f"rc_Park07_{n}" for n in range(8)}
    assert len(parsed) == 16


def test_letter_case_and_spaces_of_a_name_make_no_other_course():
    known = day(
        result("rc_1"), result("rc_2", course=Course(name="ASCOT")), result("rc_3", course=Course(name="ascot"))
    )
    assert shown(known, Course(name=" Ascot ")) == dict.fromkeys(("rc_1", "rc_2", "rc_3"), "settled")


def test_id_and_name_are_one_course_once_a_race_has_both():
    told = (
        result("rc_1", course=Course(course_id="cr_asc")),
        result("rc_2", course=Course(course_id="cr_asc", name="Ascot")),
        result("rc_3"),
    )
    for course in (NAMED_ASCOT, Course(course_id="cr_asc")):
        outcomes = outcomes_at(day(*told), course, "GB")
        assert len(outcomes.meetings) == 1
        assert [one.race_id for one in outcomes.meetings[0].races] == ["rc_1", "rc_2", "rc_3"]
    assert set(shown(day(told[0], told[2]))) == {"rc_3"}


def test_course_of_the_same_name_in_another_region_is_another_meeting():
    australian = Course(course_id="cr_aus", name="Ascot")
    known = day(result("rc_1"), result("rc_9", region="AUS", course=australian))
    assert set(shown(known)) == {"rc_1"}
    assert set(shown(known, australian, "AUS")) == {"rc_9"}


def test_result_of_unknown_region_counts_where_the_course_is_in_one_region():
    unknown = result("rc_2", region=None)
    assert set(shown(day(result("rc_1"), unknown))) == {"rc_1", "rc_2"}
    assert set(shown(day(result("rc_1"), unknown), region=None)) == {"rc_1", "rc_2"}
    several = day(result("rc_1"), unknown, result("rc_9", region="AUS"))
    assert set(shown(several)) == {"rc_1"}
    assert set(shown(several, region=None)) == {"rc_2"}


def test_abandonment_of_unknown_region_or_course_counts():
    nowhere = Course()
    known = day(
        result("rc_1"),
        result("rc_9", region="AUS"),
        lost("rc_2", region=None),
        lost("rc_3", course=nowhere, region=None),
    )
    assert shown(known) == {"rc_1": "settled", "rc_2": "abandoned", "rc_3": "abandoned"}


def test_abandonment_by_id_of_a_race_elsewhere_does_not_count():
    york = race("rc_7", course=Course(name="York"))
    bare = RacingEvent(key="race.abandoned:rc_7", kind=EventKind.RACE_ABANDONED, race=Race(race_id="rc_7"))
    known = day(bare, book=(york, race("rc_1")))
    assert shown(known) == {"rc_1": "open"}
    assert shown(known, Course(name="York")) == {"rc_7": "abandoned"}


def test_event_by_id_alone_settles_the_race_of_the_book():
    bare = RacingEvent(
        key="result.received:rc_1",
        kind=EventKind.RESULT_RECEIVED,
        race=Race(race_id="rc_1", runners=(Runner(horse="Blue Moon", position="1"),)),
    )
    assert shown(day(bare, book=(race("rc_1"),))) == {"rc_1": RaceOutcome.SETTLED.value}


def test_races_without_an_id_are_one_race_whatever_the_letter_case_of_the_course():
    told = result(None, course=Course(name="ASCOT"))
    known = day(told, book=(race("rc_1"),))
    assert shown(known) == {"rc_1": "settled"}


def test_unreadable_row_is_passed_over():
    broken: DayRow[RacingEvent] = DayRow("rc_2", '{"race":{"course":{"name":"Ascot"}}}', lambda: None)
    known = day(result("rc_1"))
    assert set(shown(KnownDay(known.races, [*known.told, broken]))) == {"rc_1"}
