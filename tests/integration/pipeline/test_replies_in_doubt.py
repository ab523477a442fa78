"""Replies in the thread of a live message whose outcome nobody heard, and edits of live messages without an answer."""

from datetime import timedelta
from secrets import token_hex

import pytest

from bot.db.database_clock import database_now
from bot.db.tables import MessageKind
from bot.errors import SlackDoubtful
from bot.outbox import call_holds, channel_queues
from bot.outbox.messenger import Call
from bot.settings import DoubtfulPosts
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, free_all, past_waits, result, tell
from tests.integration.pipeline.racing_day import shown as shown_by
from tests.integration.pipeline.test_live_meetings import kinds, look_for_what_is_in_doubt, shown, subscribe
from tests.notice_levels import words_of

NOT_READABLE = (
    *("missing_scope", "not_allowed_token_type", "access_denied", "enterprise_is_restricted"),
    *("team_access_not_granted", "user_is_bot", "method_not_supported_for_channel_type"),
    *("no_permission", "channel_not_found", "not_in_channel", "ekm_access_denied"),
)


async def leave_a_reply_in_doubt(pipeline, *looks, posted=False):
    """And an abandonment behind. `looks`: the failures of the looks into the thread."""
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    failure = failures.http_error(503)
    pipeline.slack.script("chat.postMessage", [failure.accepted() if posted else failure])
    pipeline.slack.script("conversations.replies", list(looks))
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await pipeline.deliver(abandonment("rc_3", off_time="15:40"))


async def look_once(pipeline):
    await past_waits(pipeline, 20)
    await pipeline.post_all()


def looks_into_threads(pipeline):
    return sum(call.method == "conversations.replies" for call in pipeline.slack.calls)


def beginnings(texts):
    return [text.split(" (")[0] for text in texts]


@pytest.mark.parametrize("posted", [True, False])
@pytest.mark.parametrize("code", NOT_READABLE)
async def test_reply_whose_thread_may_not_be_read_is_told_in_the_channel_after_one_look(pipeline, code, posted):
    await leave_a_reply_in_doubt(pipeline, *[failures.slack_error(code)] * 99, posted=posted)
    await look_once(pipeline)
    (_, *flat), threads = shown(pipeline)
    assert looks_into_threads(pipeline) == 1
    assert sum("ABANDONED: Ascot 15:40" in text for text in flat) == 1
    messages = [message for message in pipeline.slack.messages("CGB") if message.thread_ts is None]
    (told,) = [message for message in messages if "Result: Ascot 15:05" in message.text]
    assert "may be a repeat" in shown_by(told)
    assert len(threads) == 1 + posted
    assert (await pipeline.waiting(), await pipeline.holds()) == ({}, {})


@pytest.mark.parametrize("code", NOT_READABLE)
async def test_reply_whose_thread_may_not_be_read_is_held_after_one_look(make_pipeline, code):
    pipeline = make_pipeline(doubtful=DoubtfulPosts.HOLD)
    await leave_a_reply_in_doubt(pipeline, *[failures.slack_error(code)] * 99)
    await look_once(pipeline)
    (live, *flat), threads = shown(pipeline)
    assert looks_into_threads(pipeline) == 1
    assert beginnings(flat) == ["ABANDONED: Ascot 15:40"]
    assert live.endswith("2 run so far, 1 ABANDONED")
    assert len(threads) == 1
    assert await pipeline.waiting() == {"dead_letter": 1}
    (told,) = pipeline.texts("CADMIN")
    assert "it may have been posted, and I can't look" in told


async def test_reply_whose_thread_fails_again_and_again_is_told_in_the_channel(pipeline):
    await leave_a_reply_in_doubt(pipeline, *[failures.http_error(503)] * 99, posted=True)
    for _ in range(6):
        await past_waits(pipeline, 60)
        await pipeline.post_all()
    (_, *flat), threads = shown(pipeline)
    assert sum("Result: Ascot 15:05" in text for text in flat) == 1
    assert sum("ABANDONED: Ascot 15:40" in text for text in flat) == 1
    assert len(threads) == 2
    assert await pipeline.waiting() == {}


