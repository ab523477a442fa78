"""Rows that can't be read, or that the database refuses: they hold up one channel or one delivery at most, loudly."""

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlmodel import col
from structlog.testing import capture_logs

from bot.db.tables import ChannelSubscriptionRow, EventVersion, MutedMeetingRow, OutboxMessage
from bot.errors import StorageUnavailable
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell
from tests.integration.pipeline.test_standstill import standstill_of
from tests.notice_levels import URGENT, WARNING

OF_CGB = col(ChannelSubscriptionRow.channel_id) == "CGB"


async def spoil_filter(pipeline, stored):
    statement = update(ChannelSubscriptionRow).where(OF_CGB).values(filter=stored)
    await pipeline.database.write(lambda session: session.execute(statement))


@pytest.mark.parametrize("stored", ["{", "[]", '{"region": "GB", "topics": ["never heard of it"]}'])
async def test_filter_that_cant_be_read_stops_nobody_and_admins_hear_of_it(pipeline, stored):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*", mentions=("UALICE",))
    await spoil_filter(pipeline, stored)
    with capture_logs():
        await tell(pipeline, abandonment("rc_1"), result("rc_2"), abandonment("rc_3", region="IRE"))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [2, 3]
    assert "<@UALICE>" in pipeline.texts("CALL")[0]
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{WARNING}What channel <#CGB> subscribed to")


async def test_filter_that_becomes_unreadable_while_a_post_waits_stops_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await pipeline.deliver(abandonment())
    await pipeline.fanout.run_once()
    await spoil_filter(pipeline, "{} ")
    await pipeline.post_all()
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CALL")] == [1, 1]


async def test_mute_that_cant_be_read_holds_nothing_back(pipeline):
    await pipeline.subscribe("CGB", "GB")
    row = MutedMeetingRow(channel_id="CIRE", meeting="{", muted_by="UALICE", muted_at=pipeline.clock())
    await pipeline.database.write(lambda session: session.add(row))
    await tell(pipeline, result())
    assert len(pipeline.texts("CGB")) == 1


@pytest.mark.parametrize("next_one", [meeting("rc_2", reason="flood"), abandonment("rc_2"), abandonment("rc_1")])
async def test_stored_event_that_cant_be_read_keeps_none_that_comes_after_it(pipeline, next_one):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"))
    broken = update(EventVersion).values(data="{")
    await pipeline.database.write(lambda session: session.execute(broken))
    before = await pipeline.waiting()
    await tell(pipeline, next_one)
    states = select(col(OutboxMessage.state))
    found = await pipeline.database.read(lambda session: list(session.execute(states).scalars()))
    assert before == {}
    assert len(found) == 2
    assert set(found) <= {"sent", "folded"}


async def test_delivery_that_is_refused_alone_is_tried_ever_more_seldom_and_logged_once_an_hour(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())

    def refuse(*_):
        raise OperationalError("INSERT", {}, Exception("too many values"))

    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr("bot.outbox.message_store.insert", refuse)
        waits = [await pipeline.fanout.turn() for _ in range(10)]
        assert [entry["event"] for entry in logged].count("fanout_waits") == 1
        pipeline.clock.forward(3_601)
        await pipeline.fanout.turn()
        assert [entry["event"] for entry in logged].count("fanout_waits") == 2
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert pipeline.fanout.problem
    assert await pipeline.fanout.turn() <= 1
    assert pipeline.fanout.problem is None
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_database_that_comes_back_in_the_middle_puts_no_delivery_behind_a_later_one(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    for second, placings in enumerate((("Blue Moon", "Red Sky"), ("Red Sky", "Blue Moon"))):
        await pipeline.deliver(result(placings=placings) | {"occurred_at": f"{DAY}T14:35:0{second}Z"})
        pipeline.clock.forward(0.001)
    refusals = iter(["together", "the first alone"])
    write = pipeline.database.write

    async def refuse_at_first(work):
        if next(refusals, None):
            raise StorageUnavailable("the server closed the connection unexpectedly")
        return await write(work)

    monkeypatch.setattr(pipeline.database, "write", refuse_at_first)
    await pipeline.fanout.turn()
    await pipeline.fanout.turn()
    await pipeline.post_all()
    assert [text.split()[0] for text in pipeline.texts("CGB")] == ["Superseded", "CORRECTION:"]


async def test_damaged_race_book_holds_up_no_alert(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")

    def malformed(*_args, **_values):
        raise DatabaseError("INSERT", {}, Exception("database disk image is malformed"))

    monkeypatch.setattr("bot.racedata.race_book_store.put", malformed)
    await tell(pipeline, abandonment("rc_1"))
    assert [text[:10] for text in pipeline.texts("CGB")] == ["ABANDONED:"]


async def test_admins_are_told_once_a_day_that_nothing_is_posted(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())

    def refuse(*_):
        raise OperationalError("SELECT", {}, Exception("disk I/O error"))

    standstill = standstill_of(pipeline)
    with monkeypatch.context() as patched:
        patched.setattr("bot.channels.subscriptions.listening", refuse)
        for told, seconds in ((0, 59), (1, 1), (1, 3_600)):
            await pipeline.fanout.turn()
            await standstill.look()
            pipeline.clock.forward(seconds)
            await pipeline.fanout.turn()
            await standstill.look()
            await pipeline.poster.start_due()
            await pipeline.poster.finish()
            assert len(pipeline.texts("CADMIN")) == told
    assert pipeline.texts("CADMIN")[0].startswith(f"{URGENT}Deliveries are taken and none is posted")
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
