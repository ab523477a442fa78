"""Of the alerts given up, only alerts in force are offered and posted after all."""

from datetime import timedelta

import pytest

from bot.outbox import backlog, dead_letters
from bot.outbox.dead_letters import OFFERED_FOR
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, tell

REFUSED = failures.slack_error("msg_too_long")
CALLS = 3
"""With native blocks, with sections, as plain text."""


async def given_up(pipeline, payload):
    """The number of the refused alert."""
    pipeline.slack.script("chat.postMessage", [REFUSED] * CALLS)
    await tell(pipeline, payload)
    pipeline.slack.script("chat.postMessage", [])
    await free_all(pipeline)
    return (await offered(pipeline))[0]


async def offered(pipeline):
    now = pipeline.clock()
    letters = await pipeline.database.read(lambda session: dead_letters.newest(session, 5, now))
    return [letter.message_id for letter in letters]


async def post_again(pipeline, message_id):
    """True if the alert was queued."""
    now = pipeline.clock()
    channel_id = await pipeline.database.write(lambda session: dead_letters.post_again(session, message_id, now))
    await free_all(pipeline)
    await pipeline.post_all()
    return channel_id is not None


async def tell_others(pipeline, *payloads):
    for payload in payloads:
        await tell(pipeline, payload)
        await free_all(pipeline)


@pytest.mark.parametrize(
    ("lost", "later"),
    [
        (result(), [result(placings=("Red Sky", "Blue Moon"))]),
        (abandonment(), [result()]),
        (result(), [abandonment()]),
        (abandonment("rc_1"), [meeting("rc_1", "rc_2")]),
    ],
    ids=["corrected", "run after all", "abandoned after all", "its meeting abandoned"],
)
async def test_alert_that_later_news_replaced_is_neither_offered_nor_posted(pipeline, lost, later):
    await pipeline.subscribe("CGB", "GB")
    number = await given_up(pipeline, lost)
    await tell_others(pipeline, *later)
    there = pipeline.texts("CGB")
    assert len(there) == len(later)
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, number)
    assert pipeline.texts("CGB") == there


@pytest.mark.parametrize(
    ("before", "lost", "later"),
    [
        ([result()], abandonment(), []),
        ([result()], abandonment(), [result(going="Soft")]),
        ([], abandonment("rc_1"), [meeting("rc_2", "rc_3", meeting_id="mt_2", course="Ayr"), result("rc_4")]),
    ],
    ids=["contradicts what was told", "contradicted by a mere addition", "others"],
)
async def test_alert_that_still_holds_is_posted_once(pipeline, before, lost, later):
    await pipeline.subscribe("CGB", "GB")
    await tell_others(pipeline, *before)
    number = await given_up(pipeline, lost)
    await tell_others(pipeline, *later)
    there = pipeline.texts("CGB")
    assert await offered(pipeline) == [number]
    assert await post_again(pipeline, number)
    assert len(pipeline.texts("CGB")) == len(there) + 1
    assert "ABANDONED" in pipeline.texts("CGB")[-1]
    assert ("CONFLICT" in pipeline.texts("CGB")[-1]) == bool(before)
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, number)


async def test_of_two_versions_that_were_given_up_the_later_is_offered(pipeline):
    await pipeline.subscribe("CGB", "GB")
    first = await given_up(pipeline, result())
    second = await given_up(pipeline, result(placings=("Red Sky", "Blue Moon")))
    assert await offered(pipeline) == [second]
    assert not await post_again(pipeline, first)
    assert await post_again(pipeline, second)


async def test_alert_that_a_channel_gave_up_by_unsubscribing_is_not_offered(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment())
    while await pipeline.fanout.run_once():
        continue
    assert await pipeline.database.write(lambda session: backlog.drop(session, "CGB", pipeline.clock())) == 1
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, 1)
    assert pipeline.texts("CGB") == []


async def test_alert_is_offered_for_two_days(pipeline):
    await pipeline.subscribe("CGB", "GB")
    number = await given_up(pipeline, abandonment())
    pipeline.clock.now += OFFERED_FOR - timedelta(minutes=1)
    assert await offered(pipeline) == [number]
    pipeline.clock.now += timedelta(minutes=2)
    assert await offered(pipeline) == []
    assert not await post_again(pipeline, number)
