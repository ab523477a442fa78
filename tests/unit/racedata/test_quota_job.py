"""The job that checks the quota: what admins are told, and how often."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select
from structlog.testing import capture_logs

from bot.db.tables import Notice
from bot.operations.jobs.upkeep_jobs import refresh_reference
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.self_notices import SelfNotices
from bot.outbox.notices import Notices
from bot.racedata.client.service_errors import ServerFault, Unauthorized, UpgradeRequired
from bot.racedata.quota_book import QuotaBook
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.bot_notices import admin_notice
from tests.notice_levels import ALL_CLEAR, NOTE, URGENT, WARNING, level_of


@pytest.fixture
def told():
    return []


@pytest.fixture
def check(database, client, settings, clock, told):
    class Heard(Notices):
        def tell(self, session, key, words, *named_ids, urgency):
            if news := super().tell(session, key, words, *named_ids, urgency=urgency):
                told.append(admin_notice(urgency, words, named_ids).text)
            return news

    book = QuotaBook(database, client, settings, clock)
    notices = Heard("C1", admin_notice, clock=clock)

    async def run(*uses, failure=None):
        for used in uses:
            client.answers["usage by day"] = failure or [{"date": clock().date().isoformat(), "requests": used}]
            client.answers["usage by endpoint"] = [
                {"endpoint": "/courses", "requests": 9},
                {"endpoint": "/races/search", "requests": 12_400},
            ]
            await QuotaCheck(book, notices, database, settings, clock).run()

    return run


@pytest.fixture
def telling(database, clock):
    return SelfNotices(database, Notices("C1", admin_notice, clock=clock), 1_000, clock, asyncio.Event())


def levels(told):
    return [level_of(text) for text in told]


async def test_admins_are_told_once_of_the_highest_threshold_and_the_lower_are_marked(check, told, database):
    await check(1_000)
    assert told == []
    await check(12_500, 12_600)
    assert levels(told) == [WARNING]
    assert "2026-11: 12,500 of 15,000 requests are used (83%)." in told[0]
    assert "Most requests went to /races/search (12,400), /courses (9)." in told[0]
    assert "Plans with more requests a month: archive (150,000), live (250,000), complete" in told[0]
    stored = await database.read(lambda session: {row.key for row in session.exec(select(Notice))})
    assert stored == {"quota:2026-11:50:15000", "quota:2026-11:80:15000"}
    await check(15_000)
    assert levels(told) == [WARNING, URGENT]
    assert "Requests are refused until 1 December. Alerts go on" in told[1]


async def test_admins_get_the_all_clear_once_after_each_refusal_of_the_key(check, told, telling):
    for count in (1, 2):
        telling.wake.clear()
        await telling.circuit_open(Unauthorized("races", code="unauthorized"))
        assert telling.wake.is_set()
        await check(1_000, 1_100)
        assert levels(told) == [ALL_CLEAR] * count


async def test_refusal_of_the_key_long_ago_is_no_news(check, told, telling, clock):
    await telling.circuit_open(Unauthorized("races", code="unauthorized"))
    clock.now += timedelta(days=31)
    await check(10)
    assert told == []


@pytest.mark.parametrize(("used", "at_the_turn"), [(8_000, [NOTE, ALL_CLEAR]), (10, [])], ids=["warned", "not warned"])
async def test_turn_of_the_month_is_told_after_a_warning_and_warns_anew(check, told, clock, used, at_the_turn):
    await check(used)
    clock.now = datetime(2026, 12, 1, 6, tzinfo=UTC)
    await check(10, 20)
    assert levels(told) == at_the_turn
    clock.now = datetime(2026, 12, 20, tzinfo=UTC)
    await check(8_000)
    assert levels(told) == [*at_the_turn, NOTE]


async def test_another_plan_warns_anew(check, told, client):
    await check(12_500)
    client.meta["plan"] = "archive"
    await check(12_500, 121_000)
    assert levels(told) == [WARNING] * 2
    assert "150,000" in told[1]


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


async def test_failure_is_left_to_the_scheduler_to_tell(database, client, settings, clock):
    fault = ServerFault("account/usage", code="server_error", status=500)
    client.answers = {"usage by day": fault, "courses": fault, "reference": fault, "countries": fault}
    notices = Notices(None, admin_notice, clock=clock)
    with pytest.raises(ServerFault):
        await QuotaCheck(QuotaBook(database, client, settings, clock), notices, database, settings, clock).run()
    await refresh_reference(ReferenceBook(database, client, clock), database, notices, clock).run()


async def test_countries_are_read_once_a_day_without_anybody_asking(database, client, clock):
    client.answers = {
        "courses": [{"course_id": "cr_1", "name": "Ascot", "region": "GB"}],
        "reference": {"regions": ["GB"]},
        "countries": [{"country_code": "ITY", "full_result_order": False}],
    }
    book = ReferenceBook(database, client, clock)
    for _ in range(3):
        await refresh_reference(book, database, Notices(None, admin_notice, clock=clock), clock).run()
        clock.pass_(hours=1)
    assert client.asked.count("countries") == 1
    assert [one.country_code for one in await book.known_countries()] == ["ITY"]
