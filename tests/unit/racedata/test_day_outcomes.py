"""Outcomes of a day's races, and of one meeting of the day."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day import DayRow, KnownDay
from bot.racedata.day_card import Outcomes, outcomes_of
from tests.rows import over

DAY = "2026-11-20"
ASCOT, NAAS, NOWHERE = Course(course_id="cr_1", name="Ascot"), Course(name="Naas"), Course()
NAMED_ASCOT = Course(name="Ascot")
WINNER = (Runner(horse="A", position="1"),)


def race(race_id, off=None, *, course=ASCOT, region="GB", **fields):
    moment = off if isinstance(off, OffTime) else OffTime(text=off)
    return Race(race_id=race_id, course=course, race_date=DAY, region=region, off=moment, **fields)


def in_utc(hour):
    return OffTime(off_at=datetime(2026, 11, 20, hour, tzinfo=UTC))


def told(kind, one, **fields):
    return RacingEvent(key=f"{kind}:{one.race_id}", kind=kind, name=kind, race=one, **fields)


def result(race_id, off=None, **fields):
    return told(EventKind.RESULT_RECEIVED, race(race_id, off, runners=WINNER, **fields))


def lost(race_id, off=None, reason="frost", **fields):
    return told(EventKind.RACE_ABANDONED, race(race_id, off, **fields), reason=reason)


MEETING_LOST = told(EventKind.MEETING_ABANDONED, race(None), reason="Waterlogged")


def found(outcomes):
    """Race → outcome."""
    return {race.race_id: outcome.value for race, outcome in outcomes.each}


# The races of the book, the deliveries, and the outcome of each race.
GB_DAYS = {
    "of the book alone": (
        [
            *(race("a", runners=WINNER), race("b", abandoned=True), race("c"), race("d", status="Weighed In")),
            *(race("e", runners=(Runner(horse="A", position="0"),)), race("f", status="Void", runners=WINNER)),
            race("g", status="Void", abandoned=True),
        ],
        [],
        {"a": "settled", "b": "abandoned", "c": "open", "d": "settled", "e": "open", "f": "void", "g": "abandoned"},
    ),
    "told": (
        [race("a"), race("b")],
        [told(EventKind.RESULT_RECEIVED, race("a")), lost("b"), result("new"), result("elsewhere", region="IRE")],
        {"a": "settled", "b": "abandoned", "new": "settled"},
    ),
    "lost with the meeting": (
        [race("a", runners=WINNER), race("b"), race("c", course=NAAS)],
        [MEETING_LOST, told(EventKind.RESULT_RECEIVED, race("d"))],
        {"a": "settled", "b": "abandoned", "c": "open", "d": "settled"},
    ),
    "lost under an id that no race has": (
        [race("a", meeting_id="mt_1"), race("b", meeting_id="mt_1", runners=WINNER), race("c", course=NAAS)],
        [MEETING_LOST.model_copy(update={"race": race(None, meeting_id="mt_2")})],
        {"a": "may be lost", "b": "settled", "c": "open"},
    ),
    "lost under an id that no race has, and one race reinstated since": (
        [race("a", meeting_id="mt_1"), race("b", meeting_id="mt_1")],
        [
            MEETING_LOST.model_copy(update={"race": race(None, meeting_id="mt_2"), "received_at": in_utc(12).off_at}),
            told(EventKind.RACE_ABANDONED, race("a", status="Reinstated"), received_at=in_utc(13).off_at),
        ],
        {"a": "open", "b": "may be lost"},
    ),
    "lost under another race's id, at the time of a race": (
        [race("a", "13:35"), race("b", "14:35"), race("z", "13:35")],
        [MEETING_LOST.model_copy(update={"races": (race("z", "13:35"),)})],
        {"a": "may be lost", "b": "open", "z": "abandoned"},
    ),
    "lost under the id of one of two meetings": (
        [race("a", meeting_id="mt_1"), race("b", meeting_id="mt_2")],
        [MEETING_LOST.model_copy(update={"race": race(None, meeting_id="mt_2")})],
        {"a": "open", "b": "abandoned"},
    ),
    "lost after race 1": (
        [race("a", number="1"), race("b", number="2"), race("c", number="3")],
        [MEETING_LOST.model_copy(update={"races_run": 1}), result("b")],
        {"a": "settled", "b": "both", "c": "abandoned"},
    ),
    "in UTC, and lost from a local time on, in a region of several zones": (
        [],
        [
            MEETING_LOST.model_copy(update={"lost_from": "14:00", "race": race(None, region="AUS")}),
            result("a", in_utc(2), region="AUS"),
            result("b", in_utc(4), region="AUS"),
            result("c", in_utc(7), region="AUS"),
        ],
        {"a": "settled", "b": "settled", "c": "both"},
    ),
    "lost in a meeting that names a race as run": (
        [],
        [MEETING_LOST.model_copy(update={"races": (race("a", abandoned=False), race("b"))}), result("b")],
        {"a": "settled", "b": "both"},
    ),
    "lost in a meeting that names races from 2 on": (
        [],
        [MEETING_LOST.model_copy(update={"races": (race("b", number="2"), race("c", number="3"))}), result("b")],
        {"b": "both", "c": "abandoned"},
    ),
    "taken back": (
        [race("a", "14:30"), race("b", "15:00")],
        [
            lost("a", "14:30", abandoned=True, status="Reinstated"),
            told(EventKind.MEETING_ABANDONED, race(None, status="Going ahead at Ascot")),
            lost("c", abandoned=True, status="Going ahead at York"),
            lost("d", abandoned=True, status="Reinstated").model_copy(update={"in_doubt": True}),
        ],
        {"a": "open", "b": "open", "c": "abandoned", "d": "in doubt"},
    ),
    "in doubt with the meeting, and surely lost by itself": (
        [race("a", "14:30", abandoned=True), race("b", "15:00")],
        [MEETING_LOST.model_copy(update={"in_doubt": True}), lost("b"), result("c")],
        {"a": "in doubt", "b": "abandoned", "c": "settled"},
    ),
    "taken back alone, in a lost meeting": (
        [race("a", "14:30"), race("b", "15:00")],
        [MEETING_LOST, lost("a", "14:30", status="Reinstated")],
        {"a": "in doubt", "b": "abandoned"},
    ),
    "both": ([], [result("a"), lost("a")], {"a": "both"}),
    "both, once without an id": ([], [lost(None, "14:30"), result("a", "14:30")], {"a": "both"}),
    "unknown region": ([], [lost("a", region=None), result("c", region=None)], {"a": "abandoned"}),
    "without an id": (
        [race("a", "14:30"), race("b", "15:00")],
        [lost(None, "14:30"), lost(None, "15:00", course=NAAS)],
        {"a": "abandoned", "b": "open", None: "abandoned"},
    ),
}


@over("name", GB_DAYS)
def test_race_of_a_day_has_its_outcome(name):
    book, events, expected = GB_DAYS[name]
    region = "AUS" if "several zones" in name else "GB"
    assert found(outcomes_of(book, events, region, None)) == expected


def test_nothing_known_is_no_outcome():
    assert Outcomes().count() == 0


def test_abandonment_of_unknown_region_or_course_hides_nowhere():
    events = [lost("a", region=None), lost("b", course=NOWHERE), result("c", region=None), result("d", course=NOWHERE)]
    at_ascot = outcomes_of([], events, "GB", ASCOT)
    assert (set(found(at_ascot)), at_ascot.unplaced) == ({"a"}, (events[1],))
    assert set(found(outcomes_of([], events, None, None))) == {"a", "b", "c", "d"}


def test_race_keeps_what_the_book_knows_and_takes_the_reason_that_was_told():
    outcomes = outcomes_of(
        [race("a", "14:30", title="Hurdle"), race("b")], [lost(None, "14:30"), MEETING_LOST], "GB", None
    )
    races = {one.race_id: one for meeting in outcomes.meetings for one in meeting.races}
    assert (races["a"].title, races["a"].reason, races["b"].reason) == ("Hurdle", "frost", "Waterlogged")
    assert outcomes.lost == (MEETING_LOST,)


def test_races_stand_in_order_where_a_delivery_told_no_moment():
    at = [OffTime(text=f"{hour:02}:30", off_at=datetime(2026, 11, 20, hour, 30, tzinfo=UTC)) for hour in (13, 14, 15)]
    listed = [race(off.text, off) for off in at]
    (meeting,) = outcomes_of(listed, [lost("14:30", "14:30"), lost("new", "14:00")], "GB", None).meetings
    assert [one.race_id for one in meeting.races] == ["13:30", "new", "14:30", "15:30"]
    assert [one.off.off_at for one in meeting.races if one.race_id == "14:30"] == [at[1].off_at]


def test_races_with_and_without_a_course_id_are_one_meeting_in_order_unless_two_have_the_name():
    at = {"13:00": ASCOT, "1:35 pm": NAMED_ASCOT, "14:10": Course(course_id="cr_1"), "14:45": ASCOT}
    events = [lost(off, off, course=course) for off, course in at.items()]
    (meeting,) = outcomes_of([], events[::-1], "GB", None).meetings
    assert [one.race_id for one in meeting.races] == list(at)
    assert meeting.course == ASCOT
    courses = (ASCOT, Course(course_id="cr_2", name="Ascot"), NAMED_ASCOT)
    assert len(outcomes_of([], [lost(of.course_id, course=of) for of in courses], "GB", None).meetings) == 3


some_races = st.builds(
    race,
    st.none() | st.sampled_from("abcd"),
    course=st.sampled_from([ASCOT, NAAS, NOWHERE]),
    region=st.sampled_from(["GB", "IRE", None]),
    abandoned=st.booleans(),
    runners=st.sampled_from([(), WINNER]),
)
some_events = st.builds(
    told,
    st.sampled_from([EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED]),
    some_races,
    races=st.lists(some_races, max_size=2).map(tuple),
)


@given(
    kept=st.lists(some_races, max_size=4, unique_by=lambda one: one.race_id),
    events=st.lists(some_events, max_size=5),
    region=st.sampled_from([None, "GB"]),
    course=st.sampled_from([None, ASCOT]),
)
def test_every_race_has_an_outcome_and_no_abandonment_is_left_out(kept, events, region, course):
    outcomes = outcomes_of(kept, events, region, course)
    assert all(meeting.each for meeting in outcomes.meetings)
    if region is None and course is None:
        said = found(outcomes)
        lost_races = {event.race.race_id for event in events if event.kind is EventKind.RACE_ABANDONED} - {None}
        assert {said[race_id] for race_id in lost_races} <= {RaceOutcome.ABANDONED, RaceOutcome.BOTH}
        assert len(outcomes.lost) == sum(event.kind is EventKind.MEETING_ABANDONED for event in events)


# One meeting out of a day: which races and events count, and how few are parsed


def day(*events, book=(), parsed=None):
    def row(value, race_id):
        def read():
            if parsed is not None:
                parsed.append(race_id)
            return value

        return DayRow(race_id, value.model_dump_json(exclude_defaults=True), read)

    return KnownDay([row(one, one.race_id) for one in book], [row(one, one.race.race_id) for one in events])


ASCOT_ID, AUSTRALIAN = Course(course_id="cr_1"), Course(course_id="cr_aus", name="Ascot")
BARE_LOST = told(EventKind.RACE_ABANDONED, Race(race_id="rc_7"))
BARE_RESULT = told(EventKind.RESULT_RECEIVED, Race(race_id="rc_1", runners=WINNER))
CASES = ("rc_1", NAMED_ASCOT), ("rc_2", Course(name="ASCOT")), ("rc_3", Course(name="ascot"))
THREE = dict.fromkeys(("rc_1", "rc_2", "rc_3"), "settled")
ID_AND_NAME = [result("rc_1", course=ASCOT_ID), result("rc_2"), result("rc_3", course=NAMED_ASCOT)]
AT_HOME, UNKNOWN, AWAY = result("rc_1"), result("rc_2", region=None), result("rc_9", region="AUS", course=AUSTRALIAN)
AT_YORK = race("rc_7", course=Course(name="York"))
# The events of the day, the races of the book, the meeting, and the outcomes of the meeting's races.
MEETINGS = {
    "any letter case": ([result(one, course=course) for one, course in CASES], [], Course(name=" Ascot "), "GB", THREE),
    "a name, once a race has both": (ID_AND_NAME, [], NAMED_ASCOT, "GB", THREE),
    "an id, once a race has both": (ID_AND_NAME, [], ASCOT_ID, "GB", THREE),
    "a name alone": ([ID_AND_NAME[0], ID_AND_NAME[2]], [], NAMED_ASCOT, "GB", {"rc_3": "settled"}),
    "the name elsewhere": ([AT_HOME, AWAY], [], AUSTRALIAN, "AUS", {"rc_9": "settled"}),
    "the name here": ([AT_HOME, AWAY], [], ASCOT, "GB", {"rc_1": "settled"}),
    "one region": ([AT_HOME, UNKNOWN], [], ASCOT, "GB", {"rc_1": "settled", "rc_2": "settled"}),
    "one region, unknown": ([AT_HOME, UNKNOWN], [], ASCOT, None, {"rc_1": "settled", "rc_2": "settled"}),
    "several regions": ([AT_HOME, UNKNOWN, AWAY], [], NAMED_ASCOT, "GB", {"rc_1": "settled"}),
    "several regions, unknown": ([AT_HOME, UNKNOWN, AWAY], [], NAMED_ASCOT, None, {"rc_2": "settled"}),
    "lost of an unknown place": (
        [AT_HOME, AWAY, lost("rc_2", region=None), lost("rc_3", course=NOWHERE, region=None)],
        *([], NAMED_ASCOT, "GB", {"rc_1": "settled", "rc_2": "abandoned"}),
    ),
    "lost by an id elsewhere": ([BARE_LOST], [AT_YORK, race("rc_1")], NAMED_ASCOT, "GB", {"rc_1": "open"}),
    "lost by an id there": ([BARE_LOST], [AT_YORK, race("rc_1")], AT_YORK.course, "GB", {"rc_7": "abandoned"}),
    "settled by an id": ([BARE_RESULT], [race("rc_1")], ASCOT, "GB", {"rc_1": "settled"}),
    "without an id": (
        [result(None, "14:30", course=Course(name="ASCOT"))],
        *([race("rc_1", "14:30", course=NAMED_ASCOT)], NAMED_ASCOT, "GB", {"rc_1": "settled"}),
    ),
}


@over("name", MEETINGS)
def test_meeting_has_the_races_of_its_course_and_region(name):
    events, book, course, region, expected = MEETINGS[name]
    outcomes = day(*events, book=book).meeting(course, region)
    assert found(outcomes) == expected
    assert (len(outcomes.meetings), len(outcomes.unplaced)) == (1, name == "lost of an unknown place")


# The meeting's event, other events, and whether a race of the meeting was run.
PARTLY_RUN = {
    "nothing known": ({}, [], False),
    "a result": ({}, [result("a")], True),
    "a void race": ({}, [result("a", status="Void")], False),
    "a result and an abandonment": ({}, [result("a"), lost("a")], False),
    "a result elsewhere": ({}, [result("a", course=NAAS)], False),
    "it counts those run": ({"races_run": 2}, [], True),
    "it names one as run": ({"races": (race("a", runners=WINNER),)}, [], True),
    "it names one": ({"races": (race("a"),)}, [], False),
    "a result beside the races it names": ({"races": (race("b"),)}, [result("a")], True),
    "a result of another meeting": (
        {"races": (race("b"),), "race": MEETING_LOST.race.model_copy(update={"meeting_id": "mt_1"})},
        [result("a", meeting_id="mt_2")],
        False,
    ),
}


@over("name", PARTLY_RUN)
def test_meeting_is_partly_run_if_a_race_was_or_its_event_says_so(name):
    says, events, is_partly_run = PARTLY_RUN[name]
    meeting = MEETING_LOST.model_copy(update=says)
    assert day(*events, meeting).meeting(ASCOT, "GB").partly_run == ({meeting.key} if is_partly_run else set())


def test_only_rows_that_may_be_of_the_meeting_are_parsed():
    parsed: list[str] = []
    courses = [Course(name=f"Park{number:02}") for number in range(30)]
    events = [result(f"rc_{course.name}_{n}", course=course) for course in courses for n in range(8)]
    book = [race(f"rc_{course.name}_{n}", course=course) for course in courses for n in range(8)]
    found_races = found(day(*events, book=book, parsed=parsed).meeting(Course(name="Park07"), "GB"))
    assert set(found_races) == {f"rc_Park07_{n}" for n in range(8)}
    assert len(parsed) == 16


def test_races_by_id_have_their_outcomes_and_other_rows_of_the_book_are_not_parsed():
    parsed: list[str] = []
    book = [race("a", "13:00"), race("b", "13:30"), race("c", "14:00")]
    known = day(result("a", "13:00"), result("b", "13:30"), book=book, parsed=parsed).of_races({"a", "c", "d"})
    assert {race_id: outcome.value for race_id, (_, outcome) in known.items()} == {"a": "settled", "c": "open"}
    assert sorted(parsed) == ["a", "a", "b", "c"]


def test_unreadable_row_is_passed_over():
    broken: DayRow[RacingEvent] = DayRow("rc_2", '{"race":{"course":{"name":"Ascot"}}}', lambda: None)
    known = day(AT_HOME)
    assert set(found(KnownDay(known.races, [*known.told, broken]).meeting(ASCOT, "GB"))) == {"rc_1"}
