"""Of the alerts given up, only alerts in force are offered and posted after all."""

from datetime import timedelta

import pytest

from bot.outbox import backlog, dead_letters
from bot.outbox.dead_letters import OFFERED_FOR
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell
from tests.integration.pipeline.steps import wait, write

CALLS = 3
"""With native blocks, with sections, as plain text."""


async def given_up(pipeline, payload):
    """The number of the refused alert."""
    pipeline.slack.script("chat.postMessage", [failures.slack_error("msg_too_long")] * CALLS)
    await tell(pipeline, payload)
    pipeline.slack.script("chat.postMessage", [])
    return (await offered(pipeline))[0]


async def offered(pipeline):
    now = pipeline.clock()
    letters = await pipeline.database.read(lambda session: dead_letters.newest(session, 5, now))
    return [letter.message_id for letter in letters]


async def post_again(pipeline, message_id):
    """True if the alert was queued."""
    channel_id = await write(pipeline, dead_letters.post_again, message_id, pipeline.clock())
    await pipeline.post_all()
    return channel_id is not None


RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
ELSEWHERE = [meeting("rc_2", "rc_3", meeting_id="mt_2", course="Ayr"), result("rc_4")]


@pytest.mark.parametrize(
    ("before", "lost", "later", "is_in_force"),
    [
        ([], result(), [result(**RED_FIRST)], False),
        ([], abandonment(), [result()], False),
        ([], result(), [abandonment()], False),
        ([], abandonment("rc_1"), [meeting("rc_1", "rc_2")], False),
        ([result()], abandonment(), [], True),
        ([result()], abandonment(), [result(going="Soft")], True),
        ([], abandonment("rc_1"), ELSEWHERE, True),
    ],
    ids=[
        *("corrected", "run after all", "abandoned after all", "its meeting abandoned"),
        *("contradicts what was told", "contradicted by a mere addition", "others"),
    ],
)
async def test_alert_given_up_is_offered_and_posted_once_while_in_force(pipeline, before, lost, later, is_in_force):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *before)
    number = await given_up(pipeline, lost)
    await tell(pipeline, *later)
    there = pipeline.texts("CGB")
    assert await offered(pipeline) == [number] * is_in_force
    assert await post_again(pipeline, number) is is_in_force
    new = pipeline.texts("CGB")[len(there) :]
    assert ["ABANDONED" in text for text in new] == [True] * is_in_force
    assert ["CONFLICT" in text for text in new] == [bool(before)] * is_in_force
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, number)


async def test_races_of_a_meeting_whose_message_was_given_up_are_told_by_themselves(pipeline):
    def refuse_the_meeting(method, args):
        is_meeting = method == "chat.postMessage" and "whole meeting" in (args.text("text") or "")
        return failures.slack_error("msg_too_long") if is_meeting and args.text("channel") == "CGB" else None

    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.failure_of = refuse_the_meeting
    for payload in (meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_2", off_time="15:05")):
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    assert await pipeline.waiting() == {"dead_letter": 1}
    told = pipeline.texts("CGB")
    assert [("14:30" in text, "15:05" in text) for text in told] == [(True, False), (False, True)]


async def test_of_two_versions_that_were_given_up_the_later_is_offered(pipeline):
    await pipeline.subscribe("CGB", "GB")
    first = await given_up(pipeline, result())
    second = await given_up(pipeline, result(**RED_FIRST))
    assert await offered(pipeline) == [second]
    assert not await post_again(pipeline, first)
    assert await post_again(pipeline, second)


async def test_alert_that_a_channel_gave_up_by_unsubscribing_is_not_offered(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment())
    await pipeline.fanout.run_once()
    assert await write(pipeline, backlog.drop, "CGB", pipeline.clock()) == 1
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, 1)
    assert pipeline.texts("CGB") == []


async def test_alert_is_offered_for_two_days(pipeline):
    await pipeline.subscribe("CGB", "GB")
    number = await given_up(pipeline, abandonment())
    await wait(pipeline, (OFFERED_FOR - timedelta(minutes=1)).total_seconds())
    assert await offered(pipeline) == [number]
    await wait(pipeline, 120)
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, number)
