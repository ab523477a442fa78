"""Delivery records: what is kept of each delivery, which list it is on, and for how long."""

import json
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest

from sandbox.racing_service import RacingService

TODAY = date(2025, 11, 20)
EVENTS = frozenset({"result.received"})


class Clock:
    """Time that moves when a test moves it."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock(datetime(2025, 11, 20, 12, tzinfo=UTC))


@pytest.fixture
async def service(clock):
    """A service whose every delivery is answered 503, at length."""
    refusing = httpx.MockTransport(lambda _: httpx.Response(503, text="x" * 2000))
    async with (
        httpx.AsyncClient(transport=refusing) as deliveries,
        RacingService(TODAY, clock=clock, delivery_client=deliveries, days_back=1, days_ahead=1) as running,
    ):
        yield running


@pytest.fixture
async def client(service):
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


def settle(service, races=1):
    for race in service.racing.races(TODAY, "GB")[:races]:
        service.settle(race.race_id)


async def records(client, **params):
    return (await client.get("/webhooks/deliveries", params=params)).json()["data"]


async def test_record_tells_what_was_sent_and_what_came_back(service, client):
    subscription = service.subscribe("https://bot.test/", EVENTS)
    settle(service)
    await service.deliver_due()
    (record,) = await records(client)
    assert record["race_id"] == service.racing.races(TODAY, "GB")[0].race_id
    assert (record["attempts"], record["response_status"], record["response_body"]) == (1, 503, "x" * 500)
    assert record["next_attempt_at"] == "2025-11-20T12:00:30+00:00"
    assert record["payload"]["event"] == "result.received"
    assert subscription.secret not in json.dumps(record)


async def test_record_may_list_its_attempts_under_other_names(service, client):
    service.switch(deliveries="listed")
    service.subscribe("https://bot.test/", EVENTS)
    settle(service)
    await service.deliver_due()
    (record,) = await records(client)
    assert (record["state"], record["attempts"][0]["status_code"]) == ("pending", 503)


async def test_record_may_hold_no_payload(service, client):
    service.subscribe("https://bot.test/", EVENTS)
    settle(service, races=2)
    await service.deliver_due()
    service.deliveries[0].shape = "bare"
    newest, oldest = await records(client)
    assert set(newest) - set(oldest) == {"payload"}


async def test_failed_lists_what_was_given_up_and_on_demand_what_is_retried(service, client, clock):
    service.switch(retry_gaps_s=(30,))
    service.subscribe("https://bot.test/", EVENTS)
    settle(service)
    await service.deliver_due()
    assert await records(client, status="failed") == []
    service.switch(failed_while_retrying=True)
    assert len(await records(client, status="failed")) == 1
    service.switch(failed_while_retrying=False)
    clock.now += timedelta(seconds=30)
    await service.deliver_due()
    assert [record["status"] for record in await records(client, status="failed")] == ["failed"]


async def test_records_are_paged_newest_first(service, client):
    service.subscribe("https://bot.test/", EVENTS)
    settle(service, races=5)
    params, seen, has_more = {"limit": 2, "status": "pending"}, [], True
    while has_more:
        page = (await client.get("/webhooks/deliveries", params=params)).json()
        seen += [record["delivery_id"] for record in page["data"]]
        params["cursor"], has_more = page["meta"]["next_cursor"], page["meta"]["has_more"]
    assert len(seen) == 5
    assert seen == sorted(set(seen), reverse=True)


async def test_records_are_kept_30_days(service, client, clock):
    service.subscribe("https://bot.test/", EVENTS)
    settle(service)
    clock.now += timedelta(days=30) - timedelta(seconds=1)
    assert len(await records(client)) == 1
    clock.now += timedelta(seconds=1)
    assert await records(client) == []
