"""Refusals, limits and promises of the stand-in of the data service, by the interface.

A stand-in more lenient than the service would let the bot's tests pass for nothing. The bot's tests read the stand-in's
data.
"""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from sandbox.racing_service.endpoints import ENDPOINTS
from tests.integration.sandbox.conftest import TODAY

HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")
SEARCH = "/races/search"
HOOK = {"url": "https://bot.test/", "events": ["race.abandoned"]}


def refused_with(response, status, code):
    """The error object. Fails unless the answer is the refusal in its full form."""
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (status, code)
    assert body["error"]["message"]
    assert body["meta"]["request_id"] == response.headers["X-Request-Id"]
    assert all(name in response.headers for name in HEADERS)
    return body["error"]


async def test_wrong_key_is_unauthorized_everywhere(service, reader):
    new_key = service.rotate_key()
    reader.headers.pop("X-API-Key")
    for endpoint in (*ENDPOINTS, "/nothing"):
        for headers in ({}, {"X-API-Key": ""}, {"X-API-Key": "wrong"}, {"X-API-Key": f"{new_key} "}):
            refused_with(await reader.get(endpoint, headers=headers), 401, "unauthorized")
    assert (await reader.get("/countries", params={"key": new_key})).status_code == 200
    assert new_key not in repr(service.requests)


async def test_plan_that_does_not_reach_is_told_every_plan_that_does(service, reader):
    service.switch(reach={"/webhooks/deliveries": ("live", "analyst")})
    error = refused_with(await reader.get("/webhooks/deliveries"), 403, "upgrade_required")
    assert (error["your_plan"], error["reaches_on"]) == ("free", ["live", "analyst"])
    service.set_plan("live")
    assert (await reader.get("/webhooks/deliveries")).json()["meta"]["plan"] == "live"


@pytest.mark.parametrize(
    "path",
    [
        *(f"{SEARCH}?{query}" for query in ("limit=0", "limit=201", "limit=many", "limit=", "date=2025-11-20")),
        *(f"{SEARCH}?{query}" for query in ("region=gb", "region=XX", "region=%00", "cursor=", "cursor=abc")),
        *(f"{SEARCH}?{query}" for query in ("region=GB&region=FR", "limit=1&limit=1", "Region=GB")),
        *("/countries?a=1", "/courses?limit=1", "/webhooks/deliveries?status=lost", "/account/usage?by=hour"),
    ],
)
async def test_wrong_parameter_is_invalid_param(reader, path):
    refused_with(await reader.get(path), 422, "invalid_param")


@pytest.mark.parametrize(
    ("path", "change"),
    [*((SEARCH, {"region": "GB"}), (SEARCH, {"limit": 4}), (SEARCH, {"limit": None})), ("/webhooks/deliveries", {})],
)
async def test_cursor_of_another_query_is_invalid_param(reader, path, change):
    cursor = (await reader.get(SEARCH, params={"limit": 3})).json()["meta"]["next_cursor"]
    assert (await reader.get(SEARCH, params={"limit": 3, "cursor": cursor})).status_code == 200
    params = {name: value for name, value in ({"limit": 3, "cursor": cursor} | change).items() if value is not None}
    refused_with(await reader.get(path, params=params), 422, "invalid_param")


@pytest.mark.parametrize(
    "body",
    [
        *({"url": url} for url in ("http://bot.test/", "https://", "https://a:b@c.test/", "//c.test", "", 7)),
        *({"events": events} for events in ([], ["result"], "race.abandoned", ["race.abandoned"] * 2)),
        *({"region": "XX"}, {"region": "gb"}, {"region": ["GB"]}, {"secret": "mine"}),
        *(b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"url": NaN}'),
    ],
)
async def test_wrong_or_unreadable_subscription_is_invalid_param(service, reader, body):
    content = body if isinstance(body, bytes) else json.dumps(HOOK | body)
    headers = {"Content-Type": "application/json"}
    refused_with(await reader.post("/webhooks/subscribe", content=content, headers=headers), 422, "invalid_param")
    assert service.subscriptions == []


async def test_minute_is_over_at_the_plans_limit_and_begins_anew(service, reader, clock):
    for plan, limit in {"live": 180, "archive": 90, "complete": 180, "analyst": 240, "free": 60}.items():
        service.set_plan(plan)
        assert (await reader.get("/account/usage")).headers["X-RateLimit-Limit"] == f"{limit}"
    clock.forward(60)
    refused_with(await reader.get("/nothing"), 404, "not_found")
    assert {(await reader.get("/account/usage")).status_code for _ in range(limit - 1)} == {200}
    response = await reader.get("/account/usage")
    refused_with(response, 429, "rate_limited")
    assert (response.headers["Retry-After"], response.headers["X-RateLimit-Remaining"]) == ("45", "0")
    clock.forward(45)
    assert (await reader.get("/account/usage")).headers["X-RateLimit-Remaining"] == f"{limit - 1}"


