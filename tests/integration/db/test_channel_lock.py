"""The lock of a channel, the turn of fan-out for a single replica at a time, and queues under clocks that differ."""

import asyncio
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import token_hex

import pytest
from sqlalchemy import delete, select, text, update
from sqlmodel import Session

from bot.channels import channel_lock, mutes, subscriptions, watches
from bot.channels.filters import ChannelFilter, Meeting
from bot.channels.watches import WatchedName
from bot.db import engine, generation, named_values
from bot.db.tables import ChannelQueue, InboxDelivery, MessageKind, SubscriptionState, WatchKind
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal, JournalPlace
from bot.errors import LockTaken, StorageUnavailable
from bot.events.event import DEFAULT_TOPICS
from bot.events.races import Course
from bot.outbox import channel_queues, held_queues, message_store, pace
from bot.outbox.channel_move import move_channel
from bot.outbox.held_channels import Reopening
from bot.outbox.message import Call, Message
from bot.outbox.message_store import NewPost, Priority
from bot.slack.messages.alerts.backlog_summary import waited
from tests.databases import empty, on_both, on_postgresql

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
GB = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)
WATCHED = WatchedName(WatchKind.HORSE, "Blue Moon")
ASCOT = Meeting(course=Course(course_id="cr_1"), race_date="2026-11-20")


@pytest.fixture
def database(request):
    """PostgreSQL's, unless the test has a mark of `tests/databases.py`."""
    opened = request.getfixturevalue(f"{getattr(request, 'param', 'postgresql')}_database")
    empty(opened)
    return opened


@pytest.fixture
async def other(database):
    """The database of another replica."""
    made = engine.Database(database.url.render_as_string(hide_password=False))
    yield made
    await made.close()


def save(session, channel_id="C1"):
    return subscriptions.save(session, channel_id, GB, user_id="U1", now=NOW)


@contextmanager
def another_replica(database, *channel_ids):
    """Another replica has the locks of the channels."""
    with Session(database._reader) as session:
        channel_lock.take(session, *channel_ids)
        yield


def put_filter(session):
    (row,) = subscriptions.of_channel(session, "C1")
    subscriptions.put_filter(session, row, GB, NOW)


def end_watch(session):
    (row,) = watches.of_channel(session, "C1")
    watches.end(session, row)


