"""Abandonments to be acknowledged when Slack refuses, channels close, and rows break."""

import asyncio
import re
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.tables import Acknowledgement, AckState, EventVersion, OutboxMessage
from bot.events.event import Topic
from bot.operations.jobs.escalate import EscalationCheck
from bot.outbox import call_holds, channel_move, dead_letters, escalations, ledger
from bot.outbox.channel_closing import is_used, pause_channel
from bot.outbox.messenger import Call
from bot.slack.channel_membership import members
from sandbox.slack import failures
from tests.clock import now
from tests.databases import on_both
from tests.integration.pipeline.racing_day import (
    abandonment,
    free_all,
    past_waits,
    result,
    shown,
    tell,
    tell_two_in_ireland,
)
from tests.integration.pipeline.test_acknowledge import after, closed, key_in, press, states_of
from tests.integration.pipeline.test_filled_in import bare, listed, read_list

NO_EDIT = failures.slack_error("edit_window_closed")
GONE = failures.slack_error("message_not_found")
TOO_LONG = failures.slack_error("msg_too_long")
TOLD = "Nobody has taken it"


@pytest.fixture
async def desk(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), ack=("10m",), escalate=("U1", "SDESK", "CALL"))
    return pipeline


def day(later):
    return (now().date() + timedelta(days=later)).isoformat()


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


@on_both
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


async def summarised(pipeline):
    """Two abandonments that waited in a pause are folded into a summary."""
    now = pipeline.clock()
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, now))
    await tell(pipeline, abandonment("rc_1"), abandonment("rc_2", off_time="15:00"))
    pipeline.clock.forward(4 * 3_600)
    later = pipeline.clock()
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", later))
    assert await states_now(pipeline, later) == [AckState.ASKED, AckState.ASKED]


async def states_now(pipeline, at):
    """After a run of the job, with nothing posted."""
    await pipeline.database.write(lambda session: escalations.escalate(session, at, pipeline.notices))
    return await states_of(pipeline)


async def test_abandonments_of_a_summary_that_slack_refuses_ask_on(desk):
    await summarised(desk)
    desk.slack.script("chat.postMessage", [TOO_LONG, TOO_LONG])
    await all_posted(desk)
    assert [text[:9] for text in desk.texts("CGB")] == ["ABANDONED", "ABANDONED"]
    assert await after(desk, timedelta(minutes=11)) == 2
    assert len([text for text in desk.texts("CGB") if TOLD in text]) == 2


async def test_abandonments_of_a_summary_for_a_channel_that_closes_are_told_to_the_second_channel(desk):
    await summarised(desk)
    await closed(desk, "CGB")
    assert await after(desk, timedelta(minutes=11)) == 2
    assert len([text for text in desk.texts("CALL") if TOLD in text]) == 2


async def test_abandonments_of_a_summary_that_was_posted_ask_for_nothing(desk):
    await summarised(desk)
    await all_posted(desk)
    assert await after(desk, timedelta(minutes=60)) == 0
    assert await after(desk, timedelta(days=3)) == 2
    assert await states_of(desk) == [AckState.REPLACED, AckState.REPLACED]
    assert desk.texts("CALL") == desk.texts("CADMIN") == []


@pytest.mark.parametrize("escalate", [("SDESK",), (), ("here",), ("U1", "CALL")])
async def test_refused_alert_is_told_in_its_channel_and_in_the_others_at_once(pipeline, escalate):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=escalate)
    pipeline.slack.script("chat.postMessage", [TOO_LONG, TOO_LONG])
    await tell(pipeline, abandonment())
    assert [await after(pipeline, timedelta(minutes=minutes)) for minutes in (11, 22, 33)] == [1, 0, 0]
    (told,) = pipeline.slack.messages("CGB")
    assert TOLD in told.text
    assert "The alert is for <#CGB>" in shown(told)
    assert len(pipeline.texts("CALL")) == escalate.count("CALL")
    assert (await press(pipeline, key_in(told))).is_news


async def test_missed_abandonments_that_are_to_be_acknowledged_are_in_no_summary_of_late_events(desk):
    await desk.subscribe("CIRE", "GB")
    for number in (1, 2):
        await desk.deliver(abandonment(f"rc_{number}", off_time=f"1{number}:00"))
    now = desk.clock()

    def hold(session, until):
        call_holds.hold_call(session, Call.POST, until, "ratelimited")

    def summarise(session):
        ids = [row.id for row in session.execute(select(EventVersion)).scalars()]
        desk.reopening.summarise_late(session, ids, now - timedelta(hours=1), now)

    await desk.database.write(lambda session: hold(session, now + timedelta(minutes=5)))
    while await desk.fanout.run_once():
        continue
    await desk.database.write(summarise)
    await all_posted(desk)
    assert (len(desk.texts("CGB")), len(desk.texts("CIRE"))) == (2, 1)
    assert await after(desk, timedelta(minutes=11)) == 2


