"""A channel that lets nobody post is tried again and again: one closing, told once, until a post is taken."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.tables import ChannelQueue, OutboxMessage
from bot.operations.jobs.check_channels import ChannelCheck
from bot.operations.jobs.expire_queue import expire_queue
from bot.outbox.channel_closing import close_channel
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, free_all, result

RESTRICTED = failures.slack_error("restricted_action")


async def is_member(_channel_id):
    return True


@pytest.fixture
def check(pipeline):
    return ChannelCheck(pipeline.database, is_member, pipeline.reopening, pipeline.clock, pipeline.poster.wake)


@pytest.fixture
def restrict(pipeline):
    """Nobody may post in CGB, whoever else is posted to."""
    send = pipeline.poster.sender.web.chat_postMessage

    async def refuse(*, channel, **message):
        if channel == "CGB" and pipeline.slack.is_restricted:
            pipeline.slack.script("chat.postMessage", [RESTRICTED])
        return await send(channel=channel, **message)

    pipeline.slack.is_restricted = True
    pipeline.poster.sender.web.chat_postMessage = refuse

    def lift():
        pipeline.slack.is_restricted = False

    return lift


async def post_all(pipeline):
    for _ in range(3):
        await free_all(pipeline)
        await pipeline.post_all()


async def try_again(pipeline, check, times):
    for _ in range(times):
        pipeline.clock.forward(600)
        await check()
        await post_all(pipeline)


async def give_up_all(pipeline):
    """As if all that waits had waited for very long."""
    older = datetime(2026, 1, 1, tzinfo=UTC)
    statement = update(OutboxMessage).where(col(OutboxMessage.state) == "queued").values(received_at=older)
    await pipeline.database.write(lambda session: session.execute(statement))
    return await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock)


def told(pipeline):
    """What admins heard, and what the person who subscribed the channel did."""
    return pipeline.texts("CADMIN"), pipeline.texts(pipeline.slack.direct_message("UALICE").id)


async def subscription(pipeline):
    (row,) = await pipeline.database.read(lambda session: subscriptions.of_channel(session, "CGB"))
    return row.state


async def lane(pipeline):
    return await pipeline.database.read(
        lambda session: session.execute(select(ChannelQueue).where(col(ChannelQueue.channel_id) == "CGB")).scalar_one()
    )


async def test_closing_and_its_end_are_told_once_though_trials_find_nothing_to_post(pipeline, check, restrict):
    await pipeline.subscribe("CGB", "GB")
    for number in range(3):
        await pipeline.deliver(result(f"rc_{number}"))
        await post_all(pipeline)
        await give_up_all(pipeline)
        # The first trials post the summary of what was given up; with nothing at all to post the subscriptions start.
        await try_again(pipeline, check, 3)
    admins, creator = told(pipeline)
    assert [text for text in admins if "no longer lets" in text] == admins[:1]
    assert "in channel <#CGB>" in admins[0]
    assert "Subscribed by <@UALICE>" in admins[0]
    assert len(creator) == 1
    assert "in channel <#CGB>" in creator[0]
    restrict()
    await try_again(pipeline, check, 2)
    await pipeline.deliver(result("rc_9"))
    await post_all(pipeline)
    admins, creator = told(pipeline)
    assert [text for text in [*admins, *creator] if "again" in text and "lets me post" in text] == [admins[-1]] * 2
    assert len(creator) == 2
    assert await subscription(pipeline) == "live"
    assert (await lane(pipeline)).state_since is None


async def test_what_was_given_up_between_trials_is_counted_and_told_once(pipeline, check, restrict):
    await pipeline.subscribe("CGB", "GB")
    for number in range(3):
        await pipeline.deliver(result(f"rc_{number}"))
        await post_all(pipeline)
        assert await give_up_all(pipeline) == 1
        await try_again(pipeline, check, 1)
    admins, _ = told(pipeline)
    assert len([text for text in admins if "given up" in text]) == 1
    restrict()
    await try_again(pipeline, check, 1)
    (summary,) = pipeline.texts("CGB")
    assert "3 messages had waited too long" in summary


async def test_subscriptions_start_with_the_first_post_that_is_taken(pipeline, check, restrict):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment())
    await post_all(pipeline)
    await try_again(pipeline, check, 2)
    assert await subscription(pipeline) == "suspended"
    restrict()
    await try_again(pipeline, check, 1)
    assert len(pipeline.texts("CGB")) == 1
    assert await subscription(pipeline) == "live"


async def test_channel_that_closes_once_more_after_a_post_is_told_anew(pipeline):
    await pipeline.subscribe("CGB", "GB")
    listening = pipeline.channel_life()
    for number in range(2):
        await pipeline.slack.archive("CGB")
        await listening.on_closed({"type": "channel_archive", "channel": "CGB"})
        await pipeline.deliver(result(f"rc_{number}"))
        await pipeline.slack.unarchive("CGB")
        await listening.on_opened({"type": "channel_unarchive", "channel": "CGB"})
        await post_all(pipeline)
        pipeline.clock.forward(60)
    admins, creator = told(pipeline)
    assert ["no longer" in text for text in admins] == [True, False, True, False]
    assert len(creator) == 4


async def test_summary_of_a_later_trial_says_what_came_since_the_one_before(pipeline, check, restrict):
    """One closing, two trials, each with a summary: nothing that waits goes into one that was taken back."""
    await pipeline.subscribe("CGB", "GB")
    for race_id in ("first", "second"):
        await pipeline.deliver(abandonment(race_id, course=f"Course of {race_id}"))
        await post_all(pipeline)
        older = pipeline.clock() - timedelta(hours=4)
        statement = update(OutboxMessage).where(col(OutboxMessage.state) == "queued").values(received_at=older)
        await pipeline.database.write(lambda session, one=statement: session.execute(one))
        await try_again(pipeline, check, 1)
    restrict()
    await try_again(pipeline, check, 1)
    (summary,) = pipeline.texts("CGB")
    assert "Course of first" in summary
    assert "Course of second" in summary
    assert "queued" not in await pipeline.waiting()


async def test_post_that_was_taken_before_the_closing_does_not_end_it(pipeline, check, restrict):
    await pipeline.subscribe("CGB", "GB")
    restrict()
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    now = pipeline.clock()
    await pipeline.database.write(lambda s: close_channel(s, pipeline.notices, "CGB", "restricted_action", now))
    over = pipeline.clock() - timedelta(minutes=1)
    earlier = (
        update(OutboxMessage).where(col(OutboxMessage.state).in_(["sending", "in_doubt"])).values(deadline_at=over)
    )
    await pipeline.database.write(lambda session: session.execute(earlier))
    await try_again(pipeline, check, 1)
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 1
    assert (await lane(pipeline)).state_since is not None
    admins, _ = told(pipeline)
    assert ["no longer" in text for text in admins] == [True]
