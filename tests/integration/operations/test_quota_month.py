"""Months of quota by the test's clock: two replicas that restart and die, and the data service's stand-in.

The admins' channel is compared as a whole: each warning once, in order, and nothing more.
"""

import asyncio
import re
import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.db.named_values import DatabaseStateStore
from bot.operations.jobs.job import Job
from bot.operations.jobs.scheduler import Jobs
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.self_notices import SelfNotices
from bot.ports import Ports
from bot.racedata import quota_book
from bot.racedata.client.calls import Hooks, Timing
from bot.racedata.client.service_client import RacingClient, open_client
from bot.racedata.client.service_errors import ServiceFailure, Spared
from bot.racedata.month_quota import Purpose
from bot.racedata.quota_book import QuotaBook
from sandbox.racing_service import RacingService, Switches
from tests.clock import now, set_ahead
from tests.said import ALL_CLEAR, NOTE, URGENT, WARNING, level_and_words
from tests.unit.pages import settings

KEY = "sk_of_a_test_0123456789"
EVERY_S = 86_400
SETTINGS = settings(racing_api_key=KEY)
SATURDAY = 5


class Killed(BaseException):
    """Ends a process in the middle of a run."""


class DyingBook(QuotaBook):
    """The quota book of a process killed between the reading and the warning."""

    async def by_endpoint(self):
        raise Killed


@dataclass
class Replica:
    """A process of the bot, with the quota's parts alone."""

    client: RacingClient
    book: QuotaBook
    check: QuotaCheck
    jobs: Jobs

    async def run(self) -> bool:
        """Whether the replica got the slot."""
        return await self.jobs.run(Job("check_quota", "Quota read", EVERY_S, self.check.run))


