"""Races read from shapes that the service might send, and how much is read of one payload."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.deliveries.payload import read_payload
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.reading.json_values import LONGEST_READ, note_text
from bot.events.reading.race_list import MOST_RACES
from bot.events.reading.race_record import read_race
from bot.events.reading.runner_list import MOST_RUNNERS

A_BEAT_B = [("A", "1"), ("B", "2")]
C_WON = [("A", "3"), ("B", "2"), ("C", "1")]
A2_B_NR = [("A", "2"), ("B", "NR")]
B_C_OUT = [("B", "NR"), ("C (FR)", "NR")]
HALF_PAST_ONE_UTC = datetime(2025, 6, 17, 13, 30, tzinfo=UTC)


NR_SHAPES: list[dict[str, Any]] = [
    *({"nr": "Y"}, {"nr": True}, {"nr": "yes"}, {"is_nr": True}, {"sp": "NR"}, {"reason": "Non-runner"}),
    *({name: "NR"} for name in ("position", "number", "cloth_number", "draw", "stall", "jockey", "status", "result")),
    *({"pos": "N.R."}, {"official_position": "NR"}, {"result": {"position": "NR"}}, {"position": {"text": "NR"}}),
]


def horses_and_positions(record):
    return [(runner.horse, runner.position) for runner in read_race(record).runners]


DATED = {"date": "2025-06-17", "off": "14:30"}
SHAPES: dict[str, dict[str, Any]] = {
    "flat": {"race_id": "rc_1", "region": "GB", "course_id": "cr_1", "course": "Ascot", **DATED},
    "camel case": {
        "raceId": "rc_1",
        "regionCode": "GB",
        "course": {"courseId": "cr_1", "name": "Ascot"},
        "raceDate": "2025-06-17",
        "offTime": "14:30",
    },
    "objects and kebab-case": {
        "id": "rc_1",
        "jurisdiction": {"code": "GB", "name": "Great Britain"},
        "venue": {"id": "cr_1", "title": "Ascot"},
        "meeting": {"date": "2025-06-17"},
        "post-time": "14:30:00",
    },
    "JSON:API": {
        "type": "race",
        "id": "rc_1",
        "attributes": {
            "course": {"id": "cr_1", "name": " Ascot ", "region": "GB"},
            "date": "20250617",
            "time": "1430",
        },
    },
    "race beside meeting": {
        "race": {"uid": "rc_1", "off": "14:30"},
        "meeting": {"course": {"course_id": "cr_1", "name": "Ascot"}, "region": "GB", "meeting_date": "2025-06-17"},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_race_reads_the_same_from_every_shape(shape):
    ascot, off = Course(course_id="cr_1", name="Ascot"), OffTime(text="14:30")
    assert read_race(SHAPES[shape]) == Race(race_id="rc_1", region="GB", course=ascot, race_date="2025-06-17", off=off)


@pytest.mark.parametrize(
    "record", [{"weather": "fine", "attempt": 3, "country_code": "GB"}, {"next_race": {"race_id": "rc_2"}}]
)
def test_race_of_an_unknown_record_is_empty(record):
    assert read_race(record) == Race()


def test_race_keeps_every_field_as_published():
    race = read_race(
        {
            "race_number": 3,
            "title": "Queen  Anne\nStakes",
            "class": "Class 1",
            "run_type": "Flat",
            "distance": {"text": "1m"},
            "going": {"description": "Good to Firm", "code": "GF"},
            "surface": "Turf",
            "status": "Declared",
            "field_size": "12",
        }
    )
    assert (race.number, race.title, race.race_class, race.race_type) == ("3", "Queen Anne Stakes", "Class 1", "Flat")
    assert (race.distance, race.going, race.surface) == ("1m", "Good to Firm", "Turf")
    assert (race.status, race.field_size) == ("Declared", 12)


@pytest.mark.parametrize(
    ("record", "region", "course"),
    [
        *(({"region": region}, None, Course()) for region in (7, {"id": 7}, {"name": "Great Britain"}, ["GB"], True)),
        ({"country_code": "IE", "country": "Ireland", "course": {"name": "York", "region": "GB"}}, "GB", "York"),
        ({"region": "Great Britain", "region_code": "GB"}, "GB", Course()),
        ({"course": "cr_8f2"}, None, Course(course_id="cr_8f2")),
        ({"track": "Turf", "course": "Ascot"}, None, "Ascot"),
        ({"track": "Ascot"}, None, "Ascot"),
    ],
)
def test_region_is_a_code_alone_and_a_course_no_country_and_no_surface(record, region, course):
    race = read_race(record)
    assert race.region == region
    assert (race.course.name if isinstance(course, str) else race.course) == course


@pytest.mark.parametrize(
    ("value", "text", "off_at"),
    [
        *(("14:30", "14:30", None), ("2:30", "2:30", None), ("2:30 pm", "2:30 pm", None), ("1430", "14:30", None)),
        *(("kl. 14.30", "14:30", None), ("2025-06-17T14:30:00", "14:30", None)),
        ("2025-06-17T14:30:00+01:00", "14:30", HALF_PAST_ONE_UTC),
        ("2025-06-17T13:30:00Z", "13:30", HALF_PAST_ONE_UTC),
        ("2025-06-17 14:30+0100", "14:30", HALF_PAST_ONE_UTC),
        *((1_750_167_000, None, HALF_PAST_ONE_UTC), ("1750167000000", None, HALF_PAST_ONE_UTC)),
        *(("20250617T1330Z", "13:30", HALF_PAST_ONE_UTC), ("20250617T133000Z", "13:30", HALF_PAST_ONE_UTC)),
        ({"local": "14:30", "utc": "2025-06-17T13:30:00Z"}, "14:30", HALF_PAST_ONE_UTC),
        ("0001-01-01T00:00:00+14:00", "00:00", None),
        *((none, None, None) for none in ("2025-06-17", "25:00", "1:32.50", "TBC", True, float("nan"), 10**400)),
    ],
)
def test_off_time_is_shown_as_published_and_an_instant_only_with_an_offset(value, text, off_at):
    assert read_race({"off_time": value}).off == OffTime(text=text, off_at=off_at)


@pytest.mark.parametrize(
    ("beside", "off_at"),
    [
        ({"jump_time": "14:32:11"}, None),
        ({"inquiry": {"start_time": "14:45"}}, None),
        ({"abandonment": {"declared_at": "2025-06-17T13:30:00+01:00"}}, None),
        ({"off_at": "2025-06-17T13:30:00Z"}, HALF_PAST_ONE_UTC),
    ],
)
def test_off_time_is_no_time_of_what_followed_and_stands_beside_an_instant(beside, off_at):
    for name in ("start_time", "off_time"):
        assert read_race({name: "14:30", **beside}).off == OffTime(text="14:30", off_at=off_at)


LATE_IN_NEW_YORK = {"off_at": "2025-06-17T23:30:00-05:00"}


@pytest.mark.parametrize(
    ("record", "race_date"),
    [
        *(({"date": "2025-06-17"}, "2025-06-17"), ({"date": 20250617}, "2025-06-17")),
        *(({"race_date": LATE_IN_NEW_YORK["off_at"]}, "2025-06-17"), (LATE_IN_NEW_YORK, "2025-06-17")),
        *(({"date": "2025/06/17"}, "2025-06-17"), ({"date": "17/06/2025"}, "2025-06-17")),
        *(({"date": "06/17/2025"}, "2025-06-17"), ({"date": "17/06/25"}, "2025-06-17")),
        *(({"date": "05/06/25"}, "05/06/25"), ({"date": "05/06/2025"}, "05/06/2025")),
        *(({"date": "06-06-2025"}, "2025-06-06"), ({"date": "Tue 17 June 2025"}, "2025-06-17")),
        *(({"date": "June 17th, 2025"}, "2025-06-17"), ({"date": "17 août 2025"}, "2025-08-17")),
        *(({"date": "17Jun25"}, "2025-06-17"), ({"date": 1_750_118_400}, "2025-06-17")),
        *(({"date": 1_750_118_400_000}, "2025-06-17"), ({"date": "/Date(1750118400000)/"}, "2025-06-17")),
        *(({"date": {"year": 2025, "month": 6, "day": 7}}, "2025-06-07"), ({"date": "2025-02-30"}, "2025-02-30")),
        *(({"date": "Tuesday"}, "Tuesday"), ({"date": "Tuesday", **LATE_IN_NEW_YORK}, "2025-06-17")),
        ({"date": 1_750_167_000}, "2025-06-17 13:30 UTC"),
    ],
)
def test_race_date_is_the_published_day_never_shifted(record, race_date):
    assert read_race(record).race_date == race_date


@pytest.mark.parametrize(
    ("record", "abandoned"),
    [
        *(
            ({"status": "ABANDONED"}, True),
            ({"status": "Abandoned - waterlogged"}, True),
            ({"abandoned": "true"}, True),
        ),
        *(({"is_abandoned": 1}, True), ({"status": "MEETINGABANDONED"}, True), ({"cancelled": "Y"}, True)),
        *(({"abandoned_at": "2025-06-17T12:00:00Z"}, True), ({"not_run": True}, True)),
        *(({"postponed_to": "2025-06-24"}, True), ({"meeting": {"status": "abandoned"}}, True)),
        ({"timeline": [{"type": "DECLARED"}, {"type": "ABANDONED", "at": "12:10"}]}, True),
        ({"state": {"code": 7, "label": {"short": "ABD", "long": "Abandoned"}}}, True),
        ({"abandonment": {"cause": "Fog", "declared_at": "2025-06-17T12:00:00Z"}}, True),
        ({"finishing_order": ["Race abandoned"], "runners": ["A", "B"]}, True),
        ({"abandoned": False, "status": "declared"}, False),
        ({"timeline": [{"type": "ABANDONED"}, {"type": "REINSTATED"}]}, None),
        ({"finishing_order": ["Abandoned Lad"], "runners": ["Abandoned Lad", "B"]}, None),
        ({"status": "May be abandoned"}, None),
        ({"meeting": {"status": "abandoned"}, "placings": ["A"]}, None),
        ({"meeting": {"status": "abandoned"}, "status": "Weighed in"}, None),
    ],
)
def test_race_is_abandoned_where_its_record_says_so_and_nothing_that_it_was_run(record, abandoned):
    assert read_race(record).abandoned is abandoned


# Runners


def test_runner_is_read_from_objects_numbers_and_other_names():
    runner = {
        "horse": {"horse_id": "hs_1", "name": "Frankel"},
        "finishing_position": 1.0,
        "cloth_number": 4,
        "stall": "2",
        "jockey": {"jockey_name": "T Queally"},
        "trainerName": "H Cecil",
        "sp": {"fractional": "1/4", "decimal": 1.25},
        "or": 140,
    }
    (read,) = read_race({"results": [runner]}).runners
    assert (read.horse, read.position, read.number, read.draw) == ("Frankel", "1", "4", "2")
    assert (read.jockey, read.trainer, read.starting_price) == ("T Queally", "H Cecil", "1/4")
    assert read.official_rating == "140"


@pytest.mark.parametrize(
    "runner",
    [
        {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": "T Queally"},
        {"horse": {"name": "Frankel", "trainer": "H Cecil", "jockey": {"name": "T Queally"}}},
        {"runner": {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": {"name": "T Queally"}}},
        {"horse": {"runner_name": "Frankel", "jockey_name": "T Queally", "trainer_name": "H Cecil"}},
        {"horse": {"horse_name": "Frankel", "trainer": "An earlier one", "jockey": "T Queally"}, "trainer": "H Cecil"},
        {"horse": {"name": "Frankel", "trainer": "Earlier", "jockey": "T Queally"}, "trainerName": "H Cecil"},
        {
            "horse": {"name": "Frankel", "number": "UK-7"},
            "rider": {"name": "T Queally"},
            "trainer": {"name": "H Cecil"},
        },
    ],
)
def test_jockey_and_trainer_are_read_of_the_runner_or_else_of_the_horse(runner):
    assert read_race({"runners": [runner]}).runners == (Runner(horse="Frankel", jockey="T Queally", trainer="H Cecil"),)


def places(place, *positions):
    return [(position, place) for position in positions]


@pytest.mark.parametrize(
    ("position", "place"),
    [
        *places(1, "1", "1.0"),
        *places(2, " 2= ", "2nd", "dh 2", "DH2", "Dead heat 2"),
        *places(2, "2着", "Runner-up", "2º", "2 (disq. & placed 2nd)"),
        *places(3, "=3", "= 3", "3=", "T3", "t-3"),
        *(("12", 12), ("0", 0)),
        *places(None, "3 (DSQ)", "DQ1", "1 or 2", None, "", "PU", "F", "=", "T", "TO 3", "-1", "DNF", "NR", "BD2", "٣"),
    ],
)
def test_place_is_read_however_a_dead_heat_is_written(position, place):
    assert Runner(horse="A", position=position).finishing_position == place


def test_two_horses_of_one_list_in_one_place_are_a_dead_heat():
    runners = [{"horse": "One", "position": 1}, {"horse": "Two", "position": 1}, {"horse": "Three", "position": 3}]
    race = read_race({"runners": runners})
    assert [runner.position for runner in race.runners] == ["1=", "1=", "3"]
    assert race.disputed is None


def test_placed_runners_stand_in_order_however_a_dead_heat_is_written():
    runners = [Runner(horse=horse, position=at) for horse, at in [("D", "4"), ("C", "=2"), ("B", "dh 2"), ("A", "1")]]
    assert [runner.horse for runner in Race(runners=tuple(runners)).placed()] == ["A", "C", "B", "D"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"finishing_order": ["A", "B"]}, [("A", "1"), ("B", "2")]),
        ({"placings": [{"horse": "A"}, {"horse": "B"}]}, [("A", "1"), ("B", "2")]),
        ({"runners": ["A", "B"]}, [("A", None), ("B", None)]),
        ({"runners": {"count": 2, "items": ["A", "B"]}}, [("A", None), ("B", None)]),
        ({"placings": {"data": ["A", "B"]}}, [("A", "1"), ("B", "2")]),
        ({"result": {"runners": [{"name": "A", "pos": "2="}]}}, [("A", "2=")]),
        ({"runners": ["A", "B"], "winner": "b"}, [("A", None), ("B", "1")]),
        ({"runners": [{"horse": "A"}], "winner": {"horse": "C"}}, [("A", None), ("C", "1")]),
        ({"winner": "A", "runners": [{"horse": "B", "position": 1}]}, [("B", "1?"), ("A", "1?")]),
        ({"runners": [{"runner": {"name": "A"}, "position": 3}]}, [("A", "3")]),
        ({"runners": [{"horse": "A", "position": 0}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "position": "1.0"}]}, [("A", "1")]),
        ({"runners": [{"horse": "A", "position": "0.0"}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "position": "=10"}]}, [("A", "=10")]),
        ({"runners": [{"horse": "A", "position": None, "casualty": "Pulled up"}]}, [("A", "Pulled up")]),
        ({"runners": [{"horse": "A", "status": "Pulled Up"}]}, [("A", "Pulled Up")]),
        ({"runners": [{"horse": "A", "status": "weighed_in"}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "status": "Unplaced"}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "status": "Under review"}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "position": "1st"}, {"horse": "B", "position": 1}]}, [("A", "1="), ("B", "1=")]),
        ({"runners": [{"horse": "A", "non_runner": True}]}, [("A", "NR")]),
        ({"runners": [{"horse": "A", "starting": False}]}, [("A", "NR")]),
        ({"runners": [{"horse": "A", "participation": "OUT"}]}, [("A", "NR")]),
        ({"runners": [{"horse": "A", "position": "OUT"}]}, [("A", "OUT")]),
        ({"runners": [{"horse": "A", "status": "Struken"}]}, [("A", "NR")]),
        *(({"runners": [{"horse": "A", **nr}]}, [("A", "NR")]) for nr in NR_SHAPES),
        ({"runners": [{"horse": "A", "nr": 4}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "runs": 0, "wins": 0}]}, [("A", None)]),
        ({"runners": ["A", "B"], "non_runners": "b (IRE) (lame, vet), C (FR)"}, [("A", None), *B_C_OUT]),
        ({"runners": [{"horse": "A", "withdrawal": {"reason": None, "time": ""}}]}, [("A", None)]),
        ({"runners": [{"horse": "A", "withdrawal": {"reason": "Lame"}}]}, [("A", "NR")]),
        ({"runners": ["A", "B"], "results": [["1", "B"], ["NR", "A"]]}, [("A", "NR"), ("B", "1")]),
        ({"runners": [{"horse": "A (NR)"}, {"horse": "B (IRE)"}]}, [("A", "NR"), ("B (IRE)", None)]),
        *(
            ({name: [{"horse": "A", "position": 1}]}, [("A", "1")])
            for name in ("entrants", "acceptors", "contestants", "uma")
        ),
        ({"placings": {"1": "A", "2": "B", "PU": ["C", "D"]}}, [("A", "1"), ("B", "2"), ("C", "PU"), ("D", "PU")]),
        ({"podium": ["hs_1", "hs_2"], "entries": [{"id": "hs_1", "name": "A"}, {"id": "hs_2", "name": "B"}]}, A_BEAT_B),
        ({"interim_placings": ["B", "A"], "correct_weight_placings": ["A", "B"]}, A_BEAT_B),
        ({"runners": [{"horse": "A", "judge_placing": 2, "stewards_placing": 1}]}, [("A", "1")]),
        ({"chart": {"race_id": "rc_1", "official_order": ["A", "B"]}}, A_BEAT_B),
        ({"horses": {"1": "A", "2": "B", "5": "C"}, "placings": {"5": 1, "2": 2, "1": 3}}, C_WON),
        ({"horses": {"1": "A", "2": "B", "5": "C"}, "placings": {"1": 5, "2": 2, "3": 1}}, C_WON),
        ({"runners": [{"horse": {"name": "A", "position": 2}}, {"horse": {"name": "B", "non_runner": True}}]}, A2_B_NR),
        ({"runners": [{"horse": {"name": "A", "position": 2}}, {"horse": {"name": "B", "position": "NR"}}]}, A2_B_NR),
        (
            {"runners": [{"horse": {"name": "B", "position": "NR"}}], "finishing_order": ["B", "A"]},
            [("B", "NR"), ("A", "2")],
        ),
        *(({name: {"name": "A", "position": "1"}}, [("A", "1")]) for name in ("runners", "starters", "results")),
        ({"runners": {"runner": {"name": "A", "position": "1"}}}, [("A", "1")]),
        ({"entries": {"entry": {"name": "A", "jockey": "J"}}}, [("A", None)]),
        (
            {"results": {"name": "The Cup", "placed": [{"name": "A"}]}, "runners": {"count": 1, "name": "Cup"}},
            [("A", None)],
        ),
        (
            {"runners": [{"horse": ["A"], "position": ["1"]}, {"horse": ["B"], "placed": ["C"]}]},
            [("A", "1"), ("B", None)],
        ),
        *(({"runners": [{"horse": "A", "着順": out}]}, [("A", "NR")]) for out in ("取消", "除外", "WV-A", "TNP")),
        ({"runners": [{"horse": "A", "着順": "失格"}, {"horse": "B", "着順": "中止"}]}, [("A", "失格"), ("B", "中止")]),
        ({"runners": [{"horse": "A", "position": "Runner-up"}]}, [("A", "2")]),
        ({"results": [{"race_id": "rc_2", "name": "Another race"}]}, []),
        ({"runners": 12}, []),
        ({"runners": [None, "", [], {}]}, []),
    ],
)
def test_runners_have_a_position_only_where_one_was_published(record, expected):
    assert horses_and_positions(record) == expected


def test_runners_of_several_lists_are_put_together():
    declared = [{"number": 4, "horse": "A", "jockey": "J"}, {"number": 7, "horse": "B"}]
    runners = read_race({"runners": declared, "finishing_order": [7, 4]}).runners
    assert [(runner.horse, runner.jockey, runner.position) for runner in runners] == [("A", "J", "2"), ("B", None, "1")]


# Texts


def test_text_drops_only_what_no_database_takes():
    assert read_race({"title": "A\x00B\ud800 \u202e"}).title == "AB\ufffd \u202e"


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        *((None, None), ("", None), ([], None), ([None, {}], None), ([[[[["deep"]]]]], None)),
        *(("Placed horses only", "Placed horses only"), (2020, "2020"), (0.5, "0.5"), (True, "yes"), (False, "no")),
        ({"since": 2020, "only": "placed horses"}, "since: 2020, only: placed horses"),
        (["Selected meetings", 3], "Selected meetings, 3"),
        ({"years": [2019, 2020], "why": None}, "years: 2019, 2020"),
    ],
)
def test_note_of_any_type_is_read_as_text(note, shown):
    assert note_text(note) == shown


# Bounds: more than any meeting or race has, and no more than a database can be asked

DAY = {"course": "Ascot", "date": "2026-11-20", "region": "GB"}


def read(event, **payload):
    return read_payload(json.dumps({"event": event, **payload}).encode())


def test_races_of_one_payload_are_bounded_and_the_first_are_kept():
    ids = [f"rc_{number}" for number in range(MOST_RACES + 1)]
    lost = read("meeting.abandoned", meeting={"meeting_id": "mt_1", **DAY}, races=ids)
    assert [race.race_id for race in lost.races] == ids[:MOST_RACES]
    meetings = [{"meeting_id": f"mt_{number}", "races": ["rc_1", "rc_2"], **DAY} for number in range(MOST_RACES)]
    assert len(read("racecard.published", meetings=meetings).races) == MOST_RACES


def test_runners_of_one_race_are_bounded_and_the_first_are_kept():
    runners = [{"position": place, "horse": f"Horse {place}"} for place in range(1, MOST_RUNNERS + 2)]
    others = [{"horse": f"Other {number}"} for number in range(MOST_RUNNERS)]
    named = read(
        "result.received", race={"race_id": "rc_1", "runners": runners, "declared": others, **DAY}
    ).race.runners
    assert (len(named), named[0].horse) == (MOST_RUNNERS, "Horse 1")


@pytest.mark.parametrize("order", ["finishing_order", "winner", "first", "results", "non_runners"])
def test_horses_of_an_order_are_bounded(order):
    names = [f"Horse {number}" for number in range(MOST_RUNNERS + 1)]
    for listed in (names, [names, names[::-1]]):
        assert len(read("result.received", race={"race_id": "rc_1", order: listed}).race.runners) <= MOST_RUNNERS


def test_long_text_is_cut_off():
    text = "Frost " * LONGEST_READ
    lost = read("race.abandoned", race={"race_id": "rc_1", "reason": text, "off": text, "winner": text})
    assert lost.reason == text[:LONGEST_READ].strip()