async def test_reply_in_doubt_is_found_in_its_thread_after_the_live_message_was_deleted(pipeline):
    """A dead process left an edit, and edits are held until a reply is in doubt."""
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    await pipeline.deliver(result("rc_2", off_time="15:05"))
    await pipeline.fanout.run_once()

    def hold_edits(session):
        until = database_now(session, pipeline.clock) + timedelta(seconds=60)
        call_holds.hold_call(session, Call.EDIT, until, "ratelimited")

    def claim_and_die(session):
        now = database_now(session, pipeline.clock)
        return channel_queues.claim(
            session, now, token=token_hex(8), limit=9, lease_s=9, call_s=5, allowed={Call.POST: 0}
        )

    (left,) = await pipeline.database.write(claim_and_die)
    assert left.call is Call.EDIT
    await past_waits(pipeline, 20)
    await pipeline.database.write(hold_edits)
    await pipeline.deliver(result("rc_3", off_time="15:40"))
    await pipeline.fanout.run_once()
    pipeline.slack.script("chat.postMessage", [failures.passes(), failures.http_error(503).accepted()])
    for _ in range(2):
        await pipeline.poster.start_due()
        await pipeline.poster.finish()
    assert [state for _, state in await kinds(pipeline)] == ["sent", "sent", "sent", "sending", "in_doubt", "queued"]
    pipeline.slack.script("chat.update", [], then_always=failures.slack_error("message_not_found"))
    await free_all(pipeline)
    await look_for_what_is_in_doubt(pipeline)
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 3)
    assert await pipeline.waiting() == {}


async def test_outage_of_edits_ends_no_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.update", [failures.http_error(503)] * 7)
    for number in range(2, 9):
        await tell(pipeline, result(f"rc_{number}", off_time=f"15:0{number}"))
        await free_all(pipeline)
        await pipeline.post_all()
    for _ in range(7):
        await free_all(pipeline)
        await pipeline.post_all()
    (live,), threads = shown(pipeline)
    assert live.endswith("8 run so far")
    assert len(threads) == 8
    assert await pipeline.waiting() == {}


async def test_edit_refused_for_another_cause_ends_no_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.update", [failures.slack_error("msg_blocked_by_policy")])
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40"))
    (live,), threads = shown(pipeline)
    assert live.endswith("3 run so far")
    assert len(threads) == 3
    assert await pipeline.waiting() == {"dead_letter": 1}
    (told,) = pipeline.texts("CADMIN")
    assert "msg_blocked_by_policy" in told


@pytest.mark.parametrize("code", ["message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"])
async def test_edit_refused_because_the_message_is_gone_ends_the_live_message(pipeline, code):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.update", [failures.slack_error(code)])
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40"))
    (_, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:40")
    assert len(threads) == 2
    assert await pipeline.waiting() == {}


async def test_edit_of_a_result_waits_for_no_edit_of_a_live_message(pipeline):
    await subscribe(pipeline)
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_1", going="Good"))
    pipeline.slack.script("chat.update", [], then_always=failures.http_error(503))
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_1", going="Soft"))
    for number in range(8):
        await tell(pipeline, result(f"rc_ire_{number}", region="IRE", course="Naas"))
        await free_all(pipeline)
        await pipeline.post_all()
    assert any("Soft in the other" in text for text in pipeline.texts("CGB"))
    assert (MessageKind.LIVE_EDIT, "queued") in await kinds(pipeline)
    pipeline.slack.script("chat.update", [])
    await free_all(pipeline)
    await pipeline.post_all()
    assert pipeline.texts("CGB")[0].endswith("2 run so far")
    assert await pipeline.waiting() == {}


async def test_edit_at_fault_is_given_up_and_the_next_news_edits_the_live_message(pipeline, monkeypatch):
    """Slack answers the edits of the other live message."""
    await subscribe(pipeline)
    await subscribe(pipeline, "CALL")
    await tell(pipeline, result("rc_1"))
    sender = pipeline.poster.claim_sender.sender
    update = sender.update

    async def fail_in_one(channel_id, *args, **more):
        if channel_id == "CGB":
            raise SlackDoubtful("chat.update", "HTTP 503")
        await update(channel_id, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(sender, "update", fail_in_one)
        await tell(pipeline, result("rc_2", off_time="15:05"))
        for _ in range(4):
            await free_all(pipeline)
            await pipeline.post_all()
    (live,), _ = shown(pipeline)
    assert live.endswith("1 run so far")
    assert await pipeline.waiting() == {"dead_letter": 1}
    (told,) = pipeline.texts("CADMIN")
    assert words_of(told).partition(":")[0] == "An edit of a message in channel <#CGB> was not made"
    await tell(pipeline, result("rc_3", off_time="15:40"))
    (live,), threads = shown(pipeline)
    assert live.endswith("3 run so far")
    assert len(threads) == 3
