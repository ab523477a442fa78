"""The circuit breakers of the quota, the key and the plan: when the data service is asked, and when it is not."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from bot.racedata.client.circuit_breakers import CircuitBreakers, row_name
from bot.racedata.client.headers import RateReading
from bot.racedata.client.service_errors import (
    CircuitOpen,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    UnknownRefusal,
    UpgradeRequired,
)
from tests.rows import over
from tests.unit.racedata.scripted_service import KEY as RECOGNISABLE
from tests.unit.racedata.scripted_service import Memory

KEY = SecretStr(RECOGNISABLE)
NOON = datetime(2025, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def now(clock):
    clock.now = NOON
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
        await breakers.take(path, background=False)
    except (CircuitOpen, UpgradeRequired):
        return False
    breakers.in_flight = 0
    return True


REFUSALS = {"quota": quota_exceeded(), "key": unauthorized(), "proxy": unauthorized(code=None)}
REFUSALS |= {path: beyond(path) for path in ("races", "deliveries")}
STORIES = {
    "closed at first": "asked",
    "quota stops all but usage": "quota free opens, not asked, account/usage asked",
    "a refusal is told once": "quota free opens, quota free again",
    "quota survives a restart": "quota free opens, restart, not asked",
    "no key changes another's breakers": (
        "quota free opens, other key, asked, reset quota_exceeded, restart, not asked, "
        "key free opens, other key, asked, restart, account/usage not asked"
    ),
    "every hour of the first day": (
        "quota free opens, at 2025-12-01 00:00, asked, quota free again, not asked, at 2025-12-01 01:00, asked, "
        "at 2025-12-01 23:00, quota free again, at 2025-12-02 00:00, asked, "
        "quota free again, at 2025-12-22 00:00, not asked"
    ),
    "opened on the first of a month": (
        "at 2025-12-01 00:00, quota free opens, at 2025-12-01 23:00, not asked, at 2026-01-01 00:00, asked"
    ),
    "opened before the clock was set back": (
        "at 2026-01-20 12:00, quota free opens, at 2025-11-20 12:00, asked, quota free again, not asked, "
        "at 2025-12-01 00:00, asked"
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


@over("name", STORIES)
async def test_service_is_asked_as_the_story_says(now, name):
    store, now.now = Memory(), NOON
    breakers, replica = (CircuitBreakers(store, now, KEY) for _ in range(2))
    for step in STORIES[name].split(", "):
        match step.split(" "):
            case [kind, plan, ("opens" | "again") as news]:
                opened = await breakers.refused(REFUSALS[kind], None if plan == "None" else plan, kind)
                assert opened is (news == "opens"), step
            case ["at", *moment]:
                now.now = datetime.fromisoformat(" ".join(moment)).replace(tzinfo=UTC)
            case ["answered", plan]:
                await breakers.answered(None if plan == "None" else plan, "account/usage")
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


async def wait_s(breakers):
    return await breakers.take("countries", background=False)


@pytest.mark.parametrize(
    ("kind", "code", "status", "waits_s"),
    [
        (RateLimited, "rate_limited", 429, 40),
        (RateLimited, "rate_limited", 200, 40),
        (UnknownRefusal, "slow_down", 429, 40),
        (UnknownRefusal, "teapot", 418, 0),
        (QuotaExceeded, "quota_exceeded", 429, 0),
    ],
)
async def test_each_429_but_a_spent_quota_holds_all_requests(*, breakers, kind, code, status, waits_s):
    await breakers.refused(kind("countries", code=code, status=status, retry_after_s=40), None, "countries")
    assert await breakers.take("account/usage", background=False) == waits_s


@pytest.mark.parametrize("pace", [{}, {"held_until": None}, {"held_until": "soon"}, {"hold_s": None}])
async def test_unreadable_wait_holds_nobody(breakers, store, pace):
    store.values[row_name(KEY)] = {"pace": pace}
    assert await wait_s(breakers) == 0
    await limit(breakers, 40)
    assert await wait_s(breakers) == 40


async def test_only_a_request_that_is_sent_takes_of_the_minute(breakers):
    await breakers.refused(beyond("races"), "free", "races")
    await breakers.answered("free", "countries", RateReading(60, 15, 120, 60.0))
    for _ in range(20):
        assert not await is_asked(breakers, "races")
        assert await breakers.take("countries", background=True)
    waits = []
    for _ in range(12):
        waits.append(await wait_s(breakers))
        breakers.in_flight = 0
    assert waits.count(0) == 9


async def test_answer_counts_the_other_requests_in_flight(breakers, store):
    def pace():
        kept = store.values[row_name(KEY)]["pace"]
        return kept["left"], kept["others"]

    await breakers.answered("free", "countries", RateReading(60, 59, 120, 60.0))
    assert pace() == (59, False)
    assert [await wait_s(breakers) for _ in range(3)] == [0, 0, 0]
    await breakers.answered("free", "countries", RateReading(60, 57, 180, 60.0))
    assert pace() == (55, False)


async def test_open_breaker_names_the_refusal_and_stores_no_key(breakers, store):
    await breakers.refused(quota_exceeded(), "free", "countries")
    with pytest.raises(CircuitOpen) as caught:
        await breakers.take("countries", background=False)
    assert (caught.value.code, caught.value.request_id) == ("quota_exceeded", "req_1")
    assert KEY.get_secret_value() not in str(store.values)


async def test_one_request_finds_out_when_the_month_turns(breakers, now):
    await breakers.refused(quota_exceeded(), None, "countries")
    now.now = datetime(2025, 12, 1, tzinfo=UTC) - timedelta(seconds=1)
    assert not await is_asked(breakers)
    now.now += timedelta(seconds=1)
    assert [await wait_s(breakers) for _ in range(2)] == [0, None]
    await breakers.answered("free", "account/usage")
    assert await breakers.open_now()
    await breakers.answered("free", "countries")
    assert await breakers.open_now() == ()


@pytest.mark.parametrize("refusal", [quota_exceeded(), unauthorized()])
async def test_answer_to_what_was_asked_before_the_refusal_closes_nothing(breakers, refusal):
    assert await is_asked(breakers)
    await breakers.refused(refusal, "free", "countries")
    await breakers.answered("free", "countries")
    assert not await is_asked(breakers)


@pytest.mark.parametrize("stored", [{}, {"code": 7}, {"code": "quota_exceeded", "since": "yesterday"}])
async def test_breaker_that_cannot_be_read_is_closed(breakers, store, stored):
    store.values[row_name(KEY)] = {"breakers": {"quota_exceeded": stored}}
    assert await is_asked(breakers)
