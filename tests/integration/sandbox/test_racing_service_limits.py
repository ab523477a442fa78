"""The minute and the month of a key: what counts, what is refused, and what usage shows of it."""

from datetime import UTC, date, datetime, timedelta

import httpx
import pytest

from sandbox.racing_service import RacingService
from sandbox.racing_service.plan_table import PLANS

TODAY = date(2025, 11, 20)


class Clock:
    """Time that moves when a test moves it."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock(datetime(2025, 11, 20, 12, 0, 15, tzinfo=UTC))


@pytest.fixture
async def service(clock):
    async with RacingService(TODAY, clock=clock, days_back=1, days_ahead=1) as running:
        yield running


@pytest.fixture
async def client(service):
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


def refused_with(response, status, code):
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("plan", PLANS)
async def test_minute_is_over_at_the_plans_limit_and_begins_anew(service, client, clock, plan):
    service.set_plan(plan)
    limit = {"free": 60, "live": 180, "archive": 90, "complete": 180, "analyst": 240}[plan]
    statuses = [(await client.get("/account/usage")).status_code for _ in range(limit)]
    assert set(statuses) == {200}
    response = await client.get("/account/usage")
    refused_with(response, 429, "rate_limited")
    assert response.headers["Retry-After"] == "45"
    assert response.headers["X-RateLimit-Remaining"] == "0"
    clock.now += timedelta(seconds=45)
    assert (await client.get("/account/usage")).headers["X-RateLimit-Remaining"] == str(limit - 1)


async def test_refusals_count_to_the_minute_and_not_to_the_month(service, client):
    await client.get("/nothing")
    response = await client.get("/races/search?limit=0")
    assert response.headers["X-RateLimit-Remaining"] == "58"
    assert service.used == 0


async def test_month_is_paid_by_what_is_served_but_usage_is_free(service, client):
    await client.get("/countries")
    await client.get("/account/usage")
    await client.get("/webhooks/deliveries")
    assert service.used == 2


async def test_used_up_month_stops_all_but_usage_until_it_turns(service, client, clock):
    service.set_used(14_999)
    assert (await client.get("/countries")).status_code == 200
    response = await client.get("/countries")
    refused_with(response, 429, "quota_exceeded")
    assert int(response.headers["Retry-After"]) == (datetime(2025, 12, 1, tzinfo=UTC) - clock.now).total_seconds()
    assert (await client.get("/account/usage")).status_code == 200
    clock.now = datetime(2025, 12, 1, tzinfo=UTC)
    assert (await client.get("/countries")).status_code == 200


@pytest.mark.parametrize("way_out", [lambda service: service.set_plan("live"), lambda service: service.set_used(5)])
async def test_used_up_month_is_over_with_another_plan_or_less_use(service, client, way_out):
    service.spend_quota(15_000)
    refused_with(await client.get("/countries"), 429, "quota_exceeded")
    way_out(service)
    assert (await client.get("/countries")).status_code == 200


async def test_usage_counts_requests_errors_and_refusals(service, client):
    await client.get("/countries")
    await client.get("/nothing")
    service.fail_next("/courses", "rate_limited")
    await client.get("/courses")
    service.spend_quota(10)
    assert (await client.get("/account/usage", params={"by": "day"})).json()["data"] == [
        {"date": "2025-11-20", "requests": 11, "errors": 1, "refusals": 1}
    ]
    rows = (await client.get("/account/usage", params={"by": "endpoint"})).json()["data"]
    assert {row["endpoint"]: row["requests"] for row in rows if row["requests"]} == {
        "/countries": 1,
        "/races/search": 10,
    }
    service.switch(usage="period")
    period = (await client.get("/account/usage")).json()["data"]
    assert (period["period"], period["used"], period["limit"]) == ("2025-11", 11, 15_000)
    assert period["by_day"][0]["refusals"] == {"rate_limited": 1}
    service.switch(usage="renamed")
    renamed = (await client.get("/account/usage")).json()["data"]
    assert renamed["total"] == 11
    assert renamed["rows"] == [{"day": "2025-11-20", "calls": 11, "failed": 1, "rejected": 1}]
