"""The circuit breakers of the quota and of the key: when the data service is asked, and when it is not."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from bot.racedata.client.circuit_breakers import QUOTA, CircuitBreakers
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, Unauthorized
from tests.unit.racedata.scripted_service import KEY as RECOGNISABLE
from tests.unit.racedata.scripted_service import Memory

KEY = SecretStr(RECOGNISABLE)


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


@pytest.fixture
def now(clock):
    clock.now = datetime(2025, 11, 20, 12, tzinfo=UTC)
    return clock


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


REFUSALS = {"quota": quota_exceeded(), "key": unauthorized(), "proxy": unauthorized(code=None)}
STORIES = {
    "closed at first": "asked",
    "quota stops all but usage": "quota free opens, not asked, usage asked",
    "a refusal is told once": "quota free opens, quota free again",
    "quota survives a restart": "quota free opens, restart, not asked",
    "another key closes both": "quota free opens, key free opens, other key, asked",
    "every hour of the first day": (
        "quota free opens, at 2025-12-01 00:00, asked, quota free again, not asked, at 2025-12-01 01:00, asked, "
        "at 2025-12-02 00:00, quota free again, at 2025-12-22 00:00, not asked"
    ),
    "opened on the first of a month": (
        "at 2025-12-01 05:00, quota free opens, at 2025-12-01 23:00, not asked, at 2026-01-01 00:00, asked"
    ),
    "usage shows another plan": "quota free opens, answered complete, asked",
    "usage shows the plan as it was": "quota free opens, answered free, not asked",
    "usage shows no plan": "quota free opens, answered None, not asked",
    "opened before the plan was known": "quota None opens, answered free, not asked, answered live, asked",
    "quota closes at an admin's word for every replica": (
        "quota None opens, replica not asked, reset quota_exceeded, replica asked"
    ),
    "key closes at an admin's word for every replica": (
        "key None opens, replica not asked, reset unauthorized, replica asked"
    ),
    "key stops usage too, and no month closes it": "key None opens, at 2026-02-28 12:00, not asked, usage not asked",
    "bare 401 of a proxy": "proxy None again, asked",
}


@pytest.mark.parametrize("name", STORIES)
async def test_service_is_asked_as_the_story_says(store, now, breakers, name):
    replica = CircuitBreakers(store, now, KEY)
    for step in STORIES[name].split(", "):
        match step.split(" "):
            case [("quota" | "key" | "proxy") as kind, plan, news]:
                opened = await breakers.refused(REFUSALS[kind], None if plan == "None" else plan)
                assert opened is (news == "opens"), step
            case ["at", *moment]:
                now.now = datetime.fromisoformat(" ".join(moment)).replace(tzinfo=UTC)
            case ["answered", plan]:
                await breakers.answered(None if plan == "None" else plan)
            case ["reset", code]:
                await breakers.reset(code)
            case ["restart"] | ["other", "key"]:
                breakers = CircuitBreakers(store, now, KEY if step == "restart" else SecretStr("sk_another"))
            case [*who, "asked"]:
                path = "account/usage" if "usage" in who else "countries"
                assert await is_asked(replica if "replica" in who else breakers, path) is ("not" not in who), step
            case _:
                raise AssertionError(step)


async def test_open_breaker_names_the_refusal_and_stores_no_key(breakers, store):
    await breakers.refused(quota_exceeded(), "free")
    with pytest.raises(CircuitOpen) as caught:
        async with breakers.permit("countries"):
            pass
    assert (caught.value.code, caught.value.request_id) == ("quota_exceeded", "req_1")
    assert KEY.get_secret_value() not in str(store.values)


async def test_quota_breaker_lets_one_caller_ask_when_the_month_turns(breakers, now):
    await breakers.refused(quota_exceeded(), "free")
    now.now = datetime(2025, 12, 1, tzinfo=UTC) - timedelta(seconds=1)
    assert not await is_asked(breakers)
    now.now += timedelta(seconds=1)
    async with breakers.permit("countries") as permit:
        permit.recheck()
        assert not await is_asked(breakers)
        await breakers.answered("free", is_probe=permit.is_probe)
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
