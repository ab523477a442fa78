"""Messages that are sent in the transaction of their fan-out: which are, and which wait."""

import time

import pytest_asyncio
from sqlalchemy import select
from sqlmodel import col

from bot.channels import mutes
from bot.channels.filters import Meeting
from bot.db.database_clock import database_now
from bot.db.tables import ChannelQueue
from bot.events.event import Topic
from bot.events.races import Course
from bot.outbox import call_holds
from bot.outbox.channel_closing import close_channel, pause_channel
from bot.outbox.messenger import Call
from bot.outbox.pace import Pace
from bot.racedata import race_book_store
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both, on_postgresql
from tests.integration.pipeline.racing_day import abandonment, result

EVERY = frozenset(Topic)


@pytest_asyncio.fixture
async def running(pipeline):
    """The poster's loop runs, and begins nothing by itself: what is sent was claimed by fan-out."""
    pipeline.poster._is_running = True
    return pipeline


async def fan_out(pipeline, *payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    await pipeline.fanout.run_once()
    await pipeline.poster.finish()


@on_both
async def test_message_of_a_free_channel_is_sent(running):
    await running.subscribe("CGB", "GB")
    await fan_out(running, result())
    assert len(running.texts("CGB")) == 1
    assert await running.waiting() == {}


@on_both
async def test_channel_with_two_new_messages_waits_for_the_poster(running):
    await running.subscribe("CGB", "GB")
    await fan_out(running, result("rc_1"), result("rc_2"))
    assert running.texts("CGB") == []
    assert await running.waiting() == {"queued": 2}


@on_both
async def test_message_behind_others_waits(running):
    await running.subscribe("CGB", "GB")
    await fan_out(running, result("rc_1"), result("rc_2"))
    await fan_out(running, abandonment("rc_3"))
    assert await running.waiting() == {"queued": 3}
    await running.post_all()
    assert ["ABANDONED" in text for text in running.texts("CGB")] == [True, False, False]


@on_both
async def test_muted_message_beside_a_message_that_is_sent_stays_muted(running):
    await running.subscribe("CGB", "GB", EVERY)
    ascot = Meeting(meeting_id="mt_1", course=Course(name="Ascot"), race_date=DAY)
    await running.database.write(lambda session: mutes.mute(session, "CGB", ascot, "UALICE", running.clock()))
    await fan_out(running, result("rc_1", meeting_id="mt_1"), abandonment("rc_2", meeting_id="mt_1"))
    assert [text[:9] for text in running.texts("CGB")] == ["ABANDONED"]


@on_both
async def test_paused_and_closed_channels_and_a_held_method_are_not_sent_to(running):
    await running.subscribe("CGB", "GB")
    await running.subscribe("CIRE", "GB")
    await running.subscribe("CALL", "GB")
    now = running.clock()
    await running.database.write(lambda session: pause_channel(session, "CGB", None, now))
    await running.database.write(lambda session: close_channel(session, running.notices, "CIRE", "is_archived", now))
    await fan_out(running, result("rc_1"))
    assert [len(running.texts(channel)) for channel in ("CGB", "CIRE", "CALL")] == [0, 0, 1]
    later = running.clock.now.replace(year=running.clock.now.year + 1)
    await running.database.write(
        lambda session: call_holds.hold_call(session, Call.POST, min(later, soon(running)), "ratelimited")
    )
    await fan_out(running, result("rc_2"))
    assert len(running.texts("CALL")) == 1


def soon(pipeline):
    pipeline.clock.catch_up()
    held = type(pipeline.clock)(pipeline.clock())
    held.forward(60)
    return held()


@on_both
async def test_no_more_is_sent_at_once_than_the_pace_allows(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0.0, workspace_per_minute=0.001, workspace_burst=2))
    pipeline.poster._is_running = True
    for channel_id in ("CGB", "CIRE", "CALL"):
        await pipeline.subscribe(channel_id, "GB")
    await fan_out(pipeline, result("rc_1"))
    assert sum(len(pipeline.texts(channel)) for channel in ("CGB", "CIRE", "CALL")) == 2
    assert await pipeline.waiting() == {"queued": 1}


@on_both
async def test_refused_message_that_was_sent_at_once_waits_as_any_other(running):
    await running.subscribe("CGB", "GB")
    running.slack.script("chat.postMessage", [failures.rate_limited(3)])
    await fan_out(running, result())
    assert await running.waiting() == {"queued": 1}


@on_postgresql
async def test_slow_transaction_shortens_no_wait_after_a_message(running, monkeypatch):
    learn, post, posted_at = race_book_store.learn, running.poster.sender.post, []

    def learn_slowly(*what):
        time.sleep(0.5)
        return learn(*what)

    async def post_and_note(*what, **how):
        posted_at.append(await running.database.read(lambda session: database_now(session, running.clock)))
        return await post(*what, **how)

    monkeypatch.setattr(race_book_store, "learn", learn_slowly)
    monkeypatch.setattr(running.poster.sender, "post", post_and_note)
    await running.subscribe("CGB", "GB")
    await fan_out(running, result())
    free_at = await running.database.read(lambda s: s.execute(select(col(ChannelQueue.next_free_at))).scalar_one())
    assert posted_at
    assert free_at >= posted_at[0]
