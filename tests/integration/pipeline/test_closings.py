"""A channel that lets nobody post is tried again and again: one closing, told once, until a post is taken."""

from types import SimpleNamespace

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.tables import ChannelQueue
from bot.operations.jobs.outbox_jobs import check_channels, expire_queue
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, result
from tests.integration.pipeline.steps import close, turns, wait

HOURS_KEPT = 72


async def is_member(_channel_id):
    return True


class Restricted:
    """CGB, in which nobody may post until `lift`, and to which GB is subscribed."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self.is_lifted = False
        self.check = check_channels(
            pipeline.database, is_member, pipeline.reopening, pipeline.clock, pipeline.poster.wake
        ).run
        pipeline.slack.failure_of = self._refused

    def _refused(self, method, args):
        is_refused = method == "chat.postMessage" and args.text("channel") == "CGB" and not self.is_lifted
        return failures.slack_error("restricted_action") if is_refused else None

    def lift(self):
        self.is_lifted = True

    async def told(self, *payloads):
        for payload in payloads:
            await self.pipeline.deliver(payload)
        await turns(self.pipeline, 3)

    async def tried(self, times):
        for _ in range(times):
            await wait(self.pipeline, 600)
            await self.check()
            await turns(self.pipeline, 3)

    async def given_up(self):
        """How many messages, after three days."""
        await wait(self.pipeline, (HOURS_KEPT + 1) * 3_600)
        return await expire_queue(self.pipeline.database, self.pipeline.notices, HOURS_KEPT, self.pipeline.clock).run()

    async def state(self):
        def read(session):
            (row,) = subscriptions.of_channel(session, "CGB")
            queue = select(ChannelQueue).where(col(ChannelQueue.channel_id) == "CGB")
            return SimpleNamespace(subscription=row.state, since=session.execute(queue).scalar_one().state_since)

        return await self.pipeline.database.read(read)

    @property
    def heard(self):
        """By admins, and by the person who subscribed the channel."""
        slack = self.pipeline.slack
        return self.pipeline.texts("CADMIN"), self.pipeline.texts(slack.direct_message("UALICE").id)


@pytest.fixture
async def restricted(pipeline):
    await pipeline.subscribe("CGB", "GB")
    return Restricted(pipeline)


async def test_closing_and_its_end_are_told_once_though_trials_find_nothing_to_post(restricted):
    for number in range(3):
        await restricted.told(result(f"rc_{number}"))
        assert await restricted.given_up() == 1
        # The first trials post the summary of what was given up; with nothing at all to post the subscriptions start.
        await restricted.tried(3)
    admins, creator = restricted.heard
    assert [text for text in admins if "no longer lets" in text] == admins[:1]
    for text in (admins[0], *creator):
        assert "in channel <#CGB>" in text
    assert "Subscribed by <@UALICE>" in admins[0]
    assert len(creator) == 1
    restricted.lift()
    await restricted.tried(2)
    await restricted.told(result("rc_9"))
    admins, creator = restricted.heard
    assert [text for text in [*admins, *creator] if "again" in text and "lets me post" in text] == [admins[-1]] * 2
    assert len(creator) == 2
    state = await restricted.state()
    assert (state.subscription, state.since) == ("live", None)


async def test_what_was_given_up_between_trials_is_counted_in_one_summary(restricted):
    for number in range(3):
        await restricted.told(result(f"rc_{number}"))
        assert await restricted.given_up() == 1
        await restricted.tried(1)
    restricted.lift()
    await restricted.tried(1)
    (summary,) = restricted.pipeline.texts("CGB")
    assert "3 messages had waited too long" in summary


async def test_subscriptions_start_with_the_first_post_that_is_taken(restricted):
    await restricted.told(abandonment())
    await restricted.tried(2)
    assert (await restricted.state()).subscription == "suspended"
    restricted.lift()
    await restricted.tried(1)
    assert len(restricted.pipeline.texts("CGB")) == 1
    assert (await restricted.state()).subscription == "live"


async def test_channel_that_closes_once_more_after_a_post_is_told_anew(restricted):
    restricted.lift()
    pipeline = restricted.pipeline
    listening = pipeline.channel_life()
    for number in range(2):
        await pipeline.slack.archive("CGB")
        await listening.on_closed({"type": "channel_archive", "channel": "CGB"})
        await pipeline.deliver(result(f"rc_{number}"))
        await pipeline.slack.unarchive("CGB")
        await listening.on_opened({"type": "channel_unarchive", "channel": "CGB"})
        await turns(pipeline, 60)
    admins, creator = restricted.heard
    assert ["no longer" in text for text in admins] == [True, False, True, False]
    assert len(creator) == 4


async def test_summary_of_a_later_trial_says_what_came_since_the_one_before(restricted):
    """One closing, two trials, each with a summary: nothing that waits goes into a summary that was taken back."""
    for race_id in ("first", "second"):
        await restricted.told(abandonment(race_id, course=f"Course of {race_id}"))
        await wait(restricted.pipeline, 4 * 3_600)
        await restricted.tried(1)
    restricted.lift()
    await restricted.tried(1)
    (summary,) = restricted.pipeline.texts("CGB")
    assert "Course of first" in summary
    assert "Course of second" in summary
    assert "queued" not in await restricted.pipeline.waiting()


async def test_post_that_was_taken_before_the_closing_does_not_end_it(restricted):
    restricted.lift()
    pipeline = restricted.pipeline
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    await pipeline.deliver(result())
    await pipeline.post_all()
    await close(pipeline, why="restricted_action")
    await restricted.tried(1)
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 1
    assert (await restricted.state()).since is not None
    admins, _ = restricted.heard
    assert ["no longer" in text for text in admins] == [True]
