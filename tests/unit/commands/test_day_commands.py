"""How `/racecard`, `/results` and `/racing next` read their words, ask for cards, and show some races alone."""

import re
import threading
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from bot.events.race_state import RaceOutcome
from bot.events.races import Runner
from bot.events.typed_times import LAST_RACE
from bot.racedata.client.service_errors import ServerFault
from bot.racedata.day_card import Card, Coverage, at_off
from bot.slack.commands.day_commands import RACECARD_COMMAND, RESULTS_COMMAND
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.outcome_words import RaceView
from bot.slack.messages.answers.races_of_day import coming, next_off, racecard
from sandbox.slack.block_rules import block_problems
from tests.answering import answering
from tests.rows import over
from tests.unit.commands.town import (
    ASCOT,
    FIELD,
    MEETING_OFF,
    NOW,
    OF_A_DAY,
    RACE_OFF,
    TODAY,
    TOMORROW,
    WINNER,
    lost_meeting,
    make_card,
    make_desk,
    make_race,
    no_meetings,
    timed,
    typed,
)
from tests.unit.kept_text import as_read, check


async def answer(command, desk, invocation):
    message = await command.say(desk, invocation)
    assert message is not None
    return message


@pytest.fixture
def asked():
    return []


@pytest.fixture
async def desk_with(database, asked):
    """A desk without lists, whose only card is this card."""
    desk = await make_desk(database, regions=())
    desk.people = SimpleNamespace(is_admin=answering(False), admin_users=frozenset())

    def give(card):
        async def of_day(*words):
            asked.append(words)
            return card

        desk.races = SimpleNamespace(card=of_day, known=no_meetings, progress=lambda _region: None)
        return desk

    return give


@pytest.mark.parametrize("command", [RACECARD_COMMAND, RESULTS_COMMAND])
async def test_answer_is_made_off_the_event_loop(desk_with, command):
    """A course's races with long names take a second."""
    makers = set[threading.Thread]()

    @dataclass(frozen=True)
    class Noted(Card):
        @property
        def meetings(self):
            makers.add(threading.current_thread())
            return super().meetings

    card = make_card([make_race()])
    desk = desk_with(Noted(**{field.name: getattr(card, field.name) for field in fields(card)}))
    await answer(command, desk, typed("GB"))
    assert makers
    assert threading.current_thread() not in makers


FAILED = {"coverage": Coverage.FAILED, "failure": ServerFault("races/search", request_id="req_7")}


@pytest.mark.parametrize("command", [RACECARD_COMMAND, RESULTS_COMMAND])
async def test_failure_is_raised_only_where_there_is_nothing_to_show(desk_with, command):
    with pytest.raises(ServerFault):
        await answer(command, desk_with(make_card(**FAILED)), typed("GB"))
    for some in ({"races": [make_race()]}, {"told": [lost_meeting("Bath")]}):
        assert "req_7" in as_read(await answer(command, desk_with(make_card(**some, **FAILED)), typed("GB")))


@pytest.mark.parametrize(
    ("words", "text", "shown"),
    [
        *(
            (words, "Racecard: Ascot (GB), 14:30, Fri 20 Nov\n", {"Hurdle"})
            for words in ("Ascot 14:30", "Ascot 14.30", "2.30pm Ascot", "Ascot 2:30", "2.30 Ascot", "Ascot race 1")
        ),
        ("15:00 Ascot", "15:00, Fri 20 Nov, abandoned\nABANDONED\nAscot 15:00, Frost", {"Chase"}),
        ("the last at Ascot", "15:00, Fri 20 Nov, abandoned\nABANDONED\nAscot 15:00, Frost", {"Chase"}),
        ("Ascot 15:01", "No race is known at 15:01: these are the nearest.", {"Hurdle", "Chase"}),
        ("Ascot R3", "No race 3 is known: these are the nearest.", {"Hurdle", "Chase"}),
    ],
)
async def test_off_time_shows_that_race_alone_and_a_wrong_time_hides_no_race(desk_with, asked, words, text, shown):
    said = await answer(RACECARD_COMMAND, desk_with(make_card(OF_A_DAY[:2], [RACE_OFF], course=ASCOT)), typed(words))
    assert text in said.text
    assert set(re.findall("Hurdle|Chase", as_read(said))) == shown
    assert "15:01" not in words or "ABANDONED\nAscot 15:00, Frost" in said.text
    assert asked == [(None, TODAY, ASCOT)]


