"""One contract, held by answers written down and by the stand-in alike: what is asked, how often, and what is told."""

import asyncio
from contextlib import aclosing
from datetime import datetime

import pytest
from pydantic import SecretStr

from bot.racedata.client import service_errors
from bot.racedata.client.cursor_walk import collect
from bot.racedata.client.filter_values import read_reference
from bot.racedata.client.records import CountryRecord, CourseRecord
from bot.racedata.client.service_client import WalkPosition, open_client
from bot.racedata.plans import PLANS
from tests.integration.racedata.backends import KEY, over_respx, over_the_stand_in

RECEIVER = "https://bot.example.com/webhooks/racing"

READING = {
    "countries": lambda client: client.countries(),
    "courses": lambda client: client.courses(),
    "reference": lambda client: client.reference(),
    "races/search": lambda client: client.races_page("GB", 100),
    "webhooks/deliveries": lambda client: collect(client.walk_deliveries("failed")),
    "account/usage": lambda client: client.usage("endpoint"),
}
CALLS = READING | {"webhooks/subscribe": lambda client: client.subscribe_webhook(RECEIVER, ["result.received"], "GB")}

# code or failure: class, requests sent, seconds waited between them, what a person is told
TABLE: dict[str, tuple[type[service_errors.ServiceFailure], int, list[float], str]] = {
    "unauthorized": (
        service_errors.Unauthorized,
        1,
        [],
        "does not accept the bot's key. An admin must set the right one.",
    ),
    "upgrade_required": (
        service_errors.UpgradeRequired,
        1,
        [],
        "not part of your plan (free). Plans that have it: live, archive, complete, analyst.",
    ),
    "outside_window": (
        service_errors.OutsideWindow,
        1,
        [],
        "2016-12-31 is outside your plan's window: 2017 → upcoming.",
    ),
    "not_found": (service_errors.NotFound, 1, [], "has nothing there"),
    "invalid_param": (service_errors.InvalidParam, 1, [], "does not take that value"),
    "rate_limited": (service_errors.RateLimited, 10, [1.0] * 9, "Too many requests this minute. Try again in 1 s."),
    "quota_exceeded": (service_errors.QuotaExceeded, 1, [], "allowance of requests is used up. It resets on the first"),
    "server_error": (service_errors.ServerFault, 4, [0.5, 1, 2], "Quote the request id"),
    "html": (service_errors.ServerFault, 4, [0.5, 1, 2], "The data service failed"),
    "drop": (service_errors.ServiceUnreachable, 4, [0.5, 1, 2], "did not answer"),
}
WITHOUT_ID = {"html", "drop"}


@pytest.fixture(params=[over_respx, over_the_stand_in], ids=["respx", "stand-in"])
async def backend(request, fake_time):
    async with request.param(fake_time) as ready:
        yield ready


@pytest.fixture
async def client(backend, fake_time, store):
    opened = open_client(backend.base_url, SecretStr(KEY), store, timing=fake_time.timing())
    yield opened
    await opened.aclose()


async def failure(asking) -> service_errors.ServiceFailure:
    with pytest.raises(service_errors.ServiceFailure) as caught:
        await asking
    return caught.value


def test_table_has_every_code_of_the_interface():
    assert set(TABLE) >= set(service_errors.BY_CODE)


@pytest.mark.parametrize("path", CALLS)
async def test_each_endpoint_is_asked_once_and_its_meta_is_remembered(backend, client, path):
    page = await CALLS[path](client)
    assert [(one.method, one.path) for one in backend.asked] == [("POST" if "subscribe" in path else "GET", path)]
    assert page.meta.request_id == backend.last_request_id
    assert client.state.plan == page.meta.plan == "analyst"
    assert client.state.plan in PLANS
    assert client.state.window == page.meta.window == "2017 → upcoming"
    assert datetime.fromisoformat(client.state.data_as_of or "").tzinfo is not None


async def test_countries_and_courses_have_every_specified_field(client):
    for page, record, nullable in (
        (await client.countries(), CountryRecord, {"note"}),
        (await client.courses(), CourseRecord, {"shortcode"}),
    ):
        assert page.meta.count == len(page.data) > 0
        for one in page.data:
            assert isinstance(one, record)
            assert {name for name in record.model_fields if getattr(one, name) is None} <= nullable


async def test_reference_has_regions_and_goings(client):
    values = read_reference((await client.reference()).data)
    assert "GB" in values["regions"]
    assert values["goings"]


