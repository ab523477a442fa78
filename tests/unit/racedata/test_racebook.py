"""Cards of the race book: the races of a day's card, the proven part of the day, and shared readings."""

import asyncio
from datetime import date
from types import SimpleNamespace

import pytest
from sqlalchemy import event

from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race
from bot.racedata import quota_book as quota_rows
from bot.racedata.client.cursor_walk import walk
from bot.racedata.client.records import Meta, RacePage
from bot.racedata.client.service_client import WHOLE_LIST_PAGES
from bot.racedata.client.service_errors import (
    CircuitOpen,
    InvalidParam,
    QuotaExceeded,
    RateLimited,
    ServerFault,
    Spared,
)
from bot.racedata.day_card import Coverage
from bot.racedata.month_quota import Purpose
from bot.racedata.race_book import Budget
from tests.databases import store_told
from tests.unit.racedata.conftest import TODAY, FakeClient, from_today, make_days, make_race, titles

ISO, NAAS = TODAY.isoformat(), Course(course_id="cr_1", name="Naas")
UPKEEP = Budget(pages=2, purpose=Purpose.UPKEEP)
both_orders = pytest.mark.parametrize("newest_first", [False, True])


@pytest.fixture
def book(make_book):
    return make_book()


def pages_asked(client):
    return [one for one in client.asked if isinstance(one, tuple)]


@both_orders
async def test_card_shows_a_days_races_once_the_list_is_read_past_it(book, client, newest_first):
    client.newest_first, client.races = newest_first, make_days(-20, 5, each=2)
    card = await book.card("GB", TODAY)
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["r05000-0", "r05000-1"])
    assert card.read_at is not None
    assert card.latest_at is not None
    assert card.data_as_of == "as of"


@both_orders
async def test_card_says_no_racing_only_where_that_is_proven(book, client, newest_first):
    client.newest_first, client.races = newest_first, make_days(-20, -1) + make_days(1, 5)
    unread = await book.card("GB", TODAY, budget=Budget(pages=1))
    assert (unread.coverage, unread.meetings, bool(unread.reached)) == (Coverage.UNREAD, (), True)
    proven = await book.card("GB", TODAY)
    assert (proven.coverage, proven.meetings) == (Coverage.COMPLETE, ())
    for day in (date.min, date.max):
        assert (await book.card("GB", day)).is_empty
        assert (await book.known(None, day)).meetings == ()


async def test_card_is_read_once_while_fresh_and_again_when_stale(book, client, clock):
    client.races = make_days(-20, 5)
    await book.card("GB", TODAY)
    asked = len(client.asked)
    await book.card("GB", TODAY)
    assert len(client.asked) == asked
    clock.pass_(minutes=16)
    client.races += make_days(0, 0, each=2)[1:]
    assert "r05000-1" in titles(await book.card("GB", TODAY))
    assert len(client.asked) <= asked + 3


@pytest.mark.parametrize("path", [None, "days/{date}"], ids=["by the walk", "by the day's path"])
async def test_card_that_was_read_before_the_clock_was_set_back_is_read_anew(make_book, client, clock, path):
    book = make_book(racing_day_path=path)
    client.races = make_days(-20, 5)
    client.answers[f"days/{ISO}"] = client.races
    clock.pass_(days=5)
    for offset in (0, 5):
        client.answers[f"days/{from_today(offset).isoformat()}"] = make_days(offset, offset)
        assert (await book.card("GB", from_today(offset))).coverage is Coverage.COMPLETE
    clock.pass_(days=-5)
    more = make_days(0, 0, each=2)
    client.races, client.answers[f"days/{ISO}"] = client.races + more[1:], more
    assert "r05000-1" in titles(await book.card("GB", TODAY))


async def test_card_of_all_regions_is_walked_without_a_region(book, client):
    client.races = [*make_days(0, 3), make_race("ire-1", ISO, region="IRE", course="Naas")]
    card = await book.card(None, TODAY)
    assert [(meeting.course.name, meeting.region) for meeting in card.meetings] == [("Ascot", "GB"), ("Naas", "IRE")]
    assert {region for region, _ in client.asked} == {None}
    assert titles(await book.known("IRE", TODAY)) == ["ire-1"]


