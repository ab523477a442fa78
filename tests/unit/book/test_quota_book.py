from datetime import UTC, datetime

import pytest

from bot.book.quota import QuotaBook, TotalSeen
from bot.domain.quota import QuotaSource
from bot.racing.calls import AccountState
from bot.racing.errors import InvalidParam, ServerFault
from bot.storage import quota


@pytest.fixture
def book(database, client, settings, clock):
    return QuotaBook(database, client, settings, clock)


def by_day(client, *rows):
    client.answers["usage by day"] = [{"date": day, "requests": count, "errors": 1} for day, count in rows]


async def test_reading_sums_this_months_days(book, client):
    by_day(client, ("2026-10-31", 500), ("2026-11-01", 100), ("2026-11-20", 50))
    reading = await book.read()
    assert (reading.used, reading.certain, reading.source) == (150, True, QuotaSource.ROWS)
    assert (reading.limit, reading.plan, reading.left, reading.percent) == (15_000, "free", 14_850, 1)
    assert (reading.errors, len(reading.rows)) == (2, 3)
    assert client.latches.readings == [(150, 15_000)]
    assert (await book.latest()).used == 150


async def test_reading_by_endpoint_keeps_the_months_figure(book, client):
    by_day(client, ("2026-11-01", 100))
    client.answers["usage by endpoint"] = [{"endpoint": "/courses", "requests": 3}]
    reading = await book.read("endpoint")
    assert (reading.used, reading.grouped_by, reading.rows[0].label) == (100, "endpoint", "/courses")


async def test_reading_asks_without_a_grouping_where_days_are_refused(book, client):
    client.answers["usage by day"] = InvalidParam("account/usage", code="invalid_param", status=422)
    client.answers["usage by None"] = {"period": "2026-11", "used": 42}
    reading = await book.read()
    assert (reading.used, reading.certain, reading.source) == (42, True, QuotaSource.TOTAL)


async def test_reading_of_days_that_fell_away_is_a_lower_bound(book, client, clock):
    by_day(client, ("2026-11-01", 100), ("2026-11-20", 50))
    await book.read()
    clock.pass_(days=2)
    by_day(client, ("2026-11-20", 60))
    reading = await book.read()
    assert (reading.used, reading.certain) == (150, False)


async def test_limit_is_the_setting_before_the_plans(database, client, make_settings, clock):
    by_day(client, ("2026-11-01", 100))
    book = QuotaBook(database, client, make_settings(monthly_quota=400), clock)
    assert (await book.read()).percent == 25


async def test_limit_of_an_unknown_plan_is_not_invented(book, client):
    client.meta = {"plan": "platinum"}
    by_day(client, ("2026-11-01", 100))
    reading = await book.read()
    assert (reading.limit, reading.percent, reading.left) == (None, None, None)
    assert await book.commands_left() is None


async def test_plan_seen_elsewhere_is_taken_where_usage_names_none(book, client):
    client.meta, client.state = {}, AccountState(plan="live")
    by_day(client, ("2026-11-01", 100))
    assert (await book.read()).limit == 250_000


async def test_total_of_unknown_period_is_the_months_once_it_was_seen_to_reset(book, client, clock, database):
    for used, certain, source, days in [
        (0, False, QuotaSource.OWN_COUNT, 1),
        (30, False, QuotaSource.TOTAL, 10),
        (20, True, QuotaSource.TOTAL, 0),
    ]:
        client.answers["usage by day"] = {"total": 900 + used if days else 20}
        reading = await book.read()
        assert (reading.used, reading.certain, reading.source) == (used, certain, source)
        clock.pass_(days=days)


async def test_own_count_is_the_lower_bound_where_nothing_can_be_read(book, client, database, clock):
    client.answers["usage by day"] = "nothing of use"
    await database.write(lambda session: quota.spend(session, "2026-11", 12, clock()))
    reading = await book.read()
    assert (reading.used, reading.certain, reading.source) == (12, False, QuotaSource.OWN_COUNT)


async def test_failure_of_the_service_is_raised(book, client):
    client.answers["usage by day"] = ServerFault("account/usage", code="server_error", status=500)
    with pytest.raises(ServerFault):
        await book.read()


async def test_commands_have_their_share_of_what_is_left(book, client, database, clock):
    by_day(client, ("2026-11-01", 14_000))
    await book.read()
    assert await book.commands_left() == 250
    await database.write(lambda session: quota.spend(session, "2026-11", 100, clock(), by_commands=100))
    assert await book.commands_left() == 150
    by_day(client, ("2026-11-01", 14_100))
    await book.read()
    assert await book.commands_left() == 150


async def test_last_months_reading_tells_nothing_of_this_month(book, client, clock):
    by_day(client, ("2026-11-01", 14_999))
    await book.read()
    assert await book.staleness_s() == 900
    clock.now = datetime(2026, 12, 1, tzinfo=UTC)
    assert await book.latest() is None
    assert await book.commands_left() is None


async def test_staleness_is_a_minute_where_much_is_left(book, client):
    client.meta = {"plan": "analyst"}
    by_day(client, ("2026-11-01", 100))
    await book.read()
    assert await book.staleness_s() == 60


def test_total_that_falls_within_a_month_is_never_the_months():
    seen = TotalSeen(month="2026-11", first=5, last=9).then(2, "2026-11", near_turn=False)
    assert seen.monthly is False
    assert seen.then(1, "2026-12", near_turn=True).monthly is False


def test_total_that_falls_just_before_our_turn_is_the_months():
    assert TotalSeen(month="2026-11", first=5, last=9).then(2, "2026-11", near_turn=True).monthly