@on_both
async def test_escalation_that_cant_be_posted_is_told_to_admins_although_the_subscription_has_ended(pipeline):
    pipeline.slack.add_channel("CNOT", "not", bot_is_member=False)
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("CNOT",))
    await tell(pipeline, abandonment())
    await pipeline.database.write(lambda session: subscriptions.remove(session, "CGB"))
    await after(pipeline, timedelta(minutes=11))
    (told,) = pipeline.texts("CADMIN")
    assert "<#CNOT>" in told
    assert "Abandonments of <#CGB> that nobody takes are to be told there" in told
    assert await pipeline.database.read(lambda session: is_used(session, "CNOT"))


async def test_abandonments_whose_day_is_over_ring_nobody_and_admins_are_told_the_number_once(desk):
    races = [abandonment(f"rc_{number}", off_time=f"1{number}:00") for number in range(3)]
    await tell(desk, *races, abandonment("rc_later", date=day(3)), abandonment("rc_undated", date=None))
    assert await after(desk, timedelta(days=3)) == 5
    (ring,) = [text for text in desk.texts("CGB") if TOLD in text]
    assert day(3)[-2:].lstrip("0") in ring
    (told,) = desk.texts("CADMIN")
    assert "4 abandonments were taken by nobody" in told
    assert "<#CGB>" in told
    assert await after(desk, timedelta(days=3)) == 0
    assert desk.texts("CALL") == []
    assert (await press(desk, key_in(desk.slack.messages("CGB")[0]))).is_news


async def test_escalation_of_the_evening_goes_on_in_the_night_and_one_told_late_for_a_day(desk):
    await tell(desk, abandonment("rc_1"), abandonment("rc_2", date=day(-2)))
    assert await after(desk, timedelta(minutes=11)) == 2
    assert await after(desk, timedelta(minutes=22)) == 2


async def test_group_of_a_channel_that_is_back_days_later_is_not_rung(pipeline):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("SDESK",))
    await tell(pipeline, abandonment())
    await closed(pipeline, "CGB")
    assert await after(pipeline, timedelta(minutes=60)) == 0
    now = pipeline.clock()
    await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CGB", now))
    await after(pipeline, timedelta(days=9))
    assert [text for text in pipeline.texts("CGB") if TOLD in text] == []
    assert [text for text in pipeline.texts("CADMIN") if "An abandonment was taken by nobody" in text]


async def test_repeated_escalation_says_that_it_may_be_a_repeat(desk):
    await tell(desk, abandonment())
    await after(desk, timedelta(minutes=11))
    desk.slack.script("chat.postMessage", [failures.drop_after()])
    desk.slack.script("conversations.history", [], then_always=failures.slack_error("missing_scope"))
    await after(desk, timedelta(minutes=22))
    for _ in range(4):
        await past_waits(desk, 12)
        await all_posted(desk)
    assert ["may be a repeat" in shown(one) for one in desk.slack.messages("CALL")] == [False, True]
    await press(desk, key_in(desk.slack.messages("CALL")[1]))
    again = desk.slack.messages("CALL")[1]
    assert "<@UALICE> has it since" in again.text
    assert "may be a repeat" in shown(again)


@on_both
async def test_time_in_a_closed_channel_counts_by_the_clock_of_the_database(desk):
    await closed(desk, "CGB")
    desk.clock.forward(-1_800)
    await desk.deliver(abandonment())
    desk.clock.forward(1_800)
    await desk.post_all()
    assert await after(desk, timedelta(minutes=9)) == 0
    assert await after(desk, timedelta(minutes=11)) == 1
    assert re.search("after 1[01] minutes", desk.texts("CALL")[-1])


async def test_row_that_cant_be_read_stops_nobody_and_admins_hear_of_it_once(desk):
    await tell(desk, abandonment("rc_1"), abandonment("rc_2", off_time="15:00"))
    first = col(Acknowledgement.message_id) == 1
    await desk.database.write(lambda session: session.execute(update(Acknowledgement).where(first).values(asked="{}")))
    assert await after(desk, timedelta(minutes=11)) == 1
    assert await after(desk, timedelta(minutes=22)) == 1
    assert len(desk.texts("CALL")) == 1
    (told,) = desk.texts("CADMIN")
    assert "<#CGB>" in told
    await tell(desk, abandonment("rc_1", reason="waterlogged"))
    assert (await press(desk, key_in(desk.slack.messages("CGB")[0]))).is_news
    assert "<@UALICE> has it since" in desk.texts("CGB")[0]
    found = await desk.database.read(lambda session: ledger.trace(session, "rc_1", desk.clock()))
    assert found.versions[0].told[0].acknowledgement.taken_by == "UALICE"


async def overdue(pipeline):
    """As if everything had been posted eleven minutes ago, also by the clock of PostgreSQL."""
    ago = timedelta(minutes=11)

    def move(session):
        for post in session.execute(select(OutboxMessage).where(col(OutboxMessage.sent_at).is_not(None))).scalars():
            post.sent_at -= ago

    await pipeline.database.write(move)