UNDATED = [make_race("a", from_today(-1).isoformat()), make_race("b", None, filed_under=ISO)]


# A race of unknown course may be at any course, and a race without a day on any day.
@pytest.mark.parametrize(
    ("races", "course", "coverage", "shown"),
    [
        ([make_race("a", ISO), make_race("b", ISO, course="Naas")], NAAS, "complete", ["b"]),
        ([make_race("a", ISO, course=None)], NAAS, "unread", []),
        (UNDATED, None, "unread", []),
    ],
    ids=["others left out", "unknown course", "unknown day"],
)
async def test_card_is_whole_unless_a_race_may_be_of_its_place_and_day(*, book, client, races, course, coverage, shown):
    client.races = races
    card = await book.card("GB", TODAY, course)
    assert (card.coverage, titles(card)) == (Coverage[coverage.upper()], shown)
    assert len(client.asked) == 1


async def test_races_without_an_id_stand_on_the_card(book, client):
    client.races = [make_race("a", ISO, off_time="14:30"), make_race("b", ISO, off_time="15:00")]
    client.page_size = 9
    page = client.races_page

    async def without_ids(*asked):
        answer = await page(*asked)
        for record in answer.data:
            del record["race_id"]
        return answer

    client.races_page = without_ids
    card = await book.card("GB", TODAY)
    assert [race.off.text for race in card.meetings[0].races] == ["14:30", "15:00"]


async def test_card_knows_what_deliveries_told_without_an_id(book, client, database, clock):
    client.races = make_days(0, 0, course="Goodwood", off_time="14:30")
    shared = {"region": "GB", "race_date": ISO}
    one = Race(**shared, course=Course(name="Goodwood"), off=OffTime(text="14:30"))
    other = Race(**shared, course=Course(course_id="cr_99", name="Far Away"))
    told = [
        RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=one),
        RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=other),
        RacingEvent(key="s", kind=EventKind.RESULT_RECEIVED, race=other.model_copy(update={"race_id": "s"})),
    ]

    await database.write(lambda session: store_told(session, *told, received_at=clock()))
    card = await book.card("GB", TODAY)
    assert [meeting.course.name for meeting in card.meetings] == ["Far Away", "Goodwood"]
    assert [outcome for _, outcome in card.outcomes.each] == [RaceOutcome.SETTLED, RaceOutcome.ABANDONED]
    assert [event.key for event in card.outcomes.lost] == ["m"]
    at_goodwood = await book.card("GB", TODAY, Course(name="Goodwood"))
    assert (at_goodwood.outcomes.lost, titles(at_goodwood)) == ((), ["r05000-0"])
    assert [meeting.course.course_id for meeting in (await book.known(None, TODAY)).meetings] == ["cr_99", None]


# Stops of a walk


@pytest.mark.parametrize("kind", [QuotaExceeded, CircuitOpen])
async def test_card_says_that_the_quota_stopped_it(book, client, kind):
    refusal = kind("races/search", code="quota_exceeded")
    client.races, client.failure, client.fail_after = make_days(-20, 5), refusal, 2
    card = await book.card("GB", TODAY)
    assert (card.coverage, card.failure) == (Coverage.QUOTA, refusal)


@pytest.mark.parametrize("kind", [ServerFault, InvalidParam])
async def test_card_keeps_what_was_read_before_a_failure(book, client, clock, kind):
    client.races = make_days(-20, 5)
    await book.card("GB", TODAY)
    clock.pass_(minutes=16)
    client.failure = kind("races/search", code="server_error", status=500, request_id="req_7")
    card = await book.card("GB", TODAY)
    assert (card.coverage, titles(card), card.failure) == (Coverage.FAILED, ["r05000-0"], client.failure)


