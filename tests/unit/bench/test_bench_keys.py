"""The inboxes that the measure of many keys compares: what is in them, and that its batches are new to them."""

import pytest
from sqlalchemy import func, select
from sqlmodel import col

from bench.keys import batch, fill
from bot.db.engine import Database
from bot.db.tables import InboxDelivery
from bot.deliveries import inbox


@pytest.fixture
async def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'keys.db'}")
    yield opened
    await opened.close()


async def test_filled_inbox_has_had_so_many_different_deliveries_and_none_waits(database):
    fill(database, 500)
    keys = select(func.count(), func.count(col(InboxDelivery.event_key).distinct()), func.max(InboxDelivery.event_key))
    count, different, last = await database.read(lambda session: session.execute(keys).one())
    assert (count, different) == (500, 500)
    assert last.startswith("result.received:rc_")
    assert await database.read(inbox.count_waiting) == 0


async def test_filled_inbox_is_read_as_the_bot_reads_it(database):
    fill(database, 1)
    row = await database.read(lambda session: session.execute(select(InboxDelivery)).scalar_one())
    assert (row.state, row.body, len(row.body_sha256), row.received_at.tzinfo is not None) == ("done", None, 64, True)


async def test_batches_are_new_to_the_inbox_and_to_one_another(database):
    fill(database, 10)
    for arrivals in (batch("0-0"), batch("0-1")):
        stored = await database.write(lambda session, these=arrivals: inbox.store(session, these))
        assert len(stored) == 32
        assert None not in stored.values()
