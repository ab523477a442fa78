from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.day_card import Card, Coverage, Outcomes, RaceOutcome, outcomes_of
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_store import KnownCountry
from bot.slack.commands import results as command
from bot.slack.commands.invocation import Invocation
from bot.slack.messages.answers.racecard_answer import racecard
from bot.slack.messages.answers.results_answer import ResultsQuestion, results_of_day
from bot.slack.messages.kit.blocks import weight
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
FIELD = (
    Runner(horse="Third", position="3"),
    Runner(horse="Winner", position="1", starting_price="5/2"),
    Runner(horse="Second", position="2="),
    Runner(horse="Also Second", position="2="),
    Runner(horse="Fourth", position="4"),
    Runner(horse="Fell", position="F"),
)


def make_race(off, course="Ascot", region="GB", **fields):
    given = {"race_id": f"{course}-{off}", "region": region, "course": Course(name=course), "race_date": "2026-11-20"}
    return Race(**given | {"off": OffTime(text=off)} | fields)


def make_day(races, told=(), *, region="GB", course=None, coverage=Coverage.COMPLETE, **fields):
    given = {"day": TODAY, "region": region, "course": course, "coverage": coverage}
    return Card(**given | {"outcomes": outcomes_of(races, told, region, course)} | fields)


def show(day, **shown):
    return results_of_day(day, ResultsQuestion(now=NOW, **shown))


def text_of(message):
    return "\n".join(block["text"]["text"] for block in message.blocks if "text" in block)


RACES = [
    make_race("14:30", runners=FIELD),
    make_race("15:00", abandoned=True, reason="Frost"),
    make_race("15:30"),
    make_race("13:00", course="Naas", status="result"),
]
LOST = RacingEvent(
    key="m",
    kind=EventKind.MEETING_ABANDONED,
    race=Race(course=Course(name="Bath"), region="GB", race_date="2026-11-20"),
    reason="Waterlogged",
)


def test_abandonments_of_all_regions_name_the_region_of_each():
    races = [make_race("15:05", course="Newcastle", region="AUS", abandoned=True, reason="Frozen track")]
    everywhere = show(make_day(races, [LOST], region=None)).text
    assert "ABANDONED: Bath (GB), whole meeting, Waterlogged; Newcastle (AUS) 15:05, Frozen track" in everywhere


def test_results_that_disagree_on_the_winner_are_a_conflict():
    event = RacingEvent(key="r", kind=EventKind.RESULT_RECEIVED, race=RACES[0])
    outcomes = outcomes_of(RACES, [event], "GB", None, {"r": RaceOutcome.UNCERTAIN})
    message = show(replace(make_day(RACES), outcomes=outcomes))
    disputed = "14:30  ⚠️ *CONFLICT*: two versions of the result disagree: check. The later says 1 Winner, 2= Second"
    assert disputed in text_of(message)
    assert "1 race in conflict" in message.text
    card = racecard(replace(make_day(RACES), outcomes=outcomes), NOW)
    assert "The later says won by *Winner*" in text_of(card)


def test_results_tell_each_race_of_a_day():
    message = show(make_day(RACES, [LOST]))
    text = text_of(message)
    assert "14:30  1 Winner, 2= Second, 2= Also Second, 3 Third" in text
    assert "15:00  🛑 *ABANDONED*, Frost" in text
    assert "15:30  no result yet" in text
    assert "13:00  result in, placings not received" in text
    assert "1 meeting and 1 other race abandoned, 2 results in, 1 not known yet" in text
    assert "ABANDONED: Bath, whole meeting, Waterlogged; Ascot 15:00, Frost" in message.text
    assert "None" not in text


def test_meetings_with_results_come_before_those_of_which_nothing_is_known():
    races = [make_race("12:00", course="Aintree"), make_race("13:00", course="Naas", status="result")]
    text = text_of(show(make_day(races, [])))
    assert text.index("Naas") < text.index("Aintree")