@pytest.mark.parametrize(("is_there", "answers"), [(False, True), (True, True), (False, False)])
@on_both
async def test_person_who_is_not_in_the_channel_is_told_by_direct_message_too(pipeline, is_there, answers):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("UALICE", "SDESK", "CALL"))
    there = pipeline.slack.channels["CGB"].members
    (there.add if is_there else there.discard)("UALICE")
    if not answers:
        pipeline.slack.script("conversations.members", [], then_always=failures.slack_error("missing_scope"))
    await tell(pipeline, abandonment())
    await overdue(pipeline)
    slack = pipeline.poster.claim_sender.sender
    check = EscalationCheck(
        pipeline.database, pipeline.notices, partial(members, slack), pipeline.clock, asyncio.Event()
    )
    assert await check() == 1
    assert await check() == 0
    await all_posted(pipeline)
    assert "<@UALICE>" in pipeline.texts("CGB")[1]
    direct = pipeline.slack.messages("DALICE")
    assert len(direct) == (0 if is_there or not answers else 1)
    assert pipeline.texts("CALL") == []
    await press(pipeline, key_in(pipeline.slack.messages("CGB")[1]), "UBOB")
    assert all("<@UBOB> has it since" in one.text for one in pipeline.slack.messages("DALICE"))


async def escalated(pipeline, payload):
    """Everybody has been told of the abandonment."""
    await tell(pipeline, payload)
    for minutes in (11, 22):
        await after(pipeline, timedelta(minutes=minutes))


async def test_escalations_show_what_the_race_book_learns_later(desk):
    await escalated(desk, bare())
    assert "course not given" in desk.texts("CALL")[0]
    await read_list(desk, listed())
    await all_posted(desk)
    for message in (*desk.slack.messages("CGB"), *desk.slack.messages("CALL")):
        assert message.text.startswith("ABANDONED: Ascot 14:30 (GB)")


@pytest.mark.parametrize("asks_still", [True, False])
async def test_escalations_show_a_correction_also_after_the_channel_stopped_asking(desk, asks_still):
    await escalated(desk, abandonment(reason="frost"))
    if not asks_still:
        await desk.subscribe("CGB", "GB", frozenset(Topic))
    await tell(desk, abandonment(reason="waterlogged"))
    await all_posted(desk)
    for message in (*desk.slack.messages("CGB"), *desk.slack.messages("CALL")):
        assert "waterlogged" in shown(message)
    await tell(desk, result())
    await all_posted(desk)
    told = desk.slack.messages("CALL")[0]
    assert "CONFLICT" in told.text or "ontradict" in told.text


async def moved(pipeline, old_id, new_id):
    await pipeline.slack.change_id(old_id, new_id)
    await pipeline.database.write(lambda session: channel_move.move_channel(session, old_id, new_id))


@pytest.mark.parametrize("is_told", [True, False])
@on_both
async def test_two_channels_that_become_one_have_every_escalation_followed_and_get_no_second(pipeline, is_told):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("CALL", "CIRE"))
    await tell(pipeline, abandonment())
    if is_told:
        await after(pipeline, timedelta(minutes=11))
    await moved(pipeline, "CALL", "CIRE")
    assert await after(pipeline, timedelta(minutes=22)) == (0 if is_told else 1)
    told = pipeline.slack.messages("CIRE")
    assert len(told) == (2 if is_told else 1)
    await press(pipeline, key_in(told[0]))
    assert all("<@UALICE> has it since" in one.text for one in pipeline.slack.messages("CIRE"))


@on_both
async def test_escalation_that_waits_in_two_channels_that_become_one_is_posted_once(pipeline):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("CALL", "CIRE"))
    await tell(pipeline, abandonment())
    at = pipeline.clock() + timedelta(minutes=11)
    assert (await states_now(pipeline, at)) == [AckState.UNANSWERED]
    await moved(pipeline, "CALL", "CIRE")
    await all_posted(pipeline)
    (told,) = pipeline.slack.messages("CIRE")
    await press(pipeline, key_in(told))
    assert "<@UALICE> has it since" in pipeline.texts("CIRE")[0]


async def test_escalation_that_can_not_be_read_holds_no_other_message(pipeline):
    chosen = {"ack": ("10m",), "escalate": ("U1",)}
    await pipeline.subscribe("CGB", "GB", **chosen)
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment("rc_1"))
    at = pipeline.clock() + timedelta(minutes=11)
    await pipeline.database.write(lambda session: escalations.escalate(session, at, pipeline.notices))
    broken = update(OutboxMessage).where(col(OutboxMessage.kind) == "escalation").values(content="{broken")
    await pipeline.database.write(lambda session: session.execute(broken))
    await tell_two_in_ireland(pipeline)
    assert len(pipeline.texts("CIRE")) == 2
