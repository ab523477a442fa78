"""Deliveries that list meetings and races: each of the list with its place and day, and no other list is read."""

import json
from typing import Any

import pytest

from bot.deliveries.payload import TOO_MANY, read_events
from bot.events.races import Course
from tests.rows import over
from tests.unit.events.shapes import ASCOT, AT, BATH, DAY, PAST, ROWS, UNTIMED, said, shape


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("race.abandoned", "races"),
        *((kind, name) for kind in ("meeting.abandoned", "racecard.published") for name in ("races", "meetings")),
    ],
)
def test_too_many_events_are_told_of_no_single_course(kind, name):
    elsewhere = [
        {**BATH, "course": f"Bath {number}"} | ({"off": "13:00"} if name == "races" else {}) for number in range(31)
    ]
    (event,) = read_events(json.dumps(shape(kind, **ASCOT, **{name: elsewhere})).encode())
    assert (event.race.course, event.race.region, event.unreadable_because) == (Course(), None, TOO_MANY)


def test_loss_of_too_many_days_leaves_no_day_out():
    days = [f"2026-12-{day:02}" for day in range(1, 32)]
    assert lost_meetings(course="York", dates=days) == [TOO_MANY]


AROUND: dict[str, Any] = {"region": "GB", "date": DAY, "reason": "Frost"}


def around(**data: Any) -> dict[str, Any]:
    return AROUND | data


def york(**data: Any) -> dict[str, Any]:
    return around(course="York", **data)


LOST_RACE = {"off": "13:00", "status": "Abandoned"}
BOTH, AYR_ANYWHERE = ["GB York Frost", "GB Ayr Frost"], ["GB York Frost", "None Ayr Frost"]


@pytest.mark.parametrize("beside", [{}, {"course": "York"}, {"meeting": {"id": "m_1", "name": "York"}}])
@pytest.mark.parametrize("listed", [["York", "Ayr"], [{"name": "York"}, {"name": "Ayr"}], ["York", {"name": "Ayr"}]])
@pytest.mark.parametrize(
    "name", ["meetings", "fixtures", "venues", "tracks", "courses", "racecourses", "affected_venues", "abandoned"]
)
def test_each_named_meeting_is_told_with_what_stands_beside_the_list(name, listed, beside):
    assert lost_meetings(**AROUND, **beside, **{name: listed}) == BOTH


