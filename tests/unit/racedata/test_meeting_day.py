"""One meeting out of a day: which races and events count, and how few are parsed."""

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day_card import RaceOutcome
from bot.racedata.meeting_day import DayRow, KnownDay, outcomes_at

DAY = "2026-03-14"
ASCOT = Course(name="Ascot")


def race(race_id, off="14:30", *, course=ASCOT, region="GB", **more):
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


def shown(known, course=ASCOT, region="GB"):
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
    for course in (ASCOT, Course(course_id="cr_asc")):
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
