"""The circuit breakers of the quota, the key and the plan: when the data service is asked, and when it is not."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from bot.db.named_values import Mark
from bot.errors import StorageUnavailable
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, RateLimited, Unauthorized, UpgradeRequired
from tests.unit.racedata.scripted_service import KEY as RECOGNISABLE
from tests.unit.racedata.scripted_service import Memory

KEY = SecretStr(RECOGNISABLE)


class SlowMemory(Memory):
    """A value is read at once and given by `give`; a value is kept by `keep`."""

    def __init__(self):
        super().__init__()
        self.give, self.keep = asyncio.Event(), asyncio.Event()

    async def get(self, name: str) -> dict[str, Any] | None:
        value = await super().get(name)
        await self.give.wait()
        return value

    async def set(self, name: str, value: dict[str, Any]) -> None:
        await self.keep.wait()
        await super().set(name, value)


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


def beyond(path):
    return UpgradeRequired(path, code="upgrade_required", status=403, extras={"your_plan": "free"})


async def is_asked(breakers, path="countries"):
    try:
        async with breakers.permit(path):
            return True
    except (CircuitOpen, UpgradeRequired):
        return False


REFUSALS = {"quota": quota_exceeded(), "key": unauthorized(), "proxy": unauthorized(code=None)}
REFUSALS |= {path: beyond(path) for path in ("races", "deliveries")}
STORIES = {
    "closed at first": "asked",
    "quota stops all but usage": "quota free opens, not asked, account/usage asked",
    "a refusal is told once": "quota free opens, quota free again",
    "quota survives a restart": "quota free opens, restart, not asked",
    "another key closes both": "quota free opens, key free opens, other key, asked",
    "every hour of the first day": (
        "quota free opens, at 2025-12-01 00:00, asked, quota free again, not asked, at 2025-12-01 01:00, asked, "
        "at 2025-12-01 23:00, quota free again, at 2025-12-02 00:00, asked, "
        "quota free again, at 2025-12-22 00:00, not asked"
    ),
    "opened on the first of a month": (
        "at 2025-12-01 00:00, quota free opens, at 2025-12-01 23:00, not asked, at 2026-01-01 00:00, asked"
    ),
    "usage shows another plan": "quota free opens, answered complete, asked",
    "usage shows the plan as it was": "quota free opens, answered free, not asked",
    "usage shows no plan": "quota free opens, answered None, not asked",
    "opened before the plan was known": "quota None opens, answered free, not asked, answered live, asked",
    "quota closes at an admin's word for every replica": (
        "quota None opens, replica not asked, reset quota_exceeded, replica asked"
    ),
    "quota closes at an admin's word to another replica": "quota None opens, replica reset quota_exceeded, asked",
    "no other closes at an admin's word": "quota free opens, key free opens, replica reset quota_exceeded, not asked",
    "key closes at an admin's word for every replica": (
        "key None opens, replica not asked, reset unauthorized, replica asked"
    ),
    "key stops all, and no month closes it": "key None opens, at 2026-02-28 12:00, not asked, account/usage not asked",
    "bare 401 of a proxy": "proxy None again, asked",
    "plan stops what is beyond it": (
        "races free again, deliveries free again, asked, races not asked, deliveries not asked, "
        "answered free, races not asked, answered live, races asked, deliveries asked"
    ),
    "refusal under another plan ends those before": (
        "races free again, deliveries live again, races asked, deliveries not asked"
    ),
    "plan is known by its refusal alone": "races None again, races not asked, answered live, races asked",
}


@pytest.mark.parametrize("name", STORIES)
async def test_service_is_asked_as_the_story_says(store, now, breakers, name):
    replica = CircuitBreakers(store, now, KEY)
    for step in STORIES[name].split(", "):
        match step.split(" "):
            case [kind, plan, ("opens" | "again") as news]:
                opened = await breakers.refused(REFUSALS[kind], None if plan == "None" else plan, kind)
                assert opened is (news == "opens"), step
            case ["at", *moment]:
                now.now = datetime.fromisoformat(" ".join(moment)).replace(tzinfo=UTC)
            case ["answered", plan]:
                await breakers.answered(None if plan == "None" else plan)
            case [*who, "reset", code]:
                await (replica if who else breakers).reset(code)
            case ["restart"] | ["other", "key"]:
                breakers = CircuitBreakers(store, now, KEY if step == "restart" else SecretStr("sk_another"))
            case [*who, "asked"]:
                path = next((one for one in ("account/usage", *REFUSALS) if one in who), "countries")
                assert await is_asked(replica if "replica" in who else breakers, path) is ("not" not in who), step
            case _:
                raise AssertionError(step)


async def limit(breakers, wait_s):
    error = RateLimited("countries", code="rate_limited", status=429, retry_after_s=wait_s)
    return await breakers.refused(error, None, "countries")


@pytest.mark.parametrize("kept", [{}, {"held_until": None}, {"held_until": "soon"}, {"hold_s": None}])
async def test_unreadable_wait_holds_nobody(breakers, store, kept):
    store.values[Mark.LATCHES] = kept
    await breakers.open_now()
    assert breakers.held_s() == 0
    await limit(breakers, 40)
    assert breakers.held_s() == 40


@pytest.mark.parametrize("waits_s", [(200, 1), (1, 200)])
async def test_longer_of_two_waits_holds_every_replica(store, now, breakers, waits_s):
    for wait_s in waits_s:
        await limit(breakers, wait_s)
    replica = CircuitBreakers(store, now, KEY)
    await replica.open_now()
    assert replica.held_s() == 200


class FullDisk(Memory):
    async def set(self, name, value):
        raise StorageUnavailable("disk full")


async def test_wait_that_cant_be_stored_takes_no_refusals_place(now):
    assert await limit(CircuitBreakers(FullDisk(), now, KEY), 40) is False


async def test_open_breaker_names_the_refusal_and_stores_no_key(breakers, store):
    await breakers.refused(quota_exceeded(), "free", "countries")
    with pytest.raises(CircuitOpen) as caught:
        async with breakers.permit("countries"):
            pass
    assert (caught.value.code, caught.value.request_id) == ("quota_exceeded", "req_1")
    assert KEY.get_secret_value() not in str(store.values)


async def test_quota_breaker_lets_one_caller_ask_when_the_month_turns(breakers, now):
    await breakers.refused(quota_exceeded(), None, "countries")
    now.now = datetime(2025, 12, 1, tzinfo=UTC) - timedelta(seconds=1)
    assert not await is_asked(breakers)
    now.now += timedelta(seconds=1)
    async with breakers.permit("countries") as is_probe:
        breakers.recheck("countries", is_probe=is_probe)
        assert await is_asked(breakers, "account/usage")
        assert not await is_asked(breakers)
        await breakers.answered("free", is_probe=is_probe)
    assert await breakers.open_now() == ()


@pytest.mark.parametrize(("before", "meanwhile"), [(None, "quota"), ("quota", "key")], ids=["request", "probe"])
async def test_breaker_that_opens_during_a_wait_is_seen_after_it(breakers, now, before, meanwhile):
    if before:
        await breakers.refused(REFUSALS[before], None, "countries")
        now.now = datetime(2025, 12, 1, tzinfo=UTC)
    async with breakers.permit("countries") as is_probe:
        await breakers.refused(REFUSALS[meanwhile], None, "countries")
        with pytest.raises(CircuitOpen):
            breakers.recheck("countries", is_probe=is_probe)


@pytest.mark.parametrize("refusal", [quota_exceeded(), unauthorized()])
async def test_answer_to_what_was_asked_before_the_refusal_closes_nothing(breakers, refusal):
    async with breakers.permit("countries") as is_probe:
        await breakers.refused(refusal, "free", "countries")
        await breakers.answered("free", is_probe=is_probe)
    assert not await is_asked(breakers)


@pytest.mark.parametrize("order", ["give keep", "keep give", "write give keep", "write keep give"])
async def test_breaker_stays_open_while_it_is_being_stored(now, order):
    """A read and a write of the quota's breaker, begun and ended in each order: the value read may be the older."""
    store = SlowMemory()
    breakers = CircuitBreakers(store, now, KEY)
    both = [is_asked(breakers), breakers.refused(quota_exceeded(), "free", "countries")]
    *began, first, last = order.split()
    tasks = [asyncio.create_task(one) for one in (reversed(both) if began else both)]
    for end in (first, last):
        await asyncio.sleep(0)
        getattr(store, end).set()
        await asyncio.sleep(0)
    assert sorted(await asyncio.gather(*tasks)) == [False, True]
    assert not await is_asked(breakers)


@pytest.mark.parametrize("stored", [{}, {"code": 7}, {"code": "quota_exceeded", "key": "x", "since": "yesterday"}])
async def test_breaker_that_cannot_be_read_is_closed(breakers, store, stored):
    store.values[Mark.LATCHES] = {"breakers": {"quota_exceeded": stored}}
    assert await is_asked(breakers)
