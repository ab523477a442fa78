import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from bot.db.tables import Notice
from bot.operations.jobs.check_quota import QuotaCheck
from bot.operations.jobs.refresh_reference import refresh_reference
from bot.operations.self_notices import Telling
from bot.outbox.notices import Notices
from bot.racedata.client.service_errors import ServerFault, Unauthorized
from bot.racedata.quota_book import QuotaBook
from bot.racedata.reference_book import ReferenceBook
from bot.slack.messages.alerts.admin_notice import admin_notice
from tests.notice_levels import ALL_CLEAR, URGENT, WARNING


@pytest.fixture
def told():
    return []


@pytest.fixture
def check(database, client, settings, clock, told):
    def render(urgency, words, named_ids):
        made = admin_notice(urgency, words, named_ids)
        told.append(made.text)
        return made

    class Once(Notices):
        def tell(self, session, key, words, *named_ids, urgency):
            before = len(told)
            news = super().tell(session, key, words, *named_ids, urgency=urgency)
            if not news:
                del told[before:]
            return news

    book = QuotaBook(database, client, settings, clock)
    notices = Once("C1", render, clock=clock)

    async def run(used):
        client.answers["usage by day"] = [{"date": clock().date().isoformat(), "requests": used}]
        client.answers["usage by endpoint"] = [
            {"endpoint": "/courses", "requests": 9},
            {"endpoint": "/races/search", "requests": 12_400},
        ]
        await QuotaCheck(book, notices, database, settings, clock)()

    return run


async def test_admins_are_told_of_the_highest_threshold_once(check, told, database):
    await check(1_000)
    assert told == []
    await check(12_500)
    await check(12_600)
    assert len(told) == 1
    assert "2026-11: 12,500 of 15,000 requests are used (83%)." in told[0]
    assert told[0].startswith(f"{WARNING}Running low.")
    assert "Most requests went to /races/search (12,400), /courses (9)." in told[0]
    assert "Plans with more requests a month: archive (150,000), live (250,000), complete" in told[0]
    await check(15_000)
    assert told[1].startswith(f"{URGENT}Used up.")
    assert "Requests are refused until 1 December. Alerts go on" in told[1]


async def test_admins_get_the_all_clear_once_after_each_refusal_of_the_key(check, told, database, clock):
    telling = Telling(database, Notices("C1", admin_notice, clock=clock), 1_000, clock, asyncio.Event())
    for count in (1, 2):
        telling.wake.clear()
        await telling.circuit_open(Unauthorized("races", code="unauthorized"))
        assert telling.wake.is_set()
        await check(1_000)
        await check(1_100)
        words = "The data service takes the key again. /racecard and /results read what is new."
        assert told == [f"{ALL_CLEAR}{words}"] * count


async def test_refusal_of_the_key_long_ago_is_no_news(check, told, database, clock):
    telling = Telling(database, Notices("C1", admin_notice, clock=clock), 1_000, clock, asyncio.Event())
    await telling.circuit_open(Unauthorized("races", code="unauthorized"))
    clock.now += timedelta(days=31)
    await check(10)
    assert told == []


async def test_lower_thresholds_are_marked_in_the_same_go(check, database):
    await check(12_500)
    stored = await database.read(lambda session: {row.key for row in session.exec(select(Notice))})
    assert stored == {"quota:2026-11:50:15000", "quota:2026-11:80:15000"}


async def test_admins_are_told_anew_when_the_month_turns(check, told, clock):
    await check(8_000)
    clock.now = datetime(2026, 12, 1, 6, tzinfo=UTC)
    await check(10)
    await check(20)
    clock.now = datetime(2026, 12, 20, tzinfo=UTC)
    await check(8_000)
    assert [words[:20] for words in told] == [told[0][:20], f"{ALL_CLEAR}A new month"[:20], told[0][:20]]


async def test_turn_of_a_month_without_warnings_is_not_told(check, told, clock):
    await check(10)
    clock.now = datetime(2026, 12, 1, 6, tzinfo=UTC)
    await check(10)
    assert told == []


async def test_another_plan_warns_anew(check, told, client):
    await check(12_500)
    client.meta["plan"] = "archive"
    await check(12_500)
    await check(121_000)
    assert len(told) == 2
    assert "150,000" in told[1]


async def test_admins_are_asked_once_for_a_limit_that_is_not_known(check, told, client):
    client.meta["plan"] = "platinum"
    await check(10)
    await check(20)
    assert len(told) == 1
    assert "MONTHLY_QUOTA" in told[0]


async def test_failure_is_left_to_the_scheduler_to_tell(database, client, settings, clock):
    fault = ServerFault("account/usage", code="server_error", status=500)
    client.answers = {"usage by day": fault, "courses": fault, "reference": fault, "countries": fault}
    notices = Notices(None, admin_notice, clock=clock)
    with pytest.raises(ServerFault):
        await QuotaCheck(QuotaBook(database, client, settings, clock), notices, database, settings, clock)()
    await refresh_reference(ReferenceBook(database, client, clock), database, notices, clock)


async def test_countries_are_read_once_a_day_without_anybody_asking(database, client, clock):
    client.answers = {
        "courses": [{"course_id": "cr_1", "name": "Ascot", "region": "GB"}],
        "reference": {"regions": ["GB"]},
        "countries": [{"country_code": "ITY", "full_result_order": False}],
    }
    book = ReferenceBook(database, client, clock)
    notices = Notices(None, admin_notice, clock=clock)
    for _ in range(3):
        await refresh_reference(book, database, notices, clock)
        clock.pass_(hours=1)
    assert client.asked.count("countries") == 1
    assert [one.country_code for one in await book.known_countries()] == ["ITY"]