@over(
    ("data", "meetings"),
    [
        *((around(**{name: ["York", "Ayr"]}), BOTH) for name in ("course", "venue", "meeting", "course_names")),
        (around(meetings="York, Ayr"), BOTH),
        (around(courses="York and Ayr"), BOTH),
        (around(meetings={"items": ["York", "Ayr"]}), BOTH),
        (around(affected={"venues": ["York", "Ayr"]}), BOTH),
        (york(venues=["Ayr"]), BOTH),
        (york(meeting={"Status": "Abandoned"}), ["GB York Frost"]),
        (around(venues={"York": True, "Bath": False}), ["GB York Frost"]),
        (around(venues={"York": "Fog", "Ayr": "Snow"}), ["GB Ayr Snow", "GB York Fog"]),
        (around(courses=[{"id": "cr_1", "name": "York"}, {"id": "cr_2", "name": "Ayr"}]), BOTH),
        ({"date": DAY, "meetings": {"GB": ["York"], "IE": ["Naas"]}}, ["GB York None", "IE Naas None"]),
        *(
            (york(meetings=said, venues=[said]), ["GB York Frost"])
            for said in ("see website", "TBC", "none", "All", "York", "YORK", "York (GB)", "Race 5")
        ),
        (around(meetings={"Name": "York", "Region": "GB"}), ["GB None Frost"]),
        (around(meetings=[{"name": "York", "status": "Abandoned"}, {"name": "Ayr", "reason": "Frost"}, "Bath"]), BOTH),
        (
            around(meetings=[{"name": "York", "abandoned": True}, {"name": "Ayr", "status": "Frozen"}]),
            ["GB York Frost", "GB Ayr Frozen, Frost"],
        ),
        (
            around(meetings=[{"name": "York", "status": "Abandoned"}, {"name": "Ayr", "status": "Declared"}]),
            ["GB York Frost"],
        ),
        (
            around(meetings=[{"name": "York", "abandoned": True}, {"name": "Ayr", "races": [LOST_RACE]}]),
            ["GB York Frost", "GB Ayr Frost, 1 races"],
        ),
        (around(venues={"York": True, "Ayr": "Frost", "Bath": False}), ["GB Ayr Frost", "GB York Frost"]),
        *(
            (york(**{name: [{"number": 3, "name": "A Race"}]}), [f"GB York Frost{races}"])
            for name, races in (("cancelled", ", 1 races"), ("card", ", 1 races"), ("affected", ", 1 races"))
        ),
        *(
            (york(**{name: said}), ["GB York Frost"])
            for name, said in (
                ("meetings", {"Status": "Abandoned"}),
                ("meetings", {"Total": "2"}),
                ("location", ["York", "England"]),
            )
        ),
        *(
            (york(**{name: said}), [f"GB York Frost, {len(said)} races"])
            for name in ("cancelled", "abandoned", "affected", "lost")
            for said in (
                ["Ebor Handicap", "Gimcrack Stakes"],
                ["Ebor Handicap", "Juddmonte"],
                [{"name": "Ebor Handicap"}, {"name": "Juddmonte"}],
                *(["13:00", "13:30"], [3, 4, 5], ["rc_1", "rc_2"], ["Prix Foy"]),
            )
        ),
        (york(meetings=["Ebor Handicap", "Gimcrack Stakes"]), ["GB York Frost"]),
        (york(cancelled="R4, R5 and R6"), ["GB York Frost, 3 races"]),
        (york(abandoned_races="4-7"), ["GB York Frost, 4 races"]),
        (york(abandoned_races="4"), ["GB York Frost"]),
        (york(race_numbers=[4, 5]), ["GB York Frost, 2 races"]),
        *(
            (york(meetings=[{"name": "Ebor Festival", **more}]), [f"GB York Frost{races}"])
            for more, races in (
                *(({}, ""), ({"id": "m_1"}, ""), ({"status": "Abandoned"}, "")),
                ({"races": ["13:00", "13:30"]}, ", 2 races"),
            )
        ),
        (around(meetings=[{"name": "Ebor Festival"}]), ["GB Ebor Festival Frost"]),
        (around(meetings=[{"name": "Ebor Festival", "course": "York"}, {"course": "Ayr"}]), BOTH),
        *(
            (around(meetings=[{"name": "York", "status": "Abandoned"}, {"name": "Ayr", **part}]), BOTH)
            for part in (
                *({"abandoned_from": 4}, {"abandoned_after": "race 3"}, {"partial": True}, {"abandoned_races": 3}),
                *({"races_run": 3}, {"note": "Remaining races lost"}, {"abandoned_from": "15:00"}),
            )
        ),
        *(
            (around(meetings=[{"name": "York", "status": "Abandoned"}, {"name": "Ayr", **on}]), ["GB York Frost"])
            for on in (
                *({"status": "Going ahead"}, {"status": "Inspection 8am"}, {"status": "ON"}, {"status": "Active"}),
                *({"partial": False}, {"abandoned_races": 0}),
            )
        ),
        (around(meetings={"York": "Abandoned", "Ayr": "Going ahead"}), ["GB York Frost"]),
        (around(meetings={"m_1": {"course": "York"}, "m_2": {"course": "Ayr"}}), BOTH),
        ({"date": DAY, "cancelled": {"GB": ["York"], "IE": ["Naas"]}}, ["GB York None", "IE Naas None"]),
        (york(cancelled={"Reason": {"text": "Fog"}}), ["GB York Frost"]),
        (york(cancelled={"by": {"name": "Clerk"}}), ["GB York Frost"]),
        (around(countries=[{"name": "A", "meetings": ["York"]}, {"name": "B", "meetings": ["Ayr"]}]), BOTH),
        (around(meetings=[{"number": 1, "name": "York"}, {"number": 2, "name": "Ayr"}]), BOTH),
        (around(meeting_ids=["m_1", 204]), ["GB m_1 Frost", "GB 204 Frost"]),
        (around(course_ids=["cr_1", "cr_2"]), ["GB cr_1 Frost", "GB cr_2 Frost"]),
        (
            york(meetings=["York", {"course": "Naas", "region": "IE"}, "Ayr"]),
            ["GB York Frost", "IE Naas Frost", "None Ayr Frost"],
        ),
        ({"reason": "Frost", "meetings": ["York", "Ayr"], "meeting": {"name": "York", "region": "GB"}}, AYR_ANYWHERE),
        ({"reason": "Frost", "meetings": ["York", "Ayr"], "course": {"name": "York", "region": "GB"}}, AYR_ANYWHERE),
        *((york(**{name: [PAST]}), ["GB York Frost"]) for name in ("results", "items", "races")),
        (around(course="York Evening", races=[{"course": "York", "off": "18:00"}]), ["GB York Frost, 1 races"]),
        ({"date": DAY, "hippodrome": "Auteuil", "courses": ["Prix A", "Prix B"]}, ["None Auteuil None, 2 races"]),
        (
            around(meetings=["York", "Ayr"], races=[{"off": "13:00"}, {"course": "Ayr", "off": "13:10"}]),
            ["GB York Frost", "GB Ayr Frost, 1 races"],
        ),
        (around(courses=[{"name": "York", "time": "13:00"}, {"name": "Ayr", "time": "13:10"}]), BOTH),
        (
            york(tracks=["Ayr"], races=["13:00", {"course": "Bath", "off": "13:10"}]),
            ["GB York Frost, 1 races", "GB Ayr Frost", "None Bath Frost, 1 races"],
        ),
    ],
)
def test_meetings_are_read_however_they_are_listed(data, meetings):
    assert lost_meetings(**data) == meetings


