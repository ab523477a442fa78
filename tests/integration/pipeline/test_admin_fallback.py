"""Where warnings go whose channel is closed: to the admins directly, each once, and to the channel again later."""

from types import SimpleNamespace

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.tables import ChannelQueue
from bot.operations.jobs.routine_jobs import check_channels
from bot.outbox.notices import Urgency
from bot.settings import DoubtfulPosts
from bot.slack.listeners.channel_life import AdminCheck
from sandbox.slack import failures
from sandbox.slack.failures import slack_error
from tests.answering import answering
from tests.databases import first_on_both
from tests.integration.pipeline.steps import KEEP_HOURS, abandonment, expire, fail, pause, result, turns, wait, write
from tests.said import words_of

ADMINS = ("UONE", "UTWO")


@pytest.fixture
def admins(pipeline):
    """Two admins, to be told directly where their channel is closed."""
    for user_id in ADMINS:
        pipeline.slack.add_user(user_id, user_id.lower())
    pipeline.notices.admin_users = ADMINS
    return pipeline


def without_channel(pipeline, user_id):
    """There is no admin channel: an admin is told directly."""
    pipeline.slack.add_user(user_id, user_id.lower())
    pipeline.notices.admin_channel, pipeline.notices.admin_users = None, (user_id,)


async def check(pipeline):
    """The job; True if Slack answered."""
    job = AdminCheck(
        *(pipeline.database, pipeline.poster.claim_sender.sender, pipeline.notices, pipeline.reopening),
        *(pipeline.clock, pipeline.poster.wake),
    )
    return await job.check()


async def warn(pipeline, *keys, post=True):
    """Tell admins of each, and post all."""
    for key in keys:
        await write(pipeline, pipeline.notices.tell, key=key, words=key, urgency=Urgency.WARNING)
        if post:
            await pipeline.post_all()


def warned(pipeline, place):
    """The test's warnings in a channel or to a person, without their level."""
    channel_id = pipeline.slack.direct_message(place).id if place.startswith("U") else place
    return "".join(words for words in map(words_of, pipeline.texts(channel_id)) if len(words) == 1)


def warned_directly(pipeline):
    return [warned(pipeline, user_id) for user_id in ADMINS]


async def problem(pipeline):
    return await pipeline.database.read(pipeline.notices.problem) or ""


def closes(pipeline, how="is_archived"):
    channel = pipeline.slack.channels["CADMIN"]
    if how == "is_archived":
        channel.is_archived = True
    elif how == "not_in_channel":
        channel.members.discard(pipeline.slack.bot_user_id)
    else:
        del pipeline.slack.channels["CADMIN"]


async def test_warnings_that_wait_for_a_closed_channel_reach_each_admin_once(admins):
    await warn(admins, "a")
    closes(admins)
    await warn(admins, *"bcd", post=False)
    await admins.post_all()
    await warn(admins, *"be")
    assert warned_directly(admins) == ["bcde"] * 2
    assert "is_archived" in await problem(admins)


@pytest.mark.parametrize("how", ["is_archived", "not_in_channel", "channel_not_found"])
async def test_channel_is_found_closed_before_anything_is_posted_there(admins, how):
    closes(admins, how)
    assert [await check(admins) for _ in range(2)] == [True, True]
    assert how in await problem(admins)
    await warn(admins, "a")
    told = admins.texts(admins.slack.direct_message("UONE").id)
    assert [words_of(text)[:30] for text in told] == ["Slack does not let me post in ", "a"]
    assert [call for call in admins.slack.calls if call.method == "chat.postMessage" and not call.ok] == []


async def test_channel_that_is_open_again_has_the_next_warning_and_no_old_one(admins):
    closes(admins)
    await warn(admins, "a")
    admins.slack.channels["CADMIN"].is_archived = False
    for _ in range(2):
        assert await check(admins)
        await admins.post_all()
    await warn(admins, "b")
    assert [words_of(text)[:20] for text in admins.texts("CADMIN")] == ["Warnings for admins ", "b"]
    assert warned_directly(admins) == ["a"] * 2
    assert await problem(admins) == ""


async def test_channel_that_looks_open_and_takes_no_post_costs_no_warning(admins):
    for key in "abc":
        fail(admins, post=[slack_error("restricted_action")])
        await warn(admins, key)
        assert "CADMIN" in await problem(admins)
        assert await check(admins)
    assert warned_directly(admins) == ["abc"] * 2
    assert admins.texts("CADMIN") == []


async def not_answered(pipeline):
    """Slack does not say whether the channel is open."""
    pipeline.slack.script("conversations.info", [failures.rate_limited(30)])
    assert not await check(pipeline)


async def public(pipeline):
    """The bot is not in the channel, and may post there."""
    closes(pipeline, "not_in_channel")
    pipeline.slack.scopes = frozenset(pipeline.slack.scopes) | {"chat:write.public"}
    assert await check(pipeline)


async def paused(pipeline):
    await pipeline.subscribe("CADMIN", "GB")
    await pause(pipeline, "CADMIN")


