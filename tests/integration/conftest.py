"""Parts of the bot with a real database and stand-ins over real sockets. A test of this tier starts no process."""

import asyncio
import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
import pytest_asyncio
from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db import engine
from bot.db.engine import Database, database_now
from bot.deliveries.intake import Intake, arrival_of
from bot.deliveries.journal import Journal
from bot.deliveries.payload import read_events
from bot.events.event import DEFAULT_TOPICS
from bot.fanout.fanout import Fanout
from bot.outbox import channel_queues, message_store, pace
from bot.outbox.claim_sender import ClaimSender
from bot.outbox.held_channels import Reopening
from bot.outbox.message import NativeBlocks
from bot.outbox.notices import Notices
from bot.outbox.pace import Pace
from bot.outbox.poster import Poster
from bot.outbox.resolve import Resolver
from bot.settings import DoubtfulPosts
from bot.slack.event_messages import PostRenderer
from bot.slack.listeners.channel_life import ChannelListener
from bot.slack.messages.alerts.alert_notes import admin_notice
from bot.slack.messages.alerts.backlog_summary import waited
from bot.slack.web_client import METHOD_OF, SlackClient, make_session, make_web_client
from bot.slack.workspace import BotIdentity, problem_of_channel
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import PATIENCE_S, PatientLoop, move_clock, now
from tests.databases import current, empty, new_postgres_database

TOKEN = "xoxb-test-integration"
PATIENT = {"db", "deliveries", "deploying", "doctor", "integration", "slack", "walk"}
"""The folders whose tests have limits of seconds for answers and bodies."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"patient": PatientLoop} if item.path.parent.name in PATIENT else {"usual": asyncio.new_event_loop}


@pytest.fixture(scope="session", autouse=True)
def patient_locks() -> Iterator[None]:
    """A deadlock outlasts any patience; a busy machine needs some."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "LOCK_PATIENCE_S", PATIENCE_S)
        yield


@pytest.fixture(scope="session")
def sqlite_database(tmp_path_factory) -> Iterator[Database]:
    with current(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'bot.db'}") as database:
        yield database


@pytest.fixture(scope="session")
def postgresql_database(postgres_server: str) -> Iterator[Database]:
    address = new_postgres_database(postgres_server)
    move_clock(address)
    with current(address) as database:
        yield database


@pytest_asyncio.fixture
async def database(request) -> AsyncIterator[Database]:
    """An empty database with the current schema: of SQLite, where the test has no mark of `tests/databases.py`."""
    name = getattr(request, "param", "sqlite")
    opened: Database = request.getfixturevalue(f"{name}_database")
    empty(opened)
    yield opened
    # Work left in the queue by the test is done before the next test.
    await opened.write(lambda _session: None)


@dataclass
class Moment:
    """A clock that the test moves. On PostgreSQL the clock must stay near `tests.clock`, the clock of leases."""

    now: datetime = field(default_factory=now)
    set_back_s: float = 0.0

    def __call__(self) -> datetime:
        return self.now

    def catch_up(self) -> None:
        """Be no earlier than PostgreSQL's clock, however long the test has taken so far."""
        self.now = max(self.now, now())

    def forward(self, seconds: float) -> None:
        """A step back sets the clock, and no time passes."""
        self.now += timedelta(seconds=seconds)
        self.set_back_s += max(0.0, -seconds)

    def monotonic(self) -> float:
        return self.now.timestamp() + self.set_back_s


