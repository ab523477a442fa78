import asyncio
from datetime import date
from types import SimpleNamespace

import pytest

from bot.deliveries import inbox
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.races import Course, OffTime, Race
from bot.racedata import quota_store as quota_rows
from bot.racedata import race_book_store as rows
from bot.racedata.client.calls import AccountState
from bot.racedata.client.cursor_walk import walk
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, RateLimited, ServerFault, Spared
from bot.racedata.day_card import Coverage, RaceOutcome
from bot.racedata.quota_purposes import Purpose
from bot.racedata.race_book import Budget
from tests.unit.racedata.conftest import FakeClient, titles


@pytest.fixture
def book(make_book):
    return make_book()


@pytest.mark.parametrize("newest_first", [False, True])
async def test_card_shows_a_days_races_once_the_list_is_read_past_it(book, client, days, day, newest_first):
    client.newest_first = newest_first
    client.races = days(-20, 5, each=2)
    card = await book.card("GB", day(0))
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["r05000-0", "r05000-1"])
    assert card.read_at is not None
    assert card.latest_at is not None
    assert card.data_as_of == "as of"


@pytest.mark.parametrize("newest_first", [False, True])
async def test_card_says_no_racing_only_where_that_is_proven(book, client, days, day, newest_first):
    client.newest_first = newest_first
    client.races = days(-20, -1) + days(1, 5)
    unread = await book.card("GB", day(0), budget=Budget(pages=1))
    assert (unread.coverage, unread.meetings) == (Coverage.UNREAD, ())
    assert unread.reached
    proven = await book.card("GB", day(0))
    assert (proven.coverage, proven.meetings) == (Coverage.COMPLETE, ())


async def test_card_is_read_once_while_fresh_and_again_when_stale(book, client, clock, days, day):
    client.races = days(-20, 5)
    await book.card("GB", day(0))
    asked = len(client.asked)
    await book.card("GB", day(0))
    assert len(client.asked) == asked
    clock.pass_(minutes=16)
    client.races += days(0, 0, each=2)[1:]
    assert "r05000-1" in titles(await book.card("GB", day(0)))
    assert len(client.asked) <= asked + 3


async def test_walk_goes_on_in_another_process(make_book, client, days, day):
    client.races = days(-60, 5)
    assert (await make_book().card("GB", day(0), budget=Budget(pages=5))).coverage is Coverage.UNREAD
    assert (await make_book().card("GB", day(0), budget=Budget(pages=100))).coverage is Coverage.COMPLETE
    cursors = [cursor for _, cursor in client.asked]
    assert len(cursors) == len(set(cursors))


async def test_walk_whose_cursor_is_refused_starts_again(book, client, days, day):
    client.races = days(-60, 5)
    await book.card("GB", day(0), budget=Budget(pages=5))
    client.cursor_mark = "/new"
    assert (await book.card("GB", day(0), budget=Budget(pages=100))).coverage is Coverage.COMPLETE
    assert [cursor for _, cursor in client.asked].count(None) == 2


async def test_concurrent_cards_of_a_region_are_read_once(book, client, days, day):
    client.races = days(-20, 5)
    cards = await asyncio.gather(*(book.card("GB", day(0)) for _ in range(5)))
    assert {card.coverage for card in cards} == {Coverage.COMPLETE}
    assert len(client.asked) == len(set(client.asked))


async def test_card_of_all_regions_is_walked_without_a_region(book, client, days, race, day):
    client.races = [*days(0, 3), race("ire-1", day(0).isoformat(), region="IRE", course="Naas")]
    card = await book.card(None, day(0))
    assert [(meeting.course.name, meeting.region) for meeting in card.meetings] == [("Ascot", "GB"), ("Naas", "IRE")]
    assert {region for region, _ in client.asked} == {None}


async def test_card_at_a_course_leaves_the_others_out(book, client, race, day):
    client.races = [race("a", day(0).isoformat()), race("b", day(0).isoformat(), course="Naas")]
    card = await book.card("GB", day(0), Course(course_id="cr_1", name="Naas"))
    assert (card.coverage, titles(card)) == (Coverage.COMPLETE, ["b"])


