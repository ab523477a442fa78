"""Alerts that were given up: which are offered to be posted after all."""

from functools import partial

from bot.channels import subscriptions
from bot.outbox import backlog, dead_letters
from bot.outbox.channel_closing import pause_channel
from bot.outbox.dead_letters import OFFERED_FOR
from bot.sandbox.slack.failures import slack_error
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, tell


async def offered(pipeline):
    return await pipeline.database.read(lambda session: dead_letters.newest(session, 5, pipeline.clock()))


async def give_up(pipeline, delivery):
    """The delivery's message is refused as it is, and in every plainer form."""
    pipeline.slack.script("chat.postMessage", [], then_always=slack_error("msg_too_long"))
    await tell(pipeline, delivery)
    pipeline.slack.script("chat.postMessage", [])


async def post_again(pipeline, letter):
    queued = await pipeline.database.write(partial(dead_letters.post_again, message_id=letter.message_id))
    await free_all(pipeline)
    await pipeline.post_all()
    return queued


async def test_alert_is_offered_once_and_for_two_days(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await give_up(pipeline, abandonment("rc_1"))
    await give_up(pipeline, abandonment("rc_2"))
    second, first = await offered(pipeline)
    assert await post_again(pipeline, first) == "CGB"
    assert await post_again(pipeline, first) is None
    assert [one.message_id for one in await offered(pipeline)] == [second.message_id]
    pipeline.clock.forward(OFFERED_FOR.total_seconds() + 60)
    assert await offered(pipeline) == []


async def test_alert_that_a_later_message_corrects_is_not_posted_after_all(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await give_up(pipeline, result("rc_1", placings=("Golden Melody", "Blue Moon")))
    (letter,) = await offered(pipeline)
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Golden Melody")))
    assert await offered(pipeline) == []
    assert await post_again(pipeline, letter) is None
    assert len(pipeline.texts("CGB")) == 1


async def test_abandonment_that_a_result_contradicts_is_not_posted_after_all(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await give_up(pipeline, abandonment("rc_1"))
    (letter,) = await offered(pipeline)
    await tell(pipeline, result("rc_1"))
    assert await post_again(pipeline, letter) is None


async def test_abandonment_that_contradicts_a_result_is_the_last_word(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    await give_up(pipeline, abandonment("rc_1"))
    (letter,) = await offered(pipeline)
    assert await post_again(pipeline, letter) == "CGB"


async def test_race_of_a_told_meeting_is_not_posted_after_all(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await give_up(pipeline, abandonment("rc_1"))
    (letter,) = await offered(pipeline)
    await tell(pipeline, meeting("rc_1", "rc_2"))
    assert await post_again(pipeline, letter) is None


async def test_channel_that_unsubscribed_is_offered_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await tell(pipeline, result("rc_1"))

    def leave(session):
        subscriptions.remove(session, "CGB", ["GB"])
        backlog.drop(session, "CGB", pipeline.clock())

    await pipeline.database.write(leave)
    assert await offered(pipeline) == []
