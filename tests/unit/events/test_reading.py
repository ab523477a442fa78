"""Races read from shapes that the service might send, and how much is read of one payload."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bot.deliveries.payload import read_payload
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.reading.json_object import DEEPEST_JSON, LONGEST_RELATED, with_related
from bot.events.reading.json_values import LONGEST_READ, note_text
from bot.events.reading.order_spellings import MOST_RUNNERS
from bot.events.reading.race_list import MOST_RACES
from bot.events.reading.race_record import read_race
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("reading.yaml")
HALF_PAST_ONE_UTC = datetime(2025, 6, 17, 13, 30, tzinfo=UTC)


AT_ASCOT = Race(race_id="rc_1", region="GB", course=Course(course_id="cr_1", name="Ascot"), race_date="2025-06-17")
QUEEN_ANNE = Race(number="3", title="Queen Anne Stakes", race_class="Class 1", race_type="Flat", distance="1m")
PUBLISHED = {"going": "Good to Firm", "surface": "Turf", "status": "Declared", "field_size": 12}
READ = {
    "Ascot": AT_ASCOT.model_copy(update={"off": OffTime(text="14:30")}),
    "every field": QUEEN_ANNE.model_copy(update=PUBLISHED),
    "nothing": Race(),
}


@over(("record", "race"), Answers(ROWS, "races"))
def test_race_reads_the_same_from_every_shape_with_every_field_as_published(record, race):
    assert read_race(record) == READ[race]


@over(
    ("record", "region", "course"),
    [
        *(
            ({"region": region}, None, Course())
            for region in (7, "eu-west-1", {"id": 7}, {"name": "Great Britain"}, ["GB", "IE"], True)
        ),
        ({"country_code": "IE", "country": "Ireland", "course": {"name": "York", "region": "GB"}}, "GB", "York"),
        ({"region": "Great Britain", "region_code": "GB"}, "GB", Course()),
        *(({"region": region}, "GB", Course()) for region in ({"#text": "GB"}, {"value": "GB"}, ["GB"])),
        ({"course": "cr_8f2"}, None, Course(course_id="cr_8f2")),
        ({"track": "Turf", "course": "Ascot"}, None, "Ascot"),
        ({"track": "Ascot"}, None, "Ascot"),
        *(
            ({"course": "York", beside: {"country": "FR"}}, None, Course(name="York"))
            for beside in ("sponsor", "customer", "organiser", "broadcaster")
        ),
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
def test_off_time_is_read_under_every_usual_name_and_the_clock_of_utc_is_no_other_time(name):
    assert read_race({name: "2025-06-17T14:30"}).off == OffTime(text="14:30")
    assert read_race({"off": "14:30", "off_utc": "13:30"}).off == OffTime(text="14:30")
    assert read_race({"off_time_gmt": "13:30"}).off == OffTime(text="13:30")


def test_clock_of_utc_is_no_time_of_a_race_of_the_day_before():
    assert read_race({"off": "2025-06-18T01:30:00Z", "region": "USA"}).off.text is None
    assert read_race({"off": "2025-06-17T21:30:00-04:00", "region": "USA"}).off.text == "21:30"


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
        *((said, None, said) for said in ("15:00 Bath", "15:00 Bath Stakes")),
        ("rc_1", None, None),
    ],
)
def test_race_in_words_is_a_number_or_a_title(said, number, title):
    race = read_race({"race": said, "course": "Bath"})
    assert (race.number, race.title) == (number, title)


# Texts


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
def test_note_of_any_type_is_read_as_text_and_a_text_drops_only_what_no_database_takes(note, shown):
    assert note_text(note) == shown
    assert read_race({"title": "A\x00B\ud800 \u202e"}).title == "AB\ufffd \u202e"


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
    deep: list[object] = [{"relationships": {"next": {"data": {"type": "race", "id": "1"}}}}]
    for _ in range(DEEPEST_JSON):
        deep = [deep]
    document = {"data": deep, "included": [{"type": "race", "id": "1", "deep": deep}]}
    assert with_related(document) is document


@over("order", ["finishing_order", "winner", "first", "results", "non_runners"])
def test_order_has_a_bounded_number_of_horses_and_a_long_text_is_cut_off(order):
    names = [f"Horse {number}" for number in range(MOST_RUNNERS + 1)]
    for listed in (names, [names, names[::-1]]):
        assert len(read("result.received", race={"race_id": "rc_1", order: listed}).race.runners) <= MOST_RUNNERS
    text = "Frost " * LONGEST_READ
    lost = read("race.abandoned", race={"race_id": "rc_1", "reason": text, "off": text, "winner": text})
    assert lost.reason == text[:LONGEST_READ].strip()


def test_texts_about_a_loss_are_bounded_and_a_long_text_hides_no_remark():
    notes = [("May be abandoned. " * 200)[:LONGEST_READ], "Race void. " * 60, "Race abandoned"]
    race = read_race({"race_id": "rc_1", "notes": notes})
    assert (race.abandoned, race.is_void) == (True, False)


# Runners and their places, read from possible shapes of the service

PLACES_OF = Path(__file__).with_name("runners.yaml")


def said(record):
    """The runners of a race, as "A=1, B": B is without a position."""
    runners = read_race(record).runners
    return ", ".join(f"{one.horse}" if one.position is None else f"{one.horse}={one.position}" for one in runners)


FRANKEL = Runner(horse="Frankel", jockey="T Queally", trainer="H Cecil")
WON = {"position": "1", "number": "4", "draw": "2", "starting_price": "1/4", "official_rating": "140"}
RIDDEN = {
    "Frankel": FRANKEL,
    "Frankel, with every field": FRANKEL.model_copy(update=WON),
    "Frankel, 4": Runner(horse="Frankel", number="4"),
}


@over(("runner", "read"), Answers(PLACES_OF, "runners"))
def test_runner_is_read_from_any_shape_and_its_own_people_come_before_the_horses(runner, read):
    assert read_race({"runners": [runner]}).runners == (RIDDEN[read],)


@over(("runner", "price"), Answers(PLACES_OF, "prices"))
def test_starting_price_is_a_price_with_the_mark_of_a_favourite(runner, price):
    (read,) = read_race({"runners": [{"horse": "A", **runner}]}).runners
    assert read.starting_price == price


@over(("position", "place"), Answers(PLACES_OF, "places"))
def test_place_is_read_however_a_dead_heat_is_written(position, place):
    assert Runner(horse="A", position=position).finishing_position == place


def test_horses_in_one_place_are_a_dead_heat_and_placed_runners_stand_in_order():
    runners = [{"horse": "One", "position": 1}, {"horse": "Two", "position": 1}, {"horse": "Three", "position": 3}]
    race = read_race({"runners": runners})
    assert [runner.position for runner in race.runners] == ["1=", "1=", "3"]
    assert race.disputed is None
    placed = [Runner(horse=horse, position=at) for horse, at in [("D", "4"), ("C", "=2"), ("B", "dh 2"), ("A", "1")]]
    assert [runner.horse for runner in Race(runners=tuple(placed)).placed()] == ["A", "C", "B", "D"]


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