async def test_card_at_a_course_is_not_whole_beside_a_race_of_unknown_course(book, client, race, day):
    client.races = [race("a", day(0).isoformat(), course=None)]
    card = await book.card("GB", day(0), Course(name="Naas"))
    assert (card.coverage, titles(card)) == (Coverage.UNREAD, [])


async def test_card_outside_the_window_asks_nothing(book, client, day):
    client.state = AccountState(window="2025 → upcoming")
    card = await book.card("GB", day(0).replace(year=2024))
    assert (card.coverage, card.window, client.asked) == (Coverage.OUTSIDE_WINDOW, "2025 → upcoming", [])


@pytest.mark.parametrize("newest_first", [False, True])
async def test_card_outside_the_window_is_never_an_empty_day(book, client, days, day, newest_first):
    client.newest_first, client.races = newest_first, days(-20, 5)
    client.meta["window"] = "2026 → upcoming"
    await book.card("GB", day(-30))
    assert (await book.card("GB", day(-1000))).coverage is Coverage.OUTSIDE_WINDOW


async def test_walk_starts_again_when_a_plan_shows_more(book, client, clock, days, day):
    client.meta["window"] = "2026 → upcoming"
    client.races = days(-20, 5)
    await book.card("GB", day(0))
    client.meta["window"] = "2017 → upcoming"
    client.races = days(-400, -390) + client.races
    clock.pass_(minutes=16)
    await book.card("GB", day(0))
    card = await book.card("GB", day(-395))
    assert (card.coverage, len(titles(card))) == (Coverage.COMPLETE, 1)


@pytest.mark.parametrize(
    "refusal",
    [
        QuotaExceeded("races/search", code="quota_exceeded", status=429),
        CircuitOpen("races/search", code="quota_exceeded"),
    ],
)
async def test_card_says_that_the_quota_stopped_it(book, client, days, day, refusal):
    client.races, client.failure, client.fail_after = days(-20, 5), refusal, 2
    card = await book.card("GB", day(0))
    assert (card.coverage, card.failure) == (Coverage.QUOTA, refusal)


async def test_card_keeps_what_was_read_before_a_failure(book, client, clock, days, day):
    client.races = days(-20, 5)
    await book.card("GB", day(0))
    clock.pass_(minutes=16)
    client.failure = ServerFault("races/search", code="server_error", status=500, request_id="req_7")
    card = await book.card("GB", day(0))
    assert (card.coverage, titles(card)) == (Coverage.FAILED, ["r05000-0"])
    assert "req_7" in card.failure.told


async def test_commands_stop_at_their_share_of_the_quota(book, client, quota, days, day):
    client.races = days(-60, 5)
    quota.left = 2
    card = await book.card("GB", day(0))
    assert (card.coverage, card.failure, len(client.asked)) == (Coverage.QUOTA, None, 2)
    quota.left = 0
    await book.card("GB", day(0))
    assert len(client.asked) == 2


async def test_pages_that_commands_read_are_counted(book, client, database, days, day):
    client.races = days(-60, 5)
    await book.card("GB", day(0), budget=Budget(pages=4))
    spent = await database.read(lambda session: quota_rows.spent(session, "2026-11"))
    assert (spent.requests, spent.by_commands) == (4, 4)


async def test_card_is_answered_in_time_while_another_reads(book, client, days, day):
    client.races = days(-20, 5)
    started = asyncio.Event()

    async def never(*_):
        started.set()
        await asyncio.Event().wait()

    client.races_page = never
    card = await book.card("GB", day(0), budget=Budget(seconds=0.05))
    assert (started.is_set(), card.coverage) == (True, Coverage.FAILED)


async def test_races_without_a_day_leave_the_card_unproven(book, client, race, day):
    client.races = [race("a", day(-1).isoformat()), race("b", None, filed_under=day(0).isoformat())]
    card = await book.card("GB", day(0))
    assert card.coverage is Coverage.UNREAD
    assert len(client.asked) == 1


