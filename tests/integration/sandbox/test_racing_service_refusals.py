"""Whom the stand-in refuses, and how: keys, plans, parameters, scripted failures."""

from datetime import UTC, date, datetime

import httpx
import pytest

from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService
from sandbox.racing_service.service_state import ENDPOINTS

TODAY = date(2025, 11, 20)
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")


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
async def stranger(service):
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1") as connected:
        yield connected


@pytest.fixture
async def client(service, stranger):
    stranger.headers["X-API-Key"] = service.api_key
    return stranger


def refused_with(response, status, code):
    """The error object, once the answer is known to be this refusal in its full form."""
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (status, code)
    assert body["error"]["message"]
    assert body["meta"]["request_id"] == response.headers["X-Request-Id"]
    assert all(name in response.headers for name in HEADERS)
    return body["error"]


@pytest.mark.parametrize("endpoint", [*ENDPOINTS, "/nothing"])
async def test_no_key_is_unauthorized_everywhere(stranger, endpoint):
    refused_with(await stranger.get(endpoint), 401, "unauthorized")


@pytest.mark.parametrize("key", ["", "wrong", "demo-racing-key ", "kéy"])
async def test_unknown_key_is_unauthorized(stranger, key):
    refused_with(await stranger.get("/countries", headers={"X-API-Key": key.encode()}), 401, "unauthorized")
    refused_with(await stranger.get("/countries", params={"key": key}), 401, "unauthorized")


async def test_key_is_taken_as_a_parameter_and_recorded_nowhere(service, stranger):
    response = await stranger.get("/races/search", params={"key": service.api_key, "limit": 1})
    assert response.status_code == 200
    assert service.requests[-1].keyed
    assert service.requests[-1].query == {"limit": "1"}
    assert service.api_key not in repr(service.requests)


async def test_header_is_preferred_to_the_parameter(service, stranger):
    response = await stranger.get("/countries", headers={"X-API-Key": "wrong"}, params={"key": service.api_key})
    refused_with(response, 401, "unauthorized")


async def test_cursor_is_bound_to_the_query_and_not_to_where_the_key_stands(service, client):
    cursor = (await client.get("/races/search", params={"limit": 1})).json()["meta"]["next_cursor"]
    del client.headers["X-API-Key"]
    params = {"limit": 1, "cursor": cursor, "key": service.api_key}
    assert (await client.get("/races/search", params=params)).status_code == 200


async def test_rotated_key_stops_at_once_and_the_new_one_works_at_once(service, client):
    new_key = service.rotate_key()
    refused_with(await client.get("/countries"), 401, "unauthorized")
    assert (await client.get("/countries", headers={"X-API-Key": new_key})).status_code == 200
    assert service.rotate_key() not in {new_key, "demo-racing-key"}


async def test_plan_that_does_not_reach_is_told_every_plan_that_does(service, client):
    service.switch(reach={"/webhooks/deliveries": ("live", "analyst")})
    error = refused_with(await client.get("/webhooks/deliveries"), 403, "upgrade_required")
    assert error["your_plan"] == "free"
    assert error["reaches_on"] == ["live", "analyst"]
    assert error["doc_url"].startswith("https://")
    service.set_plan("live")
    assert (await client.get("/webhooks/deliveries")).json()["meta"]["plan"] == "live"


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        ("named", {"window": "2025 → upcoming", "requested_date": "2024-12-30"}),
        ("renamed", {"your_window": "2025 → upcoming", "requested": "2024-12-30"}),
        ("nested", {"details": {"allowed": {"from": "2025-01-01"}, "date": "2024-12-30"}}),
    ],
)
async def test_cursor_before_the_window_is_outside_window(clock, shape, shown):
    async with RacingService(date(2025, 1, 1), plan="live", clock=clock, days_back=2, days_ahead=1) as service:
        service.switch(outside_window=shape)
        headers = {"X-API-Key": service.api_key}
        transport = httpx.ASGITransport(service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as client:
            cursor = (await client.get("/races/search", params={"limit": 5})).json()["meta"]["next_cursor"]
            service.set_plan("free")
            response = await client.get("/races/search", params={"limit": 5, "cursor": cursor})
    error = refused_with(response, 403, "outside_window")
    assert {name: error[name] for name in shown} == shown


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=-1", "limit=201", "limit=many", "limit=1e2", "limit=" + "9" * 5000, "limit="),
        *("region=gb", "region=XX", "region=", "cursor=", "cursor=abc", "cursor=%F0%9F%90%8E", "region=%00"),
        *("date=2025-11-20", "region=GB&region=FR", "limit=1&limit=1", "Region=GB"),
    ],
)
async def test_wrong_parameter_is_invalid_param(client, query):
    refused_with(await client.get(f"/races/search?{query}"), 422, "invalid_param")


