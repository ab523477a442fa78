"""Lanes, whatever the clocks of processes say: nobody waits for a moment that nobody meant."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import token_hex

import pytest
from sqlalchemy import delete, text, update

from bot.db import named_values
from bot.db.tables import ChannelQueue, MessageKind
from bot.errors import StorageUnavailable
from bot.outbox import call_holds, channel_queues, held_queues, message_store
from bot.outbox.message import Message
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.messenger import Call
from tests.databases import on_both, on_postgresql

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def add(channel_id, received_at, priority=Priority.ADMIN):
    post = NewPost(
        channel_id,
        f"notice:x@{channel_id}",
        MessageKind.NOTICE,
        priority,
        received_at,
        content=Message(text="x").as_json(),
    )
    return partial(message_store.add, posts=[post])


async def claimed(database, now=NOW, limit=5):
    found = await database.write(partial(channel_queues.claim, now=now, token=token_hex(8), limit=limit, allowed={}))
    return [claim.channel_id for claim in found]


@on_both
async def test_new_lane_is_free_at_once_whatever_clock_its_maker_has(database):
    await database.write(add("CGB", NOW + timedelta(minutes=10)))
    assert await claimed(database) == ["CGB"]


async def test_lane_of_an_abandonment_goes_before_older_messages_of_other_lanes(database):
    for channel_id, priority in (("CGB", Priority.OTHER), ("CIRE", Priority.ABANDONMENT), ("CALL", Priority.ADMIN)):
        await database.write(add(channel_id, NOW, priority))
    assert [await claimed(database, limit=1) for _ in range(3)] == [["CIRE"], ["CALL"], ["CGB"]]


async def test_leased_lane_is_due_when_its_lease_ends(database):
    await database.write(add("CGB", NOW))
    assert await claimed(database) == ["CGB"]
    assert await database.read(partial(channel_queues.next_due, spent={})) == NOW + timedelta(seconds=9)


@on_both
async def test_lane_that_goes_on_is_free_at_once_whatever_clock_frees_it(database):
    await database.write(add("CGB", NOW))
    await database.write(partial(held_queues.close, channel_id="CGB", reason="is_archived", now=NOW))
    assert await claimed(database) == []
    await database.write(partial(held_queues.try_again, channel_id="CGB"))
    assert await claimed(database, NOW + timedelta(seconds=1)) == ["CGB"]


@pytest.mark.parametrize("column", ["next_free_at", "leased_until"])
@on_both
async def test_clock_that_was_set_back_stops_no_lane(database, column):
    await database.write(add("CGB", NOW))
    ahead = {column: NOW + timedelta(hours=1), "lease_token": "other" if column == "leased_until" else None}
    await database.write(lambda session: session.execute(update(ChannelQueue).values(**ahead)))
    assert await claimed(database) == ["CGB"]


@on_both
async def test_clock_that_was_set_back_holds_no_method(database):
    await database.write(add("CGB", NOW))
    until = NOW + timedelta(hours=1)
    await database.write(partial(call_holds.hold_call, call=Call.POST, until=until, reason="ratelimited"))
    assert await database.read(partial(call_holds.reasons_of_holds, now=NOW)) == {}
    assert await claimed(database) == ["CGB"]


@on_both
async def test_post_without_a_lane_gets_one(database):
    await database.write(add("COLD", NOW))
    await database.write(lambda session: session.execute(delete(ChannelQueue)))
    assert await claimed(database) == []
    assert await database.write(channel_queues.make_missing) == 1
    assert await claimed(database) == ["COLD"]
    assert await database.write(channel_queues.make_missing) == 0


@on_postgresql
async def test_unit_that_ends_in_a_deadlock_takes_no_other_with_it(database):
    raised = text("DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$")

    def both(session):
        named_values.put(session, "innocent", 1, NOW)

    with pytest.raises(StorageUnavailable):
        await database.write(lambda session: session.execute(raised))
    units = [both, lambda session: session.execute(raised), both]
    results = await asyncio.gather(*(database.write(unit) for unit in units), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), StorageUnavailable, type(None)]
    assert (await database.read(partial(named_values.get, name="innocent")))[0] == 1
