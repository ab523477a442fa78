"""A day and a race by paths of their own, where the service has such paths."""

import pytest

from bot.events.races import Course, Race
from bot.racedata import race_book_store as rows
from bot.racedata import reference_store
from bot.racedata.client.service_errors import NotFound, ServerFault
from bot.racedata.day_card import Coverage
from tests.unit.racedata.conftest import titles


@pytest.mark.parametrize(
    "shape",
    [
        lambda races: races,
        lambda races: {"races": races, "goings": ["Good"]},
        lambda races: {"GB": {"races": races}},
        lambda races: {"meetings": [{"course": "Ascot", "races": races}]},
        lambda races: [{"course": {"course_id": "cr_1", "name": "Ascot"}, "races": races}],
    ],
)
async def test_day_path_costs_one_request_whatever_its_shape(*, make_book, client, race, day, shape):
    listed = [race("a", day(0).isoformat(), off_time="14:30"), race("b", day(0).isoformat(), off_time="15:00")]
    client.answers["days/2026-11-20?GB"] = shape(listed)
    book = make_book(day="days/{date}?{region}")
    card = await book.card("GB", day(0))
    assert (card.coverage, titles(card), card.meetings[0].course.name) == (Coverage.COMPLETE, ["a", "b"], "Ascot")
    assert card.read_at is not None
    await book.card("GB", day(0))
    assert client.asked == ["days/2026-11-20?GB"]


@pytest.mark.parametrize(
    "shape",
    [lambda races: races, lambda races: {"meetings": [{"course": one["race_id"], "races": [one]} for one in races]}],
    ids=["races", "meetings"],
)
async def test_day_path_loses_no_race_of_a_busy_day(make_book, client, race, day, shape):
    listed = [race(f"r{number:03}", day(0).isoformat(), off_time="14:30") for number in range(320)]
    client.answers["days/2026-11-20"] = shape(listed)
    card = await make_book(day="days/{date}").card("GB", day(0))
    assert (card.coverage, len(titles(card))) == (Coverage.COMPLETE, 320)


async def test_day_path_that_is_read_again_when_stale_or_settled_for_good(make_book, client, clock, race, day):
    client.answers["days/2026-11-20"] = [race("a", day(0).isoformat())]
    client.answers["days/2026-11-10"] = []
    book = make_book(day="days/{date}")
    assert (await book.card("GB", day(-10))).coverage is Coverage.COMPLETE
    await book.card("GB", day(0))
    clock.pass_(minutes=16)
    await book.card("GB", day(0))
    assert (await book.card("GB", day(-10))).coverage is Coverage.COMPLETE
    assert client.asked == ["days/2026-11-10", "days/2026-11-20", "days/2026-11-20"]


@pytest.mark.parametrize(
    "answer",
    [
        NotFound("days/2026-11-20", status=404),
        "no day",
        {"warnings": []},
        ["rc_1", "rc_2"],
        [{"race_id": "x", "date": "2026-11-20", "course": "Ascot", "off_time": "14:30"}],
        [{"race_id": "x", "date": "2026-11-20", "region": "Great Britain", "course": "Ascot"}],
        [{"race_id": "x", "date": "2026-11-19", "region": "GB", "course": "Ascot"}],
    ],
)
async def test_day_path_that_does_not_tell_leaves_it_to_the_walk(
    *, make_book, client, database, clock, days, day, answer
):
    await database.write(lambda session: reference_store.put_regions(session, ["GB"], clock()))
    client.races, client.answers["days/2026-11-20"] = days(-3, 3), answer
    card = await make_book(day="days/{date}").card("GB", day(0))
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["r05000-0"])


async def test_day_path_of_a_region_tells_of_all_by_asking_for_each(*, make_book, client, database, clock, race, day):
    await database.write(lambda session: reference_store.put_regions(session, ["GB", "IRE"], clock()))
    client.answers["d/2026-11-20/GB"] = [race("a", day(0).isoformat())]
    client.answers["d/2026-11-20/IRE"] = []
    card = await make_book(day="d/{date}/{region}").card(None, day(0))
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["a"])


async def test_race_comes_from_the_book_else_by_its_path(make_book, client, database, clock, day):
    told = Race(race_id="r1", region="GB", race_date=day(0).isoformat(), course=Course(name="Ascot"))
    await database.write(lambda session: rows.put(session, [told], clock()))
    client.answers["races/r1"] = {"race_id": "r1", "runners": [{"horse": "A", "position": 1}]}
    assert await make_book().race("r1") == told
    book = make_book(race="races/{race_id}")
    full = await book.race("r1")
    assert (full.course.name, full.runners[0].horse) == ("Ascot", "A")
    await book.race("r1")
    assert client.asked == ["races/r1"]
    client.answers["races/r2"] = NotFound("races/r2", status=404)
    assert await book.race("r2") is None


async def test_race_of_a_service_that_fails_is_what_the_book_has(make_book, client, database, clock, day):
    told = Race(race_id="r1", race_date=day(0).isoformat())
    await database.write(lambda session: rows.put(session, [told], clock()))
    fault = ServerFault("races/r1", code="server_error", status=500)
    client.answers = {"races/r1": fault, "races/r2": fault}
    book = make_book(race="races/{race_id}")
    assert await book.race("r1") == told
    with pytest.raises(ServerFault):
        await book.race("r2")