@pytest.mark.parametrize("how", [not_answered, public, paused])
async def test_channel_that_takes_posts_has_the_warning(admins, how):
    await how(admins)
    assert await problem(admins) == ""
    await warn(admins, "a")
    assert (warned(admins, "CADMIN"), warned_directly(admins)) == ("a", ["", ""])
    assert await problem(admins) == ""


async def test_warning_that_is_refused_for_good_goes_to_admins_directly(admins):
    fail(admins, post=[slack_error("msg_too_long")] * 2)
    await warn(admins, *"ab")
    assert (warned_directly(admins), warned(admins, "CADMIN")) == (["a"] * 2, "b")


async def test_warning_waits_for_the_channel_where_nobody_else_can_be_told(pipeline):
    pipeline.notices.admin_users = ("UNOBODY",)
    closes(pipeline)
    await warn(pipeline, *"ab")
    assert "UNOBODY" in await problem(pipeline)
    assert "stand in the log" in await problem(pipeline)
    pipeline.slack.channels["CADMIN"].is_archived = False
    await check(pipeline)
    await pipeline.post_all()
    assert sorted(warned(pipeline, "CADMIN")) == ["a", "b"]


async def test_people_who_are_gone_are_a_problem_until_they_are_back(pipeline):
    pipeline.slack.add_user("UGONE", "gone", is_deactivated=True)
    pipeline.notices.admin_users = ("UGONE", "UNOBODY")
    assert await check(pipeline)
    assert await problem(pipeline) == (
        "UGONE: no direct message reaches this person (deactivated); "
        "UNOBODY: no direct message reaches this person (user_not_found)"
    )
    for user_id in pipeline.notices.admin_users:
        pipeline.slack.add_user(user_id, user_id.lower())
    assert await check(pipeline)
    assert await problem(pipeline) == ""


@pytest.mark.parametrize("code", ["msg_too_long", "as_user_not_supported", "in doubt"])
async def test_message_that_is_refused_or_in_doubt_makes_nobody_unreachable(make_pipeline, code):
    pipeline = make_pipeline(doubtful=DoubtfulPosts.HOLD)
    without_channel(pipeline, "UONE")
    # Once in the first form, and once in plain words.
    refusals = [failures.drop_after()] if code == "in doubt" else [slack_error(code)] * 6
    fail(pipeline, post=refusals, look=slack_error("missing_scope"))
    await warn(pipeline, "a")
    await turns(pipeline, 120)
    assert await problem(pipeline) == ""
    fail(pipeline, post=[])
    await warn(pipeline, *"bc")
    assert warned(pipeline, "UONE")[-2:] == "bc"
    assert await problem(pipeline) == ""


async def test_refusal_of_direct_messages_ends_with_a_post_that_is_taken(pipeline):
    without_channel(pipeline, "UONE")
    for key in "ab":
        fail(pipeline, post=[slack_error("messages_tab_disabled")])
        await warn(pipeline, key)
        assert await check(pipeline)
        assert "messages_tab_disabled" in await problem(pipeline)
    await warn(pipeline, "c")
    assert (warned(pipeline, "UONE"), await problem(pipeline)) == ("c", "")


async def test_admin_who_refused_a_warning_is_tried_beside_those_who_take_warnings(admins):
    closes(admins)
    assert await check(admins)
    await admins.post_all()
    fail(admins, post=[slack_error("messages_tab_disabled")])
    await warn(admins, "a")
    assert sorted(warned_directly(admins)) == ["", "a"]
    await warn(admins, "b")
    assert sorted(warned_directly(admins)) == ["ab", "b"]


# A channel where nobody may post is tried again and again: one closing, told once, until a post is taken


class Restricted:
    """CGB, in which nobody may post until `lift`, and to which GB is subscribed."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self.is_lifted = False
        self.check = check_channels(
            pipeline.database, answering(True), pipeline.reopening, pipeline.clock, pipeline.poster.wake
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
        await wait(self.pipeline, (KEEP_HOURS + 1) * 3_600)
        return await expire(self.pipeline)

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
        # The first trials post the summary of given-up messages; without anything to post the subscriptions start.
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


@pytest.mark.parametrize(("database", "is_given_up"), first_on_both([True, False]), indirect=["database"])
async def test_subscriptions_start_with_a_first_post_which_counts_what_was_given_up(restricted, is_given_up):
    for number in range(3):
        await restricted.told(abandonment(f"rc_{number}", off_time=f"14:{number}0"))
        assert not is_given_up or await restricted.given_up() == 1
        await restricted.tried(1)
    assert (await restricted.state()).subscription == "suspended"
    restricted.lift()
    await restricted.tried(1)
    texts = restricted.pipeline.texts("CGB")
    assert ["3 messages had waited too long" in text for text in texts] == ([True] if is_given_up else [False] * 3)
    assert (await restricted.state()).subscription == "live"


async def test_summary_of_a_later_trial_says_what_came_since_the_one_before(restricted):
    """One closing, two trials, each with a summary: no waiting message goes into a summary that was taken back."""
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