@dataclass
class World:
    """The stand-in, two replicas on one database, and the admins' channel, at the test's moment."""

    pipeline: Any
    service: RacingService
    now: datetime
    http: httpx.AsyncClient
    replicas: list[Replica] = field(default_factory=list)
    deaths: int = 0

    def clock(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    def start(self, *, dies: bool = False) -> Replica:
        """A new process."""
        database, notices = self.pipeline.database, self.pipeline.notices
        telling = SelfNotices(database, notices, self.clock, asyncio.Event())

        async def sleep(_seconds: float) -> None:
            await asyncio.sleep(0)

        async def held_back(path: str, purpose: Purpose) -> ServiceFailure | None:
            return await book.held_back(path, purpose)

        client = open_client(
            "https://api.example.com/v1",
            SecretStr(KEY),
            DatabaseStateStore(database, self.clock),
            http=self.http,
            timing=Timing(self.clock, self.seconds, sleep, lambda: 1.0),
            hooks=Hooks(on_meta=telling.account, on_circuit_open=telling.circuit_open, held_back=held_back),
        )
        book = QuotaBook(database, client, SETTINGS, self.clock)
        told_by = DyingBook(database, client, SETTINGS, self.clock) if dies else book
        check = QuotaCheck(told_by, notices, database, SETTINGS, self.clock)
        jobs = Jobs(
            (),
            database,
            self.clock,
            wall=Ports().wall,
            monotonic=self.seconds,
            token=secrets.token_hex,
            tell_undone=telling.job_undone,
        )
        return Replica(client, book, check, jobs)

    async def tick(self, *, dies: bool = False) -> None:
        """A slot. The first replica may die in the middle; then the second has the next slot."""
        first, second = self.replicas
        await set_ahead(self.pipeline.database, self.now - now())
        if dies:
            first = self.replicas[0] = self.start(dies=True)
        try:
            taken = [await first.run(), await second.run()]
            assert taken.count(True) <= 1
        except Killed:
            self.deaths += 1
            self.replicas[0] = self.start()
        await set_ahead(self.pipeline.database, timedelta())

    async def day(self, requests: int, *, errors: int = 0, dies: bool = False) -> None:
        """A day of other programs' use, read once. The replicas take turns to be first, and one of them restarts."""
        self.service.spend_quota(requests, errors=errors)
        self.now += timedelta(hours=12)
        await self.tick(dies=dies)
        self.now += timedelta(hours=12)
        self.replicas = [self.start(), self.replicas[0]]

    async def days(self, until: datetime, requests: int) -> None:
        """Days up to a moment, of so many requests each, twice as many at the weekend. Each third day one dies."""
        while self.now < until:
            await self.day(requests * (2 if self.now.weekday() >= SATURDAY else 1), dies=self.now.day % 3 == 0)

    async def spend(self, requests: int) -> None:
        """Commands of the bot make so many requests."""
        spend = partial(quota_book.spend, requests=requests, now=self.now, by_commands=requests)
        await self.pipeline.database.write(spend)

    async def said(self) -> list[str]:
        """The messages of the admins' channel."""
        self.pipeline.clock.catch_up()
        await self.pipeline.post_all()
        return list(self.pipeline.texts("CADMIN"))


@pytest.fixture
async def make_world(pipeline):
    async with AsyncExitStack() as opened:

        async def make(start: datetime, usage: Any = "rows") -> World:
            service = await opened.enter_async_context(
                RacingService(start.date(), api_key=KEY, switches=Switches(usage=usage))
            )
            http = httpx.AsyncClient(transport=httpx.ASGITransport(service.app))
            world = World(pipeline, service, start, await opened.enter_async_context(http))
            service.clock = world.clock
            world.replicas = [world.start(), world.start()]
            return world

        yield make


def at(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def gist(text: str) -> str:
    """The level, the first words, and the month and percentage, if any."""
    level, words = level_and_words(text)
    lead = re.match(r"([^.]+?)[.:;]", words)
    figures = re.search(r"\((\d+)%\)", text)
    month = re.search(r"quota for (\d{4}-\d{2})", text)
    return level + " | ".join(
        [lead[1] if lead else words, *([month[1]] if month else []), *([figures[1]] if figures else [])]
    )


async def test_each_warning_is_told_once_over_a_month_and_a_year(make_world):
    world = await make_world(at(2026, 11, 26))
    world.service.spend_quota(12_600)
    await world.days(at(2026, 12, 1), 200)
    await world.days(at(2026, 12, 10), 350)
    await world.days(at(2027, 1, 1), 445)
    await world.days(at(2027, 1, 4), 300)
    assert [gist(text) for text in await world.said()] == [
        f"{WARNING}Running low | 2026-11 | 85",
        f"{ALL_CLEAR}A new month has begun | 2",
        f"{NOTE}May not last | 2026-12 | 28",
        f"{WARNING}Not expected to last | 2026-12 | 43",
        f"{NOTE}The data service's quota for 2026-12 | 2026-12 | 52",
        f"{WARNING}Running low | 2026-12 | 85",
        f"{WARNING}Almost used up | 2026-12 | 99",
        f"{URGENT}Used up | 2026-12 | 102",
        f"{ALL_CLEAR}A new month has begun | 2",
    ]
    assert world.deaths >= 2


async def test_forecast_is_told_from_a_quarter_of_the_allowance_on(make_world):
    world = await make_world(at(2026, 11, 25))
    await world.days(at(2026, 12, 6), 627)
    assert [gist(text) for text in await world.said()] == [f"{WARNING}Not expected to last | 2026-12 | 25"]


@pytest.mark.parametrize("usage", ["rows", "period"])
async def test_warnings_are_the_same_in_whatever_words_usage_comes(make_world, usage):
    world = await make_world(at(2026, 11, 20), usage)
    world.service.spend_quota(7_000)
    await world.days(at(2026, 11, 30), 700)
    assert [gist(text) for text in await world.said()] == [
        f"{NOTE}The data service's quota for 2026-11 | 2026-11 | 51",
        f"{WARNING}Running low | 2026-11 | 84",
        f"{URGENT}Used up | 2026-11 | 102",
    ]


async def test_plan_that_changes_with_each_answer_is_told_once_a_day(make_world):
    world = await make_world(at(2026, 11, 1))
    world.service.spend_quota(20_000)
    account, used_up = f"{NOTE}The data service now serves us under the plan", f"{URGENT}Used up | 2026-11 | 133"
    over = f"{ALL_CLEAR}The data service has requests left for this month again"
    of_days = (
        [f"{account} free (window 2026 → upcoming)", used_up, over, used_up],
        [f"{account} live (window 2025 → upcoming)", over, used_up],
        [f"{account} free (window 2026 → upcoming)", over, used_up],
    )
    told = 0
    for day, of_day in enumerate(of_days):
        world.now = at(2026, 11, 1) + timedelta(days=day)
        for plan in ["live", "free"] * 4:
            world.service.set_plan(plan)
            await world.replicas[0].check.run()
            world.now += timedelta(minutes=15)
            world.pipeline.clock.forward(900)
        said = [gist(text) for text in await world.said()]
        assert sorted(said[told:]) == sorted(of_day)
        told = len(said)


async def test_plan_that_changes_up_and_down_is_told_and_counts_anew(make_world):
    world = await make_world(at(2026, 11, 1))
    await world.days(at(2026, 11, 5), 2_000)
    world.service.set_plan("live")
    await world.days(at(2026, 11, 8), 2_000)
    world.service.set_plan("free")
    await world.days(at(2026, 11, 10), 0)
    world.service.set_plan("archive")
    await world.days(at(2026, 11, 12), 60_000)
    said = await world.said()
    assert [gist(text) for text in said] == [
        f"{NOTE}The data service's quota for 2026-11 | 2026-11 | 66",
        f"{NOTE}The data service now serves us under the plan live (window 2025 → upcoming)",
        f"{NOTE}The data service now serves us under the plan free (window 2026 → upcoming)",
        f"{URGENT}Used up | 2026-11 | 120",
        f"{NOTE}The data service now serves us under the plan archive (window 2017 → today)",
        f"{ALL_CLEAR}The data service has requests left for this month again",
        f"{NOTE}The data service's quota for 2026-11 | 2026-11 | 52",
        f"{WARNING}Running low | 2026-11 | 92",
    ]
    assert "The plan allows 250,000 requests a month; before, 15,000." in said[1]


async def test_room_that_the_last_tier_leaves_unspent_is_no_all_clear(make_world):
    """The published use goes up and down by less than a hundredth: two machines of the service may answer."""
    world = await make_world(at(2026, 11, 20))
    for used in (15_000, 14_900, 15_000, 14_900, 2_000):
        world.service.set_used(used)
        await world.day(0)
    assert [gist(text) for text in await world.said()] == [
        f"{URGENT}Used up | 2026-11 | 100",
        f"{ALL_CLEAR}The data service has requests left for this month again",
    ]


async def test_usage_that_gives_no_answer_for_days_is_told_by_the_jobs_and_nothing_is_missed(make_world):
    world = await make_world(at(2026, 11, 20))
    world.service.spend_quota(7_000)
    await world.days(at(2026, 11, 21), 100)
    world.service.fail_next("/account/usage", "server_error", 1_000)
    await world.days(at(2026, 11, 25), 1_500)
    world.service.heal()
    await world.days(at(2026, 11, 27), 100)
    said = await world.said()
    assert [gist(text) for text in said] == [
        f"{WARNING}This was not done since 2026-11-20 12",
        f"{URGENT}Used up | 2026-11 | 108",
    ]


async def test_errors_that_jump_are_told_once_a_day(make_world):
    world = await make_world(at(2026, 11, 1))
    for errors in (10, 9, 12, 8, 11, 10, 9, 12, 400, 10):
        await world.day(300, errors=errors)
    (told,) = await world.said()
    assert told.startswith(f"{WARNING}The data service counts unusually many errors of this key: 400 today (UTC)")


async def test_last_of_the_month_is_spent_on_what_people_ask_for_and_then_on_nothing(make_world):
    world = await make_world(at(2026, 11, 20))
    client = world.replicas[0].client
    outcomes = []
    for used in (14_000, 300, 600):
        world.service.spend_quota(used)
        await world.replicas[0].book.read()
        outcomes.append((await outcome(client.for_upkeep().countries()), await outcome(client.countries())))
    assert outcomes == [("asked", "asked"), ("spared", "asked"), ("spared", "spared")]
    used = world.service.used
    reading = await world.replicas[0].book.read("endpoint")
    assert (reading.used, world.service.used) == (used, used)
    assert await world.replicas[0].book.commands_left() == 0
    world.now = at(2026, 12, 1)
    assert await outcome(client.for_upkeep().countries()) == "asked"


@pytest.mark.parametrize("usage", ["rows", "period"])
async def test_month_of_the_service_that_turns_before_utcs_is_a_month_of_its_own(make_world, usage):
    world = await make_world(at(2026, 11, 18), usage)
    world.service.clock = lambda: world.clock() + timedelta(hours=11)
    await world.days(at(2026, 11, 29), 10)
    world.service.spend_quota(14_300)
    await world.spend(4_000)
    await world.day(0)
    world.service.fail_next("/countries", "quota_exceeded")
    for replica in world.replicas:
        with pytest.raises(ServiceFailure, match="quota_exceeded"):
            await replica.client.countries()
    world.now = at(2026, 11, 30) + timedelta(hours=14)
    world.service.spend_quota(10)
    await world.tick()
    reading = await world.replicas[0].book.latest()
    assert (reading.month, reading.used, reading.certain, reading.expected) == ("2026-12", 10, True, None)
    await world.spend(40)
    assert await world.replicas[0].book.commands_left() == 14_990 // 4 - 40
    assert await outcome(world.replicas[0].client.for_upkeep().countries()) == "asked"
    await world.days(at(2026, 12, 3), 100)
    assert [gist(text) for text in await world.said()] == [
        f"{WARNING}Almost used up | 2026-11 | 96",
        f"{URGENT}This month's allowance of requests is used up",
        f"{ALL_CLEAR}A new month has begun | 0",
    ]


async def outcome(asking: Any) -> str:
    try:
        await asking
    except Spared:
        return "spared"
    return "asked"


async def test_refusal_is_told_at_once_and_the_turn_of_the_month_after_a_refusal(make_world):
    world = await make_world(at(2026, 12, 30))
    world.service.fail_next("/account/usage", "server_error", 1_000)
    world.service.spend_quota(15_000)
    for replica in world.replicas:
        with pytest.raises(ServiceFailure, match="quota_exceeded"):
            await replica.client.countries()
    (told,) = await world.said()
    assert told.startswith(f"{URGENT}This month's allowance of requests is used up.")
    world.service.heal()
    world.now = at(2027, 1, 1)
    world.service.fail_next("/countries", "quota_exceeded")
    with pytest.raises(ServiceFailure, match="quota_exceeded"):
        await world.replicas[0].client.countries()
    await world.days(at(2027, 1, 3), 100)
    assert len(await world.said()) == 1
    assert await outcome(world.replicas[0].client.countries()) == "asked"
    await world.days(at(2027, 1, 5), 100)
    assert [gist(text) for text in (await world.said())[1:]] == [f"{ALL_CLEAR}A new month has begun | 3"]
    assert await outcome(world.replicas[0].client.countries()) == "asked"
