"""Whole deliveries: each of a list with its place and day, no other list, and the shapes of public services."""

import json
from pathlib import Path
from typing import Any

from bot.deliveries.payload import TOO_MANY, read_events
from bot.events.races import Course
from tests.rows import Answers, over

DAY = "2026-11-20"
AT: dict[str, Any] = {"course": "York", "region": "GB", "date": DAY, "off": "13:00"}
ASCOT, BATH = {"course": "Ascot", "region": "GB", "date": DAY}, {"course": "Bath"}
ROWS = [{"number": 1, "name": "A", "position": 1}, {"number": 2, "name": "B", "position": 2}]


def said(payload: object) -> list[str]:
    """For example "York 13:00: A 1, B 2" of each event; of a meeting the day, of an unread payload the reason."""
    lines = []
    for event in read_events(json.dumps(payload).encode()):
        race = event.race
        count = f", {len(event.races)} races" if event.races else ""
        named = f"{race.course.name} {race.off.text or race.race_date}{count}"
        placed = [f"{one.horse} {one.position}" for one in race.runners if one.position]
        doubt = " in dispute" if race.disputed else ""
        unread = f" could not be read: {race.unread_order}" if race.unread_order else ""
        doubt += " and lost" if race.abandoned and placed else ""
        lines.append(event.unreadable_because or f"{named}: {', '.join(placed)}".removesuffix(": ") + doubt + unread)
    return lines


def shape(event: str = "result.received", **data: Any) -> object:
    return {"event": event, "data": data}


def told(row: dict[str, Any]) -> str:
    """What is said of a row of a YAML file: event → data, or a whole payload."""
    (name, data), *others = row.items()
    return "; ".join(said(row if others or "." not in name else shape(name, **data)))


