"""What Slack can answer, and what becomes of the post, against the stand-in."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import delete

from bot.channels import subscriptions
from bot.db.tables import MethodHold, Reason
from bot.outbox import call_holds, claim_outcomes
from bot.outbox.messenger import Call
from bot.outbox.pace import Pace
from bot.settings import DoubtfulPosts
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.racing_day import past_waits
from tests.notice_levels import WARNING


def result(race_id="rc_1", region="GB", horse="Blue Moon"):
    race = {"race_id": race_id, "region": region, "course": "Ascot", "date": "2026-11-20", "off_time": "14:30"}
    return {"event": "result.received", "race": race | {"runners": [{"position": 1, "horse": horse}]}}


async def deliver_one(pipeline, payload=None):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(payload or result())
    await pipeline.post_all()


async def test_rate_limited_method_is_held_and_the_post_goes_out_after(pipeline):
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(7)])
    await deliver_one(pipeline)
    assert pipeline.texts("CGB") == []
    assert await pipeline.holds() == {"chat.postMessage": "ratelimited"}
    # By the database's clock, which a test can't move on PostgreSQL.
    await pipeline.database.write(lambda session: session.execute(delete(MethodHold)))
    await past_waits(pipeline, 8)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_shorter_wait_does_not_end_a_longer_one(pipeline):
    now = pipeline.clock()
    for seconds in (60, 5):
        until = now + timedelta(seconds=seconds)
        await pipeline.database.write(partial(call_holds.hold_call, call=Call.POST, until=until, reason="429"))
    until_30 = now + timedelta(seconds=30)
    assert await pipeline.database.read(partial(call_holds.reasons_of_holds, now=until_30)) == {Call.POST: "429"}


CLOSED = ("is_archived", "channel_not_found", "not_in_channel", "restricted_action_read_only_channel")


@pytest.mark.parametrize("code", CLOSED)
async def test_closed_channel_suspends_and_keeps_its_queue(pipeline, code):
    pipeline.slack.script("chat.postMessage", [failures.slack_error(code)])
    await deliver_one(pipeline)
    await pipeline.deliver(result("rc_2"))
    await pipeline.post_all()
    assert pipeline.texts("CGB") == []
    (row,) = await pipeline.database.read(lambda session: subscriptions.of_channel(session, "CGB"))
    assert (row.state, row.state_reason) == ("suspended", code)
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{WARNING}Slack no longer lets me post in channel <#CGB>")
    assert await pipeline.waiting() == {"queued": 2}
    started = await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CGB", pipeline.clock()))
    assert started == 1
    await past_waits(pipeline, 1)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 2


async def test_dead_credentials_stop_every_post_and_keep_the_queue(pipeline):
    pipeline.slack.script("chat.postMessage", [failures.slack_error("token_revoked")])
    await pipeline.subscribe("CALL", "*")
    await deliver_one(pipeline)
    assert (await pipeline.holds()).keys() == {"*"}
    assert (await pipeline.waiting())["queued"] >= 1


async def test_refused_blocks_are_posted_as_plain_text(pipeline):
    pipeline.slack.script("chat.postMessage", [failures.slack_error("invalid_blocks")] * 2)
    await deliver_one(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert message.text.startswith("Result: Ascot")
    assert not message.blocks


async def test_unknown_refusal_parks_the_post_and_the_lane_goes_on(pipeline):
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    await deliver_one(pipeline)
    assert await pipeline.waiting() == {"dead_letter": 1}
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{WARNING}A message for channel <#CGB> was not posted: ")
    assert "never_heard_of_it" in told
    await pipeline.deliver(result("rc_2"))
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


@pytest.mark.parametrize(
    ("failure", "accepted"),
    [
        (failures.drop_after(), True),
        (failures.drop_before(), False),
        (failures.http_error(503), False),
        (failures.html().accepted(), True),
        (failures.truncated().accepted(), True),
        (failures.slack_error("internal_error").accepted(), True),
        (failures.slack_error("fatal_error"), False),
    ],
    ids=["drop after", "drop before", "503", "html, accepted", "truncated, accepted", "internal, accepted", "fatal"],
)
async def test_doubtful_post_is_looked_for_before_it_is_repeated(pipeline, failure, accepted):
    pipeline.slack.script("chat.postMessage", [failure])
    await deliver_one(pipeline)
    assert await pipeline.waiting() == {"in_doubt": 1}
    assert len(pipeline.texts("CGB")) == int(accepted)
    for _ in range(6):
        await past_waits(pipeline, 20)
        await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
    assert await pipeline.waiting() == {}
    looks = [call for call in pipeline.slack.calls if call.method == "conversations.history"]
    assert len(looks) == (1 if accepted else 2)


@pytest.mark.parametrize(("choice", "posts"), [(DoubtfulPosts.REPEAT, 2), (DoubtfulPosts.HOLD, 1)])
async def test_doubtful_post_without_the_history_scope_is_as_the_operator_chose(make_pipeline, slack, choice, posts):
    pipeline = make_pipeline(doubtful=choice)
    slack.scopes -= {"channels:history", "groups:history"}
    slack.script("chat.postMessage", [failures.drop_after()])
    await deliver_one(pipeline)
    for _ in range(3):
        await past_waits(pipeline, 20)
        await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == posts
    assert await pipeline.waiting() == ({} if choice is DoubtfulPosts.REPEAT else {"dead_letter": 1})
    if choice is DoubtfulPosts.REPEAT:
        assert "repeat" in str(slack.messages("CGB")[1].blocks)


@on_both
async def test_worker_that_lost_its_lease_changes_nothing(make_pipeline, slack):
    first, second = make_pipeline(), make_pipeline()
    await first.subscribe("CGB", "GB")
    await first.deliver(result())
    await first.fanout.run_once()
    (claim,) = await first.database.write(lambda session: first.poster._claim(session, 5))
    assert await second.database.write(lambda session: second.poster._claim(session, 5)) == []
    await past_waits(first, 30)
    second.clock.now = first.clock.now
    (taken_over,) = await second.database.write(lambda session: second.poster._claim(session, 5))
    assert taken_over.in_doubt
    now = first.clock()
    assert not await first.database.write(lambda s: claim_outcomes.record_sent(s, claim, "1.1", now, free_at=now))
    assert not await first.database.write(
        lambda s: claim_outcomes.record_not_sent(s, claim, free_at=now, detail="late")
    )
    given_up = {"free_at": now, "reason": Reason.REFUSED, "detail": "late"}
    assert not await first.database.write(lambda s: claim_outcomes.record_given_up(s, claim, now, **given_up))
    assert await first.waiting() == {"in_doubt": 1}


@pytest.mark.parametrize("messages", [1, 2, 3])
async def test_poster_is_woken_after_a_message_if_more_wait_in_the_channel(pipeline, messages):
    await pipeline.subscribe("CGB", "GB")
    for number in range(messages):
        await pipeline.deliver(result(f"rc_{number}"))
    while await pipeline.fanout.run_once():
        continue
    for number in range(messages):
        pipeline.poster.wake.clear()
        await pipeline.poster.start_due()
        await pipeline.poster.finish()
        assert pipeline.poster.wake.is_set() is (number < messages - 1)


async def test_channel_gets_one_post_a_second(make_pipeline, slack):
    pipeline = make_pipeline(pace=Pace())
    await pipeline.subscribe("CGB", "GB")
    for number in range(3):
        await pipeline.deliver(result(f"rc_{number}"))
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1
    await past_waits(pipeline, 1)
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 2
