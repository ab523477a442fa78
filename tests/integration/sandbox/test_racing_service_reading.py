"""What the stand-in answers to those who may ask: envelopes, headers, values, pages."""

from datetime import UTC, date, datetime

import httpx
import pytest

from sandbox.racing_service import RacingService, Switches

TODAY = date(2025, 11, 20)
NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
async def service():
    async with RacingService(TODAY, plan="analyst", clock=lambda: NOW, days_back=2, days_ahead=3) as running:
        yield running


@pytest.fixture
async def client(service):
    headers = {"X-API-Key": service.api_key}
    transport = httpx.ASGITransport(service.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://racing.test/v1", headers=headers) as connected:
        yield connected


async def walk(client, **params):
    """Every page of the search, as a client that keeps to the protocol sees them."""
    pages = [(await client.get("/races/search", params=params)).json()]
    while pages[-1]["meta"]["has_more"]:
        params["cursor"] = pages[-1]["meta"]["next_cursor"]
        pages.append((await client.get("/races/search", params=params)).json())
    return pages


def ids(pages):
    return [race["race_id"] for page in pages for race in page["data"]]


async def test_answer_carries_envelope_and_four_headers(client):
    response = await client.get("/countries")
    body = response.json()
    assert body["meta"] == {
        "request_id": response.headers["X-Request-Id"],
        "data_as_of": "2025-11-20T12:00:00+00:00",
        "plan": "analyst",
        "window": "2017 → upcoming",
        "count": 18,
    }
    assert len(body["data"]) == 18
    assert response.headers["X-RateLimit-Limit"] == "240"
    assert response.headers["X-RateLimit-Remaining"] == "239"
    assert int(response.headers["X-RateLimit-Reset"]) == NOW.timestamp() + 60


async def test_countries_and_courses_have_the_fields_of_the_interface(client):
    country = (await client.get("/countries")).json()["data"][0]
    assert set(country) == {
        *("country_code", "name", "races", "full_result_order", "position_pct"),
        *("official_rating", "race_class", "winning_times", "note"),
    }
    courses = (await client.get("/courses")).json()["data"]
    assert set(courses[0]) == {
        *("course_id", "name", "shortcode", "country", "region"),
        *("races", "meetings", "first_meeting", "last_meeting"),
    }
    assert all(course["course_id"].startswith("cr_") for course in courses)


CATEGORIES = {"goings", "classes", "run_types", "surfaces", "regions", "casualty_reasons"}


@pytest.mark.parametrize(
    ("shape", "regions_of"),
    [
        ("values", lambda data: {row["value"] for row in data["regions"]}),
        ("names", lambda data: set(data["regions"])),
        ("map", lambda data: set(data["regions"])),
        ("rows", lambda data: {row["value"] for row in data if row["category"] == "regions"}),
    ],
)
async def test_reference_has_every_category_in_every_shape(service, client, shape, regions_of):
    service.switch(reference=shape)
    data = (await client.get("/reference")).json()["data"]
    assert ({row["category"] for row in data} if shape == "rows" else set(data)) == CATEGORIES
    assert {"GB", "IRE", "FR"} < regions_of(data)


async def test_reference_tells_values_apart_by_letter_case_alone(client):
    goings = {row["value"] for row in (await client.get("/reference")).json()["data"]["goings"]}
    assert {"Fast", "fast"} <= goings


async def test_search_walk_holds_every_published_race_once_oldest_first(service, client):
    pages = await walk(client, limit=50)
    assert sorted(ids(pages)) == sorted(race.race_id for race in service.racing.races())
    dates = [race["date"] for page in pages for race in page["data"]]
    assert dates == sorted(dates)


async def test_search_can_list_newest_first(service, client):
    oldest_first = ids(await walk(client, limit=200))
    service.switch(newest_first=True)
    assert ids(await walk(client, limit=50)) == oldest_first[::-1]


async def test_search_short_page_is_not_the_last(service, client):
    whole = ids(await walk(client, limit=50))
    service.switch(short_page_every=2)
    pages = await walk(client, limit=50)
    assert ids(pages) == whole
    assert any(page["meta"]["count"] == 25 and page["meta"]["has_more"] for page in pages)


async def test_search_takes_100_races_unless_told(client):
    assert (await client.get("/races/search")).json()["meta"]["count"] == 100


async def test_search_keeps_to_the_region(client):
    (page, *_) = await walk(client, region="IRE", limit=200)
    assert page["data"]
    assert {race["region"] for race in page["data"]} == {"IRE"}


@pytest.mark.parametrize(
    ("shape", "race_id", "runners"), [("flat", "race_id", "runners"), ("renamed", "uid", "finishers")]
)
async def test_search_has_the_same_races_under_other_names(service, client, shape, race_id, runners):
    before = ids(await walk(client, region="GB", limit=200))
    service.switch(races=shape)
    (page,) = await walk(client, region="GB", limit=200)
    assert [race[race_id] for race in page["data"]] == before
    assert page["data"][0][runners]


@pytest.mark.parametrize(("last", "has_cursor"), [("null", True), ("absent", False)])
async def test_last_page_may_have_no_cursor(service, client, last, has_cursor):
    service.switch(last_cursor=last)
    meta = (await client.get("/races/search", params={"region": "GB", "limit": 200})).json()["meta"]
    assert meta["has_more"] is False
    assert meta.get("next_cursor") is None
    assert ("next_cursor" in meta) is has_cursor


async def test_cursor_of_the_last_page_goes_on_when_races_were_added(service, client):
    *_, last = await walk(client, region="GB", limit=200)
    resume = {"region": "GB", "limit": 200, "cursor": last["meta"]["next_cursor"]}
    assert (await client.get("/races/search", params=resume)).json()["data"] == []
    service.publish_racecards(date(2025, 11, 22), "GB")
    added = (await client.get("/races/search", params=resume)).json()["data"]
    assert {race["date"] for race in added} == {"2025-11-22"}


async def test_near_day_can_appear_behind_a_farther_one(service, client):
    service.publish_racecards(date(2025, 11, 23), "GB")
    *_, last = await walk(client, region="GB", limit=200)
    service.publish_racecards(date(2025, 11, 22), "GB")
    resume = {"region": "GB", "limit": 200, "cursor": last["meta"]["next_cursor"]}
    assert (await client.get("/races/search", params=resume)).json()["data"] == []
    assert "2025-11-22" in {race["date"] for race in (await walk(client, region="GB", limit=200))[0]["data"]}


async def test_results_and_abandonments_show_in_the_search(service, client):
    first, second = service.racing.races(TODAY, "GB")[:2]
    service.settle(first.race_id)
    service.abandon_race(second.race_id, "Waterlogged")
    (page,) = await walk(client, region="GB", limit=200)
    shown = {race["race_id"]: race for race in page["data"]}
    assert shown[first.race_id]["status"] == "result"
    assert 1 in [runner["position"] for runner in shown[first.race_id]["runners"]]
    assert (shown[second.race_id]["status"], shown[second.race_id]["reason"]) == ("abandoned", "Waterlogged")
    assert {runner["position"] for runner in shown[second.race_id]["runners"]} == {None}


async def test_catching_up_settles_what_was_off_and_tells_nobody(service):
    service.subscribe("https://bot.test/", frozenset({"result.received"}))
    service.racing.catch_up(NOW)
    off = [race for race in service.racing.races(TODAY) if race.off_at.hour < 12 and race.course.region == "AUS"]
    assert {service.racing.state(race).status for race in off} <= {"result"}
    assert service.deliveries == []


async def test_search_keeps_inside_the_window_of_the_plan(client, service):
    service.set_plan("archive")
    pages = await walk(client, limit=200)
    assert max(race["date"] for page in pages for race in page["data"]) == "2025-11-20"
    assert pages[0]["meta"]["window"] == "2017 → today"


def test_every_plan_has_a_window_of_its_own():
    services = [RacingService(TODAY, plan=plan) for plan in ("free", "live", "archive", "complete", "analyst")]
    assert len({str(service._state.window) for service in services}) == 5


async def test_switches_can_be_given_at_the_start():
    switches = Switches(reference="map")
    async with RacingService(TODAY, switches=switches) as service:
        assert service.switches is switches