def test_results_of_all_regions_name_what_is_known_and_count_the_rest():
    elsewhere = [make_race(f"1{hour}:00", course="Naas", region="IRE") for hour in range(2, 8)]
    perth = [make_race(f"1{hour}:10", course="Perth", region="AUS", abandoned=True, reason="Wind") for hour in range(3)]
    message = show(make_day([*RACES[:3], *elsewhere, *perth], region=None))
    text = text_of(message)
    assert "14:30  1 Winner, 2= Second, 2= Also Second, 3 Third\n15:00  🛑 *ABANDONED*, Frost" in text
    assert "🛑 *ABANDONED*\nAscot (GB) 15:00, Frost\nPerth (AUS) 10:10, 11:10 and 12:10, Wind" in text
    assert "4 races abandoned, 1 result in, 7 not known yet" in text
    assert text.count("not known yet") == 1
    assert "Naas" not in text
    assert text.count("Perth") == 1


def test_results_of_a_course_tell_everybody_who_ran():
    text = text_of(show(make_day(RACES[:3], course=Course(name="Ascot"))))
    assert "1  Winner  SP 5/2\n2=  Second\n2=  Also Second\n3  Third\n4  Fourth\nF  Fell" in text


def test_dead_meeting_is_one_line_of_its_own_results():
    races = [make_race("14:30", course="Bath"), make_race("15:00", course="Bath")]
    message = show(make_day(races, [LOST], course=Course(name="Bath")))
    assert message.text == (
        "Results: Bath (GB), Fri 20 Nov: 1 meeting (2 races) abandoned. ABANDONED: Bath, whole meeting, Waterlogged"
    )
    assert text_of(message).split("\n") == [
        "Results: Bath (GB), Fri 20 Nov",
        "🛑 *ABANDONED*",
        "Bath, whole meeting, Waterlogged",
        "1 meeting (2 races) abandoned",
    ]


@pytest.mark.parametrize("only_abandonments", [False, True])
def test_disputed_race_is_named_right_after_the_abandonments(only_abandonments):
    races = [make_race("14:30", runners=FIELD, abandoned=True), make_race("15:00", abandoned=True, reason="Frost")]
    text = text_of(show(make_day(races), only_abandonments=only_abandonments))
    assert (
        "🛑 *ABANDONED*\nAscot 15:00, Frost\n⚠️ *CONFLICT*: reported abandoned and as run, check\nAscot 14:30\n" in text
    )
    alone = text_of(show(make_day(races[:1]), only_abandonments=only_abandonments))
    assert "ABANDONED" not in alone
    assert "⚠️ *CONFLICT*: reported abandoned and as run, check\nAscot 14:30\n1 race in conflict" in alone
    assert "No abandonment is known" not in alone


def test_abandonments_alone_name_no_result():
    text = text_of(show(make_day(RACES, [LOST]), only_abandonments=True))
    assert "Bath, whole meeting, Waterlogged\nAscot 15:00, Frost" in text
    assert "Winner" not in text
    assert "No abandonment is known for GB" in text_of(show(make_day(RACES[:1]), only_abandonments=True))


def test_day_without_abandonments_is_not_proven_by_a_book_that_is_not_whole():
    text = text_of(show(make_day(RACES[:1], coverage=Coverage.PARTIAL), only_abandonments=True))
    assert "This may not be all" in text
    assert "No abandonment" not in text


def test_no_racing_is_not_said_where_a_delivery_told_of_some():
    assert "No racing" not in text_of(show(make_day([], [LOST])))
    assert "No racing" in text_of(show(make_day([])))


def test_partial_order_is_labelled_as_what_the_country_publishes():
    italy = KnownCountry(country_code="ITY", name="Italy", full_result_order=False, position_pct=0.612)
    settled = make_race("14:30", course="Pisa", region="ITY", runners=FIELD)
    said = "Italy does not publish the full finishing order: 61% of runners have a recorded position."
    for region in ("ITY", None):
        assert said in text_of(show(make_day([settled, *RACES], region=region), countries=(italy,)))
    whole = italy.model_copy(update={"full_result_order": True})
    assert "finishing order:" not in text_of(show(make_day([settled], region="ITY"), countries=(whole,)))
    still_open = make_race("15:30", course="Pisa", region="ITY")
    assert "Italy" not in text_of(show(make_day([still_open, *RACES], region=None), countries=(italy,)))
    both = (italy, KnownCountry(country_code="GB", full_result_order=False))
    assert "is not published by Italy (61% of runners have a recorded position), GB." in text_of(
        show(make_day([settled, *RACES], region=None), countries=both)
    )