async def test_commands_stop_at_their_share_of_the_quota_and_their_pages_are_counted(book, client, quota, database):
    client.races, quota.left = make_days(-60, 5), 2
    card = await book.card("GB", TODAY)
    assert (card.coverage, card.failure, len(client.asked)) == (Coverage.QUOTA, None, 2)
    await book.card("GB", TODAY)
    assert len(client.asked) == 2
    spent = await database.read(lambda session: quota_rows.spent(session, "2026-11"))
    assert (spent.requests, spent.by_commands) == (2, 2)


async def test_list_that_is_only_long_is_not_the_services_failure(book, client):
    client.races = make_days(-60, 5)
    page = client.races_page

    async def no_time_after_the_first(*asked):
        if client.asked:
            raise TimeoutError
        return await page(*asked)

    client.races_page = no_time_after_the_first
    found = [await book.card("GB", TODAY) for _ in range(2)]
    assert [card.coverage for card in found] == [Coverage.UNREAD, Coverage.FAILED]
    assert [card.failure for card in found] == [None, client.trouble]
    client.races_page = page
    assert (await book.card("GB", TODAY)).failure is None


@pytest.mark.parametrize("pages", [0, 2])
async def test_begun_reading_that_waits_for_the_next_minute_is_no_failure(book, client, pages):
    client.races = make_days(-60, 5)
    client.trouble = RateLimited("races/search", code="rate_limited", retry_after_s=40)
    client.hold(after=pages)
    first, second = [await book.card("GB", TODAY, budget=Budget(seconds=seconds)) for seconds in (0.3, 0.05)]
    assert client.held.is_set()
    if pages:
        assert (first.coverage, second.coverage) == (Coverage.UNREAD, Coverage.UNREAD)
        assert second.reached == first.reached is not None
        assert second.failure is None
    else:
        assert (second.coverage, second.failure) == (Coverage.FAILED, client.trouble)


# Walks that go on, and shared walks


@pytest.mark.parametrize(("cursor_mark", "begun"), [("/", 1), ("/new", 2)], ids=["goes on", "cursor refused"])
async def test_limits_8_walk_goes_on_in_another_process_or_starts_again(make_book, client, cursor_mark, begun):
    client.races = make_days(-60, 5)
    assert (await make_book().card("GB", TODAY, budget=Budget(pages=5))).coverage is Coverage.UNREAD
    client.cursor_mark = cursor_mark
    assert (await make_book().card("GB", TODAY, budget=Budget(pages=100))).coverage is Coverage.COMPLETE
    assert [cursor for _, cursor in client.asked].count(None) == begun
    assert len(client.asked) == len(set(client.asked)) + begun - 1


@pytest.mark.parametrize("day", [-9, None])
async def test_limits_8_reading_of_a_list_that_comes_to_no_other_day_is_given_up(book, client, day):
    date = {} if day is None else {"date": from_today(day).isoformat()}

    async def page(*_):
        client.asked.append(number := len(client.asked))
        meta = Meta(has_more=True, next_cursor=f"c{number}/")
        return RacePage.model_validate({"meta": meta, "data": [{"race_id": f"r{number}", **date}]})

    client.races_page = page
    assert (await book.card("GB", TODAY)).coverage is Coverage.FAILED
    assert len(client.asked) <= WHOLE_LIST_PAGES + 1


async def test_empty_pages_before_a_regions_races_are_passed(book, client):
    pages = client.races_page
    client.races = make_days(0, 1)

    async def page(region=None, limit=200, cursor=None):
        number = int(cursor or 0)
        if number < WHOLE_LIST_PAGES + 1:
            return RacePage.model_validate({"meta": {"has_more": True, "next_cursor": f"{number + 1}"}, "data": []})
        return await pages(region, limit)

    client.races_page = page
    assert (await book.card("GB", TODAY)).coverage is Coverage.COMPLETE


