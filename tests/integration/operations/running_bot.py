"""The whole service within the test's own process, on a real address, between the stand-ins, with a movable clock."""

import asyncio
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

from bot.app import Service
from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.event import DEFAULT_TOPICS
from bot.ports import Ports
from bot.settings import Settings
from sandbox.loopback_server import serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import PATIENCE_S, now
from tests.front import Receiver, has_unread, receiver_of
from tests.promtool import Scrape
from tests.world import WEBHOOK_SECRET, Address, own_port, result, stand_ins

MAX_BODY_BYTES = 65_536


@dataclass
class Moved:
    """The real time plus `ahead`: the clock of the bot and both stand-ins."""

    ahead: timedelta = timedelta(0)
    monotonic_ahead_s: float = 0.0

    def __call__(self) -> datetime:
        return now() + self.ahead

    def forward(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return time.monotonic() + self.monotonic_ahead_s


@dataclass
class RunningBot(Address):
    service: Service
    receiver: Receiver
    slack: SlackWorkspace
    racing: RacingService
    clock: Moved
    database: Path
    listening: AsyncExitStack

    async def status_of(self, payload: object, *, secret: str = WEBHOOK_SECRET) -> int:
        """The status of the answer to a delivery."""
        return (await self.deliver(payload, secret=secret)).status_code

    async def scrape(self) -> Scrape:
        """A scrape, after the bot has looked at its own state; empty where nobody listens."""
        async with httpx.AsyncClient() as http:
            try:
                await http.get(f"{self.url}/healthz")
            except httpx.TransportError:
                return Scrape(self.clock().timestamp())
        await self.service.health.look()
        return Scrape.of(self.service.metrics.registry, self.clock().timestamp())

    async def until(self, holds: Callable[[Scrape], bool]) -> Scrape:
        """The first scrape for which `holds` is true."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(scrape := await self.scrape()):  # noqa: ASYNC110  no event tells of counts
                await asyncio.sleep(0.05)
        return scrape

    async def tell(self, race_id: str, **changes: object) -> None:
        """A result is delivered, and posted in CALL."""
        count = len(self.slack.messages("CALL"))
        assert await self.status_of(result(race_id, **changes)) == 200
        await self.slack.wait_for(lambda: len(self.slack.messages("CALL")) > count, timeout_s=PATIENCE_S)

    async def forward(self, seconds: float) -> None:
        """Move the clock, and run the jobs that were due meanwhile."""
        self.clock.forward(seconds)
        for job in self.service.jobs.table:
            if job.every_s <= seconds:
                await self.service.jobs.run(job)

    async def well(self) -> Scrape:
        """A scrape of the bot after the first run of each job, and after a post."""
        await self.tell("rc_well")
        return await self.until(self._is_well)

    async def settled(self) -> None:
        """Wait until every letter is fanned out, every message is posted, and no loop looks stuck.

        A resting loop looks stuck after a move of the clock, until the loop's next turn.
        """
        async with asyncio.timeout(PATIENCE_S):
            while await has_unread(self.service):  # noqa: ASYNC110  the bot's own loop reads
                await asyncio.sleep(0.01)
        await self.service.database.write(lambda _session: None)
        await self.until(_is_settled)

    def _is_well(self, scrape: Scrape) -> bool:
        last = (
            scrape.value("racing_bot_job_last_success_timestamp_seconds", job_id=job.id)
            for job in self.service.jobs.table
        )
        return all(last) and scrape.value("racing_bot_posts_total", outcome="sent") >= 1 and _is_settled(scrape)

    def sql(self, statement: str) -> None:
        """Change the database behind the bot."""
        connection = sqlite3.connect(self.database, timeout=PATIENCE_S)
        with connection:
            connection.execute(statement)
        connection.close()


def _is_settled(scrape: Scrape) -> bool:
    inbox = (scrape.value("racing_bot_inbox_deliveries", state=state) for state in ("new", "failed"))
    outbox = (scrape.value("racing_bot_outbox_messages", state=state) for state in ("queued", "sending"))
    stuck = (scrape.value("racing_bot_degraded", part=part) for part in ("storage", "fan_out", "poster"))
    return not any(inbox) and not any(outbox) and not any(stuck)


@asynccontextmanager
async def run_bot(folder: Path, ahead_s: float = 0.0, **changes: Any) -> AsyncIterator[RunningBot]:
    """`changes`: settings."""
    clock = Moved(timedelta(seconds=ahead_s))
    given = {"MAX_BODY_BYTES": str(MAX_BODY_BYTES)} | {name.upper(): value for name, value in changes.items()}
    async with stand_ins(folder, clock=clock, **given) as around:
        settings: Any = {name.lower(): value for name, value in around.settings.items()}
        service = Service(Settings(_env_file=None, **settings), ports=Ports(clock, monotonic=clock.monotonic))
        receiver = receiver_of(service)
        await service.start()
        try:
            everything = ChannelFilter(region=ALL_REGIONS, topics=DEFAULT_TOPICS)
            await service.database.write(
                partial(subscriptions.save, channel_id="CALL", chosen=everything, user_id="UALICE", now=clock())
            )
            port = own_port()
            async with AsyncExitStack() as listening:
                await listening.enter_async_context(serve(receiver.app, port))
                yield RunningBot(
                    port, service, receiver, around.slack, around.service, clock, folder / "bot.db", listening
                )
        finally:
            await service.stop()
