"""The turn of fan-out, and what a statement that takes the turn reads. PostgreSQL's alone."""

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, text
from sqlmodel import Session

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db import generation
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.events.event import DEFAULT_TOPICS
from tests.databases import empty

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
GB = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)


@pytest.fixture
def database(postgresql_database):
    empty(postgresql_database)
    return postgresql_database


@pytest.fixture
async def other(database):
    """The database as another replica has it."""
    made = Database(database.url.render_as_string(hide_password=False))
    yield made
    await made.close()


@pytest.fixture
async def delivery(database):
    arrival = Arrival("result.received:rc_1", "result.received", "0" * 64, b"{}", NOW)
    await database.write(lambda session: inbox.store(session, [arrival]))
    (stored,) = await database.read(lambda session: inbox.waiting(session, NOW, 1))
    return stored


def taking(delivery):
    return lambda session: inbox.take_in_turn(session, [delivery], lambda: NOW)


async def test_delivery_is_left_alone_while_another_replica_has_the_turn(database, other, delivery):
    with Session(other.writer) as session:
        assert inbox.take_turn(session, lambda: NOW)
        assert await database.write(taking(delivery)) is None
    taken = await database.write(taking(delivery))
    assert taken.inbox_ids == {delivery.inbox_id}
    assert taken.now >= NOW


async def test_turn_in_which_every_delivery_is_done_already_is_a_turn(database, delivery):
    await database.write(taking(delivery))
    assert (await database.write(taking(delivery))).inbox_ids == set()


async def test_turn_sees_the_filters_that_were_committed_while_the_turn_was_taken(database, other, delivery):
    with Session(other.writer) as session, session.begin():
        session.execute(text("SELECT id FROM inbox FOR UPDATE"))
        subscriptions.save(session, "C1", GB, user_id="U1", now=NOW)
        taken = asyncio.create_task(database.write(taking(delivery)))
        await until_somebody_waits(database)
    mark = await database.read(lambda session: session.execute(select(generation.current())).scalar())
    assert (await taken).mark == mark is not None


async def until_somebody_waits(database):
    found = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(30):
        while not await database.read(lambda session: session.execute(found).scalar()):  # noqa: ASYNC110  nobody is told of a wait
            await asyncio.sleep(0.01)
