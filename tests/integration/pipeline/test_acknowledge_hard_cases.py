"""Abandonments to be acknowledged when Slack refuses, channels close, and rows break. On both engines."""

from datetime import timedelta

import pytest

from bot.db.tables import AckState
from bot.events.event import Topic
from bot.outbox import dead_letters
from bot.sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, free_all, shown, tell
from tests.integration.pipeline.test_acknowledge import after, key_in, press, states_of

NO_EDIT = failures.slack_error("edit_window_closed")
GONE = failures.slack_error("message_not_found")
TOO_LONG = failures.slack_error("msg_too_long")
TOLD = "Nobody has taken it"


@pytest.fixture
async def desk(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), ack=("10m",), escalate=("U1", "SDESK", "CALL"))
    return pipeline


async def all_posted(pipeline):
    await free_all(pipeline)
    await pipeline.post_all()


async def correct(pipeline, refusal, reason="waterlogged"):
    """A correction that Slack refuses to edit in: it becomes a message of its own."""
    pipeline.slack.script("chat.update", [refusal])
    await tell(pipeline, abandonment(reason=reason))
    await all_posted(pipeline)


async def post_after_all(pipeline):
    (given_up,) = await pipeline.database.read(lambda session: dead_letters.newest(session, 5, pipeline.clock()))
    now = pipeline.clock()
    await pipeline.database.write(lambda session: dead_letters.post_again(session, given_up.message_id, now))
    await all_posted(pipeline)


@pytest.mark.parametrize("is_shown", [True, False])
async def test_who_has_it_is_said_by_the_message_in_place_of_a_refused_edit(desk, is_shown):
    await tell(desk, abandonment())
    key = key_in(desk.slack.messages("CGB")[0])
    if not is_shown:
        desk.slack.script("chat.update", [NO_EDIT])
    await press(desk, key)
    await correct(desk, NO_EDIT)
    _, again = desk.slack.messages("CGB")
    assert "<@UALICE> has it since" in again.text
    assert "I have it" not in shown(again)
    late = await press(desk, key, "UBOB")
    assert (late.by, late.is_news) == ("UALICE", False)
    await correct(desk, NO_EDIT, reason="fog")
    assert "<@UALICE> has it since" in desk.slack.messages("CGB")[-1].text
    assert await after(desk, timedelta(minutes=30)) == 0


async def test_who_has_it_is_said_by_the_alert_posted_after_all(desk):
    desk.slack.script("chat.postMessage", [TOO_LONG, TOO_LONG])
    await tell(desk, abandonment())
    await after(desk, timedelta(minutes=11))
    await press(desk, key_in(desk.slack.messages("CALL")[0]))
    await post_after_all(desk)
    again = desk.slack.messages("CGB")[-1]
    assert "<@UALICE> has it since" in again.text
    assert "I have it" not in shown(again)


async def test_nobody_is_told_twice_and_every_button_counts_after_a_message_took_the_place_of_a_lost_one(desk):
    await tell(desk, abandonment())
    await after(desk, timedelta(minutes=11))
    await after(desk, timedelta(minutes=22))
    alert, reminder = desk.slack.messages("CGB")
    (called,) = desk.slack.messages("CALL")
    await correct(desk, GONE)
    assert await after(desk, timedelta(minutes=60)) == 0
    assert (len(desk.texts("CGB")), len(desk.texts("CALL"))) == (3, 1)
    assert [key_in(one) for one in (alert, reminder, called)] == [key_in(alert)] * 3
    taken = await press(desk, key_in(called))
    assert (taken.by, taken.is_news) == ("UALICE", True)
    again, told = desk.slack.messages("CGB")[-1], desk.slack.messages("CALL")[0]
    for message in (again, told):
        assert "<@UALICE> has it since" in message.text
        assert "I have it" not in shown(message)
    assert sorted(await states_of(desk)) == [AckState.REPLACED, AckState.TAKEN]


async def test_escalation_goes_on_from_the_step_it_had_reached_and_shows_the_message_that_asks(desk):
    await tell(desk, abandonment())
    await after(desk, timedelta(minutes=11))
    await correct(desk, GONE)
    reminder, again = desk.slack.messages("CGB")[1:]
    assert key_in(reminder) == key_in(again)
    assert await after(desk, timedelta(minutes=22)) == 1
    (called,) = desk.slack.messages("CALL")
    assert key_in(called) == key_in(again)
    assert "after 2" in called.text
    assert await after(desk, timedelta(minutes=60)) == 0
    assert (len(desk.texts("CGB")), len(desk.texts("CALL"))) == (3, 1)


async def test_alert_posted_after_all_tells_nobody_a_second_time(desk):
    desk.slack.script("chat.postMessage", [TOO_LONG, TOO_LONG])
    await tell(desk, abandonment())
    await after(desk, timedelta(minutes=11))
    (called,) = desk.slack.messages("CALL")
    await post_after_all(desk)
    for minutes in (22, 33, 44):
        assert await after(desk, timedelta(minutes=minutes)) == 0
    assert len(desk.texts("CALL")) == 1
    assert (await press(desk, key_in(called))).by == "UALICE"
    for message in (desk.slack.messages("CGB")[-1], *desk.slack.messages("CALL")):
        assert "<@UALICE> has it since" in message.text
