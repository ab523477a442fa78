"""Races read from shapes that the service might send, and how much is read of one payload."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.deliveries.payload import read_payload
from bot.events.races import Course, OffTime, Race
from bot.events.reading.json_api import LONGEST_RELATED, with_related
from bot.events.reading.json_values import LONGEST_READ, note_text
from bot.events.reading.order_spellings import MOST_RUNNERS
from bot.events.reading.race_list import MOST_RACES
from bot.events.reading.race_record import read_race
from tests.rows import over

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


@over(
    ("record", "region", "course"),
    [
        *(({"region": region}, None, Course()) for region in (7, {"id": 7}, {"name": "Great Britain"}, ["GB"], True)),
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


@pytest.mark.parametrize("name", ["startTimeGMTScheduled", "start_timestamp", "starts_at_utc", "raceOffTimestamp"])
def test_off_time_is_read_under_every_usual_name(name):
    assert read_race({name: "2025-06-17T14:30"}).off == OffTime(text="14:30")


def test_clock_of_utc_is_no_other_off_time():
    assert read_race({"off": "14:30", "off_utc": "13:30"}).off == OffTime(text="14:30")
    assert read_race({"off_time_gmt": "13:30"}).off == OffTime(text="13:30")


LATE_IN_NEW_YORK = {"off_at": "2025-06-17T23:30:00-05:00"}


@over(
    ("record", "race_date"),
    [
        *(({"date": "2025-06-17"}, "2025-06-17"), ({"date": 20250617}, "2025-06-17")),
        *(
            ({"date": "2025-06-17", "original_date": "2025-06-10"}, "2025-06-17"),
            ({"local_date": "2025-06-17"}, "2025-06-17"),
        ),
        *(({"race_date": LATE_IN_NEW_YORK["off_at"]}, "2025-06-17"), (LATE_IN_NEW_YORK, "2025-06-17")),
        *(({"date": "2025/06/17"}, "2025-06-17"), ({"date": "17/06/2025"}, "2025-06-17")),
        *(({"date": "06/17/2025"}, "2025-06-17"), ({"date": "17/06/25"}, "2025-06-17")),
        *(({"date": "2025-6-7"}, "2025-06-07"), ({"date": "2025/6/17"}, "2025-06-17")),
        *(({"date": "05/06/25"}, "05/06/25"), ({"date": "05/06/2025"}, "05/06/2025")),
        *(({"date": "06-06-2025"}, "2025-06-06"), ({"date": "Tue 17 June 2025"}, "2025-06-17")),
        *(({"date": "June 17th, 2025"}, "2025-06-17"), ({"date": "17 août 2025"}, "2025-08-17")),
        *(({"date": "17Jun25"}, "2025-06-17"), ({"date": 1_750_118_400}, "2025-06-17")),
        *(
            ({name: "2025-06-17"}, "2025-06-17")
            for name in ("meeting_date_utc", "racingDate", "isoDate", "starts_on", "scheduled_for")
        ),
        ({"date": {"iso": "2025-06-17", "shown": "Tue 17 June"}}, "2025-06-17"),
        ({"date": "/Date(1750118400000+0000)/"}, "2025-06-17"),
        *(({"date": 1_750_118_400_000}, "2025-06-17"), ({"date": "/Date(1750118400000)/"}, "2025-06-17")),
        *(({"date": {"year": 2025, "month": 6, "day": 7}}, "2025-06-07"), ({"date": "2025-02-30"}, "2025-02-30")),
        *(({"date": "Tuesday"}, "Tuesday"), ({"date": "Tuesday", **LATE_IN_NEW_YORK}, "2025-06-17")),
        ({"date": 1_750_167_000}, "2025-06-17 13:30 UTC"),
    ],
)
def test_race_date_is_the_published_day_never_shifted(record, race_date):
    assert read_race(record).race_date == race_date


AT_YORK = {"course": "York", "date": "2025-06-17", "off": "13:00"}


@over(
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
        *(
            ({"going": "ABANDONED"}, True),
            ({"title": "ABANDONED - Maiden Hurdle"}, True),
            *(({"title": said}, None) for said in ("Abandoned Cup", "Abandoned Mine Race (Class 4)")),
        ),
        *(({"going": going}, lost) for going, lost in (("Abandoned", True), ("Waterlogged - abandoned", True))),
        *(({"going": going}, None) for going in ("May be abandoned", "Good (last meeting abandoned)")),
        *(
            ({"title": title}, True)
            for title in ("Maiden Hurdle (Abandoned)", "Maiden Hurdle - ABANDONED", "Abandoned")
        ),
        *(({name: ["ABANDONED"]}, True) for name in ("result", "results", "placings")),
        ({"winner": "Race abandoned"}, True),
        *(({"reason": reason}, lost) for reason, lost in (("Abandoned - fog", True), ("Fog", None))),
        *(({"notes": f"{moved} abandoned meeting"}, None) for moved in ("Rescheduled from", "Replacement for")),
        ({"notes": "Transferred from Ayr (abandoned)"}, None),
        *(({"abandonment": {name: "high"}}, None) for name in ("risk", "likelihood", "probability")),
        *(({"abandonment": {"status": said}}, lost) for said, lost in (("declared", True), ("lifted", None))),
        ({"abandonment": {"reason": "Not raceable"}}, True),
        *(({"notes": said}, True) for said in ("Abandoned", "Waterlogged - abandoned", "Called off: fog")),
        *(({"notes": f"{said} abandoned"}, None) for said in ("Stable's plans", "First race", "Opening race")),
        ({**AT_YORK, "notes": "2019: abandoned"}, None),
        *(({**AT_YORK, "notes": said}, True) for said in ("Ebor Festival abandoned", "Race cancelled by agreement")),
        *(
            ({"race_number": 3, name: said}, lost)
            for name in ("notes", "reason")
            for said, lost in (
                *(("Meeting abandoned after race 2", True), ("Meeting abandoned after race 3", None)),
                *(("Meeting abandoned following a fall in race 2", True), ("Race 2 abandoned", None)),
                *(("Races 2-4 abandoned", True), ("Races 4-7 abandoned", None)),
            )
        ),
        ({"race_number": 5, "notes": "Races 2-4 abandoned"}, None),
        ({"reason": "Meeting abandoned after race 2"}, True),
        *(
            ({"race_date": "2026-11-27", "notes": said}, lost)
            for said, lost in (("Abandoned on 27 November", True), ("Abandoned on 18 November", None))
        ),
        *(({name: "Course inspection cancelled"}, None) for name in ("going", "reason", "stewards")),
        *(
            ({"notes": said, "placings": ["A"]}, None)
            for said in ("Abandoned his effort", "Objection cancelled", "Race abandoned", "Cancelled his Ascot entry")
        ),
        *(({"course": {"name": "York", **said}}, True) for said in ({"status": "Abandoned"}, {"cancelled": "Y"})),
        ({"meeting": {"notes": "Meeting abandoned"}}, True),
        *(({"meeting": {"notes": f"Abandoned{behind}"}}, True) for behind in ("", " - frost", " by stewards")),
        *(
            ({"race_number": number, "meeting": {name: "Abandoned after race 2"}}, lost)
            for number, lost in ((2, None), (3, True))
            for name in ("status", "notes")
        ),
        ({"notes": "Transferred from Ripon, abandoned due to fog"}, None),
        *(
            ({**AT_YORK, "message": message}, lost)
            for message, lost in (
                *(("The 13:00 at York has been abandoned", True), ("York 1.00 abandoned", True)),
                *(("Race abandoned at 12:50", True), ("York 14:00 abandoned", None), ("Ayr 13:00 abandoned", None)),
                *(("York abandoned on Monday", True), ("Monday's meeting abandoned", None)),
                *(("Tuesday's meeting abandoned on Monday", True), ("The 2024 race abandoned", None)),
            )
        ),
        ({"abandoned": False, "status": "declared"}, False),
        ({"timeline": [{"type": "ABANDONED"}, {"type": "REINSTATED"}]}, None),
        ({"finishing_order": ["Abandoned Lad"], "runners": ["Abandoned Lad", "B"]}, None),
        ({"status": "May be abandoned"}, None),
        ({"meeting": {"status": "abandoned"}, "placings": ["A"]}, None),
        *(
            ({"meeting": {name: said}}, True)
            for name, said in (
                *(("status", {"code": "ABD", "description": "Abandoned"}), ("status", ["ABANDONED", "FOG"])),
                *(("abandoned", {"reason": "Fog"}), ("abandoned_at", "2025-06-17T12:00:00Z"), ("cancelled", "Y")),
            )
        ),
        *(({name: said}, True) for name, said in (("meeting_abandoned_at", "12:00"), ("fixture_status", "ABD"))),
        *(
            ({"meeting": {"status": "Abandoned", **part}}, None)
            for part in ({"abandoned_from_race": 4}, {"partial": True}, {"races_run": 2}, {"abandonment": {"from": 4}})
        ),
        ({"abandon_reason": "Fog"}, True),
        *(({"meeting": {"status": part}}, None) for part in ("Partially abandoned", "Abandoned after race 3")),
        ({"meeting": {"status": "abandoned"}, "status": "Weighed in"}, None),
        ({"headline": "A wins after B abandoned by jockey", "placings": ["A"]}, None),
        ({"headline": "Race abandoned after a fall", "placings": ["A"]}, True),
        *(
            ({"course": "York", "headline": headline}, abandoned)
            for headline, abandoned in (
                *(("York meeting abandoned", True), ("Meeting abandoned", True), ("Race lost", True)),
                *(("Ayr meeting abandoned", None), ("Waterlogged course abandoned", True), ("Two fences void", None)),
            )
        ),
        *(
            ({"headline": headline, "placings": ["A"]}, None)
            for headline in (
                "Race lost",
                "Meeting abandoned after race 3",
                "Abandoned after this race",
                "Rescheduled",
                "Ayr meeting abandoned",
            )
        ),
        *(
            ({"course": course, "headline": f"{name} abandoned", "placings": ["A"]}, True)
            for course, name in (("Sandown", "Sandown Park"), ("Kempton (AW)", "Kempton Park"), ("Ascot Park", "Ascot"))
        ),
        *(({"tags": [tag]}, lost) for tag, lost in (("Postponed race", None), ("Postponed", True), ("Race off", None))),
        *(
            ({"notes": f"{said} abandoned", "placings": ["A"]}, None)
            for said in ("Next two races", "Subsequent races", "Racing was later")
        ),
        ({"tags": ["Postponed race"], "placings": ["A"]}, None),
        *(({"remarks": remarks, "placings": ["A"]}, None) for remarks in ("競走中止", "2番 競走中止", "3番中止")),
        *(({"remarks": remarks, "placings": ["A"]}, True) for remarks in ("第5競走中止", "開催中止")),
        *(({"status": "競走中止"}, True), ({"remarks": "3番 競走中止"}, None)),
        *(
            ({name: said, "placings": ["A"]}, None)
            for name in ("remarks", "headline", "stewards", "comment")
            for said in ("Abandoned his effort two out", "Smith abandoned the chase", "B pulled up and abandoned")
        ),
        ({"tags": ["Abandoned his effort two out"], "placings": ["A"]}, None),
        *(
            ({name: said}, None)
            for name in ("notes", "message", "headline", "stewards")
            for said in ("Stewards' meeting cancelled", "Press conference cancelled", "Board meeting postponed")
        ),
        *(
            ({name: said}, True)
            for name in ("notes", "message", "headline", "stewards")
            for said in ("Meeting abandoned", "Race not run due to fog", "We regret that today's meeting is abandoned")
        ),
        ({"headline": f"Race abandoned after {'a long delay for ' * 4}fog"}, True),
        ({"headline": "Void Contract in front", "runners": ["Void Contract"]}, None),
        ({"headline": "Abandoned Lad heads the field", "runners": ["Abandoned Lad", "B"]}, None),
        ({"reason": "York 14:00 abandoned", **AT_YORK}, None),
        ({"headline": "Meeting abandoned last Saturday"}, None),
        *(
            ({**AT_YORK, name: said}, True)
            for name in ("status", "result", "headline", "tags", "stewards", "notes", "reason", "going", "message")
            for said in (
                *("York will not go ahead", "No racing at York today", "Storm forces York abandonment"),
                *("Abandoned", "Frost abandoned", "HIGH WINDS - ABANDONED", "Racing at York is off"),
                *(
                    "No racing at York",
                    "There is no racing at York today due to fog",
                    "The 1pm at York has been abandoned",
                ),
                *("Frozen track forces abandonment of York", "BHA confirm York has been abandoned"),
                *("Both York and Ripon abandoned", "York, Ripon and Ayr abandoned", "Ripon, York and Ayr abandoned"),
                *("Abandonment of York's meeting announced", "Abandoned from race 3 onwards"),
                *("Die Veranstaltung wurde wegen Sturm abgesagt", "YARIŞ İPTAL", "Скачки отменены"),
                *("Reportée au 27 novembre", "Verschoben auf Samstag", "Meeting rescheduled for 27 November"),
            )
        ),
        *(
            ({**AT_YORK, name: said}, None)
            for name in ("headline", "tags", "stewards", "notes", "reason", "going", "message")
            for said in (
                *("Cheltenham Festival abandoned", "Pulled up, abandoned", "Placepot void", "Racing suspended"),
                *("Last hurdle abandoned", "Ran out, abandoned", "Originally scheduled for 13 Nov (abandoned)"),
                *("The 2pm at York has been abandoned", "Restaged from the abandoned York card"),
                *("Ripon, Bath and Ayr abandoned", "Stewards' meeting at York called off"),
                *("Concert at Ebor Festival cancelled", "The Galway Festival abandoned"),
            )
        ),
        *(
            ({**AT_YORK, "race_number": 3, "notes": f"{said} abandoned"}, lost)
            for said, lost in (
                *(("Third race", True), ("Race three", True), ("Fourth race", None), ("Race four", None)),
                *(("Hurdles", None), ("Meeting moved to York from Ripon:", None)),
            )
        ),
        *(
            ({**AT_YORK, "race_number": number, "notes": "Meeting abandoned after the third race"}, lost)
            for number, lost in ((3, None), (4, True))
        ),
        *(
            ({**AT_YORK, "race_number": 3, name: "Meeting abandoned after race 3"}, None)
            for name in ("status", "headline", "tags", "notes", "reason", "message")
        ),
        (
            {**AT_YORK, "meeting": {"name": "Dante Meeting"}, "headline": "Dante Meeting abandoned", "placings": ["A"]},
            True,
        ),
        *(
            ({**AT_YORK, "status": said, "placings": ["A"]}, lost)
            for said, lost in (
                *(("Abandoned", True), ("York abandoned", True), ("Abandoned - frost", True), ("Postponed", True)),
                *(("MEETINGABANDONED", True), ("RACE_ABANDONED", True), ("Meeting lost to fog", True)),
                *(("Ripon abandoned", None), ("Ayr meeting abandoned", None), ("Next race abandoned", None)),
                *(("Abandoned after race 3", None), ("Jackpot cancelled", None), ("Racing suspended", None)),
            )
        ),
    ],
)
def test_race_is_abandoned_by_its_record_without_a_sign_of_a_run(record, abandoned):
    assert read_race(record).abandoned is abandoned


VOIDED = "The race was declared void after a false start"
PLACED = {"course": "York", "race_number": 1, "placings": ["A", "B"]}


@pytest.mark.parametrize(
    ("beside", "is_void"),
    [
        *(({name: "Race void"}, True) for name in ("comments", "race_notes", "stewardsReport", "message", "news")),
        *(({name: "Void"}, True) for name in ("comments", "remark", "notes", "headline", "sub_status", "reason")),
        *(({"reason": said}, False) for said in ("Bets void", "Race 2 void", "Void claim", "Previous race void")),
        *(({name: "No contest"}, True) for name in ("official_status", "current_status")),
        *(({name: {"status": "Void"}}, True) for name in ("race_status", "sport_event_status")),
        *(({"flags": {"void": True}}, True), ({"void_reason": "False start"}, True), ({"voidRace": "Y"}, True)),
        *(({"comments": said}, True) for said in ([VOIDED], [{"text": VOIDED}], {"en": VOIDED})),
        *(({name: {"decision": VOIDED}}, True) for name in ("stewards", "inquiry", "stewards_enquiry")),
        *(({name: [{"text": "Alpha ran well"}, {"text": VOIDED}]}, True) for name in ("stewards_reports", "messages")),
        *(
            ({"stewards_notes": said}, True)
            for said in (
                *(f"{VOIDED}; all bets are refunded, and the race may be run again at a later date", "Void race"),
                *("Race 1 void", "Race was voided as the flag was not seen by any of the riders at the start"),
            )
        ),
        *(
            ({"comments": said}, False)
            for said in (
                *("Race 2 void", "B void of room", "A won easily, devoid of rivals", "First attempt void, run again"),
                *(
                    "Race not void",
                    "Previous race void",
                    "Last meeting void",
                    "Race void claim dismissed",
                    "Objector claimed a void race",
                ),
            )
        ),
        *(
            ({name: said}, True)
            for name in ("notes", "headline", "stewards")
            for said in ("Race null and void", "Declared void", "Run but declared void", "The race was void")
        ),
        ({"stewards": f"Long inquiry. {'Riders were heard. ' * 4}The race was declared void"}, True),
        *(
            ({name: "Race void for betting purposes only"}, False)
            for name in ("notes", "headline", "stewards", "status", "message")
        ),
        *(({name: "Race void"}, False) for name in ("previous_race", "form_history", "next", "last_result")),
        *(
            ({"title": "Sky Bet Placepot Handicap", name: said}, is_void)
            for name in ("status", "notes", "headline")
            for said, is_void in (
                ("Placepot void", False),
                ("Bet void", False),
                ("Sky Bet Placepot Handicap void", True),
            )
        ),
        *(({"status": said}, True) for said in ("Void", "Race declared void", "VOID - false start", "Null and void")),
        *(
            ({"status": said}, False)
            for said in (
                *("Placepot void", "Tote pools void", "Bets void", "Race 2 void", "Exacta declared void", "CSF: void"),
                *(
                    "Official time: void",
                    "Race void for the placepot",
                    "Fourth race void",
                    "Race void appeal dismissed",
                ),
            )
        ),
        *(({name: "Void"}, False) for name in ("tricast", "bets", "exacta", "market_status", "pool_status")),
    ],
)
def test_places_of_a_race_that_any_text_calls_void_are_void(beside, is_void):
    assert read_race({**PLACED, **beside}).is_void is is_void


@pytest.mark.parametrize(
    ("said", "number", "title"),
    [
        ("Race 4", "4", None),
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


@pytest.mark.parametrize("order", ["finishing_order", "winner", "first", "results", "non_runners"])
def test_horses_of_an_order_are_bounded(order):
    names = [f"Horse {number}" for number in range(MOST_RUNNERS + 1)]
    for listed in (names, [names, names[::-1]]):
        assert len(read("result.received", race={"race_id": "rc_1", order: listed}).race.runners) <= MOST_RUNNERS


def test_long_text_is_cut_off():
    text = "Frost " * LONGEST_READ
    lost = read("race.abandoned", race={"race_id": "rc_1", "reason": text, "off": text, "winner": text})
    assert lost.reason == text[:LONGEST_READ].strip()
