"""The data service in an outage: the given-up deliveries, their repair, and how often each event is then told."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import func, select
from sqlmodel import col
from starlette.requests import Request
from starlette.responses import JSONResponse

from bot.db.named_values import DatabaseStateStore
from bot.db.tables import EventVersion, OutboxMessage
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind, Topic
from bot.operations.repair.repair_run import Bounds, Repair
from bot.racedata.client.calls import Timing
from bot.racedata.client.service_client import open_client
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from sandbox.racing_service import RacingService, Switches
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.event_payloads import Happening, race_record
from tests.integration.pipeline.conftest import (  # noqa: F401  fixtures of this folder too
    pytest_asyncio_loop_factories,
    slack,
    slack_session,
    sqlite_database,
)

ADDRESS = "http://127.0.0.1:9/v1"
LIST = "/webhooks/deliveries"
TAKEN = {"CGB": "GB", "CIRE": "IRE", "CALL": "*"}
OUR_ANSWER = '{"error": "not stored; send it again"}'
SETTINGS: Any = SimpleNamespace(monthly_quota=None, command_quota_share=25, racing_day_path=None, racing_race_path=None)


class Killed(BaseException):
    """Ends a process in the middle of a run: nothing later is carried out."""


@dataclass
class Outage:
    """The data service, whose deliveries reach nobody: half of the tries are answered 503, half are not."""

    now: datetime
    service: RacingService = field(init=False)
    http: httpx.AsyncClient = field(init=False)
    answers: list[int | None] = field(default_factory=lambda: [503, None])
    waited_s: float = 0.0
    opened: list[Any] = field(default_factory=list)
    client: Any = None
    quota: Any = None
    change_list: Callable[[Any, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    """Changes a page of records; gets the page and the cursor of the request."""

    def refuse(self, request: httpx.Request) -> httpx.Response:
        status = self.answers[0]
        self.answers.append(self.answers.pop(0))
        if status is None:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(status, text=OUR_ANSWER)

    async def lose(self, *happened: list[Delivery]) -> list[Delivery]:
        """The events happen, are tried once, and are given up."""
        deliveries = [delivery for some in happened for delivery in some]
        await self.service.deliver_due(self.now)
        assert {one.status for one in deliveries} == {"failed"}
        return deliveries

    async def lose_stranger(self, race_id: str = "rc_nobody1") -> Delivery:
        """The service gives up the abandonment of an unknown race, and the record has no payload."""
        happening = Happening("race.abandoned", "GB", race_id, "mt_nobody", {"race": {"race_id": race_id}})
        (delivery,) = await self.lose(self.service.delivery_queue.add(happening, self.now))
        delivery.shape = "bare"
        return delivery

    async def lose_several(self, hours_ago: float = 30) -> list[Delivery]:
        """Seven events of all four kinds, with records of every shape: bare, listed, and with the payload."""
        service, now = self.service, self.now
        self.now -= timedelta(hours=hours_ago)
        (first, second, *_), (irish, *_) = (service.racing.meetings(self.now.date(), one) for one in ("GB", "IRE"))
        deliveries = await self.lose(
            *(service.settle(race.race_id) for race in first.races[:2]),
            *(service.abandon_race(race.race_id, "Frozen track") for race in first.races[2:4]),
            service.abandon_meeting(second.meeting_id, "Waterlogged"),
            service.settle(irish.races[1].race_id),
            service.publish("racecard.published", irish),
        )
        for number, one in enumerate(deliveries):
            one.shape = ("bare", "listed", "counted")[number % 3]
        self.now = now
        return deliveries

    def make_repair(self, pipeline, *, database=None, read=read_payload, bounds=None, hooks=None, **paths) -> Repair:
        async def wait(seconds: float) -> None:
            self.waited_s += seconds

        store = DatabaseStateStore(pipeline.database, pipeline.clock)
        timing = Timing(pipeline.clock, lambda: self.waited_s, wait, lambda: 0.5)
        self.client = open_client(ADDRESS, SecretStr(self.service.api_key), store, timing, http=self.http, hooks=hooks)
        self.quota = QuotaBook(pipeline.database, self.client, SETTINGS, pipeline.clock)
        chosen: Any = SimpleNamespace(**vars(SETTINGS) | paths)
        races = RaceBook(pipeline.database, self.client, pipeline.clock, self.quota, chosen)
        self.opened.extend([races, self.client])
        return Repair(
            database or pipeline.database,
            self.client,
            quota_book=self.quota,
            races=races,
            fanout=pipeline.fanout,
            reopening=pipeline.reopening,
            notices=pipeline.notices,
            read_payload=read,
            clock=pipeline.clock,
            wake=asyncio.Event(),
            bounds=bounds or Bounds(),
        )

    async def app(self, scope, receive, send) -> None:
        """The service, with a path of one race beside the specified paths (Spec gap G9)."""
        service, path = self.service, scope["path"]
        if path == "/v1/webhooks/deliveries" and self.change_list is not None:
            request = Request(scope)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app), base_url="http://service") as http:
                cursor = request.query_params.get("cursor", "")
                asked = {"status": "failed"} | ({} if cursor.startswith("c") else dict(request.query_params))
                answer = await http.get(path, params=asked, headers={"X-API-Key": service.api_key})
            page = await self.change_list(cursor, answer.json())
            await JSONResponse(page, headers={"X-Request-Id": "r"})(scope, receive, send)
        elif path.startswith("/v1/race/"):
            race = service.racing.race(path.removeprefix("/v1/race/"))
            record = race_record(race, service.racing.state(race), "nested")
            await JSONResponse({"meta": {"plan": "free"}, "data": record})(scope, receive, send)
        else:
            await service.app(scope, receive, send)

    def label(self, delivery: Delivery) -> str:
        """How messages call the race, or the abandoned meeting, of a delivery."""
        happening, racing = delivery.happening, self.service.racing
        if happening.event == "meeting.abandoned":
            meeting = racing.meeting(happening.meeting_id)
            states = [racing.state(race).status for race in meeting.races]
            part = "part of the" if states[-1] == "result" else "rest of the" if "result" in states else "whole"
            return f"{meeting.course.name}, {part} meeting"
        race = racing.race(happening.race_id or "")
        return f"{race.course.name} {race.off_time}"


@asynccontextmanager
async def outage_at(now: datetime) -> AsyncIterator[Outage]:
    outage = Outage(now)
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(outage.refuse)) as client,
        RacingService(
            now.date(),
            clock=lambda: outage.now,
            delivery_client=client,
            switches=Switches(retry_gaps_s=(), payload="nested"),
            days_back=2,
            days_ahead=2,
        ) as outage.service,
        httpx.AsyncClient(transport=httpx.ASGITransport(outage.app)) as outage.http,
    ):
        outage.service.subscribe("https://bot.example.com/webhooks/racing", frozenset(EventKind))
        yield outage
        for one in outage.opened:
            await one.aclose()


class Dying:
    """The database of a process that dies after a number of stored versions."""

    def __init__(self, database, versions: int) -> None:
        self.database, self.versions, self.read = database, versions, database.read

    async def write(self, work):
        result = await self.database.write(work)
        if await self.read(lambda session: len(session.execute(select(col(EventVersion.id))).all())) >= self.versions:
            raise Killed
        return result


async def count(pipeline, table) -> int:
    statement = select(func.count()).select_from(table)
    found: int = await pipeline.database.read(lambda session: session.execute(statement).scalar_one())
    return found


def takes(channel_id: str, delivery: Delivery) -> bool:
    return TAKEN[channel_id] in {"*", delivery.happening.region}


def shown(pipeline, channel_id: str) -> list[str]:
    return [f"{one.text}\n{json.dumps(one.blocks, ensure_ascii=False)}" for one in pipeline.slack.messages(channel_id)]


def summary_has_each_once(pipeline, outage: Outage, channel_id: str, deliveries: list[Delivery]) -> None:
    """The channel has a single summary, with each event once, the abandonments first."""
    (summary,) = shown(pipeline, channel_id)
    text, _, blocks = summary.partition("\n")
    taken = [one for one in deliveries if takes(channel_id, one)]
    by_kind = Counter(one.happening.event for one in taken)
    lost = by_kind["race.abandoned"] + by_kind["meeting.abandoned"]
    for one in taken:
        if one.happening.event != "racecard.published":
            assert blocks.count(outage.label(one)) == 1
        if one.happening.event.endswith("abandoned"):
            assert text.count(outage.label(one)) == 1
    assert blocks.count("ABANDONED: ") == lost
    assert text.startswith("ABANDONED: ") == bool(lost)
    assert f"{by_kind['result.received']} result" in text
    assert (f"{by_kind['racecard.published']} racecard" in text) == bool(by_kind["racecard.published"])
    assert blocks.count("known since <!date^") == lost + by_kind["result.received"]


async def sent(pipeline) -> Counter[tuple[str, str]]:
    """How often each event was sent to each channel, by itself or in a summary."""
    statement = (
        select(col(OutboxMessage.channel_id), col(EventVersion.event_key), col(OutboxMessage.state))
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(col(OutboxMessage.kind) == "event")
    )
    rows = await pipeline.database.read(lambda session: session.execute(statement).all())
    assert {state for _, _, state in rows} <= {"sent", "folded"}
    return Counter((channel_id, key) for channel_id, key, _ in rows)


async def mend(bot, outage, **changes):
    repaired = await outage.make_repair(bot, **changes).run()
    await bot.post_all()
    return repaired


def first_race(outage):
    return outage.service.racing.races(outage.now.date(), "GB")[0]


# Changes of the list of failed deliveries, a page at a time


async def leads_back(cursor, page):
    return page | {"meta": page["meta"] | {"has_more": True, "next_cursor": cursor or page["meta"]["next_cursor"]}}


async def falls_silent(cursor, page):
    return await asyncio.Event().wait() if cursor else page


@pytest.fixture
async def outage(pipeline):
    async with outage_at(pipeline.clock()) as outage:
        yield outage


@pytest.fixture
async def bot(pipeline):
    """A pipeline whose channels take everything of a region."""
    for channel_id, region in TAKEN.items():
        await pipeline.subscribe(channel_id, region, frozenset(Topic))
    return pipeline
