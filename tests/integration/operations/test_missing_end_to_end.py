"""The whole service with a clock of the test's own: signed bytes in, and admins read of an outcome that never came."""

import asyncio
import hashlib
import hmac
import json
from datetime import timedelta

import httpx
import pytest

from bot.app import Service
from bot.deliveries import inbox
from bot.operations.jobs.table import JOBS
from bot.ports import Ports
from bot.settings import load_settings
from sandbox.loopback_server import serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches
from tests.clock import START
from tests.integration.conftest import TOKEN, Moment
from tests.notice_levels import ALL_CLEAR, WARNING

SECRET = "whsec-of-a-test"
API_KEY = "key-of-a-test"
(WATCH,) = [job for job in JOBS if job.id == "watch_deliveries"]


class World:
    def __init__(self, service, clock, slack):
        self.service, self.clock, self.slack = service, clock, slack

    async def deliver(self, payload):
        body = json.dumps(payload).encode()
        signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        transport = httpx.ASGITransport(app=self.service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
            answer = await client.post("/webhooks/racing", content=body, headers={"X-SVC-Signature": signature})
        assert answer.json() == {"status": "accepted"}

    async def told(self, count):
        await self.slack.wait_for(lambda: len(self.slack.messages("CADMIN")) >= count, timeout_s=60)
        return self.slack.messages("CADMIN")[-1].text

    async def fanned_out(self):
        async with asyncio.timeout(60):
            while await self.service.database.read(inbox.count_waiting):  # noqa: ASYNC110  the service's own loop does it
                await asyncio.sleep(0.01)


@pytest.fixture
async def world(slack, tmp_path):
    # Early, so that no race of the stand-in's day is over before the test's own race.
    clock = Moment(START.replace(hour=4))
    stand_in = RacingService(clock().date(), api_key=API_KEY, switches=Switches(allow_http_loopback=True))
    async with stand_in, serve(stand_in.app) as address:
        settings = load_settings(
            env_file=None,
            racing_api_url=f"{address}/v1",
            racing_api_key=API_KEY,
            racing_webhook_secrets=SECRET,
            slack_bot_token=TOKEN,
            slack_signing_secret="signing-secret",
            slack_api_url=slack.api_url,
            admin_channel="CADMIN",
            database_url=f"sqlite:///{tmp_path / 'bot.db'}",
        )
        service = Service(settings, ports=Ports(clock))
        await service.start()
        yield World(service, clock, slack)
        await service.stop()


def race(race_id, off_at):
    return {
        "race_id": race_id,
        "course": "Kempton",
        "region": "GB",
        "date": off_at.date().isoformat(),
        "off_time": off_at.isoformat(),
    }


async def test_outcome_that_never_came_is_told_once_and_taken_back_when_the_result_comes(world):
    off_at = (world.clock() + timedelta(hours=1)).replace(microsecond=0)
    won = {"runners": [{"position": 1, "horse": "Blue Moon"}]}
    # Another race's result tells that GB is delivered to us; the card tells of the race.
    await world.deliver({"event": "result.received", "race": race("rc_other", off_at - timedelta(hours=2)) | won})
    await world.deliver({"event": "racecard.published", "race": race("rc_late", off_at)})
    await world.fanned_out()
    run = world.service.jobs.run
    world.clock.forward(3_600 + 3 * 3_600 - 5)
    assert await run(WATCH) is True
    assert world.slack.messages("CADMIN") == []
    world.clock.forward(600)
    assert await run(WATCH) is True
    told = await world.told(1)
    assert told.startswith(f"{WARNING}1 race should have been over for 3 hours or more")
    assert f"Kempton {off_at:%H:%M} (GB, {off_at.date()})" in told
    world.clock.forward(600)
    assert [await run(WATCH), len(world.slack.messages("CADMIN"))] == [True, 1]
    await world.deliver({"event": "result.received", "race": race("rc_late", off_at) | won})
    await world.fanned_out()
    world.clock.forward(600)
    assert await run(WATCH) is True
    assert (await world.told(2)).startswith(f"{ALL_CLEAR}The outcome of 1 race has come after all: Kempton")