@over(
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


TABLES = Path(__file__).with_name("event_lists.yaml")
AROUND: dict[str, Any] = {"region": "GB", "date": DAY, "reason": "Frost"}


@over("beside", [{}, {"course": "York"}, {"meeting": {"id": "m_1", "name": "York"}}])
@over("listed", [["York", "Ayr"], [{"name": "York"}, {"name": "Ayr"}], ["York", {"name": "Ayr"}]])
@over("name", ["meetings", "fixtures", "venues", "tracks", "courses", "racecourses", "affected_venues", "abandoned"])
def test_each_named_meeting_is_told_with_what_stands_beside_the_list(name, listed, beside):
    assert lost_meetings(**AROUND, **beside, **{name: listed}) == ["GB York Frost", "GB Ayr Frost"]


@over(("data", "meetings"), Answers(TABLES, "meetings"))
def test_meetings_are_read_however_they_are_listed(data, meetings):
    assert "; ".join(lost_meetings(**data)) == meetings


@over("kind", ["meeting.abandoned", "racecard.published", "race.abandoned", "result.received"])
@over("name", ["Ascot", "ASCOT", "Ascot (GB)", "Royal Ascot"])
def test_region_and_id_stand_beside_a_meeting_of_another_name_than_its_course(kind, name):
    races = [{"course": "Ascot", "off": "13:00", "winner": "A"}, {"course": "Ascot", "off": "13:30", "winner": "B"}]
    payload = shape(kind, meeting={"id": "m_1", "name": name, "region": "GB"}, date=DAY, races=races)
    told = [one for event in read_events(json.dumps(payload).encode()) for one in (event.race, *event.races)]
    assert {(one.region, one.meeting_id, one.race_date) for one in told} == {("GB", "m_1", DAY)}


LISTED = [{"course": "York", "date": DAY, "off": "13:00"}, {"course": "Ayr", "date": DAY, "off": "14:00"}]


@over("beside", [{"position": 1}, {"place": "North"}, {"rank": 2}, {"fin": False}, {"placed": ["A"]}])
@over(
    ("kind", "name"),
    [
        *(("meeting.abandoned", name) for name in ("meetings", "data")),
        *(("race.abandoned", name) for name in ("races", "data", "cancelled")),
    ],
)
def test_meeting_or_race_with_a_place_in_the_list_is_no_horse(kind, name, beside):
    events = read_events(json.dumps({"event": kind, name: [{**one, **beside} for one in LISTED]}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@over("kind", ["race.abandoned", "meeting.abandoned"])
@over("name", ["entities", "value", "details", "objects"])
def test_entries_with_a_race_are_the_events_of_a_delivery_that_names_no_other(kind, name):
    events = read_events(json.dumps({"event": kind, name: LISTED}).encode())
    assert [one.race.course.name for one in events] == ["York", "Ayr"]


@over("kind", ["race.abandoned", "meeting.abandoned", "racecard.published", "result.received"])
def test_races_in_days_have_the_day(kind):
    days = [{"date": day, "races": [{"course": "York", "off": "13:00"}]} for day in (DAY, "2026-11-21")]
    events = read_events(json.dumps(shape(kind, days=days)).encode())
    assert [(one.race.course.name, one.race.race_date) for one in events] == [("York", DAY), ("York", "2026-11-21")]


@over("name", ["next_races", "related", "previous", "odds", "history"])
def test_entries_about_other_races_are_no_events(name):
    assert said({"event": "race.abandoned", name: LISTED}) == ["the payload names no race"]


@over(
    "listed",
    [{"meetings": [{"course": "York"}]}, {"venues": ["York"]}, {"data": [{"country": "GB", "venues": ["York"]}]}],
)
def test_country_beside_a_list_is_the_country_of_each_meeting(listed):
    events = read_events(json.dumps({"event": "meeting.abandoned", "date": DAY, "country": "GB", **listed}).encode())
    assert [one.race.course for one in events] == [Course(name="York", country="GB")]


@over(("payload", "lines"), Answers(TABLES, "under keys"))
def test_lost_races_are_read_under_keys_and_the_event_by_its_value(payload, lines):
    assert told(payload) == lines


def test_meetings_in_groups_have_the_day_of_the_group():
    days = [{"date": DAY, "meetings": ["York"]}, {"date": "2026-11-21", "meetings": [{"course": "Ayr"}]}]
    events = read_events(json.dumps(shape("meeting.abandoned", reason="Frost", days=days)).encode())
    assert [(one.race.course.name, one.race.race_date, one.reason) for one in events] == [
        ("York", DAY, "Frost"),
        ("Ayr", "2026-11-21", "Frost"),
    ]


@over(("races", "numbers"), Answers(TABLES, "numbers"))
def test_each_numbered_race_that_is_lost_is_an_event(races, numbers):
    events = read_events(json.dumps(shape("race.abandoned", course="York", date=DAY, **races)).encode())
    assert "; ".join(str(one.race.number) for one in events) == numbers
    assert {(one.race.course.name, one.races) for one in events} == {("York", ())}


@over("name", ["off", "off_times", "race_times"])
def test_each_off_time_of_a_lost_race_is_an_event_and_two_times_of_a_result_are_one(name):
    times = {**AT, "off": None, name: ["13:00", "13:30"]}
    assert said(shape("race.abandoned", **times)) == ["York 13:00", "York 13:30"]
    assert len(said(shape(**times, runners=ROWS))) == 1


def test_nearest_value_beside_a_list_counts():
    far = {"event": "meeting.abandoned", "region": "IE", "date": "2026-11-21", "reason": "Fog"}
    events = read_events(json.dumps({**far, "data": {**AROUND, "meetings": ["York", "Ayr"]}}).encode())
    assert [(one.race.region, one.race.race_date, one.reason) for one in events] == [("GB", DAY, "Frost")] * 2


def lost_meetings(**data: Any) -> list[str]:
    told = []
    for event in read_events(json.dumps(shape("meeting.abandoned", **data)).encode()):
        course = event.race.course.name or event.race.course.course_id or event.race.meeting_id
        count = f", {len(event.races)} races" if event.races else ""
        told.append(event.unreadable_because or f"{event.race.region} {course} {event.reason}{count}")
    return told


# Abandonments in the shapes of public services: each lost race or meeting, with place and day


@over(("lost", "numbers"), Answers(TABLES, "beside a race"))
def test_other_lost_races_have_the_place_the_reason_and_the_time_of_the_named_race(lost, numbers):
    york = {**AROUND, "course": "York", "title": "Ebor", "going": "Soft", "occurred_at": f"{DAY}T12:00Z"}
    own = {"race_id": "rc_1", "race_number": 1}
    named, *others = read_events(json.dumps(shape("race.abandoned", **york, **own, **lost)).encode())
    assert "; ".join(str(one.race.number) for one in (named, *others)) == numbers
    for one in others:
        assert (one.reason, one.occurred_at, one.race.race_date) == ("Frost", named.occurred_at, DAY)
        assert (one.race.course, one.race.region) == (named.race.course, "GB")
        assert (one.race.race_id, one.race.title, one.race.going) == (None, None, None)


@over(("payload", "lines"), Answers(TABLES, "losses"))
def test_loss_is_read_in_the_shape_of_a_service(payload, lines):
    assert told(payload) == lines


# Whole deliveries in the shapes of public services: the events, each with place, time and order

SHAPES = Answers(Path(__file__).with_name("shapes_of_services.yaml"), "shapes")
PLACED = "York 13:00: A 1, B 2"


@over(("payload", "lines"), SHAPES)
def test_delivery_is_read_in_the_shape_of_a_service(payload, lines):
    assert told(payload) == lines


@over(
    "name",
    [
        *(f"{of}_result" for of in ("official", "final", "amended", "new")),
        "official_order",
        "finishing_order",
        "final_order",
    ],
)
def test_each_race_of_a_list_has_an_order_of_its_own(name):
    order = ["A", "B"] if name.endswith("order") else {"winner": "A", "second": "B"}
    races = [{**AT, "race_id": off, "off": off, name: order} for off in ("13:00", "13:30")]
    assert said(shape(races=races)) == [PLACED, "York 13:30: A 1, B 2"]


def york(**data):
    """The race at York."""
    return shape(**AT | data)


def _in_text(payload):
    return json.dumps({"Message": json.dumps(payload)})


# Payloads too large for a row of the file, lists of payloads, and text within text.
OTHERS = [
    ([{"event": "result.received", **AT, "horse": row["name"], **row, "name": None} for row in ROWS], PLACED),
    ({"Type": "Notification", "Message": json.dumps(york(runners=ROWS))}, PLACED),
    ({"Records": [{"body": _in_text(york(runners=json.dumps(ROWS)))}]}, PLACED),
    (york(pages={**{f"b{number}": [1] for number in range(1_001)}, "a": []}, runners=ROWS), PLACED),
    (york(result="1  " * 60 + "Z", runners=ROWS), PLACED),
    (york(winner=" " * 500_000 + "Z", runners=[{"number": 1, "name": "A"}]), "York 13:00"),
    (york(placings={"9" * 5000: 1}), f"York 13:00 could not be read: {'9' * 80}"),
    (
        shape("meeting.abandoned", **ASCOT, meetings=[{"course": f"Bath {number}"} for number in range(31)]),
        "it has more than 30 events",
    ),
]


@over(("payload", "line"), OTHERS)
def test_delivery_of_any_size_and_of_texts_in_texts_is_read(payload, line):
    assert said(payload) == [line]
