"""Where warnings go whose channel is closed: to the admins directly, each once, and to the channel again later."""

from functools import partial

import pytest

from bot.outbox.channel_closing import pause_channel
from bot.outbox.notices import Urgency
from bot.settings import DoubtfulPosts
from bot.slack.admin_check import AdminCheck
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.racing_day import free_all
from tests.notice_levels import words_of


@pytest.fixture
def admins(pipeline):
    """Two admins, to be told directly where their channel is closed."""
    for user_id in ("UONE", "UTWO"):
        pipeline.slack.add_user(user_id, user_id.lower())
    pipeline.notices.admin_users = ("UONE", "UTWO")
    return pipeline.notices.admin_users


@pytest.fixture
def admin_check(pipeline):
    return AdminCheck(
        pipeline.database,
        pipeline.poster.sender,
        pipeline.notices,
        pipeline.reopening,
        pipeline.clock,
        pipeline.poster.wake,
    )


async def warn(pipeline, *keys):
    """Tell admins of each, and post all."""
    for key in keys:
        await pipeline.database.write(told_of(pipeline, key))
    await pipeline.post_all()


def told_of(pipeline, key):
    return partial(pipeline.notices.tell, key=key, words=f"Trouble {key}.", urgency=Urgency.WARNING)


def warnings(texts):
    """The warnings of the test among the texts, without their level."""
    return [words for words in map(words_of, texts) if words.startswith("Trouble")]


def direct(pipeline, user_id):
    """The warnings that a person has."""
    texts = pipeline.texts(pipeline.slack.direct_message(user_id).id)
    return warnings(texts)


async def problem(pipeline):
    return await pipeline.database.read(pipeline.notices.problem)


def close(pipeline, how):
    channel = pipeline.slack.channels["CADMIN"]
    if how == "is_archived":
        channel.is_archived = True
    elif how == "not_in_channel":
        channel.members.discard(pipeline.slack.bot_user_id)
    else:
        del pipeline.slack.channels["CADMIN"]


CLOSED = ["is_archived", "not_in_channel", "channel_not_found"]


@pytest.mark.parametrize("how", CLOSED)
async def test_warnings_that_wait_for_a_closed_channel_reach_each_admin_once(pipeline, admins, how):
    await warn(pipeline, "a")
    close(pipeline, how)
    for key in ("b", "c", "d"):
        await pipeline.database.write(told_of(pipeline, key))
    await pipeline.post_all()
    await warn(pipeline, "b", "e")
    for user_id in admins:
        assert direct(pipeline, user_id) == ["Trouble b.", "Trouble c.", "Trouble d.", "Trouble e."]
    assert how in (await problem(pipeline) or "")


@pytest.mark.parametrize("how", CLOSED)
async def test_channel_is_found_closed_before_anything_is_posted_there(pipeline, admins, admin_check, how):
    close(pipeline, how)
    for _ in range(2):
        assert await admin_check.check()
    assert how in (await problem(pipeline) or "")
    await warn(pipeline, "a")
    told = pipeline.texts(pipeline.slack.direct_message("UONE").id)
    assert [words_of(text)[:30] for text in told] == ["Slack does not let me post in ", "Trouble a."]
    assert sum(call.method == "chat.postMessage" and not call.ok for call in pipeline.slack.calls) == 0


@on_both
async def test_channel_that_is_open_again_has_the_next_warning_and_no_old_one(pipeline, admins, admin_check):
    close(pipeline, "is_archived")
    await warn(pipeline, "a")
    pipeline.slack.channels["CADMIN"].is_archived = False
    assert await admin_check.check()
    await pipeline.post_all()
    await admin_check.check()
    await warn(pipeline, "b")
    assert [words_of(text)[:20] for text in pipeline.texts("CADMIN")] == ["Warnings for admins ", "Trouble b."]
    assert [direct(pipeline, user_id) for user_id in admins] == [["Trouble a."]] * 2
    assert await problem(pipeline) is None


async def test_channel_that_looks_open_and_takes_no_post_costs_no_warning(pipeline, admins, admin_check):
    refusals = [failures.slack_error("restricted_action")]
    pipeline.slack.script("chat.postMessage", refusals)
    await warn(pipeline, "a")
    for key in ("b", "c"):
        assert await admin_check.check()
        pipeline.slack.script("chat.postMessage", refusals)
        await warn(pipeline, key)
        assert "CADMIN" in (await problem(pipeline) or "")
    assert [direct(pipeline, user_id) for user_id in admins] == [["Trouble a.", "Trouble b.", "Trouble c."]] * 2
    assert pipeline.texts("CADMIN") == []


async def test_warning_that_is_refused_for_good_goes_to_admins_directly(pipeline, admins):
    pipeline.slack.script("chat.postMessage", [failures.slack_error("as_user_not_supported")])
    await warn(pipeline, "a", "b")
    assert [direct(pipeline, user_id) for user_id in admins] == [["Trouble a."]] * 2
    assert warnings(pipeline.texts("CADMIN")) == ["Trouble b."]


