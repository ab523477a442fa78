"""A channel with live messages: one message a meeting, results in its thread, abandonments in the channel too."""

import asyncio
from datetime import timedelta

from sqlalchemy import select
from sqlmodel import col

from bot.channels import mutes
from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.filters import Meeting
from bot.db.tables import MessageKind, OutboxMessage
from bot.events.event import Topic
from bot.events.races import Course
from bot.operations.jobs.expire_queue import expire_queue
from bot.outbox.channel_closing import close_channel
from bot.sandbox.slack import failures
from tests.integration.pipeline.racing_day import DAY, abandonment, edits, free_all, past_waits, result, tell

EVERYTHING = frozenset(Topic)


async def subscribe(pipeline, channel="CGB"):
    await pipeline.subscribe(channel, "GB", EVERYTHING, show=(MEETINGS,))


def shown(pipeline, channel="CGB"):
    """The texts in the channel, and those in threads by the beginning of the thread's first message."""
    messages = pipeline.slack.messages(channel)
    first = {message.ts: message.text for message in messages}
    flat = [message.text for message in messages if message.thread_ts is None]
    return flat, [(first[message.thread_ts], message.text) for message in messages if message.thread_ts]


async def look_for_what_is_in_doubt(pipeline):
    for _ in range(4):
        await past_waits(pipeline, 60)
        await pipeline.post_all()


async def kinds(pipeline):
    def read(session):
        found = session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        return [(post.kind, post.state) for post in found if post.channel_id == "CGB"]

    return await pipeline.database.read(read)


async def test_results_are_in_the_thread_of_their_meeting_and_the_live_message_is_kept_up_to_date(pipeline):
    await subscribe(pipeline)
    await pipeline.subscribe("CALL", "*", EVERYTHING)
    await tell(
        pipeline,
        result("rc_1"),
        result("rc_2", off_time="15:05", placings=("Green Field", "Red Sky")),
        result("rc_3", course="York"),
    )
    (ascot, york), threads = shown(pipeline)
    assert [(live.split(",")[0], text.split(" (")[0]) for live, text in threads] == [
        ("Ascot", "Result: Ascot 14:30"),
        ("Ascot", "Result: Ascot 15:05"),
        ("York", "Result: York 14:30"),
    ]
    assert ascot.endswith("2 of 2 races run")
    assert york.endswith("1 of 1 race run")
    (live, *_) = pipeline.slack.messages("CGB")
    lines = live.blocks[0]["text"]["text"]
    assert "won by *Blue Moon*" in lines
    assert "won by *Green Field*" in lines
    flat, in_threads = shown(pipeline, "CALL")
    assert (len(flat), in_threads) == (3, [])


async def test_abandonment_correction_and_contradiction_are_in_the_channel_and_in_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(
        pipeline,
        result("rc_1"),
        abandonment("rc_2", off_time="15:05"),
        result("rc_1", placings=("Red Sky", "Blue Moon")),
        abandonment("rc_1"),
    )
    (live, lost, corrected, contradicted), threads = shown(pipeline)
    assert live.endswith("1 ABANDONED, 1 CONFLICT")
    assert "ABANDONED: Ascot 15:05" in lost
    assert "Red Sky" in corrected
    assert "ABANDONED" in contradicted
    assert len(threads) == 1
    (message, *_) = pipeline.slack.messages("CGB")
    assert "*ABANDONED*, frost" in str(message.blocks)
    assert "*CONFLICT*" in str(message.blocks)


async def test_first_abandonment_is_told_before_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, abandonment("rc_1"))
    first, live = pipeline.texts("CGB")
    assert first.startswith("ABANDONED: Ascot 14:30")
    assert live.endswith("1 ABANDONED")


async def test_waiting_edits_are_one(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_0", off_time="12:00"))
    for number in range(1, 31):
        await pipeline.deliver(result(f"rc_{number}", off_time=f"13:{number:02}"))
    await pipeline.post_all()
    (live,), threads = shown(pipeline)
    assert live.endswith("31 of 31 races run")
    assert len(threads) == 31
    assert len(edits(pipeline.slack)) <= 5
    assert await pipeline.waiting() == {}


async def test_reply_in_doubt_is_found_in_the_thread_and_not_repeated(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503).accepted()])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 2)
    assert await pipeline.waiting() == {}


async def test_reply_that_is_not_in_the_thread_is_repeated_once(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503)])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 2)


async def test_live_message_in_doubt_is_found_and_gets_its_replies(pipeline):
    await subscribe(pipeline)
    pipeline.slack.script("chat.postMessage", [failures.http_error(503).accepted()])
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    (live,), threads = shown(pipeline)
    assert live.endswith("2 of 2 races run")
    assert len(threads) == 2


async def test_result_is_flat_while_the_live_message_is_not_in_the_channel(pipeline):
    await subscribe(pipeline)
    pipeline.slack.script("chat.postMessage", [failures.slack_error("msg_blocked_by_policy")])
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    flat, threads = shown(pipeline)
    assert [text.split(" (")[0] for text in flat] == ["Result: Ascot 14:30", "Result: Ascot 15:05"]
    assert threads == []
    assert await pipeline.waiting() == {"dead_letter": 1}


async def test_result_refused_in_the_thread_is_told_in_the_channel(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.slack_error("thread_not_found")])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    (_, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:05")
    assert len(threads) == 1


async def test_results_are_flat_after_somebody_deleted_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.update", [failures.slack_error("message_not_found")])
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40"))
    (_, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:40")
    assert len(threads) == 2
    assert await pipeline.waiting() == {}


async def test_two_replicas_make_one_live_message(make_pipeline):
    one, other = make_pipeline(), make_pipeline()
    await subscribe(one)
    for number in range(10):
        await one.deliver(result(f"rc_{number}", off_time=f"13:1{number}"))
    await asyncio.gather(one.post_all(), other.post_all())
    await free_all(one)
    await asyncio.gather(one.post_all(), other.post_all())
    (live,), threads = shown(one)
    assert live.endswith("10 of 10 races run")
    assert len(threads) == 10


async def test_muted_meeting_gets_no_live_message_and_a_present_one_goes_on(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    for course in ("Ascot", "York"):
        muted = Meeting(course=Course(name=course), race_date=DAY)
        await pipeline.database.write(
            lambda session, muted=muted: mutes.mute(session, "CGB", muted, "UALICE", pipeline.clock())
        )
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", course="York"))
    (live,), threads = shown(pipeline)
    assert live.endswith("2 of 2 races run")
    assert len(threads) == 1


async def test_live_message_of_a_day_gone_by_is_dropped_while_the_channel_is_closed(pipeline):
    await subscribe(pipeline)
    await pipeline.database.write(
        lambda session: close_channel(session, pipeline.notices, "CGB", "is_archived", pipeline.clock())
    )
    await tell(pipeline, result("rc_1"))
    pipeline.clock.forward(timedelta(days=2).total_seconds())
    await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock)
    assert await kinds(pipeline) == [(MessageKind.LIVE, "dead_letter"), (MessageKind.EVENT, "queued")]