async def test_races_without_an_id_stand_on_the_card(book, client, race, day):
    client.races = [race("a", day(0).isoformat(), off_time="14:30"), race("b", day(0).isoformat(), off_time="15:00")]
    client.page_size = 9
    page = client.races_page

    async def without_ids(*asked):
        answer = await page(*asked)
        for record in answer.data:
            del record.__pydantic_extra__["race_id"]
        return answer

    client.races_page = without_ids
    card = await book.card("GB", day(0))
    assert [race.off.text for race in card.meetings[0].races] == ["14:30", "15:00"]


async def test_book_learns_from_deliveries_without_asking(client, database, day, clock):
    told = Race(race_id="r1", region="GB", race_date=day(0).isoformat(), course=Course(name="Ascot"))
    await database.write(lambda session: rows.put(session, [told], clock()))
    kept = await database.read(lambda session: rows.of_day(session, day(0).isoformat(), "GB"))
    assert ([one.race for one in kept], client.asked) == ([told], [])


@pytest.mark.parametrize("day_asked", [date.min, date.max])
async def test_card_of_the_first_and_the_last_day_there_is_is_answered(book, client, days, day_asked):
    client.races = days(-2, 2)
    assert (await book.card("GB", day_asked)).is_empty
    assert await book.meetings(day_asked) == ()


async def test_card_knows_what_deliveries_told_without_an_id(book, client, database, days, clock):
    client.races, today = days(0, 0, course="Goodwood", off_time="14:30"), clock().date()
    shared = {"region": "GB", "race_date": today.isoformat()}
    one = Race(**shared, course=Course(name="Goodwood"), off=OffTime(text="14:30"))
    other = Race(**shared, course=Course(course_id="cr_99", name="Far Away"))
    told = [
        RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=one),
        RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=other),
        RacingEvent(key="s", kind=EventKind.RESULT_RECEIVED, race=other.model_copy(update={"race_id": "s"})),
    ]

    def store(session):
        inbox.store(session, [inbox.Arrival("k", None, "0" * 64, b"{}", clock())])
        remarks = VersionRemarks()
        session.add_all(
            [event_store.make(event, 1, remarks=remarks, inbox_id=1, received_at=clock()) for event in told]
        )

    await database.write(store)
    card = await book.card("GB", today)
    assert [meeting.course.name for meeting in card.meetings] == ["Far Away", "Goodwood"]
    assert list(card.outcomes.of.values()) == [RaceOutcome.SETTLED, RaceOutcome.ABANDONED]
    assert [event.key for event in card.outcomes.lost] == ["m"]
    at_goodwood = await book.card("GB", today, Course(name="Goodwood"))
    assert (at_goodwood.outcomes.lost, titles(at_goodwood)) == ((), ["r05000-0"])
    assert [meeting.course.course_id for meeting in await book.meetings(today)] == ["cr_99", None]


async def test_walk_goes_on_after_whoever_asked_has_given_up(book, client, days, day):
    client.races = days(-60, 5)
    page, go_on = client.races_page, asyncio.Event()

    async def after(*asked):
        await go_on.wait()
        return await page(*asked)

    client.races_page = after
    card = await book.card("GB", day(0), budget=Budget(seconds=0.05))
    assert (card.coverage, card.failure) == (Coverage.FAILED, client.trouble)
    assert "waiting for the data service" in await book.progress("GB")
    go_on.set()
    assert (await book.card("GB", day(0))).coverage is Coverage.COMPLETE
    assert len(client.asked) == len(set(map(str, client.asked)))


async def test_list_that_is_only_long_is_not_the_services_failure(book, client, days, day):
    client.races = days(-60, 5)
    page = client.races_page

    async def no_time_after_the_first(*asked):
        if client.asked:
            raise TimeoutError
        return await page(*asked)

    client.races_page = no_time_after_the_first
    card = await book.card("GB", day(0))
    assert (card.coverage, card.failure) == (Coverage.UNREAD, None)
    again = await book.card("GB", day(0))
    assert (again.coverage, again.failure) == (Coverage.FAILED, client.trouble)
    client.races_page = page
    assert (await book.card("GB", day(0))).failure is None


