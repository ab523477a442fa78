"""Circuit breakers in the database outlive the process, hold for every replica, and are reset at an admin's word."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import SecretStr

from bot.cli.main import Breaker
from bot.cli.unlatch_command import CODES_BY_WORD, run_unlatch, unlatch
from bot.db.named_value_store import DatabaseStateStore
from bot.errors import StorageUnavailable
from bot.racedata.client import circuit_breakers, service_errors
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_client import open_client
from bot.racedata.quota_book import QuotaBook
from bot.settings import Settings
from sandbox.racing_service import RacingService
from tests.integration.racedata.backends import KEY


@pytest.fixture
async def bots(database, fake_time):
    """Opens clients on one database: the same bot restarted, or replicas; gives the service too."""
    service = RacingService(fake_time.clock().date(), api_key=KEY, clock=fake_time.clock)
    opened = []

    def open_one(key=KEY):
        http = httpx.AsyncClient(transport=httpx.ASGITransport(service.app))
        store = DatabaseStateStore(database, fake_time.clock)
        client = open_client("https://api.example.com/v1", SecretStr(key), store, http=http, timing=fake_time.timing())
        opened.append(http)
        return client

    yield service, open_one
    for http in opened:
        await http.aclose()
    await service.aclose()


async def outcome(client):
    try:
        await client.countries()
    except service_errors.ServiceFailure as error:
        return type(error)
    return None


async def test_quota_breaker_outlives_a_restart_until_the_month_turns(bots, fake_time):
    service, open_one = bots
    service.set_used(15_000)
    assert await outcome(open_one()) is service_errors.QuotaExceeded
    for _ in range(3):
        assert await outcome(open_one()) is service_errors.CircuitOpen
    assert len(service.requests) == 1
    fake_time.now_s = (datetime(2025, 12, 1, tzinfo=UTC) - fake_time.start) / timedelta(seconds=1)
    assert await outcome(open_one()) is None


async def test_quota_breaker_closes_by_a_new_plan_that_usage_shows(bots):
    service, open_one = bots
    client = open_one()
    await client.countries()
    service.set_used(15_000)
    assert await outcome(client) is service_errors.QuotaExceeded
    service.set_plan("analyst")
    assert await outcome(client) is service_errors.CircuitOpen
    await client.usage()
    assert await outcome(open_one()) is None


async def test_quota_breaker_is_not_closed_by_usage_below_the_allowance(bots, database, fake_time):
    service, open_one = bots
    client = open_one()
    book = QuotaBook(database, client, settings_of(None), fake_time.clock)
    service.set_used(9_000)
    service.fail_next("/countries", "quota_exceeded", 100)
    for _ in range(8):
        await outcome(client)
        await book.read()
        fake_time.now_s += 900
    assert sum(request.endpoint == "/countries" for request in service.requests) == 1
    service.heal()
    service.set_used(8_000)
    assert await outcome(client) is service_errors.CircuitOpen
    await book.read()
    assert await outcome(client) is None


async def test_key_breaker_closes_with_the_new_key(bots):
    service, open_one = bots
    new_key = service.rotate_key()
    assert await outcome(open_one()) is service_errors.Unauthorized
    assert await outcome(open_one()) is service_errors.CircuitOpen
    assert await outcome(open_one(new_key)) is None
    assert len(service.requests) == 2


async def test_admins_word_closes_what_is_open_and_says_so(bots, database, fake_time):
    service, open_one = bots
    running = open_one()
    service.set_used(15_000)
    assert await outcome(running) is service_errors.QuotaExceeded
    ours = CircuitBreakers(DatabaseStateStore(database, fake_time.clock), fake_time.clock, SecretStr(KEY))
    assert "No circuit breaker is open (key)" in await unlatch(ours, ["key"])
    said = await unlatch(ours, ["quota", "key"])
    assert said.startswith(
        "quota: closed again; the circuit breaker was opened by quota_exceeded on 2025-11-20 12:00 UTC (request req_"
    )
    service.set_used(0)
    assert await outcome(running) is None


async def test_admins_word_has_an_endpoint_beyond_the_plan_asked_again(bots, database, fake_time):
    service, open_one = bots
    service.switch(reach={"/countries": ("analyst",)})
    running = open_one()
    for _ in range(2):
        assert await outcome(running) is service_errors.UpgradeRequired
    assert len(service.requests) == 1
    ours = CircuitBreakers(DatabaseStateStore(database, fake_time.clock), fake_time.clock, SecretStr(KEY))
    assert (await unlatch(ours, ["plan"])).startswith("plan: closed again; ")
    service.switch(reach={})
    assert await outcome(running) is None


def settings_of(database_url):
    return Settings(
        _env_file=None,
        racing_api_url="https://api.example.com/v1",
        racing_api_key=KEY,
        slack_bot_token="xoxb-test",
        slack_signing_secret="secret-of-a-test",
        **({"database_url": database_url} if database_url else {}),
    )


def test_words_of_the_command_are_those_of_the_breakers():
    assert set(CODES_BY_WORD) == set(Breaker)
    assert set(CODES_BY_WORD.values()) == set(circuit_breakers.BREAKER_CODES)


async def test_command_resets_on_the_database_of_the_settings(tmp_path):
    settings = settings_of(f"sqlite:///{tmp_path}/bot.db")
    assert "No circuit breaker is open (quota, key, plan)" in await run_unlatch(settings, None)
    unready = settings.model_copy(update={"database_url": SecretStr(f"sqlite:///{tmp_path}/none/bot.db")})
    with pytest.raises(StorageUnavailable, match="not ready"):
        await run_unlatch(unready, "quota")