async def test_used_up_month_stops_all_but_usage_until_it_turns(service, reader, clock):
    service.set_used(14_999)
    await reader.get("/account/usage")
    assert (await reader.get("/countries")).status_code == 200
    response = await reader.get("/countries")
    refused_with(response, 429, "quota_exceeded")
    assert int(response.headers["Retry-After"]) == (datetime(2025, 12, 1, tzinfo=UTC) - clock.now).total_seconds()
    assert (await reader.get("/account/usage")).status_code == 200
    clock.now = datetime(2025, 12, 1, tzinfo=UTC)
    assert (await reader.get("/countries")).status_code == 200


async def walk(reader, **params):
    """Every race of the search, a page at a time."""
    races, has_more = [], True
    while has_more:
        page = (await reader.get(SEARCH, params=params)).json()
        races += page["data"]
        params["cursor"], has_more = page["meta"].get("next_cursor"), page["meta"]["has_more"]
    return races


async def test_walk_holds_every_published_race_once_oldest_first_within_the_window(service, reader):
    service.set_plan("analyst")
    for switched in ({}, {"short_page_every": 2}, {"last_cursor": "absent"}):
        service.switch(**switched)
        races = await walk(reader, limit=100)
        assert sorted(race["race_id"] for race in races) == sorted(race.race_id for race in service.racing.races())
        dates = [race["date"] for race in races]
        assert dates == sorted(dates)
    service.set_plan("archive")
    assert max(race["date"] for race in await walk(reader, limit=200)) == TODAY.isoformat()


# Deliveries


def first_race(service):
    return service.racing.races(TODAY, "GB")[0]


def test_delivery_goes_to_subscriptions_of_its_event_and_region(service):
    events = frozenset({"result.received"})
    british = service.subscribe("https://one.test/", events, "GB")
    service.subscribe("https://two.test/", events, "FR")
    everywhere = service.subscribe("https://three.test/", events)
    service.subscribe("https://four.test/", frozenset({"race.abandoned"}), "GB")
    assert {delivery.subscription for delivery in service.settle(first_race(service).race_id)} == {british, everywhere}


@pytest.mark.parametrize("switched", [{}, {"attempt_in_body": True}, {"payload": "renamed"}], ids=str)
async def test_delivery_is_signed_over_its_exact_bytes_and_costs_no_quota(service, receiver, switched):
    secret = service.subscribe("https://bot.test/", frozenset({"result.received"})).secret
    service.switch(**switched)
    service.rotate_key()
    service.settle(first_race(service).race_id)
    assert await service.deliver_due() == 1
    (request,) = receiver.got
    assert request.headers["x-svc-signature"] == hmac.new(secret.encode(), request.content, hashlib.sha256).hexdigest()
    assert first_race(service).race_id in request.content.decode()
    assert service.used == 0


@pytest.mark.parametrize("status", [500, 302])
async def test_delivery_is_tried_with_widening_gaps_for_a_day_and_given_up(service, receiver, clock, status):
    service.subscribe("https://bot.test/", frozenset({"result.received"}))
    (delivery,) = service.settle(first_race(service).race_id)
    receiver.statuses = [status] * 1_000
    meanwhile = set()
    receiver.look = lambda: meanwhile.add(delivery.status)
    await service.deliver_due()
    clock.forward(29)
    assert await service.deliver_due() == 0
    while delivery.next_at:
        clock.now = delivery.next_at
        await service.deliver_due()
    tried_at = [attempt.at for attempt in delivery.attempts]
    gaps = [after - before for before, after in pairwise(tried_at)]
    assert gaps == sorted(set(gaps))
    assert gaps[0] == timedelta(seconds=30)
    assert tried_at[-1] - tried_at[0] == timedelta(days=1)
    assert (delivery.status, meanwhile) == ("failed", {"pending"})


async def test_records_tell_what_was_given_up_for_thirty_days(service, reader, receiver, clock):
    service.switch(retry_gaps_s=(30,))
    secret = service.subscribe("https://bot.test/", frozenset({"result.received"})).secret
    service.settle(first_race(service).race_id)
    receiver.statuses = [503] * 2

    async def failed():
        return (await reader.get("/webhooks/deliveries", params={"status": "failed"})).json()["data"]

    await service.deliver_due()
    assert await failed() == []
    clock.forward(30)
    await service.deliver_due()
    (record,) = await failed()
    assert (record["attempts"], record["response_status"], record["response_body"]) == (2, 503, "x" * 500)
    assert record["race_id"] == first_race(service).race_id
    assert secret not in json.dumps(record)
    clock.forward(30 * 24 * 3_600)
    assert await failed() == []


async def test_later_news_of_a_race_and_a_meeting_is_told_as_it_stands(service, receiver):
    events = frozenset({"result.received", "meeting.abandoned"})
    service.subscribe("https://bot.test/", events)
    race = first_race(service)
    service.settle(race.race_id)
    service.correct(race.race_id)
    service.abandon_meeting(race.meeting_id, "Waterlogged")
    await service.deliver_due()
    before, after, lost = (json.loads(request.content) for request in receiver.got)
    first, second = (
        {runner["position"]: runner["horse"]["name"] for runner in body["race"]["runners"]} for body in (before, after)
    )
    assert (first[1], first[2]) == (second[2], second[1])
    # A race that was run stays run.
    statuses = {one["race_id"]: one["status"] for one in lost["meeting"]["races"]}
    assert statuses.pop(race.race_id) == "result"
    assert set(statuses.values()) == {"abandoned"}
