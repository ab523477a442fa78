"""The quota book: how much of the month is used, how certain the figure is, and who may spend the rest."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.db.tables import Notice
from bot.operations.jobs.routine_jobs import refresh_lists
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.self_notices import SelfNotices, key_of_refusal
from bot.outbox import told_once
from bot.outbox.notices import Notices
from bot.racedata import quota_book
from bot.racedata.client.calls import AccountState
from bot.racedata.client.service_errors import (
    InvalidParam,
    QuotaExceeded,
    RateLimited,
    ServerFault,
    Spared,
    Unauthorized,
    UpgradeRequired,
)
from bot.racedata.month_quota import Purpose, QuotaSource
from bot.racedata.quota_book import QuotaBook, days_of
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.alert_notes import admin_notice
from tests.logged import capture_logs
from tests.said import ALL_CLEAR, NOTE, URGENT, WARNING, level_of
from tests.unit.pages import settings


@pytest.fixture
def book(database, client, clock):
    return QuotaBook(database, client, settings(), clock)


def by_day(client, *rows):
    client.answers["usage by day"] = [{"date": day, "requests": count, "errors": 1} for day, count in rows]


def rows(*counts, since=1):
    return [{"date": f"2026-11-{since + number:02}", "requests": count} for number, count in enumerate(counts)]


# The usage before and now, the allowance before and now, and whether requests are left again.
READINGS = [
    (rows(100, 900), rows(100, 899), (1_000, 1_000), True),
    (rows(100, 900), rows(100, 900, 3), (1_010, 1_010), False),
    (rows(100, 900), rows(100, 900), (1_010, 1_010), False),
    (rows(100, 900), rows(100, 850), (900, 900), False),
    # The first published day has fallen away: the sums can't be compared.
    (rows(100, 900), rows(3, since=2), (900, 900), False),
    (rows(100, 900), rows(100, 901), (1_000, 2_000), True),
    (rows(100, 900), rows(100, 901), (1_000, 1_001), False),
    (rows(100, 900), rows(100, 901), (2_000, 1_500), False),
    ({"period": "2026-11", "used": 900}, {"period": "2026-11", "used": 7}, (900, 900), True),
    ({"used": 900}, {"used": 7}, (900, 900), True),
    ({"used": 900}, {"used": 901}, (15_000, 15_000), False),
    ({"used": 900}, rows(7), (900, 900), False),
    ("nothing of use", {"used": 7}, (900, 900), False),
]


@pytest.mark.parametrize(("before", "now", "limits", "has_room"), READINGS)
async def test_quota_has_room_after_a_fall_or_a_rise(*, database, client, clock, before, now, limits, has_room):
    for said, limit in zip((before, now), limits, strict=True):
        client.answers["usage by day"] = said
        await QuotaBook(database, client, settings(monthly_quota=limit), clock).read()
        clock.pass_(minutes=15)
    assert client.breakers.reset_codes == (["quota_exceeded"] if has_room else [])


NOT_BY_DAY: dict[str, Any] = {
    "usage by day": InvalidParam("account/usage", code="invalid_param", status=422),
    "usage by None": {"period": "2026-11", "used": 42},
}
TWO_DAYS, FIRST_GONE = rows(100) + rows(50, since=20), rows(60, since=20)
NOVEMBER, DECEMBER = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
ROWS, TOTAL, OWN = QuotaSource.ROWS, QuotaSource.TOTAL, QuotaSource.OWN_COUNT
IN_OCTOBER = {"date": "2026-10-31", "requests": 500}
# Days from the 20th on, the usage by then, and the month's figure: used requests, certainty and source.
FIGURES: dict[str, list[tuple[int, Any, tuple[int, bool, QuotaSource]]]] = {
    "days of this month": [(0, [IN_OCTOBER, *TWO_DAYS], (150, True, ROWS))],
    "the whole where days are refused": [(0, NOT_BY_DAY, (42, True, TOTAL))],
    "days that fell away": [(0, TWO_DAYS, (150, True, ROWS)), (2, FIRST_GONE, (150, False, ROWS))],
    "use that fell": [(0, rows(count), (count, True, ROWS)) for count in (14_900, 100, 120)],
    "a total that grows, resets and grows": [
        *((0, {"total": 900}, (0, False, OWN)), (1, {"total": 930}, (30, False, TOTAL))),
        *((2, {"total": 5}, (30, False, TOTAL)), (3, {"total": 15}, (40, False, TOTAL))),
        *((11, {"total": 20}, (0, False, OWN)), (12, {"total": 27}, (7, False, TOTAL))),
    ],
    "a total after days": [
        *((0, TWO_DAYS, (150, True, ROWS)), (1, {"total": 930}, (150, False, OWN))),
        (2, {"total": 940}, (160, False, TOTAL)),
    ],
}


@pytest.mark.parametrize("name", FIGURES)
async def test_figure_of_the_month_is_as_certain_as_its_source(book, client, clock, name):
    for days, said, figure in FIGURES[name]:
        clock.now = NOVEMBER + timedelta(days)
        client.answers |= said if said is NOT_BY_DAY else {"usage by day": said}
        reading = await book.read()
        assert (reading.used, reading.certain, reading.source) == figure, days
        assert (await book.latest()).used == reading.used


@pytest.mark.parametrize(
    ("meta", "setting", "limit", "percent"),
    [
        ({"plan": "free"}, {}, 15_000, 0),
        ({"plan": "free"}, {"monthly_quota": 400}, 400, 25),
        ({"plan": "platinum"}, {}, None, None),
        # Usage names no plan; the plan was seen in another answer.
        ({}, {}, 250_000, 0),
    ],
)
async def test_limit_is_the_setting_else_the_plans_else_none(*, database, client, clock, meta, setting, limit, percent):
    client.meta, client.state = meta, AccountState(plan="live")
    by_day(client, ("2026-11-01", 100))
    book = QuotaBook(database, client, settings(**setting), clock)
    reading = await book.read()
    assert (reading.limit, reading.percent) == (limit, percent)
    assert (reading.left is None) == (await book.commands_left() is None) == (limit is None)


async def test_reading_by_endpoint_keeps_the_months_figure(book, client):
    by_day(client, ("2026-11-01", 100))
    client.answers["usage by endpoint"] = [{"endpoint": "/courses", "requests": 3}]
    reading = await book.read("endpoint")
    assert (reading.used, reading.grouped_by, reading.rows[0].label) == (100, "endpoint", "/courses")


# A day without requests leaves the month unknown, and so do endpoints without a period.
@pytest.mark.parametrize(
    ("said", "is_readable"),
    [
        *(([], True), ({"days": []}, True), ("nothing of use", False), ({"days": [], "endpoints": []}, False)),
        ([{"endpoint": "/courses", "requests": 3}], False),
        ([*rows(7), {"date": "2026-11-02", "errors": 1}], False),
    ],
)
async def test_own_count_is_the_lower_bound_and_admins_hear_why(*, book, client, database, clock, said, is_readable):
    client.answers["usage by day"] = said
    await database.write(lambda session: quota_book.spend(session, 12, clock()))
    reading = await book.read()
    assert (reading.used, reading.certain, reading.source) == (12, False, QuotaSource.OWN_COUNT)
    assert reading.is_readable is is_readable


@pytest.mark.parametrize(
    "said", [{"hits": 12}, {"days": []}, [{"endpoint": "/courses", "requests": 3}], {"total": 90_000}]
)
async def test_answer_without_the_months_use_lowers_no_figure(book, client, check, told, said):
    await check(15_000)
    await check(1, failure=said)
    assert [level for level in levels(told) if level != WARNING] == [URGENT]
    assert await book.commands_left() == 0


async def test_commands_have_their_share_of_what_is_left(book, client, database, clock):
    by_day(client, ("2026-11-01", 14_000))
    await book.read()
    assert await book.commands_left() == 250
    await database.write(lambda session: quota_book.spend(session, 100, clock(), by_commands=100))
    assert await book.commands_left() == 150
    by_day(client, ("2026-11-01", 14_100))
    await book.read()
    assert await book.commands_left() == 150


async def test_last_months_reading_tells_nothing_of_this_month(book, client, clock):
    assert await book.held_back("countries", Purpose.UPKEEP) is None
    by_day(client, ("2026-11-01", 15_000))
    await book.read()
    assert await book.held_back("countries", Purpose.PEOPLE) is not None
    clock.now = DECEMBER
    assert await book.held_back("countries", Purpose.UPKEEP) is None
    assert (await book.latest(), await book.commands_left()) == (None, None)
    by_day(client, ("2026-12-01", 3))
    await book.read()
    assert client.breakers.reset_codes == []


async def test_month_that_turned_before_utcs_stays_turned_and_a_month_of_a_wrong_clock_does_not(book, client, clock):
    clock.now = DECEMBER - timedelta(hours=9)
    by_day(client, ("2026-12-01", 3))
    assert (await book.read()).month == "2026-12"
    client.answers["usage by day"] = {"used": 9}
    assert (await book.read()).month == "2026-12"
    clock.now -= timedelta(days=9)
    assert await book.latest() is None


@pytest.mark.parametrize(("plan", "used", "staleness_s"), [("free", 14_999, 900), ("analyst", 100, 60)])
async def test_staleness_is_a_minute_where_much_is_left(*, book, client, plan, used, staleness_s):
    client.meta = {"plan": plan}
    by_day(client, ("2026-11-01", used))
    await book.read()
    assert await book.staleness_s() == staleness_s


async def test_first_reading_forecasts_by_the_days_that_the_service_names(book, client, clock):
    by_day(client, *((f"2026-11-{day:02}", 400 + day % 2 * 20) for day in range(1, 21)))
    expected = (await book.read()).expected
    assert expected.low <= 8_200 + round(10.5 * 410) <= expected.high


# A day without a row had no requests. Days before the first row, and days of a row by month, are unknown.
GAPS = {date(2026, 11, day): 50 if day == 13 else 0 for day in range(11, 20)}


@pytest.mark.parametrize(
    ("rows", "whole", "today"),
    [
        ([("2026-11-10", 100), ("2026-11-13", 50), ("2026-11-20", 7)], GAPS, 7),
        ([("2026-11", 9_000), ("2026-11-19", 100)], {}, 0),
    ],
    ids=["days", "a month"],
)
async def test_use_of_a_day_is_that_of_its_row(*, book, client, database, rows, whole, today):
    by_day(client, *rows)
    await book.read()
    days = days_of(await database.read(quota_book.samples), "used")
    assert (days.whole, days.today) == (whole, today)


async def test_sample_from_before_the_clock_was_set_back_tells_of_no_day(book, client, clock, database):
    for used, hours in ((0, 18), (10, 9 * 24), (10, -9 * 24), (30, 0)):
        by_day(client, ("2026-11-20", 10), ("2026-11-21", used))
        await book.read()
        clock.pass_(hours=hours)
    assert days_of(await database.read(quota_book.samples), "used").today == 30


async def test_little_that_is_left_is_kept_from_upkeep_and_then_from_commands(book, client):
    for used, held_back, left in [
        (14_000, (None, None), 250),
        (14_500, (Spared, None), 125),
        (14_900, (Spared, Spared), 0),
        (15_000, (QuotaExceeded, QuotaExceeded), 0),
    ]:
        by_day(client, ("2026-11-01", used))
        await book.read()
        failures = [await book.held_back("countries", purpose) for purpose in (Purpose.UPKEEP, Purpose.PEOPLE)]
        assert tuple(failure and type(failure) for failure in failures) == held_back
        assert await book.commands_left() == left


# The job that checks the quota


@pytest.fixture
def told():
    return []


@pytest.fixture
def check(database, client, clock, told):
    class Heard(Notices):
        def tell(self, session, key, words, *named_ids, urgency):
            if news := super().tell(session, key, words, *named_ids, urgency=urgency):
                told.append(admin_notice(urgency, words, named_ids).text)
            return news

    book = QuotaBook(database, client, settings(), clock)
    notices = Heard("C1", admin_notice, clock=clock)

    async def run(*uses, failure=None):
        for used in uses:
            client.answers["usage by day"] = failure or [{"date": clock().date().isoformat(), "requests": used}]
            counts = {"/courses": 9, "/races/search": 12_400}
            client.answers["usage by endpoint"] = [{"endpoint": one, "requests": n} for one, n in counts.items()]
            await QuotaCheck(book, notices, database, settings(), clock).run()

    return run


@pytest.fixture
def telling(database, clock):
    return SelfNotices(database, Notices("C1", admin_notice, clock=clock), clock, asyncio.Event())


def levels(told):
    return [level_of(text) for text in told]


async def test_admins_are_told_once_of_the_highest_threshold_and_the_lower_are_marked(check, told, database):
    await check(7_499)
    assert told == []
    await check(12_500, 12_600)
    assert levels(told) == [WARNING]
    assert "2026-11: 12,500 of 15,000 requests are used (83%)." in told[0]
    assert "Most requests went to /races/search (12,400), /courses (9)." in told[0]
    assert "Plans with more requests a month: archive (150,000), live (250,000), complete" in told[0]
    stored = await database.read(lambda session: {row.key for row in session.exec(select(Notice))})
    assert stored == {"quota:2026-11:50:15000", "quota:2026-11:80:15000"}
    await check(14_250, 15_000)
    assert levels(told) == [WARNING, WARNING, URGENT]
    assert "Almost used up. " in told[1]
    assert "Requests are refused until 1 December. Alerts go on" in told[2]


@pytest.mark.parametrize(
    "error",
    [Unauthorized("races", code="unauthorized"), RateLimited("races", code="rate_limited", retry_after_s=86_400)],
    ids=["key", "long wait"],
)
async def test_admins_get_the_all_clear_once_after_each_refusal(*, check, told, telling, clock, error):
    for count in (1, 2):
        clock.pass_(minutes=5)
        telling.wake.clear()
        await telling.circuit_open(error)
        assert telling.wake.is_set()
        await check(1_000, 1_100)
        assert levels(told) == [ALL_CLEAR] * count


@pytest.mark.parametrize(("used", "is_covered"), [(14_300, False), (14_900, True)])
async def test_warning_stands_for_the_repairs_own_where_it_says_that_nothing_is_asked(
    *, check, database, used, is_covered
):
    await check(used)
    of_repair = key_of_refusal(Spared.__name__, "2026-11")
    assert await database.read(lambda session: told_once.is_noted(session, of_repair)) is is_covered


async def test_refusal_of_the_key_long_ago_is_no_news(check, told, telling, clock):
    await telling.circuit_open(Unauthorized("races", code="unauthorized"))
    clock.now += timedelta(days=62)
    await check(10)
    assert told == []


@pytest.mark.parametrize(("used", "at_the_turn"), [(7_500, [NOTE, ALL_CLEAR]), (10, [])], ids=["warned", "not warned"])
async def test_turn_of_the_month_is_told_after_a_warning_and_warns_anew(check, told, clock, used, at_the_turn):
    await check(used)
    clock.now = datetime(2026, 12, 1, 6, tzinfo=UTC)
    await check(10, 20)
    assert levels(told) == at_the_turn
    clock.now = datetime(2026, 12, 20, tzinfo=UTC)
    await check(8_000)
    assert levels(told) == [*at_the_turn, NOTE]


async def test_admins_are_asked_once_for_a_limit_that_is_not_known(check, told, client):
    client.meta["plan"] = "platinum"
    await check(10, 20)
    (only,) = told
    assert "MONTHLY_QUOTA" in only


async def test_usage_beyond_the_plan_is_told_once_and_fails_no_job(check, told, clock):
    beyond = UpgradeRequired("account/usage", code="upgrade_required", status=403)
    await check(1, 2, failure=beyond)
    assert levels(told) == [WARNING]
    await check(10)
    clock.pass_(hours=25)
    await check(1, 2, failure=beyond)
    assert levels(told) == [WARNING] * 2


async def test_usage_that_cannot_be_read_is_told_once_a_month_and_its_body_is_logged(check, told):
    with capture_logs() as lines:
        await check(1, 2, failure={"hits": 12})
    assert levels(told) == [WARNING]
    assert "{'hits': 12}" in {line.get("body") for line in lines}
    await check(10, failure=[])
    assert levels(told) == [WARNING]


async def test_failure_is_left_to_the_scheduler_to_tell(database, client, clock):
    fault = ServerFault("account/usage", code="server_error", status=500)
    client.answers = {"usage by day": fault, "courses": fault, "reference": fault, "countries": fault}
    notices = Notices(None, admin_notice, clock=clock)
    with pytest.raises(ServerFault):
        await QuotaCheck(QuotaBook(database, client, settings(), clock), notices, database, settings(), clock).run()
    job, _ = refresh_lists(ReferenceBook(database, client, clock), database, notices, clock, asyncio.Event())
    with pytest.raises(ServerFault):
        await job.run()
