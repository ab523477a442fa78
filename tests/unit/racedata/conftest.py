"""A stand-in for the client of the data service: its own lists, the real walk, and a record of the requests."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from bot.racedata.client.calls import AccountState
from bot.racedata.client.cursor_walk import walk
from bot.racedata.client.records import AnyPage, CountryPage, CoursePage, Meta, RacePage
from bot.racedata.client.service_errors import InvalidParam, ServiceFailure, ServiceUnreachable
from bot.racedata.race_book import RaceBook
from tests.unit.pages import settings
from tests.unit.racedata.scripted_service import Memory, Scripted, SleepClock

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = START.date()


class FakeTime:
    """A clock set by hand."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def pass_(self, **units):
        self.now += timedelta(**units)


class FakeBreakers:
    """Notes the resets. `open`: codes."""

    def __init__(self):
        self.reset_codes = []
        self.open = []

    async def open_now(self):
        return [SimpleNamespace(code=code) for code in self.open]

    async def reset(self, code):
        self.reset_codes.append(code)


@dataclass
class FakeClient:
    """Lists races in order of date and id, by pages, and answers or raises by script."""

    races: list[Any] = field(default_factory=list)
    newest_first: bool = False
    page_size: int = 3
    meta: dict[str, Any] = field(
        default_factory=lambda: {"plan": "free", "window": "2017 → upcoming", "data_as_of": "as of"}
    )
    failure: Exception | None = None
    fail_after: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    cursor_mark: str = "/"
    """Cursors with another mark are refused."""
    held_after: int | None = None
    held: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    state: AccountState = field(default_factory=AccountState)
    breakers: FakeBreakers = field(default_factory=FakeBreakers)
    trouble: ServiceFailure = field(
        default_factory=lambda: ServiceUnreachable("races/search", message="silent", may_have_arrived=True)
    )

    def held_up(self):
        return self.trouble

    def hold(self, after=0):
        """Let pages beyond `after` come only after `go_on`."""
        self.held_after = after

    async def races_page(self, region=None, limit=200, cursor=None):
        if self.held_after is not None and len(self.asked) >= self.held_after:
            self.held.set()
            await self.go_on.wait()
        self.asked.append((region, cursor))
        if self.failure and len(self.asked) > self.fail_after:
            raise self.failure
        if cursor and not cursor.endswith(self.cursor_mark):
            raise InvalidParam("races/search", code="invalid_param", status=422)
        mine = [race for race in self.races if region is None or race.get("region", region) == region]
        ordered = sorted(mine, key=_place, reverse=self.newest_first)
        if cursor:
            after = tuple(cursor.split("/")[:2])
            ordered = [
                race for race in ordered if (_place(race) < after if self.newest_first else _place(race) > after)
            ]
        page, more = ordered[: self.page_size], len(ordered) > self.page_size
        meta = Meta(
            **self.meta, has_more=more, next_cursor="/".join(_place(page[-1])) + self.cursor_mark if more else None
        )
        return RacePage.model_validate({"meta": meta, "data": page})

    def walk_races(self, region=None, limit=200, cursor=None, trail=None):
        async def fetch(cursor):
            return await self.races_page(region, limit, cursor)

        return walk("races/search", fetch, cursor, trail)

    def in_one_try(self):
        return self

    def in_background(self):
        self.asked.append("in background")
        return self

    def for_upkeep(self):
        return self

    async def read_path(self, template, **values):
        data = await self._answer(template.format(**values))
        return AnyPage(meta=Meta(**self.meta), data=data)

    async def countries(self):
        return CountryPage.model_validate({"meta": Meta(), "data": await self._answer("countries")})

    async def courses(self):
        return CoursePage.model_validate({"meta": Meta(), "data": await self._answer("courses")})

    async def reference(self):
        return AnyPage(meta=Meta(), data=await self._answer("reference"))

    async def usage(self, by=None):
        return AnyPage(meta=Meta(**self.meta), data=await self._answer(f"usage by {by}"))

    async def usage_by_day(self):
        try:
            return await self.usage("day")
        except InvalidParam:
            return await self.usage()

    async def _answer(self, name):
        self.asked.append(name)
        answer = self.answers[name]
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer


def _place(race):
    return str(race.get("date") or race.get("filed_under")), race["race_id"]


def make_race(race_id, day, region="GB", course="Ascot", **fields):
    """A race record in a possible shape of the service."""
    return {"race_id": race_id, "date": day, "region": region, "course": course, **fields}


def make_days(first, last, each=1, **fields):
    """`each` races on every day from the first to the last, given as days from today."""
    return [
        make_race(f"r{offset + 5000:05}-{number}", (TODAY + timedelta(days=offset)).isoformat(), **fields)
        for offset in range(first, last + 1)
        for number in range(each)
    ]


def from_today(offset):
    """A day, counted from today."""
    return date.fromordinal(TODAY.toordinal() + offset)


@pytest.fixture
def clock():
    return FakeTime()


@pytest.fixture
def client():
    return FakeClient()


@dataclass
class FakeQuota:
    """`left`: before the client's first request."""

    client: FakeClient
    left: int | None = None

    async def staleness_s(self):
        return 900

    async def commands_left(self):
        return None if self.left is None else max(0, self.left - len(self.client.asked))

    async def held_back(self, path, purpose):
        return None


@pytest.fixture
def quota(client):
    return FakeQuota(client)


@pytest.fixture
async def make_book(database, client, clock, quota):
    made = []

    def make(**paths):
        made.append(RaceBook(database, client, clock, quota, settings(**paths)))
        return made[-1]

    yield make
    for book in made:
        await book.aclose()


def titles(card):
    return [race.race_id for meeting in card.meetings for race in meeting.races]


@pytest.fixture
def service():
    return Scripted()


@pytest.fixture
def sleep_clock():
    return SleepClock()


@pytest.fixture
def store():
    return Memory()


@pytest.fixture
def open_racing(service, sleep_clock, store):
    """Opens clients of the scripted service on one store: a restarted bot, or a replica."""
    return partial(service.client, store, sleep_clock)


@pytest.fixture
def racing(open_racing):
    return open_racing()