@pytest.mark.parametrize("kind", ["meeting.abandoned", "racecard.published", "race.abandoned", "result.received"])
@pytest.mark.parametrize("name", ["Ascot", "ASCOT", "Ascot (GB)", "Royal Ascot"])
def test_region_and_id_stand_beside_a_meeting_of_another_name_than_its_course(kind, name):
    races = [{"course": "Ascot", "off": "13:00", "winner": "A"}, {"course": "Ascot", "off": "13:30", "winner": "B"}]
    payload = shape(kind, meeting={"id": "m_1", "name": name, "region": "GB"}, date=DAY, races=races)
    told = [one for event in read_events(json.dumps(payload).encode()) for one in (event.race, *event.races)]
    assert {(one.region, one.meeting_id, one.race_date) for one in told} == {("GB", "m_1", DAY)}


LISTED = [{"course": "York", "date": DAY, "off": "13:00"}, {"course": "Ayr", "date": DAY, "off": "14:00"}]


@pytest.mark.parametrize(
    "beside", [{"position": 1}, {"place": "North"}, {"rank": 2}, {"fin": False}, {"placed": ["A"]}]
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("meeting.abandoned", name) for name in ("meetings", "data")),
        *(("race.abandoned", name) for name in ("races", "data", "cancelled")),
    ],
)
def test_meeting_or_race_with_a_place_in_the_list_is_no_horse(kind, name, beside):
    events = read_events(json.dumps({"event": kind, name: [{**one, **beside} for one in LISTED]}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@pytest.mark.parametrize("kind", ["race.abandoned", "meeting.abandoned"])
@pytest.mark.parametrize("name", ["entities", "value", "details", "objects"])
def test_entries_with_a_race_are_the_events_of_a_delivery_that_names_no_other(kind, name):
    events = read_events(json.dumps({"event": kind, name: LISTED}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@pytest.mark.parametrize("kind", ["race.abandoned", "meeting.abandoned", "racecard.published", "result.received"])
def test_races_in_days_have_the_day(kind):
    days = [{"date": day, "races": [{"course": "York", "off": "13:00"}]} for day in (DAY, "2026-11-21")]
    events = read_events(json.dumps(shape(kind, days=days)).encode())
    assert [(one.race.course.name, one.race.race_date) for one in events] == [("York", DAY), ("York", "2026-11-21")]


@pytest.mark.parametrize("name", ["next_races", "related", "previous", "odds", "history"])
def test_entries_about_other_races_are_no_events(name):
    assert said({"event": "race.abandoned", name: LISTED}) == ["the payload names no race"]


@over(
    ("payload", "lines"),
    [
        *(
            (shape("race.abandoned", **AT | {"off": None}, races={"13:00": one, "13:30": other}), ["York 13:00", *rest])
            for one, other, rest in (("Fog", "Fog", ["York 13:30"]), ("Abandoned", "Open", []))
        ),
        (
            shape("race.abandoned", date=DAY, meetings={"York": ["13:00", "13:30"], "Ayr": ["14:00"]}),
            ["Ayr 14:00", "York 13:00", "York 13:30"],
        ),
        (shape("race.abandoned", **AT | {"off": None}, race_id=["r1", "r2"]), [f"York {DAY}"] * 2),
        (
            shape(
                "race.abandoned", before={"id": "r1", **AT, "status": "Open"}, after={"id": "r1", **AT, "status": "Off"}
            ),
            ["York 13:00"],
        ),
        ({"detail-type": "race.abandoned", "detail": AT}, ["York 13:00"]),
        ({"event": "price.moved", "beside": "race.abandoned", **AT}, ["The event price.moved is unknown."]),
        ({"previous_event": "race.abandoned", **AT}, ["The payload names no event."]),
    ],
)
def test_lost_races_are_read_under_keys_and_the_event_by_its_value(payload, lines):
    assert said(payload) == lines


def test_meetings_in_groups_have_the_day_of_the_group():
    days = [{"date": DAY, "meetings": ["York"]}, {"date": "2026-11-21", "meetings": [{"course": "Ayr"}]}]
    events = read_events(json.dumps(shape("meeting.abandoned", reason="Frost", days=days)).encode())
    told = [(one.race.course.name, one.race.race_date, one.reason) for one in events]
    assert told == [("York", DAY, "Frost"), ("Ayr", "2026-11-21", "Frost")]


@over(
    ("races", "numbers"),
    [
        *(({name: "4-7"}, ["4", "5", "6", "7"]) for name in ("races", "race", "race_number", "race_numbers")),
        *(({name: "R4, 5 & 6"}, ["4", "5", "6"]) for name in ("races", "race", "race_nos", "cancelled")),
        *(({name: [4, 5]}, ["4", "5"]) for name in ("race_number", "race_numbers", "lost_race_numbers", "abandoned")),
        *(({name: [4]}, ["4"]) for name in ("race_number", "races")),
        *(({name: "4"}, ["4"]) for name in ("race", "race_number")),
        ({"from_race": 4, "to_race": "R6"}, ["4", "5", "6"]),
        ({"from_race": {"number": 4}, "to_race": {"number": 5}}, ["4", "5"]),
        ({"first_race": 4, "last_race": 5}, ["4", "5"]),
        *(({name: {"from": 4, "to": 5}}, ["4", "5"]) for name in ("races", "race", "race_range")),
        ({"race_range": [4, 6]}, ["4", "5", "6"]),
        ({"remaining_races": [6, 7]}, ["6", "7"]),
    ],
)
def test_each_numbered_race_that_is_lost_is_an_event(races, numbers):
    events = read_events(json.dumps(shape("race.abandoned", course="York", date=DAY, **races)).encode())
    assert [(one.race.course.name, one.race.number, one.races) for one in events] == [("York", n, ()) for n in numbers]


@pytest.mark.parametrize("name", ["off", "off_times", "race_times"])
def test_each_off_time_of_a_lost_race_is_an_event_and_two_times_of_a_result_are_one(name):
    times = {**AT, "off": None, name: ["13:00", "13:30"]}
    assert said(shape("race.abandoned", **times)) == ["York 13:00", "York 13:30"]
    assert len(said(shape(**times, runners=ROWS))) == 1


def test_nearest_value_beside_a_list_counts():
    far = {"event": "meeting.abandoned", "region": "IE", "date": "2026-11-21", "reason": "Fog"}
    events = read_events(json.dumps({**far, "data": around(meetings=["York", "Ayr"])}).encode())
    assert [(one.race.region, one.race.race_date, one.reason) for one in events] == [("GB", DAY, "Frost")] * 2


def lost_meetings(**data: Any) -> list[str]:
    told = []
    for event in read_events(json.dumps(shape("meeting.abandoned", **data)).encode()):
        course = event.race.course.name or event.race.course.course_id or event.race.meeting_id
        count = f", {len(event.races)} races" if event.races else ""
        told.append(event.unreadable_because or f"{event.race.region} {course} {event.reason}{count}")
    return told


# Abandonments in the shapes of public services: each lost race or meeting, with place and day


TWO_DAYS: tuple[dict[str, Any], ...] = (
    *({"dates": [DAY, "2026-11-21"]}, {"days": [{"date": DAY}, {"date": "2026-11-21"}]}),
    *({"date": [DAY, "2026-11-21"]}, {"dates": {"from": DAY, "to": "2026-11-21"}}),
    *({f"{first}date": DAY, f"{last}_date": "2026-11-21"} for first, last in (("start", "end"), ("from", "to"))),
    *({"from": DAY, "to": "2026-11-21"}, {"first_day": DAY, "last_day": "2026-11-21"}),
    *(
        {"period": {"start": DAY, "end": "2026-11-21"}},
        {"start_date": DAY, "end_date": "2026-11-21T00:00Z"},
    ),
    *({"date": said} for said in (f"{DAY} to 2026-11-21", f"{DAY}/2026-11-21", "20-21 November 2026")),
    *({"dates": said} for said in ("Fri 20 & Sat 21 Nov 2026", f"{DAY}, 2026-11-21")),
)

LOST_BESIDE: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"abandoned_races": ["13:00", "13:30"]}, ["York 13:00", "York 13:30"]),
    (
        {"cancelled": [{**AT, "off": "13:30"}, {"course": "Ayr", "off": "14:00"}]},
        ["York 13:00", "York 13:30", "Ayr 14:00"],
    ),
    ({"lost_races": ["rc_2", {"race_id": "rc_3", "status": "Official"}]}, ["York 13:00", f"York {DAY}"]),
    ({"abandoned": {"races": ["13:00", "13:30"]}}, ["York 13:00", "York 13:30"]),
    ({"abandoned_races": ["Juddmonte"]}, ["York 13:00", f"York {DAY}"]),
    ({"affected": ["Blue Moon", {"name": "Red Sky", "number": 3}]}, ["York 13:00"]),
    ({"affected": [{"name": "Juddmonte", "off": "13:30"}]}, ["York 13:00", "York 13:30"]),
    ({"remaining_races": ["13:30", "14:00"], "first_race": 1, "last_race": 7}, ["York 13:00"]),
    *(({name: ["13:30"]}, ["York 13:00"]) for name in ("races", "next_races", "off_times", "data")),
)

LOSSES: dict[str, tuple[object, list[str]]] = {
    **{
        f"days of {name} beside a lost meeting": (
            shape("meeting.abandoned", course="York", **{name: {"from": DAY, "to": "2026-11-24"}}),
            ["York None"],
        )
        for name in ("refund", "season", "transfer", "new_dates")
    },
    "lost race with a final result": (
        shape("race.abandoned", races=[{"race_id": "rc_1", **AT, "final_result": "Abandoned"}]),
        ["York 13:00"],
    ),
    **{
        f"another race in a list of one under {name}": (shape("race.abandoned", **AT, **{name: [PAST]}), ["York 13:00"])
        for name in ("results", "status", "outcome")
    },
    **{
        f"races in items by name beside {place}": (
            shape(kind, course=place, date=DAY, items=[{"name": "York", "races": [{"off": "13:00", "winner": "A"}]}]),
            [line],
        )
        for kind, place, line in (
            ("race.abandoned", "Ayr", "York 13:00: A 1 and lost"),
            ("race.abandoned", "York", "York 13:00: A 1 and lost"),
            ("result.received", "York", "York 13:00: A 1"),
        )
    },
    "courses with times": (
        shape(
            "race.abandoned", date=DAY, courses=[{"name": "York", "time": "13:00"}, {"name": "Ayr", "time": "13:10"}]
        ),
        ["York 13:00", "Ayr 13:10"],
    ),
    "another race in place of the lost race": (
        shape("race.abandoned", **AT, rescheduled_to={"course": "Ayr", "date": "2026-11-25", "off": "14:00"}),
        ["York 13:00"],
    ),
    **{
        f"another meeting beside lost races, as {name}": (
            {
                "event": "race.abandoned",
                "data": {name: [AT | {"race_id": "rc_1"}], "next_meeting": {"course": "Bath", "date": DAY}},
            },
            ["York 13:00"],
        )
        for name in ("affected", "abandoned", "CANCELLED")
    },
    "an inspection beside lost meetings": (
        shape(
            "meeting.abandoned",
            courses=[{**UNTIMED, "races": [{"race_id": "rc_1", "off": "13:00"}]}, {"name": "Ayr", "date": DAY}],
            inspection={"time": "07:30", "result": "unfit"},
        ),
        [f"York {DAY}, 1 races", f"Ayr {DAY}"],
    ),
    **{
        f"meeting lost on two days, as {said}": (
            shape("meeting.abandoned", meeting_id="m_1", course="York", **said),
            [f"York {DAY}", "York 2026-11-21"],
        )
        for said in TWO_DAYS
    },
    "races of a meeting as JSON:API": (
        {
            "event": "meeting.abandoned",
            "data": {
                "type": "meetings",
                "id": "77",
                "attributes": {"course": "York", "date": DAY},
                "relationships": {"races": {"data": [{"type": "races", "id": "1"}, {"type": "races", "id": "2"}]}},
            },
        },
        [f"York {DAY}, 2 races"],
    ),
    "meetings lost on some days each": (
        shape(
            "meeting.abandoned",
            meetings=[{"course": "York", "start_date": DAY, "end_date": "2026-11-22"}, {"course": "Ayr", "date": DAY}],
        ),
        [f"York {DAY}", "York 2026-11-21", "York 2026-11-22", f"Ayr {DAY}"],
    ),
    **{
        f"meeting lost on one day, as {said}": (shape("meeting.abandoned", course="York", **said), [f"York {DAY}"])
        for said in (
            *({"start_date": DAY}, {"from": DAY, "to": DAY}, {"original_date": DAY, "new_date": "2026-12-01"}),
            *({"from": DAY, "end": "2026-11-21T01:00Z"}, {"scheduled_date": DAY}),
            *(
                {"postponement": {"from": DAY, "to": "2026-12-01"}},
                {"date": DAY, "festival": {"end_date": "2026-11-21"}},
            ),
            {"status": "Postponed", "from": DAY, "to": "2026-12-01"},
        )
    },
    "races of a meeting that is staged anew": (
        shape("meeting.abandoned", **UNTIMED, restaging={"course": "Ayr", "date": "2026-12-01", "races": ["13:00"]}),
        [f"York {DAY}"],
    ),
    "days of a race with an id": (
        shape("race.abandoned", race_id="rc_1", course="York", start_date=DAY, end_date="2026-11-21"),
        ["York None"],
    ),
    "more days than are told": (
        shape("meeting.abandoned", course="York", start_date=DAY, end_date="2027-11-20"),
        ["York None"],
    ),
    **{
        f"race lost on two days, {name}": (
            shape("race.abandoned", course="York", dates=[DAY, "2026-11-21"], **more),
            days,
        )
        for name, more, days in (
            ("without a name", {}, [f"York {DAY}", "York 2026-11-21"]),
            ("with an id", {"race_id": "rc_1"}, ["York None"]),
        )
    },
    **{
        f"other lost races beside a lost race {name}, as {more}": (shape("race.abandoned", **own, **more), lines)
        for name, own in (("with an id", AT | {"race_id": "rc_1", "number": 1}), ("without an id", AT))
        for more, lines in LOST_BESIDE
    },
    "abandonment from a race on": (shape("race.abandoned", **UNTIMED, abandonment={"from": "race 4"}), [f"York {DAY}"]),
    **{
        f"race called {called}": (shape("race.abandoned", race=called, date=DAY), [told])
        for called, told in (
            ("13:00 York", "York 13:00"),
            ("Market Rasen 1.30pm", "Market Rasen 1:30pm"),
            ("13:00", "None 13:00"),
            ("Ebor Handicap", f"None {DAY}"),
            ("Race 13:00", f"None {DAY}"),
            ("Monday 13:00", f"None {DAY}"),
        )
    },
    **{
        f"meetings by region, under {name}": (
            shape("meeting.abandoned", date=DAY, **{name: {"GB": ["York"], "IRE": ["Naas"]}}),
            [f"York {DAY}", f"Naas {DAY}"],
        )
        for name in ("regions", "countries")
    },
    "regions of a meeting": (shape("meeting.abandoned", **UNTIMED, regions=["GB", "IRE"]), [f"York {DAY}"]),
    "meeting moved to another day": (shape("meeting.abandoned", **UNTIMED, dates=[DAY, "2026-12-01"]), [f"York {DAY}"]),
    "meeting lost on a day, as dates": (shape("meeting.abandoned", course="York", dates=[DAY]), [f"York {DAY}"]),
}


@over(
    ("lost", "numbers"),
    [
        *(({name: ["R1", "R2", 3]}, ["1", "2", "3"]) for name in ("abandoned_races", "cancelled", "lost_race_numbers")),
        ({"abandoned_races": "1-3"}, ["1", "2", "3"]),
        ({"from_race": 1, "to_race": 3}, ["1", "2", "3"]),
        ({"abandoned_races": 3}, ["1"]),
    ],
)
def test_other_lost_races_have_the_place_the_reason_and_the_time_of_the_named_race(lost, numbers):
    own: dict[str, Any] = {
        "race_id": "rc_1",
        "race_number": 1,
        "title": "Ebor",
        "going": "Soft",
        "occurred_at": f"{DAY}T12:00Z",
    }
    named, *others = read_events(json.dumps(shape("race.abandoned", **york(**own), **lost)).encode())
    assert [one.race.number for one in (named, *others)] == numbers
    for one in others:
        assert (one.reason, one.occurred_at, one.race.race_date) == ("Frost", named.occurred_at, DAY)
        assert (one.race.course, one.race.region) == (named.race.course, "GB")
        assert (one.race.race_id, one.race.title, one.race.going) == (None, None, None)


@over(("payload", "lines"), LOSSES.values(), ids=LOSSES)
def test_loss_is_read_in_the_shape_of_a_service(payload, lines):
    assert said(payload) == lines
