"""Races read from shapes that the service might send, and how much is read of one payload."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.deliveries.payload import read_payload
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.reading.json_object import LONGEST_RELATED, with_related
from bot.events.reading.json_values import LONGEST_READ, note_text
from bot.events.reading.order_spellings import MOST_RUNNERS
from bot.events.reading.race_list import MOST_RACES
from bot.events.reading.race_record import read_race
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("reading.yaml")
HALF_PAST_ONE_UTC = datetime(2025, 6, 17, 13, 30, tzinfo=UTC)


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
        "attributes": {"course": {"id": "cr_1", "name": " Ascot ", "region": "GB"}, "date": "20250617", "time": "1430"},
    },
    "race beside meeting": {
        "race": {"uid": "rc_1", "off": "14:30"},
        "meeting": {"course": {"course_id": "cr_1", "name": "Ascot"}, "region": "GB", "meeting_date": "2025-06-17"},
    },
}


@over("shape", SHAPES)
def test_race_reads_the_same_from_every_shape(shape):
    ascot, off = Course(course_id="cr_1", name="Ascot"), OffTime(text="14:30")
    assert read_race(SHAPES[shape]) == Race(race_id="rc_1", region="GB", course=ascot, race_date="2025-06-17", off=off)


@over("record", [{"weather": "fine", "attempt": 3, "plan": "GB"}, {"next_race": {"race_id": "rc_2"}}])
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


@over(
    ("record", "region", "course"),
    [
        *(
            ({"region": region}, None, Course())
            for region in (7, "eu-west-1", {"id": 7}, {"name": "Great Britain"}, ["GB"], True)
        ),
        ({"country_code": "IE", "country": "Ireland", "course": {"name": "York", "region": "GB"}}, "GB", "York"),
        ({"region": "Great Britain", "region_code": "GB"}, "GB", Course()),
        *(({"region": {name: "GB"}}, "GB", Course()) for name in ("#text", "value")),
        ({"course": "cr_8f2"}, None, Course(course_id="cr_8f2")),
        ({"track": "Turf", "course": "Ascot"}, None, "Ascot"),
        ({"track": "Ascot"}, None, "Ascot"),
    ],
)
def test_region_is_a_code_alone_and_a_course_no_country_and_no_surface(record, region, course):
    race = read_race(record)
    assert race.region == region
    assert (race.course.name if isinstance(course, str) else race.course) == course


@over(
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
        ({"seconds": 1_750_167_000, "nanos": 0}, None, HALF_PAST_ONE_UTC),
        ("0001-01-01T00:00:00+14:00", "00:00", None),
        *((none, None, None) for none in ("2025-06-17", "25:00", "1:32.50", "TBC", True, float("nan"), 10**400)),
    ],
)
def test_off_time_is_shown_as_published_and_an_instant_only_with_an_offset(value, text, off_at):
    assert read_race({"off_time": value}).off == OffTime(text=text, off_at=off_at)


@over(
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


@over("name", ["startTimeGMTScheduled", "start_timestamp", "starts_at_utc", "raceOffTimestamp"])
def test_off_time_is_read_under_every_usual_name(name):
    assert read_race({name: "2025-06-17T14:30"}).off == OffTime(text="14:30")


def test_clock_of_utc_is_no_other_off_time():
    assert read_race({"off": "14:30", "off_utc": "13:30"}).off == OffTime(text="14:30")
    assert read_race({"off_time_gmt": "13:30"}).off == OffTime(text="13:30")


@over(("record", "race_date"), Answers(ROWS, "dates"))
def test_race_date_is_the_published_day_never_shifted(record, race_date):
    assert read_race(record).race_date == race_date


@over(("record", "abandoned"), Answers(ROWS, "abandoned"))
def test_race_is_abandoned_by_its_record_without_a_sign_of_a_run(record, abandoned):
    assert read_race(record).abandoned is abandoned


PLACED = {"course": "York", "race_number": 1, "placings": ["A", "B"]}


@over(("beside", "is_void"), Answers(ROWS, "void"))
def test_places_of_a_race_that_any_text_calls_void_are_void(beside, is_void):
    assert read_race({**PLACED, **beside}).is_void is is_void


@over(
    ("said", "number", "title"),
    [
        *((said, "4", None) for said in ("Race 4", "R04")),
        ("15:00", None, None),
        ("4: Maiden", "4", None),
        ("15:00 Bath", None, "15:00 Bath"),
        ("rc_1", None, None),
    ],
)
def test_race_in_words_is_a_number_or_a_title(said, number, title):
    race = read_race({"race": said, "course": "Bath"})
    assert (race.number, race.title) == (number, title)


# Texts


def test_text_drops_only_what_no_database_takes():
    assert read_race({"title": "A\x00B\ud800 \u202e"}).title == "AB\ufffd \u202e"


@over(
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


def test_related_resources_of_json_api_are_bounded():
    links = {"data": [{"type": "race", "id": str(number)} for number in range(60)]}
    listed = [{"type": "race", "id": str(number), "relationships": {"races": links}} for number in range(60)]
    related = with_related({"data": {"relationships": {"races": links}}, "included": listed})
    assert len(str(related)) < LONGEST_RELATED + len(str(listed))


@over("order", ["finishing_order", "winner", "first", "results", "non_runners"])
def test_horses_of_an_order_are_bounded(order):
    names = [f"Horse {number}" for number in range(MOST_RUNNERS + 1)]
    for listed in (names, [names, names[::-1]]):
        assert len(read("result.received", race={"race_id": "rc_1", order: listed}).race.runners) <= MOST_RUNNERS


def test_long_text_is_cut_off():
    text = "Frost " * LONGEST_READ
    lost = read("race.abandoned", race={"race_id": "rc_1", "reason": text, "off": text, "winner": text})
    assert lost.reason == text[:LONGEST_READ].strip()


# Runners and their places, read from possible shapes of the service

PLACES_OF = Path(__file__).with_name("runners.yaml")


def said(record):
    """The runners of a race, as "A=1, B": B is without a position."""
    runners = read_race(record).runners
    return ", ".join(f"{one.horse}" if one.position is None else f"{one.horse}={one.position}" for one in runners)


def runners(horses, **fields):
    """A race whose horses have the same fields."""
    return {"runners": [{"horse": horse, **fields} for horse in horses]}


def a(**fields):
    return runners("A", **fields)


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
    (read,) = read_race({"results": [{"horse": "Frankel", "cloth_number": "04"}]}).runners
    assert read.number == "4"


@over(("runner", "price"), Answers(PLACES_OF, "prices"))
def test_starting_price_is_a_price_with_the_mark_of_a_favourite(runner, price):
    (read,) = read_race(a(**runner)).runners
    assert read.starting_price == price


@over(
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


@over(("position", "place"), Answers(PLACES_OF, "places"))
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


@over(("record", "expected"), Answers(PLACES_OF, "positions"))
def test_runners_have_a_position_only_where_one_was_published(record, expected):
    assert said(record) == expected


@over(("record", "status"), Answers(PLACES_OF, "provisional"))
def test_places_that_are_all_provisional_are_called_so(record, status):
    race = read_race(record)
    assert (race.status, race.has_places) == (status, True)


def test_runners_of_several_lists_are_put_together():
    declared = [{"number": 4, "horse": "A", "jockey": "J"}, {"number": 7, "horse": "B"}]
    runners = read_race({"runners": declared, "finishing_order": [7, 4]}).runners
    assert [(runner.horse, runner.jockey, runner.position) for runner in runners] == [("A", "J", "2"), ("B", None, "1")]
