import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from bot.racedata.client.circuit_breakers import QUOTA, UNAUTHORIZED, CircuitBreakers
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, Unauthorized

KEY = SecretStr("sk_recognisable_0123456789")
NOVEMBER = datetime(2025, 11, 20, 12, tzinfo=UTC)
DECEMBER = datetime(2025, 12, 1, tzinfo=UTC)


class Memory:
    def __init__(self):
        self.values: dict[str, dict[str, Any]] = {}

    async def get(self, name: str) -> dict[str, Any] | None:
        return self.values.get(name)

    async def set(self, name: str, value: dict[str, Any]) -> None:
        self.values[name] = value


class SlowMemory(Memory):
    """Its first answer is held back until `go_on`, though it was read before."""

    def __init__(self):
        super().__init__()
        self.read, self.go_on = asyncio.Event(), asyncio.Event()

    async def get(self, name: str) -> dict[str, Any] | None:
        value = await super().get(name)
        if name.endswith(QUOTA):
            self.read.set()
            await self.go_on.wait()
        return value


class Now:
    def __init__(self):
        self.at = NOVEMBER

    def __call__(self):
        return self.at


@pytest.fixture
def now():
    return Now()


@pytest.fixture
def store():
    return Memory()


@pytest.fixture
def breakers(store, now):
    return CircuitBreakers(store, now, KEY)


def quota_exceeded():
    return QuotaExceeded("countries", code="quota_exceeded", status=429, request_id="req_1")


def unauthorized(code="unauthorized"):
    return Unauthorized("countries", code=code, status=401)


async def is_asked(breakers, path="countries"):
    try:
        async with breakers.permit(path):
            return True
    except CircuitOpen:
        return False


async def test_breakers_are_closed_at_first(breakers):
    assert await is_asked(breakers)


async def test_quota_breaker_names_the_refusal_and_lets_usage_pass(breakers):
    assert await breakers.refused(quota_exceeded(), "free")
    with pytest.raises(CircuitOpen) as caught:
        async with breakers.permit("countries"):
            pass
    assert (caught.value.code, caught.value.request_id) == ("quota_exceeded", "req_1")
    assert await is_asked(breakers, "account/usage")


async def test_breaker_is_reported_once(breakers):
    assert await breakers.refused(quota_exceeded(), "free")
    assert not await breakers.refused(quota_exceeded(), "free")


async def test_quota_breaker_survives_a_restart_and_stores_no_key(breakers, store, now):
    await breakers.refused(quota_exceeded(), "free")
    assert not await is_asked(CircuitBreakers(store, now, KEY))
    assert KEY.get_secret_value() not in str(store.values)


async def test_breakers_close_with_another_key(breakers, store, now):
    await breakers.refused(quota_exceeded(), "free")
    await breakers.refused(unauthorized(), "free")
    assert await is_asked(CircuitBreakers(store, now, SecretStr("sk_another")))


async def test_quota_breaker_lets_one_caller_ask_when_the_month_turns(breakers, now):
    await breakers.refused(quota_exceeded(), "free")
    now.at = DECEMBER - timedelta(seconds=1)
    assert not await is_asked(breakers)
    now.at = DECEMBER
    async with breakers.permit("countries") as permit:
        permit.recheck()
        assert not await is_asked(breakers)
        await breakers.answered("free", is_probe=permit.is_probe)
    assert await is_asked(breakers)


async def test_quota_breaker_asks_every_hour_of_the_first_day_when_the_turn_came_too_early(breakers, now):
    await breakers.refused(quota_exceeded(), "free")
    now.at = DECEMBER
    assert await is_asked(breakers)
    await breakers.refused(quota_exceeded(), "free")
    assert not await is_asked(breakers)
    now.at += timedelta(hours=1)
    assert await is_asked(breakers)
    now.at = DECEMBER + timedelta(hours=24)
    await breakers.refused(quota_exceeded(), "free")
    now.at += timedelta(days=20)
    assert not await is_asked(breakers)


async def test_quota_breaker_opened_on_the_first_of_a_month_waits_for_the_next(breakers, now):
    now.at = DECEMBER + timedelta(hours=5)
    await breakers.refused(quota_exceeded(), "free")
    now.at = DECEMBER + timedelta(hours=23)
    assert not await is_asked(breakers)
    now.at = datetime(2026, 1, 1, tzinfo=UTC)
    assert await is_asked(breakers)


@pytest.mark.parametrize(("plan", "closes"), [("complete", True), ("free", False), (None, False)])
async def test_quota_breaker_closes_when_usage_shows_another_plan(breakers, plan, closes):
    await breakers.refused(quota_exceeded(), "free")
    await breakers.answered(plan)
    assert await is_asked(breakers) is closes


async def test_quota_breaker_that_opened_before_the_plan_was_known_closes_when_it_changes(breakers):
    await breakers.refused(quota_exceeded(), None)
    await breakers.answered("free")
    assert not await is_asked(breakers)
    await breakers.answered("live")
    assert await is_asked(breakers)


@pytest.mark.parametrize(("refusal", "code"), [(quota_exceeded(), QUOTA), (unauthorized(), UNAUTHORIZED)])
async def test_breaker_closes_at_an_admins_word_for_every_replica(breakers, store, now, refusal, code):
    other = CircuitBreakers(store, now, KEY)
    await breakers.refused(refusal, None)
    assert not await is_asked(other)
    await breakers.reset(code)
    assert await is_asked(other)


async def test_key_breaker_stops_usage_too_and_no_month_closes_it(breakers, now):
    await breakers.refused(unauthorized(), None)
    now.at += timedelta(days=100)
    assert not await is_asked(breakers)
    assert not await is_asked(breakers, "account/usage")


async def test_bare_401_of_a_proxy_opens_no_breaker(breakers):
    assert not await breakers.refused(unauthorized(code=None), None)
    assert await is_asked(breakers)


async def test_breaker_that_opens_during_a_wait_is_seen_after_it(breakers):
    async with breakers.permit("countries") as permit:
        await breakers.refused(quota_exceeded(), None)
        with pytest.raises(CircuitOpen):
            permit.recheck()


@pytest.mark.parametrize("refusal", [quota_exceeded(), unauthorized()])
async def test_answer_to_what_was_asked_before_the_refusal_closes_nothing(breakers, refusal):
    async with breakers.permit("countries") as permit:
        await breakers.refused(refusal, "free")
        await breakers.answered("free", is_probe=permit.is_probe)
    assert not await is_asked(breakers)


async def test_breaker_stays_open_while_it_is_being_stored(now):
    store = SlowMemory()
    breakers = CircuitBreakers(store, now, KEY)
    reading = asyncio.create_task(is_asked(breakers))
    await store.read.wait()
    refused = asyncio.create_task(breakers.refused(quota_exceeded(), "free"))
    await asyncio.sleep(0)
    store.go_on.set()
    assert not await reading
    assert await refused
    assert not await is_asked(breakers)


@pytest.mark.parametrize("stored", [{}, {"code": 7}, {"code": "quota_exceeded", "key": "x", "since": "yesterday"}])
async def test_breaker_that_cannot_be_read_is_closed(breakers, store, stored):
    store.values["racing.latch.quota_exceeded"] = stored
    assert await is_asked(breakers)
