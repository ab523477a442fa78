"""The whole service within the test's own process, on a real address, between the stand-ins, with a movable clock."""

import asyncio
import hashlib
import hmac
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import event

from bot.app import Service
from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.event import DEFAULT_TOPICS
from bot.operations.jobs.table import JOBS
from bot.ports import Ports
from bot.settings import Settings
from sandbox.loopback_server import serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import now
from tests.payloads import result
from tests.promtool import Scrape

TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-test-operations", "xapp-test-operations", "slack-signing-secret-test"
KEY, WEBHOOK_SECRET = "operations-racing-key", "whsec-operations-1"
MAX_BODY_BYTES = 65_536
PATIENCE_S = 20.0


@dataclass
class Moved:
    """The real time plus `ahead`. The bot and both stand-ins go by this clock."""

    ahead: timedelta = timedelta(0)
    monotonic_ahead_s: float = 0.0

    def __call__(self) -> datetime:
        return now() + self.ahead

    def forward(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return time.monotonic() + self.monotonic_ahead_s


@dataclass
class RunningBot:
    service: Service
    slack: SlackWorkspace
    racing: RacingService
    clock: Moved
    http: httpx.AsyncClient
    url: str
    database: Path
    listening: AsyncExitStack

    async def deliver(self, payload: object, *, secret: str = WEBHOOK_SECRET) -> int:
        """The status of the answer to a delivery."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        answer = await self.http.post(
            f"{self.url}/webhooks/racing", content=body, headers={"X-SVC-Signature": signature}
        )
        return answer.status_code

    async def scrape(self) -> Scrape:
        """What a scrape would show, after the bot has looked at its own state; nothing where nobody listens."""
        try:
            await self.http.get(f"{self.url}/healthz")
        except httpx.TransportError:
            return Scrape(self.clock().timestamp())
        await self.service.look()
        return Scrape.of(self.service.metrics.registry, self.clock().timestamp())

    async def until(self, holds: Callable[[Scrape], bool]) -> Scrape:
        """The first scrape with this property."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(scrape := await self.scrape()):  # noqa: ASYNC110  nothing tells of what is counted
                await asyncio.sleep(0.05)
        return scrape

    async def tell(self, race_id: str, **changes: object) -> None:
        """A result is delivered, and posted in CALL."""
        count = len(self.slack.messages("CALL"))
        assert await self.deliver(result(race_id, **changes)) == 200
        await self.slack.wait_for(lambda: len(self.slack.messages("CALL")) > count, timeout_s=PATIENCE_S)

    async def forward(self, seconds: float) -> None:
        """Move the clock, and run the jobs that were due meanwhile."""
        self.clock.forward(seconds)
        for job in JOBS:
            if job.every_s(self.service.settings) <= seconds:
                await self.service.jobs.run(job)

    async def well(self) -> Scrape:
        """A scrape of the bot after the first run of each job, and after a post."""
        await self.tell("rc_well")
        return await self.until(_is_well)

    def sql(self, statement: str) -> None:
        """Change the database behind the bot."""
        connection = sqlite3.connect(self.database, timeout=10)
        with connection:
            connection.execute(statement)
        connection.close()


def _is_well(scrape: Scrape) -> bool:
    return (
        all(scrape.value("racing_bot_job_last_success_timestamp_seconds", job_id=job.id) > 0 for job in JOBS)
        and scrape.value("racing_bot_posts_total", outcome="sent") >= 1
        and scrape.value("racing_bot_outbox_messages", state="sending") == 0
    )


@asynccontextmanager
async def run_bot(folder: Path, ahead_s: float = 0.0, **changes: Any) -> AsyncIterator[RunningBot]:
    clock = Moved(timedelta(seconds=ahead_s))
    socket_mode = "slack_app_token" in changes
    slack = SlackWorkspace(TOKEN, SIGNING_SECRET, app_token=APP_TOKEN, socket_mode=socket_mode, clock=clock)
    for channel_id in ("CALL", "CADMIN"):
        slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    slack.add_user("UALICE", "alice")
    racing = RacingService(clock().date(), api_key=KEY, clock=clock, days_back=1, days_ahead=1)
    async with racing, slack.running(), serve(racing.app) as racing_address, httpx.AsyncClient(timeout=20) as http:
        settings = {
            "racing_api_url": f"{racing_address}/v1",
            "racing_api_key": KEY,
            "racing_webhook_secrets": WEBHOOK_SECRET,
            "slack_bot_token": TOKEN,
            "slack_signing_secret": SIGNING_SECRET,
            "slack_api_url": slack.api_url,
            "admin_channel": "CADMIN",
            "max_body_bytes": MAX_BODY_BYTES,
            "database_url": f"sqlite:///{folder / 'bot.db'}",
        } | changes
        service = Service(Settings(_env_file=None, **settings), ports=Ports(clock, monotonic=clock.monotonic))  # type: ignore[arg-type]
        if service.database.is_sqlite:
            # No test pulls the plug.
            event.listen(service.database.writer, "connect", lambda opened, _: opened.execute("PRAGMA synchronous=OFF"))
        # Patient: what a test is about is not how busy the machine is.
        service.ingest._patience_s = PATIENCE_S
        await service.start()
        try:
            everything = ChannelFilter(region=ALL_REGIONS, topics=DEFAULT_TOPICS)
            await service.database.write(
                partial(subscriptions.save, channel_id="CALL", chosen=everything, user_id="UALICE", now=clock())
            )
            async with AsyncExitStack() as listening:
                url = await listening.enter_async_context(serve(service.app))
                yield RunningBot(service, slack, racing, clock, http, url, folder / "bot.db", listening)
        finally:
            await service.stop()