@pytest.mark.parametrize("name", TABLE)
async def test_failure_has_its_class_its_requests_its_waits_and_its_words(backend, client, fake_time, name):
    kind, requests, waits, told = TABLE[name]
    backend.fail("countries", name)
    error = await failure(client.countries())
    assert type(error) is kind
    assert (len(backend.asked), fake_time.slept) == (requests, waits)
    assert told in error.told
    assert (f"(request {backend.last_request_id})" in error.told) is (name not in WITHOUT_ID)


@pytest.mark.parametrize("name", [*TABLE, "slow"])
async def test_subscribe_is_asked_for_exactly_once_whatever_happens(backend, client, fake_time, name):
    if name == "slow":
        client._calls.transport._whole_answer_s = 0.2
    backend.fail("webhooks/subscribe", name)
    await failure(client.subscribe_webhook(RECEIVER, ["result.received"]))
    async with asyncio.timeout(5):
        # The stand-in counts a request when it has answered, which is later than we waited.
        while not backend.asked:  # noqa: ASYNC110  it has no event to wait for
            await asyncio.sleep(0.05)
    assert [(one.method, one.path) for one in backend.asked] == [("POST", "webhooks/subscribe")]
    assert fake_time.slept == []


async def test_subscribe_gives_the_secret(client):
    page = await client.subscribe_webhook(RECEIVER, ["result.received", "race.abandoned"])
    assert page.data.secret.get_secret_value().startswith("whsec_")


@pytest.mark.parametrize("name", ["rate_limited", "server_error", "html", "drop"])
@pytest.mark.parametrize("path", READING)
async def test_reading_goes_on_after_a_passing_failure(backend, client, fake_time, path, name):
    backend.fail(path, name, times=1)
    await READING[path](client)
    assert len(backend.asked) == 2
    assert len(fake_time.slept) == 1


async def test_walk_reads_every_race_once_and_changes_nothing_but_the_cursor(backend, client):
    page = await collect(client.walk_races(WalkPosition(region="GB", limit=100)))
    ids = [race.fields["race_id"] for race in page.data]
    assert ids == backend.race_ids("GB")
    first, *others = [dict(one.query) for one in backend.asked]
    assert first == {"region": "GB", "limit": "100"}
    cursors = [one.pop("cursor") for one in others]
    assert others == [first] * len(others)
    assert len(set(cursors)) == len(cursors) >= 2


async def test_walk_is_resumed_by_another_process_where_it_was_left(backend, fake_time, store):
    read, position = [], WalkPosition(region="GB", limit=100)
    while True:
        # A new client each time, as after a restart: it has the stored position and nothing else.
        client = open_client(backend.base_url, SecretStr(KEY), store, timing=fake_time.timing())
        async with aclosing(client.walk_races(position)) as steps:
            step = await anext(steps)
        await client.aclose()
        read += [race.fields["race_id"] for race in step.page.data]
        if step.is_last:
            break
        position = WalkPosition.model_validate(
            position.model_copy(update={"cursor": step.resume_at}).model_dump(mode="json")
        )
    assert read == backend.race_ids("GB")


async def test_altered_cursor_is_refused_in_one_request_and_a_stored_one_starts_again(backend, client):
    first = await client.races_page("GB", 100)
    altered = f"{first.meta.next_cursor}x"
    error = await failure(client.races_page("GB", 100, altered))
    assert type(error) is service_errors.InvalidParam
    assert len(backend.asked) == 2
    page = await collect(client.walk_races(WalkPosition(region="GB", limit=100, cursor=altered)))
    assert [race.fields["race_id"] for race in page.data] == backend.race_ids("GB")


async def test_path_that_is_not_there_is_not_found_in_one_request(backend, client):
    assert type(await failure(client.read_path("races/{race_id}", race_id="rc_1"))) is service_errors.NotFound
    assert len(backend.asked) == 1


async def test_used_up_quota_stops_all_but_usage(backend, client):
    await client.countries()
    backend.use_up()
    assert type(await failure(client.courses())) is service_errors.QuotaExceeded
    for _ in range(3):
        assert type(await failure(client.courses())) is service_errors.CircuitOpen
    await client.usage("endpoint")
    assert [one.path for one in backend.asked] == ["countries", "courses", "account/usage"]


async def test_rotated_key_stops_everything_at_once(backend, client):
    await client.countries()
    backend.rotate_key()
    assert type(await failure(client.courses())) is service_errors.Unauthorized
    refused = await failure(client.usage())
    assert type(refused) is service_errors.CircuitOpen
    assert refused.unlatch == "racing-bot unlatch key"
    assert "racing-bot" not in refused.told
    assert len(backend.asked) == 2