@pytest.mark.parametrize("pages", [0, 2])
async def test_reading_that_waits_for_its_minute_is_no_failure_once_it_has_begun(book, client, days, day, pages):
    client.races = days(-60, 5)
    client.trouble = RateLimited("races/search", code="rate_limited", retry_after_s=40)
    page = client.races_page

    async def held(*asked):
        if len(client.asked) >= pages:
            await asyncio.Event().wait()
        return await page(*asked)

    client.races_page = held
    first = await book.card("GB", day(0), budget=Budget(seconds=0.2))
    second = await book.card("GB", day(0), budget=Budget(seconds=0.05))
    if pages:
        assert (first.coverage, second.coverage) == (Coverage.UNREAD, Coverage.UNREAD)
        assert second.reached == first.reached is not None
        assert second.failure is None
    else:
        assert (second.coverage, second.failure) == (Coverage.FAILED, client.trouble)


async def test_walk_for_nobody_leaves_a_part_of_the_minute_to_commands(book, client, days, day):
    client.races = days(-400, 5)
    page, go_on = client.races_page, asyncio.Event()

    async def after(*asked):
        await go_on.wait()
        return await page(*asked)

    client.races_page = after
    await book.card("GB", day(0), budget=Budget(seconds=0.05))
    go_on.set()
    await asyncio.gather(*(run.task for run in book.runs.values()))
    assert client.asked.count("in background") >= 4
    asked = len(client.asked)
    assert (await book.card("GB", day(0))).coverage is Coverage.COMPLETE
    assert len(client.asked) == asked


UPKEEP = Budget(pages=2, purpose=Purpose.UPKEEP)


async def test_job_and_person_share_a_walk_and_the_person_reads_on(book, client, days, day):
    client.races = days(-60, 5)
    _, card = await asyncio.gather(book.card("GB", day(0), budget=UPKEEP), book.card("GB", day(0)))
    assert card.coverage is Coverage.COMPLETE
    pages = [one for one in client.asked if isinstance(one, tuple)]
    assert len(pages) == len(set(pages))


async def test_walk_for_upkeep_alone_is_read_by_the_client_for_upkeep(book, client, days, day):
    client.races = days(-60, 5)
    upkeep = FakeClient(races=client.races)
    client.for_upkeep = lambda: upkeep
    await book.card("GB", day(0), budget=UPKEEP)
    assert (len(upkeep.asked), client.asked) == (2, [])


async def test_person_reads_on_where_the_walk_of_a_job_is_spared(book, client, days, day):
    client.races = days(-20, 5)
    spared, asked, go_on = Spared("races/search"), asyncio.Event(), asyncio.Event()

    async def spare(*_):
        asked.set()
        await go_on.wait()
        raise spared

    client.for_upkeep = lambda: SimpleNamespace(walk_races=lambda _: walk("races/search", spare))
    upkeep = asyncio.create_task(book.card("GB", day(0), budget=UPKEEP))
    await asked.wait()
    person = asyncio.create_task(book.card("GB", day(0)))
    while not next(iter(book.runs.values())).waiting:  # noqa: ASYNC110  nothing tells who waits
        await asyncio.sleep(0)
    go_on.set()
    assert ((await upkeep).failure, (await person).coverage) == (spared, Coverage.COMPLETE)


async def test_progress_of_another_process_is_kept(make_book, client, days, day):
    client.races = days(-60, 5)
    page, come, go_on = client.races_page, asyncio.Event(), asyncio.Event()

    async def late(*asked):
        client.races_page = page
        come.set()
        await go_on.wait()
        return await page(*asked)

    client.races_page = late
    slow = asyncio.create_task(make_book().card("GB", day(0)))
    await come.wait()
    assert (await make_book().card("GB", day(0))).coverage is Coverage.COMPLETE
    asked = len(client.asked)
    go_on.set()
    assert (await slow).coverage is Coverage.COMPLETE
    assert len(client.asked) == asked + 1


async def test_other_day_waits_for_the_walk_and_then_has_its_own(book, client, days, day):
    client.newest_first, client.races = True, days(-60, 5)
    near, far = await asyncio.gather(book.card("GB", day(0)), book.card("GB", day(-50)))
    assert (near.coverage, titles(near)) == (Coverage.COMPLETE, ["r05000-0"])
    assert (far.coverage, titles(far)) == (Coverage.COMPLETE, ["r04950-0"])