async def test_warning_waits_for_the_channel_where_nobody_else_can_be_told(pipeline, admin_check):
    pipeline.notices.admin_users = ("UNOBODY",)
    close(pipeline, "is_archived")
    await warn(pipeline, "a", "b")
    assert "UNOBODY" in (await problem(pipeline) or "")
    assert "stand in the log" in (await problem(pipeline) or "")
    pipeline.slack.channels["CADMIN"].is_archived = False
    await admin_check.check()
    await free_all(pipeline)
    await pipeline.post_all()
    assert sorted(warnings(pipeline.texts("CADMIN"))) == ["Trouble a.", "Trouble b."]


async def test_pause_of_the_admins_channel_holds_back_no_warning(pipeline, admins):
    await pipeline.subscribe("CADMIN", "GB")
    await pipeline.database.write(lambda session: pause_channel(session, "CADMIN", None, pipeline.clock()))
    await warn(pipeline, "a")
    assert warnings(pipeline.texts("CADMIN")) == ["Trouble a."]
    assert await problem(pipeline) is None


async def test_people_who_are_gone_are_a_problem_until_they_are_back(pipeline, admin_check):
    pipeline.slack.add_user("UGONE", "gone", is_deactivated=True)
    pipeline.notices.admin_users = ("UGONE", "UNOBODY")
    assert await admin_check.check()
    assert await problem(pipeline) == (
        "UGONE: no direct message reaches this person (deactivated); "
        "UNOBODY: no direct message reaches this person (user_not_found)"
    )
    for user_id in pipeline.notices.admin_users:
        pipeline.slack.add_user(user_id, user_id.lower())
    assert await admin_check.check()
    assert await problem(pipeline) is None


async def test_slack_that_does_not_answer_closes_nothing(pipeline, admins, admin_check):
    pipeline.slack.script("conversations.info", [failures.rate_limited(30)])
    assert not await admin_check.check()
    assert await problem(pipeline) is None
    await warn(pipeline, "a")
    assert warnings(pipeline.texts("CADMIN")) == ["Trouble a."]


async def test_public_channel_is_open_to_a_bot_that_may_post_anywhere(pipeline, admins, admin_check):
    close(pipeline, "not_in_channel")
    pipeline.slack.scopes = frozenset(pipeline.slack.scopes) | {"chat:write.public"}
    assert await admin_check.check()
    assert await problem(pipeline) is None
    await warn(pipeline, "a")
    assert warnings(pipeline.texts("CADMIN")) == ["Trouble a."]


@pytest.fixture
def only_admin(pipeline):
    """One admin, and no channel for warnings."""
    pipeline.slack.add_user("UONE", "one")
    pipeline.notices.admin_channel = None
    pipeline.notices.admin_users = ("UONE",)
    return "UONE"


@pytest.mark.parametrize("code", ["msg_too_long", "invalid_blocks", "as_user_not_supported"])
async def test_message_that_is_refused_makes_nobody_unreachable(pipeline, only_admin, code):
    # Once as it was made, and once in plain words.
    pipeline.slack.script("chat.postMessage", [failures.slack_error(code)] * 2)
    await warn(pipeline, "a")
    assert await problem(pipeline) is None
    pipeline.slack.script("chat.postMessage", [])
    await warn(pipeline, "b", "c")
    assert direct(pipeline, only_admin)[-2:] == ["Trouble b.", "Trouble c."]


# PostgreSQL's deadlines go by its own clock, which no test moves.
async def test_message_in_doubt_makes_nobody_unreachable(make_pipeline):
    pipeline = make_pipeline(doubtful=DoubtfulPosts.HOLD)
    pipeline.slack.add_user("UONE", "one")
    pipeline.notices.admin_channel, pipeline.notices.admin_users = None, ("UONE",)
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    pipeline.slack.script("conversations.history", [failures.slack_error("missing_scope")] * 10)
    await warn(pipeline, "a")
    for _ in range(6):
        pipeline.clock.forward(120)
        await free_all(pipeline)
        await pipeline.post_all()
    await warn(pipeline, "b")
    assert await problem(pipeline) is None
    assert "Trouble b." in direct(pipeline, "UONE")


@pytest.mark.parametrize("code", ["messages_tab_disabled", "cannot_dm_bot", "user_not_found"])
async def test_refusal_of_direct_messages_ends_with_a_post_that_is_taken(pipeline, only_admin, admin_check, code):
    for key in ("a", "b"):
        pipeline.slack.script("chat.postMessage", [failures.slack_error(code)])
        await warn(pipeline, key)
        assert await admin_check.check()
        assert code in (await problem(pipeline) or "")
    await warn(pipeline, "c")
    assert direct(pipeline, only_admin) == ["Trouble c."]
    assert await problem(pipeline) is None


async def test_admin_who_refused_a_warning_is_tried_beside_those_who_take_warnings(pipeline, admins, admin_check):
    close(pipeline, "is_archived")
    assert await admin_check.check()
    await pipeline.post_all()
    pipeline.slack.script("chat.postMessage", [failures.slack_error("messages_tab_disabled")])
    await warn(pipeline, "a")
    assert sorted(direct(pipeline, user_id) for user_id in admins) == [[], ["Trouble a."]]
    await warn(pipeline, "b")
    assert sorted(direct(pipeline, user_id) for user_id in admins) == [["Trouble a.", "Trouble b."], ["Trouble b."]]
