"""An outage in which the data service gives up deliveries, and the repair of them."""

import asyncio
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.db.named_value_store import DatabaseStateStore
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind
from bot.operations.repair.repair_run import Bounds, Repair
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.day_path import Paths
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from sandbox.loopback_server import serve
from sandbox.racing_service import RacingService, Switches
from tests.integration.operations.lost_deliveries import ALL_TOPICS, SETTINGS, TAKEN, Outage

BOUNDS = Bounds()


@pytest.fixture
async def outage(pipeline):
    made = Outage(None, pipeline.clock())  # type: ignore[arg-type]  # each knows the other
    client = httpx.AsyncClient(transport=httpx.MockTransport(made.refuse))
    switches = Switches(retry_gaps_s=(), payload="nested")
    async with (
        client,
        RacingService(
            made.today, clock=lambda: made.now, delivery_client=client, switches=switches, days_back=2, days_ahead=2
        ) as made.service,
        serve(made.app) as address,
    ):
        made.base_url = f"{address}/v1"
        made.service.subscribe("https://bot.example.com/webhooks/racing", frozenset(EventKind))
        yield made


@pytest.fixture
async def make_repair(outage):
    opened: list[Any] = []

    def make(pipeline, *, database=None, read_payload=read_payload, bounds=BOUNDS, **paths) -> Repair:
        store = DatabaseStateStore(pipeline.database, pipeline.clock)
        client = open_client(outage.base_url, SecretStr(outage.service.api_key), store, Ports().timing)
        quota = QuotaBook(pipeline.database, client, SETTINGS, pipeline.clock)
        outage.client, outage.quota = client, quota
        races = RaceBook(pipeline.database, client, pipeline.clock, quota, Paths(**paths))
        opened.extend([races, client])
        return Repair(
            database or pipeline.database,
            client,
            quota_book=quota,
            races=races,
            fanout=pipeline.fanout,
            reopening=pipeline.reopening,
            notices=pipeline.notices,
            read_payload=read_payload,
            clock=pipeline.clock,
            wake=asyncio.Event(),
            bounds=bounds,
        )

    yield make
    for one in opened:
        await one.aclose()


@pytest.fixture
async def listening(pipeline):
    for channel_id, region in TAKEN.items():
        await pipeline.subscribe(channel_id, region, ALL_TOPICS)
    return pipeline
