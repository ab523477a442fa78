"""The answers of `/racecard` and `/results`, with the words in answers.txt; and pages, which lose nothing."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, Race, Runner
from bot.racedata.client.records import KnownCountry
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.day_card import Coverage, at_off, outcomes_of
from bot.racedata.race_book_store import merged
from bot.slack.messages.alerts.event_alerts import full_result
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.races_of_day import racecard, results_of_day
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX
from sandbox.slack.block_rules import block_problems
from tests.rows import over
from tests.unit.commands.town import (
    ASCOT,
    DECLARED,
    DISPUTED,
    FIELD,
    MEETING_OFF,
    NOW,
    OF_A_DAY,
    RACE_OFF,
    RACES,
    TOMORROW,
    WINNER,
    lost_meeting,
    make_card,
    make_race,
    pages_of,
    timed,
)
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "answers.txt"
FAULT = ServerFault("races/search", request_id="req_7")
LOST = lost_meeting("Bath", "Waterlogged")
LOST_ONCE = lost_meeting(race_date=None)
ITALY = KnownCountry(country_code="ITY", name="Italy", full_result_order=False, position_pct=0.612)
PISA = make_race("14:30", course="Pisa", region="ITY", runners=FIELD)
FROST = {"abandoned": True, "reason": "Frost"}
AT_11: dict[str, dict[str, Any]] = {
    "void": {"status": "Void"},
    "abandoned": FROST,
    "in conflict": FROST | {"status": "result"},
    "run": {"status": "result", "runners": WINNER},
    "not told": {},
}
DAY_WITH_EVERYTHING = [
    timed(make_race("11:00", title="Hurdle", distance="2m", **fields), 11) for fields in AT_11.values()
]
LOST_ONE_BY_ONE = [make_race(f"1{hour}:00", **FROST) for hour in range(3, 6)]
UNPLACED = [
    RacingEvent(key="r_2", kind=EventKind.RACE_ABANDONED, race=Race(), reason="Fog", received_at=NOW),
    lost_meeting(None, region=None).model_copy(update={"in_doubt": True}),
]
LOST_BY_WIND = make_race("16:00", abandoned=True, reason="Wind")
TWO_RAN = Runner(number="1", horse="Fell", position="F"), Runner(number="2", horse="Winner", position="1")
IN_AUSTRALIA = make_race("15:00", region="AUS", title="Cup", runners=DECLARED)
ON_A_CARD: dict[str, Any] = {"title": "Novices' Hurdle", "distance": "2m", "race_class": "4", "field_size": 12}
CARDS = {
    "courses, each with its races in order": make_card(
        [
            *(make_race("14:30", going="Good", **ON_A_CARD), make_race("9:30", title="Early Stakes", going="Good")),
            make_race("15:00", course="Naas", title="Flat Race", **FROST),
        ],
        data_as_of="2026-11-20T11:59:00+00:00",
        read_at=NOW,
    ),
    "a list that was not read lately": make_card([make_race()], latest_at=datetime(2026, 11, 19, 21, 30, tzinfo=UTC)),
    "an abandoned race": make_card(OF_A_DAY, [RACE_OFF]),
    "an abandoned race, on its course's card": make_card(OF_A_DAY, [RACE_OFF], course=ASCOT),
    "a lost meeting": make_card(OF_A_DAY, [MEETING_OFF]),
    "a lost meeting, on its own card": make_card(OF_A_DAY, [MEETING_OFF], course=ASCOT),
    "a lost meeting beside a meeting of the same name": make_card(
        [make_race("14:30"), IN_AUSTRALIA], [lost_meeting()], course=ASCOT, region=None
    ),
    "races lost one by one": make_card([make_race(off, **FROST) for off in ("14:30", "15:00")], course=ASCOT),
    "a disputed race": make_card([DISPUTED, *OF_A_DAY], [RACE_OFF]),
    "a disputed race, on its course's card": make_card([DISPUTED, *OF_A_DAY], [RACE_OFF], course=ASCOT),
    "a disputed race of a lost meeting": make_card([DISPUTED, make_race("14:30")], [MEETING_OFF]),
    "a meeting lost after a race": make_card(
        [make_race("14:00", title="Flat", runners=WINNER), *OF_A_DAY], [MEETING_OFF]
    ),
    "races lost for one reason and for another": make_card([*LOST_ONE_BY_ONE, LOST_BY_WIND, make_race("17:00")]),
    "a result without placings": make_card([make_race(title="Hurdle", status="result")]),
    "every outcome": make_card([*DAY_WITH_EVERYTHING, make_race("15:00")]),
    "every outcome, on the course's card": make_card([*DAY_WITH_EVERYTHING, make_race("15:00")], course=ASCOT),
    "a meeting lost under another id": make_card(
        [make_race(meeting_id="m_2"), make_race(course="Naas", meeting_id="m_3")], [MEETING_OFF]
    ),
    "an abandonment of which nothing else is known": make_card(told=[lost_meeting()]),
    "no racing": make_card(),
    "a region that nobody checked": make_card(region="XX"),
    "no racing anywhere": make_card(region=None),
    "no racing at a course": make_card(course=ASCOT),
    "no racing at a course, and losses without a course": make_card(told=UNPLACED, course=ASCOT),
    "losses without a course, on a course's card": make_card(OF_A_DAY, [RACE_OFF, *UNPLACED], course=ASCOT),
    "a day to come": make_card(day=TOMORROW),
    "a day that is not read yet": make_card(coverage=Coverage.UNREAD, reached="2019-03-02"),
    "a day of which a part is read": make_card([make_race()], coverage=Coverage.PARTIAL),
    "a day outside the window": make_card(coverage=Coverage.OUTSIDE_WINDOW, window="2023 → upcoming"),
    "a day for which no request was left": make_card(coverage=Coverage.QUOTA),
    "a day whose reading failed": make_card([make_race()], coverage=Coverage.FAILED, failure=FAULT),
    "another year": make_card([make_race()], day=date(2025, 11, 20)),
    "runners": make_card(
        [make_race("14:30", title="Novices' Hurdle", runners=DECLARED), make_race("15:00", field_size=7)], course=ASCOT
    ),
    "runners of a single race": make_card([make_race(title="Novices' Hurdle", runners=DECLARED)], course=ASCOT),
    "runners of a race that was run": make_card([make_race(title="Hurdle", runners=TWO_RAN)], course=ASCOT),
}
IN_SECTIONS = ("runners", "runners of a race that was run")


@over("name", CARDS)
def test_card_reads_as_kept(name):
    unchecked = ("XX",) if "nobody checked" in name else ()
    message = racecard(CARDS[name], DayQuestion(NOW, unchecked))
    in_sections = ["in sections:", as_read(message.in_sections())] if name in IN_SECTIONS else []
    check(KEPT, f"Card: {name}", "\n".join([as_read(message), *in_sections]))


SPELLED_OTHERWISE = [
    RACE_OFF.model_copy(update={"race": make_race("15:00", course="ASCOT (GB)")}),
    lost_meeting("Ascot (GB)", race_date=None),
]
AT_NAAS = [make_race(f"1{hour}:00", course="Naas", region="IRE") for hour in range(2, 8)]
LOST_AT_PERTH = [make_race(f"1{n}:10", "Perth", region="AUS", abandoned=True, reason="Wind") for n in range(3)]
AS_RUN = RacingEvent(key="r", kind=EventKind.RESULT_RECEIVED, race=RACES[0])
UNCERTAIN = outcomes_of(RACES, [AS_RUN], "GB", None, {"r": RaceOutcome.UNCERTAIN})
DAYS = {
    "a day to come": make_card(
        [make_race(off, race_date="2026-11-21") for off in ("14:30", "15:00")], [LOST], day=TOMORROW
    ),
    "a day to come, at a time without a race": make_card(
        [make_race("14:30", race_date="2026-11-21")], day=TOMORROW, course=ASCOT, missed_off="15:50"
    ),
    "losses at a course in another spelling": make_card([make_race("14:30")], SPELLED_OTHERWISE, course=ASCOT),
    "a time beside lost races": at_off(make_card(RACES, course=ASCOT), "3:30"),
    "a time beside lost races of a region": at_off(make_card(RACES), "15:30"),
    "a time of a meeting lost on no given day": at_off(make_card(RACES, [LOST_ONCE], course=ASCOT), "15:30"),
    "a time that was run before a meeting lost on no given day": at_off(
        make_card(RACES, [LOST_ONCE], course=ASCOT), "14:30"
    ),
    "a time in all regions": at_off(
        make_card([RACES[0], make_race("14:30", course="Naas", region="IRE")], region=None), "14:30"
    ),
    "a day to come that began in the east": make_card(RACES, day=TOMORROW),
    "a day to come without a card": make_card(day=TOMORROW),
    "a day": make_card(RACES, [LOST]),
    "all regions": make_card([*RACES[:3], *AT_NAAS, *LOST_AT_PERTH], [LOST], region=None),
    "everybody who ran": make_card(RACES[:3], course=ASCOT),
    "a lost meeting": make_card(
        [make_race(off, course="Bath") for off in ("14:30", "15:00")], [LOST], course=Course(name="Bath")
    ),
    "meetings with results first": make_card([make_race("12:00", course="Aintree"), RACES[3]]),
    "a contradiction": make_card([make_race("14:30", runners=FIELD, abandoned=True), make_race("15:00", **FROST)]),
    "a contradiction alone": make_card([make_race("14:30", runners=FIELD, abandoned=True)]),
    "two versions that disagree": replace(make_card(RACES), outcomes=UNCERTAIN),
    "a void race": make_card([make_race("14:30", status="void"), make_race("15:00", status="result")]),
    "a void race of a course": make_card([make_race("14:30", status="void")], course=ASCOT),
    "no racing": make_card(),
    "an abandonment of which nothing else is known": make_card(told=[LOST]),
    "losses without a course": make_card(told=UNPLACED, course=ASCOT),
    "a part of a day": make_card(RACES[:1], coverage=Coverage.PARTIAL),
    "abandoned races without a course": make_card(
        [make_race(off, course=None, region=region, **FROST) for off in ("14:30", "15:00") for region in ("GB", None)],
        region=None,
    ),
}


@over("name", DAYS)
def test_results_and_abandonments_read_as_kept(name):
    for heading, only_abandonments in (("Results", False), ("Abandonments", True)):
        question = DayQuestion(now=NOW, only_abandonments=only_abandonments)
        check(KEPT, f"{heading}: {name}", as_read(results_of_day(DAYS[name], question)))


WHOLE = ITALY.model_copy(update={"full_result_order": True})
GREAT_BRITAIN = KnownCountry(country_code="GB", full_result_order=False)


@over(
    ("races", "region", "countries", "said"),
    [
        ([PISA, *RACES], "ITY", [ITALY], "Italy does not publish the full finishing order: 61% of runners have a"),
        ([PISA, *RACES], None, [ITALY], "Italy does not publish the full finishing order: 61% of runners have a"),
        ([PISA, *RACES], None, [ITALY, GREAT_BRITAIN], "is not published by Italy (61% of runners have a recorded"),
        ([PISA], "ITY", [WHOLE], None),
        ([make_race("15:30", course="Pisa", region="ITY"), *RACES], None, [ITALY], None),
    ],
)
def test_partial_order_is_labelled_as_what_the_country_publishes(races, region, countries, said):
    day = make_card(races, region=region)
    text = as_read(results_of_day(day, DayQuestion(now=NOW, countries=tuple(countries))))
    assert ("finishing order" in text) is (said is not None)
    assert said is None or said in text


# Pages

WHY = "Waterlogged after heavy overnight rain, standing water in the back straight, again"
NAMES = st.text(max_size=120)
RACING = st.builds(make_race, off=NAMES, course=NAMES, title=NAMES, distance=NAMES, going=NAMES)


def at_courses(number, **fields):
    return [make_race("13:00", f"Course {each:03}", **fields) for each in range(number)]


def problems(message):
    return [
        *block_problems(list(message.blocks), most=BLOCKS_MAX),
        *block_problems(list(message.plain_blocks), most=BLOCKS_MAX),
        *(["too heavy"] if weight(message.blocks) > MESSAGE_MAX else []),
    ]


@given(races=st.lists(RACING, max_size=12), repeat=st.sampled_from([1, 30]), coverage=st.sampled_from(Coverage))
def test_card_stays_within_slacks_limits(races, repeat, coverage):
    many = [
        race.model_copy(update={"course": Course(name=f"{race.course.name}{number}")})
        for number in range(repeat)
        for race in races
    ]
    message = racecard(make_card(many, coverage=coverage), DayQuestion(NOW))
    assert problems(message) == []


DISPUTES = make_card([*at_courses(60, abandoned=True, reason=WHY, status="result"), make_race(abandoned=True)])
LOSSES = make_card(at_courses(60, abandoned=True, reason=WHY))


@over(
    ("show", "counted"),
    [
        (
            lambda page: racecard(DISPUTES, DayQuestion(NOW, page=page)),
            ("1 race abandoned", "60 reported abandoned and run"),
        ),
        (lambda page: results_of_day(LOSSES, DayQuestion(now=NOW, page=page)), ("60 races abandoned",)),
        (
            lambda page: results_of_day(LOSSES, DayQuestion(now=NOW, page=page, only_abandonments=True)),
            ("60 races abandoned",),
        ),
    ],
)
def test_lost_races_without_number_are_all_on_the_pages(show, counted):
    pages = pages_of(show)
    lines = [line for page in pages for line in as_read(page).split("\n")[1:]]
    assert [line for line in lines if line.endswith(WHY)] == [f"Course {one:03} 13:00, {WHY}" for one in range(60)]
    assert len(pages) > 1
    assert all(words in as_read(page) for words in counted for page in pages)
    assert not any(line.startswith("and ") for line in lines)


def test_card_too_large_has_its_meetings_on_pages():
    races = [make_race(f"{hour}:00", f"Course {number:03}") for number in range(99) for hour in range(12, 18)]
    card = make_card(races, [MEETING_OFF])
    pages = pages_of(lambda page: racecard(card, DayQuestion(NOW, page=page)))
    assert len(pages) > 2
    assert re.findall(r"\*(Course \d+)\*", "".join(map(as_read, pages))) == [f"Course {one:03}" for one in range(99)]
    for number, page in enumerate(pages, 1):
        assert (
            page.blocks[0]["text"]["text"]
            == f"Racecard: GB, Fri 20 Nov, 1 meeting abandoned (page {number} of {len(pages)})"
        )
        assert as_read(page).count("Ascot, whole meeting, Flood") == 1
    turns = re.findall(r"\[.*\] (racecard .* page:.*)", as_read(pages[1]))
    assert turns == ["racecard GB 2026-11-20 page:1", "racecard GB 2026-11-20 page:3"]
    assert racecard(card, DayQuestion(NOW, page=500)) == pages[-1]


def test_pages_of_a_large_course_card_hold_the_same_races_in_both_forms():
    field = tuple(
        Runner(number=str(one), draw=str(one), horse=f"Horse {one:03}", jockey="J" * 30, trainer="T" * 30)
        for one in range(24)
    )
    card = make_card([make_race(f"{hour}:00", title="Handicap", runners=field) for hour in range(10, 20)], course=ASCOT)
    pages = pages_of(lambda page: racecard(card, DayQuestion(NOW, page=page)))
    assert [problems(page) for page in pages] == [[]] * len(pages)
    offs = [re.findall(r"\*(\d\d:00)\*", as_read(page)) for page in pages]
    assert offs == [re.findall(r"\*(\d\d:00)\*", as_read(page.in_sections())) for page in pages]
    assert [off for page in offs for off in page] == [f"{hour}:00" for hour in range(10, 20)]


def test_meeting_too_long_says_how_many_races_are_left_out():
    runners = (Runner(horse="x" * 50, position="1"),)
    races = [make_race(f"{number:05}", runners=runners) for number in range(100)]
    text = as_read(results_of_day(make_card(races), DayQuestion(now=NOW)))
    left = int(re.findall(r"and (\d+) more", text)[0])
    assert left + len(re.findall(r"^\d{5}", text, re.MULTILINE)) == 100


def test_favourite_has_the_same_mark_in_the_line_the_table_and_the_sections():
    prices = ("5/2", "11/8", "6/4", "10/1")
    runners = tuple(Runner(horse=f"Horse {n}", position=str(n), starting_price=one) for n, one in enumerate(prices, 1))
    race = make_race("14:30", runners=runners, field_size=4)
    event = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=race)
    other = make_race("15:00", runners=runners, field_size=4)
    alone, among = (racecard(make_card(some, course=ASCOT), DayQuestion(NOW)) for some in ([race], [race, other]))
    for form in (*full_result(event, None, NOW, ()).forms, *alone.forms, *among.forms):
        assert "11/8F" in str(form.blocks)
        assert re.findall("([0-9/]+)[JC]?F", str(form.blocks)) == ["11/8"] * str(form.blocks).count("11/8")


@over("course", [None, ASCOT])
def test_provisional_result_is_no_final_result(course):
    card = make_card([make_race("14:30", runners=FIELD, status="Provisional")], course=course)
    for message in (racecard(replace(card, course=ASCOT), DayQuestion(NOW)), results_of_day(card, DayQuestion(NOW))):
        assert "Status: Provisional" in str(message.blocks)


@over(
    ("declared", "published", "ran"),
    [
        ({"field_size": 9}, {}, None),
        ({"field_size": 4}, {}, "4 ran"),
        ({"runners": FIELD[:4], "field_size": 4}, {}, "4 ran"),
        ({"runners": FIELD[:4], "field_size": 5}, {}, None),
        ({"field_size": 9}, {"field_size": 9, "from_book": ("field_size",)}, None),
        ({"runners": [*FIELD[:4], Runner(horse="Declared")]}, {}, None),
        ({"runners": [*FIELD[:4], Runner(horse="Declared")]}, {"field_size": 4}, None),
        ({"runners": FIELD[:4], "field_size": 4}, {"field_size": 4}, "4 ran"),
        ({"runners": [*FIELD[:4], Runner(horse="Declared")]}, {"field_size": 5}, "5 ran"),
        ({"runners": [*FIELD[:4], Runner(horse="Out", position="NR")], "field_size": 4}, {}, "4 ran"),
        ({"runners": [*FIELD[:4], Runner(horse="Out", position="NR")], "field_size": 5}, {}, "4 ran"),
    ],
)
def test_declared_number_is_not_told_as_the_number_that_ran(declared, published, ran):
    runners = [one if one.is_out else one.model_copy(update={"position": None}) for one in declared.get("runners", ())]
    card = make_race("14:30", **declared | {"runners": runners})
    result = make_race("14:30", runners=FIELD[:4], **published)
    told = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=result)
    in_book = merged(card, result.as_delivered(), whole=False)
    for known in (card, in_book):
        shown = str(results_of_day(make_card([known], [told]), DayQuestion(NOW)).blocks)
        assert "1 Winner 5/2" in shown
        assert re.findall("[0-9]+ ran", shown) == [ran] * bool(ran)
    assert re.findall("[0-9]+ ran", full_result(told, in_book, NOW, ()).text) == [ran] * bool(ran)