@dataclass
class Pipeline:
    """From a body to a channel, driven a step at a time."""

    database: Database
    slack: SlackWorkspace
    clock: Moment
    intake: Intake
    fanout: Fanout
    poster: Poster
    notices: Notices
    reopening: Reopening
    sender: SlackClient

    def channel_life(self) -> ChannelListener:
        return ChannelListener(
            self.database,
            BotIdentity(TOKEN, bot_user_id=self.slack.bot_user_id),
            partial(problem_of_channel, self.sender),
            self.notices,
            self.reopening,
            self.clock,
            self.poster.wake,
        )

    async def subscribe(self, channel_id: str, region: str, topics=DEFAULT_TOPICS, **courses) -> None:
        chosen = ChannelFilter(region=region, topics=topics, **courses)
        await self.database.write(
            lambda session: subscriptions.save(session, channel_id, chosen, user_id="UALICE", now=self.clock())
        )

    async def deliver(self, payload: object) -> bool:
        return await self.deliver_all(payload)

    async def deliver_all(self, *payloads: object) -> bool:
        """Deliver all at the same time. True if all are new."""
        arrivals = []
        for payload in payloads:
            body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
            arrivals.append(arrival_of(body, hashlib.sha256(body).hexdigest(), self.clock()))
        new = await self.intake.store(arrivals)
        return len(new) == len(payloads)

    async def post_all(self) -> datetime | None:
        """Fan out and post until nothing is due at this moment. Returns when more will be due."""
        while await self.fanout.run_once():
            continue
        while True:
            await self.poster.start_due()
            await self.poster.finish()
            now, due = await self.database.read(self._next_due)
            if due is None or due > now:
                return due

    def _next_due(self, session: Session) -> tuple[datetime, datetime | None]:
        now = database_now(session, self.clock)
        return now, channel_queues.next_due(session, pace.ends_of_holds(session, now))

    def texts(self, channel_id: str) -> list[str]:
        return [message.text for message in self.slack.messages(channel_id)]

    async def waiting(self) -> dict[str, int]:
        """Unsent messages and due edits. A held message counts as queued."""
        found = Counter[str]()
        for state, depth in (await self.database.read(message_store.depths)).items():
            found["queued" if state == message_store.HELD_STATE else state] += depth.count
        return {state: count for state, count in found.items() if count}

    async def holds(self) -> dict[str, str]:
        """Slack's method → reason."""
        held = await self.database.read(
            lambda session: pace.reasons_of_holds(session, database_now(session, self.clock))
        )
        return {METHOD_OF.get(call, call): reason for call, reason in held.items()}


def make_workspace() -> SlackWorkspace:
    workspace = SlackWorkspace(TOKEN, clock=now)
    for channel_id in ("CGB", "CIRE", "CALL", "CADMIN"):
        workspace.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    workspace.add_user("UALICE", "alice")
    return workspace


@pytest_asyncio.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    workspace = make_workspace()
    async with workspace.running():
        yield workspace


@pytest_asyncio.fixture
async def slack_session() -> AsyncIterator[Any]:
    async with make_session() as session:
        yield session


@pytest_asyncio.fixture
async def make_pipeline(database, slack, slack_session):
    """Makes pipelines on one database, as replicas would be; `pace` is unlimited unless a test is about it."""

    def make(
        *,
        doubtful: DoubtfulPosts = DoubtfulPosts.REPEAT,
        pace: Pace | None = None,
        clock: Moment | None = None,
        database: Database = database,
    ) -> Pipeline:
        clock = clock or Moment()
        monotonic = clock.monotonic if database.is_sqlite else lambda: clock.monotonic() + time.monotonic()
        pace = pace or Pace(channel_s=0.0, workspace_per_minute=None)
        client = SlackClient(make_web_client(TOKEN, slack.api_url, slack_session))
        notices = Notices("CADMIN", admin_notice, clock=clock)
        intake = Intake(database, Journal(database.address, monotonic), clock)
        poster = Poster(
            database=database,
            claim_sender=ClaimSender(
                client,
                PostRenderer(BotIdentity(TOKEN), 600),
                NativeBlocks(monotonic),
                clock,
                monotonic,
                time.thread_time,
            ),
            resolver=Resolver(client, 10, doubtful),
            notices=notices,
            clock=clock,
            monotonic=monotonic,
            worked=time.thread_time,
            token=secrets.token_hex,
            wake=asyncio.Event(),
            pace=pace,
        )
        fanout = Fanout(
            database,
            read_events,
            arrivals=intake,
            outbox=poster,
            notices=notices,
            clock=clock,
            wake=intake.stored,
            monotonic=monotonic,
        )
        return Pipeline(database, slack, clock, intake, fanout, poster, notices, Reopening(waited), client)

    return make


@pytest_asyncio.fixture
async def pipeline(make_pipeline):
    return make_pipeline()


@pytest_asyncio.fixture
async def gb(pipeline):
    """The pipeline, whose channel CGB takes GB."""
    await pipeline.subscribe("CGB", "GB")
    return pipeline
