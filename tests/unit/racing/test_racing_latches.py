import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from bot.racedata.client.latches import QUOTA, UNAUTHORIZED, Latches
from bot.racedata.client.service_errors import Latched, QuotaExceeded, Unauthorized

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
def latches(store, now):
    return Latches(store, now, KEY)


def quota_exceeded():
    return QuotaExceeded("countries", code="quota_exceeded", status=429, request_id="req_1")


def unauthorized(code="unauthorized"):
    return Unauthorized("countries", code=code, status=401)


async def is_open(latches, path="countries"):
    try:
        async with latches.gate(path):
            return True
    except Latched:
        return False


async def test_latches_are_open_at_first(latches):
    assert await is_open(latches)


async def test_quota_latch_names_the_refusal_and_leaves_usage_open(latches):
    assert await latches.refused(quota_exceeded(), "free")
    with pytest.raises(Latched) as caught:
        async with latches.gate("countries"):
            pass
    assert (caught.value.code, caught.value.request_id) == ("quota_exceeded", "req_1")
    assert await is_open(latches, "account/usage")


async def test_latch_is_reported_once(latches):
    assert await latches.refused(quota_exceeded(), "free")
    assert not await latches.refused(quota_exceeded(), "free")


async def test_quota_latch_survives_a_restart_and_stores_no_key(latches, store, now):
    await latches.refused(quota_exceeded(), "free")
    assert not await is_open(Latches(store, now, KEY))
    assert KEY.get_secret_value() not in str(store.values)


async def test_latches_open_with_another_key(latches, store, now):
    await latches.refused(quota_exceeded(), "free")
    await latches.refused(unauthorized(), "free")
    assert await is_open(Latches(store, now, SecretStr("sk_another")))


async def test_quota_latch_lets_one_caller_ask_when_the_month_turns(latches, now):
    await latches.refused(quota_exceeded(), "free")
    now.at = DECEMBER - timedelta(seconds=1)
    assert not await is_open(latches)
    now.at = DECEMBER
    async with latches.gate("countries") as leave:
        leave.recheck()
        assert not await is_open(latches)
        await latches.answered("free", finds_out=leave.finds_out)
    assert await is_open(latches)


async def test_quota_latch_asks_every_hour_of_the_first_day_when_the_turn_came_too_early(latches, now):
    await latches.refused(quota_exceeded(), "free")
    now.at = DECEMBER
    assert await is_open(latches)
    await latches.refused(quota_exceeded(), "free")
    assert not await is_open(latches)
    now.at += timedelta(hours=1)
    assert await is_open(latches)
    now.at = DECEMBER + timedelta(hours=24)
    await latches.refused(quota_exceeded(), "free")
    now.at += timedelta(days=20)
    assert not await is_open(latches)


async def test_quota_latch_shut_on_the_first_of_a_month_waits_for_the_next(latches, now):
    now.at = DECEMBER + timedelta(hours=5)
    await latches.refused(quota_exceeded(), "free")
    now.at = DECEMBER + timedelta(hours=23)
    assert not await is_open(latches)
    now.at = datetime(2026, 1, 1, tzinfo=UTC)
    assert await is_open(latches)


@pytest.mark.parametrize(("plan", "opens"), [("complete", True), ("free", False), (None, False)])
async def test_quota_latch_opens_when_usage_shows_another_plan(latches, plan, opens):
    await latches.refused(quota_exceeded(), "free")
    await latches.answered(plan)
    assert await is_open(latches) is opens


async def test_quota_latch_that_was_shut_before_the_plan_was_known_opens_when_it_changes(latches):
    await latches.refused(quota_exceeded(), None)
    await latches.answered("free")
    assert not await is_open(latches)
    await latches.answered("live")
    assert await is_open(latches)


@pytest.mark.parametrize(("used", "opens"), [(14_999, True), (15_000, False), (16_000, False)])
async def test_quota_latch_opens_when_usage_reads_below_the_allowance(latches, used, opens):
    await latches.refused(quota_exceeded(), "free")
    await latches.usage_reads(used, 15_000)
    assert await is_open(latches) is opens


@pytest.mark.parametrize(("refusal", "code"), [(quota_exceeded(), QUOTA), (unauthorized(), UNAUTHORIZED)])
async def test_latch_opens_at_an_admins_word_for_every_replica(latches, store, now, refusal, code):
    other = Latches(store, now, KEY)
    await latches.refused(refusal, None)
    assert not await is_open(other)
    await latches.open(code)
    assert await is_open(other)


async def test_unauthorized_latch_shuts_usage_too_and_no_month_opens_it(latches, now):
    await latches.refused(unauthorized(), None)
    now.at += timedelta(days=100)
    assert not await is_open(latches)
    assert not await is_open(latches, "account/usage")


async def test_bare_401_of_a_proxy_latches_nothing(latches):
    assert not await latches.refused(unauthorized(code=None), None)
    assert await is_open(latches)


async def test_latch_that_shuts_during_a_wait_is_seen_after_it(latches):
    async with latches.gate("countries") as leave:
        await latches.refused(quota_exceeded(), None)
        with pytest.raises(Latched):
            leave.recheck()


@pytest.mark.parametrize("refusal", [quota_exceeded(), unauthorized()])
async def test_answer_to_what_was_asked_before_the_refusal_opens_nothing(latches, refusal):
    async with latches.gate("countries") as leave:
        await latches.refused(refusal, "free")
        await latches.answered("free", finds_out=leave.finds_out)
    assert not await is_open(latches)


async def test_latch_stays_shut_while_it_is_being_stored(now):
    store = SlowMemory()
    latches = Latches(store, now, KEY)
    reading = asyncio.create_task(is_open(latches))
    await store.read.wait()
    refused = asyncio.create_task(latches.refused(quota_exceeded(), "free"))
    await asyncio.sleep(0)
    store.go_on.set()
    assert not await reading
    assert await refused
    assert not await is_open(latches)


@pytest.mark.parametrize("stored", [{}, {"code": 7}, {"code": "quota_exceeded", "key": "x", "since": "yesterday"}])
async def test_latch_that_cannot_be_read_is_open(latches, store, stored):
    store.values["racing.latch.quota_exceeded"] = stored
    assert await is_open(latches)
