"""Subscribing: which addresses, events and regions are taken, and where the secret is shown, once."""

import json
from datetime import date

import httpx
import pytest

from sandbox.racing_service import RacingService

EVENT = "result.received"


@pytest.fixture
async def service():
    async with RacingService(date(2025, 11, 20)) as running:
        yield running


@pytest.fixture
async def client(service):
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


@pytest.mark.parametrize(
    ("shape", "secret_of"),
    [
        ("secret", lambda answer: answer["data"]["secret"]),
        ("signing_secret", lambda answer: answer["data"]["signing_secret"]),
        ("subscription", lambda answer: answer["data"]["subscription"]["secret"]),
        ("flat", lambda answer: answer["secret"]),
    ],
)
async def test_secret_is_shown_under_the_switched_name(service, client, shape, secret_of):
    service.switch(subscribe_answer=shape, subscribe_status=200)
    body = {"url": "https://bot.test/webhooks/racing", "events": ["race.abandoned"], "region": "IRE"}
    response = await client.post("/webhooks/subscribe", json=body)
    assert response.status_code == 200
    assert secret_of(response.json()) == service.subscriptions[-1].secret
    assert service.subscriptions[-1].secret not in repr(service.subscriptions)


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"url": "http://bot.test/"},
            {"url": "ftp://127.0.0.1/"},
            {"url": "https://"},
            {"url": "https://a:b@c.test/"},
        ),
        *({"url": "https://[::1/"}, {"url": "https://c.test:99999/"}, {"url": ""}, {"url": 7}, {"url": None}),
        *({"url": "\ud800"}, {"url": "https://c.test/#x"}, {"url": "//c.test"}),
        *({"events": []}, {"events": ["result"]}, {"events": "result.received"}, {"events": [EVENT, EVENT]}),
        *({"region": "XX"}, {"region": "gb"}, {"region": ["GB"]}, {"secret": "mine"}, {"\ud800": 1}),
    ],
)
async def test_wrong_subscription_is_invalid_param(service, client, change):
    body = {"url": "https://bot.test/", "events": ["race.abandoned"]} | change
    headers = {"Content-Type": "application/json"}
    response = await client.post("/webhooks/subscribe", content=json.dumps(body), headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_param")
    assert service.subscriptions == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"url": NaN}'])
async def test_unreadable_body_is_invalid_param(client, body):
    response = await client.post("/webhooks/subscribe", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_param")


async def test_body_that_is_not_called_json_is_invalid_param(client):
    body = json.dumps({"url": "https://bot.test/", "events": ["race.abandoned"]})
    response = await client.post("/webhooks/subscribe", content=body, headers={"Content-Type": "text/plain"})
    assert response.status_code == 422


@pytest.mark.parametrize(("allowed", "status"), [(True, 201), (False, 422)])
@pytest.mark.parametrize("host", ["127.0.0.1:3000", "localhost", "[::1]:8080"])
async def test_http_is_taken_on_loopback_only_where_it_is_switched_on(service, client, allowed, status, host):
    service.switch(allow_http_loopback=allowed)
    body = {"url": f"http://{host}/webhooks/racing", "events": ["race.abandoned"]}
    assert (await client.post("/webhooks/subscribe", json=body)).status_code == status
