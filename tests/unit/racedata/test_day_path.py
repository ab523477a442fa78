"""A day and a race by paths of their own, where the service has the paths; and days outside the plan's window."""

import threading
from collections import UserDict
from typing import Any

import pytest

from bot.events.races import Course, Race
from bot.racedata import lexicon
from bot.racedata import race_book_store as rows
from bot.racedata.client.calls import AccountState
from bot.racedata.client.service_errors import NotFound, ServerFault
from bot.racedata.day_card import Coverage
from tests.unit.racedata.conftest import TODAY, from_today, make_days, make_race, titles

ISO, PATH = TODAY.isoformat(), "days/2026-11-20"
FAULT = ServerFault("races/r1", code="server_error", status=500)
SHAPES = {
    "races": lambda races: races,
    "an object": lambda races: {"races": races, "goings": ["Good"]},
    "by meeting": lambda races: {"meetings": [{"course": "Ascot", "races": races}]},
    "a meeting for each": lambda races: {"meetings": [{"course": "Ascot", "races": [one]} for one in races]},
    "by course": lambda races: [{"course": {"course_id": "cr_1", "name": "Ascot"}, "races": races}],
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_limits_9_day_costs_one_request_and_loses_no_race_whatever_its_shape(make_book, client, shape):
    count = 12 if shape in {"by meeting", "by course"} else 320
    listed = [make_race(f"r{number:03}", ISO, off_time="14:30") for number in range(count)]
    client.answers[f"{PATH}?GB"] = SHAPES[shape](listed)
    book = make_book(racing_day_path="days/{date}?{region}")
    card = await book.card("GB", TODAY)
    assert (card.coverage, len(titles(card)), card.meetings[0].course.name) == (Coverage.COMPLETE, count, "Ascot")
    assert card.read_at is not None
    await book.card("GB", TODAY)
    assert client.asked == [f"{PATH}?GB"]


async def test_day_path_is_read_off_the_event_loop(make_book, client):
    """Three hundred races take half a second, and Slack waits three seconds for an answer."""
    readers = set[threading.Thread]()

    class Noted(UserDict[str, Any]):
        def __iter__(self):
            readers.add(threading.current_thread())
            return super().__iter__()

    client.answers[PATH] = [Noted(make_race("a", ISO))]
    await make_book(racing_day_path="days/{date}").card("GB", TODAY)
    assert readers
    assert threading.current_thread() not in readers


async def test_day_path_is_read_again_when_stale_and_a_settled_day_never(make_book, client, clock):
    client.answers = {PATH: [make_race("a", ISO)], "days/2026-11-10": []}
    book = make_book(racing_day_path="days/{date}")
    assert (await book.card("GB", from_today(-10))).coverage is Coverage.COMPLETE
    await book.card("GB", TODAY)
    clock.pass_(minutes=16)
    await book.card("GB", TODAY)
    assert (await book.card("GB", from_today(-10))).coverage is Coverage.COMPLETE
    assert client.asked == ["days/2026-11-10", PATH, PATH]


@pytest.mark.parametrize(
    "answer",
    [
        *(NotFound(PATH, status=404), "no day", {"warnings": []}, ["rc_1", "rc_2"], {"GB": {"races": []}}),
        [{"race_id": "x", "date": ISO, "course": "Ascot", "off_time": "14:30"}],
        [{"race_id": "x", "date": ISO, "region": "Great Britain", "course": "Ascot"}],
        [{"race_id": "x", "date": "2026-11-19", "region": "GB", "course": "Ascot"}],
    ],
)
async def test_day_path_that_does_not_tell_leaves_it_to_the_walk(*, make_book, client, database, clock, answer):
    await database.write(lambda session: lexicon.REGIONS.put(session, ["GB"], clock()))
    client.races, client.answers[PATH] = make_days(-3, 3), answer
    card = await make_book(racing_day_path="days/{date}").card("GB", TODAY)
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["r05000-0"])


async def test_day_path_of_a_region_tells_of_all_by_asking_for_each(make_book, client, database, clock):
    await database.write(lambda session: lexicon.REGIONS.put(session, ["GB", "IRE"], clock()))
    client.answers = {"d/2026-11-20/GB": [make_race("a", ISO)], "d/2026-11-20/IRE": []}
    card = await make_book(racing_day_path="d/{date}/{region}").card(None, TODAY)
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["a"])


async def test_race_comes_by_its_path_and_else_from_the_book(make_book, client, database, clock):
    told = Race(race_id="r1", region="GB", race_date=ISO, course=Course(name="Ascot"))
    await database.write(lambda session: rows.put(session, [told], clock()))
    assert await make_book().race("r1") == told
    book = make_book(racing_race_path="races/{race_id}")
    client.answers = {"races/r1": FAULT, "races/r2": FAULT}
    assert await book.race("r1") == told
    with pytest.raises(ServerFault):
        await book.race("r2")
    client.asked.clear()
    runners = [{"horse": "A", "position": 1}]
    client.answers = {"races/r1": {"race_id": "r1", "runners": runners}, "races/r2": NotFound("races/r2", status=404)}
    for _ in range(2):
        full = await book.race("r1")
        assert (full.course.name, full.runners[0].horse) == ("Ascot", "A")
    assert client.asked == ["races/r1"]
    assert await book.race("r2") is None


# The window of the plan


@pytest.mark.parametrize("newest_first", [False, True])
async def test_day_outside_the_window_costs_no_request_and_is_not_called_empty(make_book, client, newest_first):
    book = make_book()
    client.state = AccountState(window="2025 → upcoming")
    card = await book.card("GB", TODAY.replace(year=2024))
    assert (card.coverage, card.window, client.asked) == (Coverage.OUTSIDE_WINDOW, "2025 → upcoming", [])
    client.state = AccountState()
    client.newest_first, client.races = newest_first, make_days(-20, 5)
    client.meta["window"] = "2026 → upcoming"
    await book.card("GB", from_today(-30))
    assert (await book.card("GB", from_today(-1000))).coverage is Coverage.OUTSIDE_WINDOW


async def test_walk_starts_again_when_a_plan_shows_more(make_book, client, clock):
    book = make_book()
    client.meta["window"] = "2026 → upcoming"
    client.races = make_days(-20, 5)
    await book.card("GB", TODAY)
    client.meta["window"] = "2017 → upcoming"
    client.races = make_days(-400, -390) + client.races
    clock.pass_(minutes=16)
    await book.card("GB", TODAY)
    card = await book.card("GB", from_today(-395))
    assert (card.coverage, len(titles(card))) == (Coverage.COMPLETE, 1)