@pytest.mark.parametrize(
    "path",
    [
        "/countries?a=1",
        "/courses?limit=1",
        "/reference?x=",
        "/webhooks/deliveries?status=lost",
        "/account/usage?by=hour",
    ],
)
async def test_parameter_an_endpoint_does_not_have_is_invalid_param(client, path):
    refused_with(await client.get(path), 422, "invalid_param")


@pytest.mark.parametrize("change", [{"region": "GB"}, {"limit": 4}, {"region": "FR", "limit": 3}])
async def test_changed_filter_in_mid_walk_is_invalid_param(client, change):
    cursor = (await client.get("/races/search", params={"limit": 3})).json()["meta"]["next_cursor"]
    params = {"limit": 3, "cursor": cursor} | change
    refused_with(await client.get("/races/search", params=params), 422, "invalid_param")


@pytest.mark.parametrize(("first", "then"), [({}, {"limit": 100}), ({"limit": 100}, {})])
async def test_limit_added_or_dropped_in_mid_walk_is_invalid_param(service, client, first, then):
    service.switch(default_limit=100)
    cursor = (await client.get("/races/search", params=first)).json()["meta"]["next_cursor"]
    refused_with(await client.get("/races/search", params=then | {"cursor": cursor}), 422, "invalid_param")
    assert (await client.get("/races/search", params=first | {"cursor": cursor})).status_code == 200


async def test_cursor_of_another_list_is_invalid_param(client):
    cursor = (await client.get("/races/search", params={"limit": 3})).json()["meta"]["next_cursor"]
    response = await client.get("/webhooks/deliveries", params={"limit": 3, "cursor": cursor})
    refused_with(response, 422, "invalid_param")


@pytest.mark.parametrize(("switched", "content_type"), [("html", "text/html; charset=utf-8"), ("empty", None)])
async def test_not_found_may_have_no_json(service, client, switched, content_type):
    refused_with(await client.get("/nothing"), 404, "not_found")
    service.switch(not_found=switched)
    response = await client.get("/nothing")
    assert (response.status_code, response.headers.get("content-type")) == (404, content_type)
    assert response.headers["X-Request-Id"]


async def test_wrong_method_is_json_too(client):
    response = await client.delete("/countries")
    refused_with(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == "GET"


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        *((500, 500, "server_error"), (503, 503, "server_error"), (429, 429, "rate_limited")),
        *((403, 403, "upgrade_required"), ("outside_window", 403, "outside_window")),
        ("quota_exceeded", 429, "quota_exceeded"),
    ],
)
async def test_scripted_refusal_comes_as_often_as_it_was_told(service, client, failure, status, code):
    service.fail_next("/countries", failure, times=2)
    assert (await client.get("/courses")).status_code == 200
    for _ in range(2):
        response = await client.get("/countries")
        refused_with(response, status, code)
        assert ("Retry-After" in response.headers) == (status == 429)
    assert (await client.get("/countries")).status_code == 200


def test_failure_the_service_does_not_have_can_not_be_scripted():
    with pytest.raises(ValueError, match="teapot"):
        RacingService(TODAY).fail_next("/countries", "teapot")


async def test_scripted_proxy_page_is_html_without_the_services_headers(service, client):
    service.fail_next("*", "html")
    response = await client.get("/countries")
    assert (response.status_code, response.headers["content-type"]) == (502, "text/html; charset=utf-8")
    assert "X-Request-Id" not in response.headers


async def test_scripted_slowness_waits_and_then_answers(clock):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    service = RacingService(TODAY, clock=clock, sleep=sleep)
    service.fail_next("/countries", "slow")
    headers = {"X-API-Key": service.api_key}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app), headers=headers) as client:
        assert (await client.get("http://racing.test/v1/countries")).status_code == 200
    assert waited == [30.0]
    await service.aclose()


async def test_scripted_drop_cuts_the_connection_over_a_socket_and_without_one(service, client):
    service.fail_next("/countries", "drop", times=2)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.get("/countries")
    async with serve(service.app) as address, httpx.AsyncClient() as over_socket:
        with pytest.raises(httpx.TransportError):
            await over_socket.get(f"{address}/v1/countries")
        response = await over_socket.get(f"{address}/v1/countries", headers={"X-API-Key": service.api_key})
        assert response.status_code == 200
    assert [served.status for served in service.requests] == [None, None, 200]
