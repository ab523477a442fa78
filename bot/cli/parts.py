"""Parts of the service as the commands of the shell build them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.clock import Clock, utc_now
from bot.db import migrate
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.named_values import DatabaseStateStore
from bot.db.schema import check_is_there, make_ready
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal
from bot.deliveries.payload import read_events
from bot.errors import StorageUnavailable
from bot.fanout.fanout import Fanout
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.notices import Notices
from bot.ports import Ports
from bot.racedata.client.service_client import RacingClient, open_client
from bot.racedata.client.service_errors import CircuitOpen, ServiceFailure
from bot.settings import Settings
from bot.slack.messages.alerts.alert_notes import admin_notice


@asynccontextmanager
async def opened_client(settings: Settings, database: Database) -> AsyncIterator[RacingClient]:
    store = DatabaseStateStore(database, utc_now)
    client = open_client(settings.racing_api_url, settings.racing_api_key, store, Ports().timing)
    try:
        yield client
    finally:
        await client.aclose()


def make_notices(settings: Settings) -> Notices:
    return Notices(settings.admin_channel, admin_notice, clock=utc_now, admin_users=settings.admin_users)


def make_fanout(database: Database, notices: Notices, clock: Clock) -> Fanout:
    """The running bot sends what is queued."""
    monotonic = Ports(clock).monotonic
    return Fanout(
        database,
        read_events,
        arrivals=Intake(database, Journal(database.address, monotonic), clock),
        outbox=QueuedOnly(),
        notices=notices,
        clock=clock,
        wake=asyncio.Event(),
        monotonic=monotonic,
    )


def for_operators(error: Exception) -> str:
    """The error in words for a terminal."""
    if isinstance(error, CircuitOpen):
        return f"{error.told} If the cause is gone, type: {error.unlatch}"
    return error.told if isinstance(error, ServiceFailure) else str(error)


@asynccontextmanager
async def opened(url: str, *, reads_only: bool = False) -> AsyncIterator[Database]:
    """Brings SQLite up to date, except for a command that reads. Raises StorageUnavailable."""
    database = Database(url, busy_s=TOOL_BUSY_S)
    try:
        if reads_only:
            check_is_there(database)
            try:
                is_current = await database.read(lambda session: migrate.is_current(session.connection()))
            except StorageUnavailable as error:
                raise StorageUnavailable(f"the database can't be opened: {error}.") from error
            if not is_current:
                raise StorageUnavailable("the schema is not current: run `racing-bot migrate`.")
        elif not_ready := await asyncio.to_thread(make_ready, database):
            raise StorageUnavailable(f"{not_ready.told}.")
        yield database
    finally:
        await database.close()