@over(
    ("numbers", "is_whole", "found"),
    [
        ((None, None), True, ("14:30", "15:00", "15:00")),
        (("2", "1"), True, ("15:00", "14:30", "15:00")),
        (("2", "3"), False, (None, "14:30", None)),
        ((None, None), False, (None, None, None)),
    ],
)
def test_race_of_a_number_has_the_number_or_the_place_in_a_whole_card_of_each_meeting(numbers, is_whole, found):
    races = [make_race(off, number=number) for off, number in zip(("14:30", "15:00"), numbers, strict=True)]
    card = make_card(races, course=ASCOT, coverage=Coverage.COMPLETE if is_whole else Coverage.PARTIAL)
    assert tuple(at_off(card, wanted).off for wanted in ("race 1", "race 2", LAST_RACE)) == found
    # A lost meeting stays on the card beside the asked race.
    card = at_off(make_card([make_race()], [lost_meeting("Bath")]), "race 1")
    assert [event.race.course.name for event in card.outcomes.lost] == ["Bath"]


async def test_abandoned_race_that_is_asked_for_is_shown_with_its_runners(desk_with):
    runners = tuple(Runner(number=str(number), horse=f"Horse {number}") for number in (1, 2))
    race = make_race("13:25", title="Juvenile Hurdle", distance="2m", race_class="2", runners=runners)
    lost = race.model_copy(update={"abandoned": True, "reason": "Frost"})
    for card in (
        make_card([lost, make_race()], course=ASCOT),
        make_card([race, make_race()], [lost_meeting()], course=ASCOT),
    ):
        said = as_read(await answer(RACECARD_COMMAND, desk_with(card), typed("Ascot 1.25")))
        assert said.count("ABANDONED") > 1
        assert all(words in said for words in ("Juvenile Hurdle", "2m", "Class 2", "Horse 1", "Horse 2"))
        assert "14:30" not in said


async def test_time_without_a_race_names_the_nearest_races_with_buttons_and_no_table(desk_with):
    offs = [f"{hour}:{minute}" for hour in (13, 14, 15, 16) for minute in ("05", "40")]
    runners = (Runner(number="1", horse="Horse"),)
    card = make_card([make_race(off, title=f"Race of {off}", runners=runners) for off in offs], course=ASCOT)
    said = await answer(RACECARD_COMMAND, desk_with(card), typed("Ascot 2.30"))
    assert "table" not in {block["type"] for block in said.blocks}
    *lines, whole = [block["accessory"]["value"] for block in said.blocks if "accessory" in block]
    assert [line.split()[-1] for line in lines] == ["13:05", "13:40", "14:05", "14:40", "15:05", "15:40"]
    assert whole == 'racecard GB 2026-11-20 "Ascot"'
    for line in lines:
        one = await answer(RACECARD_COMMAND, desk_with(card), typed(line.partition(" ")[2]))
        assert f"Race of {line.split()[-1]}" in one.text
    assert not any(block_problems(list(said.blocks)))


WITH_MOMENTS = [timed(make_race("13:30"), 12, 30), timed(make_race("15:00"), 15)]


@pytest.mark.parametrize(("zone", "told"), [(ZoneInfo("Europe/Paris"), 1), (None, 2)])
async def test_readers_clock_is_told_only_where_it_differs(desk_with, zone, told):
    asks = []

    async def tell(user_id):
        asks.append(user_id)
        return zone

    desk = desk_with(make_card(WITH_MOMENTS, course=ASCOT))
    desk.people.zone = tell
    text = as_read(await answer(RACECARD_COMMAND, desk, typed("Ascot")))
    assert ("*13:30*" in text) == (zone is not None)
    assert "*15:00 (your clock: <!date^" in text
    assert text.count("your clock") == told
    assert asks == ["U1"]


@pytest.mark.parametrize(
    "card",
    [
        make_card(WITH_MOMENTS),
        make_card([make_race()], course=ASCOT),
        make_card(WITH_MOMENTS, [MEETING_OFF], course=ASCOT),
        make_card([WITH_MOMENTS[0].model_copy(update={"abandoned": True}), make_race("16:00")], course=ASCOT),
    ],
)
async def test_slack_is_not_asked_for_a_clock_that_no_line_shows(desk_with, card):
    # The desk has no `people.zone`: who asks, fails.
    assert "your clock" not in as_read(await answer(RACECARD_COMMAND, desk_with(card), typed("Ascot")))