CHANGES = {
    "save": save,
    "put_filter": put_filter,
    "remove": partial(subscriptions.remove, channel_id="C1"),
    "set_state": partial(subscriptions.set_state, channel_id="C1", state=SubscriptionState.WAITING, now=NOW),
    "suspend": partial(subscriptions.suspend, channel_id="C1", reason="is_archived", now=NOW),
    "reopen": partial(subscriptions.reopen, channel_id="C1", now=NOW),
    "pause": partial(subscriptions.pause, channel_id="C1", until=None, now=NOW),
    "end_pause": partial(subscriptions.end_pause, channel_id="C1", now=NOW),
    "mute": partial(mutes.mute, channel_id="C1", meeting=ASCOT, user_id="U1", now=NOW),
    "end of a mute": partial(mutes.end, channel_id="C1", number=1, now=NOW),
    "watch": partial(watches.add, channel_id="C1", names=[WATCHED], user_id="U1", now=NOW),
    "end of a watch": end_watch,
    "watches of a person": partial(watches.move_person, person_id="U1", channel_id="C1"),
    "moved away": partial(move_channel, old_id="C1", new_id="C2"),
    "moved here": partial(move_channel, old_id="C2", new_id="C1"),
    "try_again": partial(Reopening(waited).try_again, channel_id="C1", now=NOW),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_channel_is_changed_by_one_replica_at_a_time(database, monkeypatch, change):
    monkeypatch.setattr(engine, "LOCK_PATIENCE_S", 0.0)
    await database.write(save)
    await database.write(partial(watches.add, channel_id="C1", names=[WATCHED], user_id="U1", now=NOW))
    with another_replica(database, "C1"), pytest.raises(LockTaken):
        await database.write(change)
    await database.write(change)


async def test_channel_is_not_moved_while_another_replica_fans_out(database, monkeypatch):
    """A message that fan-out makes meanwhile would be left under the old id."""
    monkeypatch.setattr(engine, "LOCK_PATIENCE_S", 0.0)
    with Session(database._reader) as session:
        assert inbox.take_turn(session, lambda: NOW)
        with pytest.raises(LockTaken):
            await database.write(CHANGES["moved away"])
    await database.write(CHANGES["moved away"])


async def test_change_that_has_to_wait_keeps_nobody_else_waiting(database):
    with another_replica(database, "C1"):
        changed = asyncio.create_task(database.write(save))
        await asyncio.gather(
            *(
                database.write(partial(named_values.put, name=f"n{number}", value=number, now=NOW))
                for number in range(20)
            ),
            database.write(partial(save, channel_id="C2")),
        )
        assert not changed.done()
    assert (await changed).region == "GB"
    kept = [await database.read(partial(named_values.get, name=f"n{number}")) for number in range(20)]
    assert [value for value, _ in kept] == list(range(20))


async def test_channels_that_share_a_transaction_are_locked_in_any_order(database, other):
    for _ in range(20):
        await asyncio.gather(
            *(database.write(partial(save, channel_id=f"C{number}")) for number in range(10)),
            *(other.write(partial(save, channel_id=f"C{number}")) for number in reversed(range(10))),
        )
    rows = [await database.read(partial(subscriptions.of_channel, channel_id=f"C{number}")) for number in range(10)]
    assert [len(one) for one in rows] == [1] * 10


# The turn of fan-out, and the rows read by the statement that takes the turn


@pytest.fixture
async def delivery(database):
    arrival = Arrival("result.received:rc_1", "result.received", "0" * 64, b"{}", NOW)
    await database.write(lambda session: inbox.store(session, [arrival]))
    (stored,) = await database.read(lambda session: inbox.waiting(session, NOW, 1))
    return stored


async def test_letter_that_another_replica_stores_is_not_waited_for(database, other, monkeypatch):
    monkeypatch.setattr(engine, "LOCK_PATIENCE_S", 0.0)
    journal = Journal(database.address, lambda: 0.0)
    arrival = Arrival("result.received:rc_1", "result.received", "0" * 64, b"{}", NOW)
    ours, theirs = (Intake(one, journal, lambda: NOW) for one in (database, other))
    with Session(other.writer) as session:
        theirs._store(session, arrivals=[arrival], place=None)
        with pytest.raises(LockTaken):
            await ours.store([arrival])
        session.commit()
    assert await ours.store([arrival]) == []
    # Nor is a stored letter, while the other replica fans the letter out.
    place = JournalPlace(1, arrival.body_sha256)
    await theirs.store([arrival], place)
    with Session(other.writer) as session:
        session.execute(update(InboxDelivery).values(attempts=1))
        assert await ours.store([arrival], place) == []
    assert ours.wake.is_set()


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
        save(session)
        taken = asyncio.create_task(database.write(taking(delivery)))
        await until_somebody_waits(database)
    mark = await database.read(lambda session: session.execute(select(generation.current())).scalar())
    assert (await taken).mark == mark is not None


async def until_somebody_waits(database):
    found = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while not await database.read(lambda session: session.execute(found).scalar()):  # noqa: ASYNC110  nobody is told of a wait
        await asyncio.sleep(0.01)


# Channel queues, where the clocks of processes differ or are set back


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
async def test_new_queue_is_free_at_once_whatever_clock_its_maker_has(database):
    await database.write(add("CGB", NOW + timedelta(minutes=10)))
    assert await claimed(database) == ["CGB"]


async def test_queue_of_an_abandonment_is_claimed_before_older_messages_of_other_queues(database):
    for channel_id, priority in (("CGB", Priority.OTHER), ("CIRE", Priority.ABANDONMENT), ("CALL", Priority.ADMIN)):
        await database.write(add(channel_id, NOW, priority))
    assert [await claimed(database, limit=1) for _ in range(3)] == [["CIRE"], ["CALL"], ["CGB"]]


async def test_leased_queue_is_due_when_its_lease_ends(database):
    await database.write(add("CGB", NOW))
    assert await claimed(database) == ["CGB"]
    assert await database.read(partial(channel_queues.next_due, spent={})) == NOW + timedelta(seconds=9)


@on_both
async def test_queue_that_goes_on_is_free_at_once_whatever_clock_frees_it(database):
    await database.write(add("CGB", NOW))
    await database.write(partial(held_queues.close, channel_id="CGB", reason="is_archived", now=NOW))
    assert await claimed(database) == []
    await database.write(partial(held_queues.try_again, channel_id="CGB"))
    assert await claimed(database, NOW + timedelta(seconds=1)) == ["CGB"]


@pytest.mark.parametrize("column", ["next_free_at", "leased_until"])
@on_both
async def test_clock_that_was_set_back_stops_no_queue(database, column):
    await database.write(add("CGB", NOW))
    ahead = {column: NOW + timedelta(hours=1), "lease_token": "other" if column == "leased_until" else None}
    await database.write(lambda session: session.execute(update(ChannelQueue).values(**ahead)))
    assert await claimed(database) == ["CGB"]


@on_both
async def test_clock_that_was_set_back_holds_no_method(database):
    await database.write(add("CGB", NOW))
    until = NOW + timedelta(hours=1)
    await database.write(partial(pace.hold_call, call=Call.POST, until=until, reason="ratelimited"))
    assert await database.read(partial(pace.reasons_of_holds, now=NOW)) == {}
    assert await claimed(database) == ["CGB"]


@on_both
async def test_missing_queue_of_a_waiting_message_is_made(database):
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