async def test_page_of_many_races_holds_up_no_delivery(book, client, database):
    client.page_size, client.races = 200, make_days(0, 0, each=120)
    stored = [0]

    @event.listens_for(database.writer, "before_cursor_execute")
    def _stores(_connection, _cursor, statement, values, *_):
        stored[-1] += len(values) if statement.startswith("INSERT INTO book_race") else 0

    @event.listens_for(database.writer, "commit")
    def _commits(_connection):
        stored.append(0)

    assert len(titles(await book.card("GB", TODAY))) == 120
    assert [count for count in stored if count] == [50, 50, 20]


@both_orders
async def test_day_of_many_pages_is_read_whole(book, client, newest_first):
    client.newest_first, client.page_size = newest_first, 1
    client.races = make_days(-3, 1) + make_days(-1, -1, each=WHOLE_LIST_PAGES - 1, course="Naas")
    assert (await book.card("GB", from_today(-1))).coverage is Coverage.COMPLETE


async def test_cards_asked_for_at_once_share_a_walk_and_another_day_waits_for_the_end(book, client):
    client.newest_first, client.races = True, make_days(-60, 5)
    *near, far = await asyncio.gather(*(book.card("GB", TODAY) for _ in range(4)), book.card("GB", from_today(-50)))
    assert {(card.coverage, *titles(card)) for card in near} == {(Coverage.COMPLETE, "r05000-0")}
    assert (far.coverage, titles(far)) == (Coverage.COMPLETE, ["r04950-0"])
    assert len(pages_asked(client)) == len(set(pages_asked(client)))


async def test_walk_goes_on_in_the_background_after_whoever_asked_has_given_up(book, client):
    client.races = make_days(-110, 5)
    client.hold()
    card = await book.card("GB", TODAY, budget=Budget(seconds=0.02))
    assert (card.coverage, card.failure) == (Coverage.FAILED, client.trouble)
    assert "waiting for the data service" in await book.progress("GB")
    client.go_on.set()
    await asyncio.gather(*book.readings.under_way)
    # A walk for nobody leaves a part of the minute to commands.
    assert client.asked.count("in background") >= 4
    asked = len(client.asked)
    assert (await book.card("GB", TODAY)).coverage is Coverage.COMPLETE
    assert len(client.asked) == asked
    assert len(pages_asked(client)) == len(set(pages_asked(client)))


async def test_progress_of_another_process_is_kept(make_book, client):
    client.races = make_days(-60, 5)
    client.hold()
    slow = asyncio.create_task(make_book().card("GB", TODAY))
    await client.held.wait()
    client.held_after = None
    assert (await make_book().card("GB", TODAY)).coverage is Coverage.COMPLETE
    asked = len(client.asked)
    client.go_on.set()
    assert (await slow).coverage is Coverage.COMPLETE
    assert len(client.asked) == asked + 1


async def test_job_and_person_share_a_walk_and_the_person_reads_on(book, client):
    client.races = make_days(-60, 5)
    upkeep = FakeClient(races=client.races)
    client.for_upkeep = lambda: upkeep
    _, card = await asyncio.gather(book.card("GB", TODAY, budget=UPKEEP), book.card("GB", TODAY))
    assert card.coverage is Coverage.COMPLETE
    # The job gives its turn away after each page.
    assert (len(upkeep.asked), len(client.asked)) == (1, len({*client.asked} - {*upkeep.asked}))


async def test_person_reads_on_where_the_walk_of_a_job_is_spared(book, client):
    client.races = make_days(-20, 5)
    spared, asked, go_on = Spared("races/search"), asyncio.Event(), asyncio.Event()

    async def spare(*_):
        asked.set()
        await go_on.wait()
        raise spared

    client.for_upkeep = lambda: SimpleNamespace(walk_races=lambda *_: walk("races/search", spare))
    upkeep = asyncio.create_task(book.card("GB", TODAY, budget=UPKEEP))
    await asked.wait()
    person = asyncio.create_task(book.card("GB", TODAY))
    while len(book.readings.under_way) < 2:  # noqa: ASYNC110  nothing tells who waits
        await asyncio.sleep(0)
    go_on.set()
    assert ((await upkeep).coverage, (await person).coverage) == (Coverage.QUOTA, Coverage.COMPLETE)