# The answers of `/racing next`


KEPT = Path(__file__).parent / "answers.txt"
FROST = {"abandoned": True, "reason": "Frost"}


def at(clock, course="Ascot", **fields):
    """A race with the moment of its off, on the day of NOW (noon)."""
    hour, minute = map(int, clock.split(":"))
    return timed(make_race(clock, course, **fields), hour, minute)


FIRST_AT_NAAS, LAST_AT_NAAS = (at(off, "Naas", region="IRE") for off in ("12:05", "15:30"))
AT_11_AND_12 = [at("11:55"), at("12:40", title="Hurdle", field_size=7), at("12:10", **FROST)]
IN_DOUBT_OF_TIME = [make_race("11:00"), make_race("12:30", runners=WINNER), make_race("13:00"), at("14:00", "Bath")]
LATE_TODAY, LATE_TOMORROW = at("23:00"), at("23:30").model_copy(update={"race_date": "2026-11-21"})
YESTERDAY = make_card([], day=TODAY - timedelta(days=1), coverage=Coverage.PARTIAL)
UNREAD = make_card([], day=TOMORROW, coverage=Coverage.UNREAD)
NEXT = {
    "by moment, the abandoned named above": [
        make_card([*AT_11_AND_12, FIRST_AT_NAAS, LAST_AT_NAAS], [RACE_OFF], region=None)
    ],
    "five at most": [make_card([at(f"{hour}:00") for hour in range(13, 20)])],
    "tomorrow's after today's": [make_card([LATE_TODAY]), make_card([LATE_TOMORROW], day=TOMORROW)],
    "tomorrow's abandonments last": [
        make_card([LATE_TODAY], [RACE_OFF]),
        make_card([], [lost_meeting("Bath")], day=TOMORROW),
    ],
    "tomorrow not read whole": [make_card([LATE_TODAY]), YESTERDAY, UNREAD],
    "without a time zone": [make_card(IN_DOUBT_OF_TIME)],
    "none": [make_card([at("11:00", runners=FIELD)])],
}


@over("name", NEXT)
def test_next_races_read_as_kept(name):
    check(KEPT, f"Next: {name}", as_read(next_off(NEXT[name], "next GB", DayQuestion(NOW))))


@over(
    ("race", "is_coming"),
    [
        (at("12:01"), True),
        (at("12:00"), True),
        (at("11:56"), True),
        (at("11:55"), False),
        (at("12:01", status="void"), False),
        (at("12:01", runners=WINNER), False),
        (at("12:01", **FROST), False),
        (make_race("09:00"), True),
    ],
)
def test_race_is_to_come_until_its_moment_and_without_a_moment_on_its_day(race, is_coming):
    assert [one.race.off for _, one in coming([make_card([race])], NOW)] == [race.off] * is_coming
    assert coming([make_card([make_race("13:00")], day=TOMORROW)], NOW) == []


@over(("off", "is_certain"), [("14:30", True), ("01:00", False), ("2:30", False), (None, False)])
def test_race_of_tomorrow_without_a_moment_is_certainly_to_come_until_its_time_in_the_east(off, is_certain):
    race = make_race(off, race_date=TOMORROW.isoformat())
    assert RaceView(race, RaceOutcome.OPEN, NOW).is_to_come is is_certain


def test_race_with_a_moment_is_to_come_before_a_walkover():
    card = make_card([at("13:00"), at("13:30", status="Walkover", runners=WINNER), at("14:00")])
    assert [one.race.off.text for _, one in coming([card], NOW)] == ["13:00", "14:00"]


@over(
    ("published", "said"),
    [
        ("2026-11-20T00:01:00Z", "<!date^1795132860^{time}|00:01 UTC>"),
        ("2026-11-19T23:59:00+00:00", "<!date^1795132740^{date_short} {time}|2026-11-19 23:59 UTC>"),
        ("2026-11-19", "Thu 19 Nov"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("2026-11-20T12:59:00", "2026-11-20T12:59:00"),
        ("half past *two*", "half past \N{ASTERISK OPERATOR}two\N{ASTERISK OPERATOR}"),
    ],
)
def test_time_of_the_data_is_said_by_the_readers_clock_with_the_day_where_it_is_long_ago(published, said):
    message = racecard(make_card([make_race()], data_as_of=published), DayQuestion(NOW))
    assert f" ; data as of {said} ; " in as_read(message)
