"""Messages claimed in the transaction of their fan-out, and messages that wait."""

import time
from datetime import timedelta

import pytest
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
from bot.outbox.messenger import Call
from bot.outbox.pace import Pace
from bot.racedata import race_book_store
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both, on_postgresql
from tests.integration.pipeline.racing_day import abandonment, result, shown
from tests.integration.pipeline.steps import close, fail, hour, kinds, pause, wait, write


@pytest_asyncio.fixture
async def running(pipeline):
    """The poster's loop runs, and begins nothing by itself: fan-out claimed every sent message."""
    pipeline.poster._is_running = True
    return pipeline


async def fan_out_and_finish(pipeline, *payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    await pipeline.fanout.run_once()
    await pipeline.poster.finish()


TWO, NEWER = [result("rc_1"), result("rc_2")], result(placings=("Red Sky", "Blue Moon"))


@pytest.mark.parametrize(
    ("turns_of_fanout", "sent", "queued"),
    [([[result()]], 1, 0), ([TWO], 0, 2), ([TWO, [abandonment("rc_3")]], 0, 3)],
    ids=["one", "two", "behind two"],
)
@on_both
async def test_only_a_single_new_message_of_a_free_channel_is_sent(running, turns_of_fanout, sent, queued):
    await running.subscribe("CGB", "GB")
    for payloads in turns_of_fanout:
        await fan_out_and_finish(running, *payloads)
    assert len(running.texts("CGB")) == sent
    assert await running.waiting() == ({"queued": queued} if queued else {})
    await running.post_all()
    assert ["ABANDONED" in text for text in running.texts("CGB")] == [queued == 3, False, False][: sent + queued]


@pytest.mark.parametrize(("later", "messages", "waiting"), [(NEWER, 2, {"queued": 1}), (result(going="Soft"), 1, {})])
@on_both
async def test_correction_or_a_lone_edit_is_made_at_once_and_another_edit_follows(running, later, messages, waiting):
    await running.subscribe("CGB", "GB")
    await fan_out_and_finish(running, result())
    await wait(running, 2)
    await fan_out_and_finish(running, later)
    assert (len(running.texts("CGB")), await running.waiting()) == (messages, waiting)
    await running.post_all()
    assert ("Superseded" if waiting else "Soft") in shown(running.slack.messages("CGB")[0])


@on_both
async def test_news_is_not_sent_before_the_message_that_waits_no_longer_for_its_hour(running):
    await running.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(running),))
    await fan_out_and_finish(running, result())
    await fan_out_and_finish(running, abandonment())
    assert running.texts("CGB") == []
    await running.post_all()
    assert [text.startswith("ABANDONED") for text in running.texts("CGB")] == [False, True]


@on_both
async def test_muted_message_beside_a_message_that_is_sent_stays_muted(running):
    await running.subscribe("CGB", "GB", frozenset(Topic))
    ascot = Meeting(meeting_id="mt_1", course=Course(name="Ascot"), race_date=DAY)
    await write(running, mutes.mute, "CGB", ascot, "UALICE", running.clock())
    await fan_out_and_finish(running, result("rc_1", meeting_id="mt_1"), abandonment("rc_2", meeting_id="mt_1"))
    assert kinds(running) == ["ABANDONED"]


@on_both
async def test_paused_and_closed_channels_and_a_held_method_are_not_sent_to(running):
    for channel_id in ("CGB", "CIRE", "CALL"):
        await running.subscribe(channel_id, "GB")
    await pause(running)
    await close(running, "CIRE")
    await fan_out_and_finish(running, result("rc_1"))
    assert [len(running.texts(channel)) for channel in ("CGB", "CIRE", "CALL")] == [0, 0, 1]
    # By the server's clock too.
    await wait(running, 0)
    until = running.clock.now + timedelta(seconds=60)
    await write(running, call_holds.hold_call, Call.POST, until, "ratelimited")
    await fan_out_and_finish(running, result("rc_2"))
    assert len(running.texts("CALL")) == 1


@on_both
async def test_no_more_is_sent_at_once_than_the_pace_allows(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0.0, workspace_per_minute=0.001, workspace_burst=2))
    pipeline.poster._is_running = True
    for channel_id in ("CGB", "CIRE", "CALL"):
        await pipeline.subscribe(channel_id, "GB")
    await fan_out_and_finish(pipeline, result("rc_1"))
    assert sum(len(pipeline.texts(channel)) for channel in ("CGB", "CIRE", "CALL")) == 2
    assert await pipeline.waiting() == {"queued": 1}


@on_both
async def test_no_more_is_sent_at_once_than_another_replica_has_left(make_pipeline):
    pace = Pace(channel_s=0.0, workspace_per_minute=0.001, workspace_burst=3)
    one = make_pipeline(pace=pace)
    other = make_pipeline(pace=pace, clock=one.clock)
    await one.subscribe("CGB", "GB")
    for number, replica in enumerate((one, other, other, one)):
        replica.poster._is_running = True
        await fan_out_and_finish(replica, result(f"rc_{number}"))
        # The channel is free a moment after the outcome.
        await wait(replica, 1)
    assert len(one.texts("CGB")) == 3
    assert await one.waiting() == {"queued": 1}


@on_both
async def test_refused_message_that_was_sent_at_once_waits_as_any_other(running):
    await running.subscribe("CGB", "GB")
    fail(running, post=[failures.rate_limited(3)])
    await fan_out_and_finish(running, result())
    assert await running.waiting() == {"queued": 1}


@on_postgresql
async def test_slow_transaction_shortens_no_wait_after_a_message(running, monkeypatch):
    """The system sets PostgreSQL's clock by milliseconds, and not the monotonic clock."""
    slow_s = 0.2
    learn, post, posted_at = race_book_store.learn, running.sender.post, []

    def learn_slowly(*what):
        time.sleep(slow_s)
        return learn(*what)

    async def post_and_note(*what, **how):
        posted_at.append(await running.database.read(lambda session: database_now(session, running.clock)))
        return await post(*what, **how)

    monkeypatch.setattr(race_book_store, "learn", learn_slowly)
    monkeypatch.setattr(running.sender, "post", post_and_note)
    await running.subscribe("CGB", "GB")
    await fan_out_and_finish(running, result())
    free_at = await running.database.read(lambda s: s.execute(select(col(ChannelQueue.next_free_at))).scalar_one())
    assert posted_at
    assert free_at > posted_at[0] - timedelta(seconds=slow_s / 2)