@pytest.mark.parametrize("only_abandonments", [False, True])
def test_abandonments_without_number_are_all_on_the_pages(only_abandonments):
    reason = "Waterlogged after heavy overnight rain, standing water in the back straight, again"
    races = [make_race("14:30", course=f"Course {number:03}", abandoned=True, reason=reason) for number in range(190)]
    day = make_day(races)
    pages = pages_of(lambda page: show(day, page=page, only_abandonments=only_abandonments))
    lines = [line for page in pages for line in text_of(page).split("\n")]
    named = [line for line in lines if line.endswith(reason) and line.startswith("Course")]
    assert named == [f"Course {number:03} 14:30, {reason}" for number in range(190)]
    assert "and 178 more, listed below" in pages[0].text
    assert len(pages) > 1
    assert all("\n190 races abandoned" in text_of(page) for page in pages)
    assert not any(line.startswith("and ") for line in lines)


def pages_of(show_page):
    pages = [show_page(1)]
    while f"page:{len(pages) + 1}" in str(pages[-1].blocks):
        pages.append(show_page(len(pages) + 1))
    return pages


def test_contradiction_is_told_as_one():
    text = text_of(show(make_day([make_race("14:30", runners=FIELD, abandoned=True)])))
    said = "14:30  ⚠️ *CONFLICT*: reported abandoned and as run: check · 1 Winner, 2= Second, 2= Also Second, 3 Third"
    assert said in text


def test_void_race_stands_with_its_mark():
    races = [make_race("14:30", status="void"), make_race("15:00", status="result")]
    assert "14:30  🚫 *VOID*" in text_of(show(make_day(races)))
    assert "*14:30*\n🚫 *VOID*" in text_of(show(make_day(races, course=Course(name="Ascot"))))


def test_results_of_very_many_meetings_hold_slacks_limits_and_lose_none():
    races = [
        make_race(f"{hour}:{minute}0", course=f"Course {number:03}", runners=FIELD, abandoned=not minute)
        for number in range(80)
        for hour in range(12, 16)
        for minute in (0, 3)
    ]
    day = make_day(races)
    pages = pages_of(lambda page: show(day, page=page))
    for message in pages:
        assert len(message.blocks) <= BLOCKS_MAX
        assert weight(message.blocks) <= MESSAGE_MAX
    text = "".join(map(text_of, pages))
    assert [f"*Course {number:03}*" in text for number in range(80)] == [True] * 80


class Reference:
    """A reference book whose lists never came."""

    async def lexicon(self, _timeout_s):
        return Lexicon()

    async def regions(self, _timeout_s):
        return None

    async def courses(self, _timeout_s):
        return None

    async def known_countries(self):
        return ()


async def no_meetings(_day):
    return ()


async def no(_user_id):
    return False


def make_desk(day, asked):
    async def give(*args):
        asked.append(args)
        return day

    races = SimpleNamespace(card=give, meetings=no_meetings, progress=lambda _region: None)
    people = SimpleNamespace(is_admin=no, admin_users=frozenset())
    return SimpleNamespace(clock=lambda: NOW, people=people, reference=Reference(), races=races)


def typed(text):
    return Invocation(text=text, channel_id="C1", user_id="U1", reference="cmd-1")


async def test_weekday_of_results_is_the_last_one():
    asked: list[Any] = []
    await command.answer(make_desk(make_day(RACES), asked), typed("GB thursday abandoned"), None)
    assert [(region, day.isoformat()) for region, day, _ in asked] == [("GB", "2026-11-19")]


async def test_failure_is_raised_only_where_there_is_nothing_to_tell():
    failure = ServerFault("races/search", request_id="req_7")
    empty = make_day([], coverage=Coverage.FAILED, failure=failure)
    with pytest.raises(ServerFault):
        await command.answer(make_desk(empty, []), typed("GB"), None)
    told = make_day([], [LOST], coverage=Coverage.FAILED, failure=failure)
    assert "Bath" in text_of(await command.answer(make_desk(told, []), typed("GB"), None))


def test_nothing_known_is_no_outcome():
    assert Outcomes().count() == 0
