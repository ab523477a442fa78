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
from bot.operations.jobs.outbox_jobs import escalate
from bot.outbox import call_holds, channel_move, dead_letters, escalations
from bot.outbox.channel_closing import is_used
from bot.outbox.messenger import Call
from bot.slack.channel_membership import members
from sandbox.slack import failures
from tests.clock import DAY, now
from tests.databases import first_on_both, on_both
from tests.integration.pipeline.desk import TOLD, after, ask, asked, is_taken, key_in, messages, press, told
from tests.integration.pipeline.racing_day import abandonment, result, shown, tell, tell_two_in_ireland
from tests.integration.pipeline.steps import card_of, close, fail, pause, reopen, run_job, traced, turns, wait, write
from tests.integration.pipeline.stories import bare, listed, read_list

NO_EDIT, GONE = failures.slack_error("edit_window_closed"), failures.slack_error("message_not_found")
TOO_LONG = [failures.slack_error("msg_too_long")] * 2
"""In each form."""


def day(later):
    return (now().date() + timedelta(days=later)).isoformat()


async def correct(pipeline, refusal, reason="waterlogged"):
    """Slack refuses the edit of a correction: the correction becomes a new message."""
    fail(pipeline, edit=[refusal])
    await tell(pipeline, abandonment(reason=reason))


async def refuse(pipeline):
    fail(pipeline, post=TOO_LONG)
    await tell(pipeline, abandonment())


async def post_after_all(pipeline):
    (given_up,) = await pipeline.database.read(lambda session: dead_letters.newest(session, 5, pipeline.clock()))
    await write(pipeline, dead_letters.post_again, given_up.message_id, pipeline.clock())
    await pipeline.post_all()


@pytest.mark.parametrize("is_shown", [True, False])
async def test_who_has_it_is_said_by_the_message_in_place_of_a_refused_edit(desk, is_shown):
    await tell(desk, abandonment())
    key = key_in(desk.slack.messages("CGB")[0])
    fail(desk, edit=[] if is_shown else [NO_EDIT])
    await press(desk, key)
    for reason in ("waterlogged", "fog"):
        await correct(desk, NO_EDIT, reason=reason)
        assert is_taken(desk.slack.messages("CGB")[-1])
    late = await press(desk, key, "UBOB")
    assert (late.by, late.is_news) == ("UALICE", False)
    assert await after(desk, 30) == 0


@pytest.mark.parametrize(("database", "pressed_before"), first_on_both([True, False]), indirect=["database"])
async def test_alert_posted_after_all_says_who_has_it_and_tells_nobody_a_second_time(desk, pressed_before):
    await refuse(desk)
    await after(desk, 11)
    (called,) = desk.slack.messages("CALL")
    if pressed_before:
        await press(desk, called)
    await post_after_all(desk)
    assert is_taken(desk.slack.messages("CGB")[-1]) is pressed_before
    assert [await after(desk, minutes) for minutes in (22, 33, 44)] == [0, 0, 0]
    assert len(desk.texts("CALL")) == 1
    assert (await press(desk, called)).by == "UALICE"
    assert all(map(is_taken, [desk.slack.messages("CGB")[-1], *desk.slack.messages("CALL")]))


@pytest.mark.parametrize("before", [[11], [11, 22]], ids=["reminded", "told everybody"])
async def test_escalation_goes_on_from_its_step_after_a_message_took_the_place_of_a_lost_one(desk, before):
    await tell(desk, abandonment())
    alert = key_in(desk.slack.messages("CGB")[0])
    for minutes in before:
        await after(desk, minutes)
    called_before = desk.slack.messages("CALL")
    await correct(desk, GONE)
    assert [await after(desk, minutes) for minutes in (22, 60)] == [2 - len(before), 0]
    (called,) = desk.slack.messages("CALL")
    assert "after 2" in called.text
    assert len(desk.texts("CGB")) == 3
    _, reminder, again = desk.slack.messages("CGB")
    assert key_in(reminder) == key_in(again) == key_in(called)
    assert [key_in(one) for one in called_before] == [alert] * len(called_before)
    # Every button counts, earlier buttons too.
    taken = await press(desk, alert)
    assert (taken.by, taken.is_news) == ("UALICE", True)
    assert is_taken(desk.slack.messages("CGB")[-1])
    assert is_taken(desk.slack.messages("CALL")[0])
    assert await asked(desk) == sorted([AckState.REPLACED, AckState.TAKEN])


async def never_got(desk):
    await close(desk)
    await tell(desk, abandonment())


async def in_doubt(desk):
    fail(desk, post=[failures.drop_after()])
    await tell(desk, abandonment())
    await close(desk)


async def summarised(desk):
    """Two abandonments wait in a pause, and are folded into a summary."""
    await pause(desk)
    await tell(desk, abandonment("rc_1"), abandonment("rc_2", off_time="15:00"))
    await wait(desk, 4 * 3_600)
    await write(desk, desk.reopening.resume, "CGB", desk.clock())
    assert await asked(desk) == [AckState.ASKED, AckState.ASKED]


async def summarised_and_closed(desk):
    await summarised(desk)
    # The job finds nothing to tell while the summary waits.
    await write(desk, escalations.escalate, desk.clock(), desk.notices)
    assert await asked(desk) == [AckState.ASKED, AckState.ASKED]
    await close(desk)


@pytest.mark.parametrize(("how", "alerts"), [(never_got, 1), (in_doubt, 1), (summarised_and_closed, 2)])
async def test_abandonment_that_a_closed_channel_has_not_got_is_told_to_the_second_channel(desk, how, alerts):
    await how(desk)
    assert await after(desk, 11) == alerts
    assert len(told(desk)) == alerts


@pytest.mark.parametrize("is_refused", [True, False])
async def test_abandonments_of_a_summary_ask_on_only_where_slack_refuses_the_summary(desk, is_refused):
    await summarised(desk)
    fail(desk, post=TOO_LONG if is_refused else [])
    await desk.post_all()
    if is_refused:
        assert [text[:9] for text in desk.texts("CGB")] == ["ABANDONED", "ABANDONED"]
        assert await after(desk, 11) == 2
        assert len(told(desk, "CGB")) == 2
        return
    assert [await after(desk, minutes) for minutes in (60, 3 * 1_440)] == [0, 2]
    assert await asked(desk) == [AckState.REPLACED, AckState.REPLACED]
    assert desk.texts("CALL") == desk.texts("CADMIN") == []


@pytest.mark.parametrize("escalate", [("SDESK",), (), ("here",), ("U1", "CALL")])
async def test_refused_alert_is_told_in_its_channel_and_in_the_others_at_once(pipeline, escalate):
    await ask(pipeline, *escalate)
    await refuse(pipeline)
    assert [await after(pipeline, minutes) for minutes in (11, 22, 33)] == [1, 0, 0]
    (said,) = pipeline.slack.messages("CGB")
    assert TOLD in said.text
    assert "The alert is for <#CGB>" in shown(said)
    assert len(pipeline.texts("CALL")) == escalate.count("CALL")
    assert (await press(pipeline, said)).is_news


async def test_missed_abandonments_that_are_to_be_acknowledged_are_in_no_summary_of_late_events(desk):
    await desk.subscribe("CIRE", "GB")
    for number in (1, 2):
        await desk.deliver(abandonment(f"rc_{number}", off_time=f"1{number}:00"))
    at = desk.clock()

    def summarise(session):
        ids = [row.id for row in session.execute(select(EventVersion)).scalars()]
        desk.reopening.summarise_late(session, ids, at - timedelta(hours=1), at)

    await write(desk, call_holds.hold_call, Call.POST, at + timedelta(minutes=5), "ratelimited")
    while await desk.fanout.run_once():
        continue
    await write(desk, summarise)
    await turns(desk, 301)
    assert (len(desk.texts("CGB")), len(desk.texts("CIRE"))) == (2, 1)
    assert await after(desk, 11) == 2


async def test_escalation_that_cant_be_posted_is_told_to_admins_although_the_subscription_has_ended(pipeline):
    pipeline.slack.add_channel("CNOT", "not", bot_is_member=False)
    await ask(pipeline, "CNOT")
    await tell(pipeline, abandonment())
    await write(pipeline, subscriptions.remove, "CGB")
    await after(pipeline, 11)
    (said,) = pipeline.texts("CADMIN")
    assert "<#CNOT>" in said
    assert "Abandonments of <#CGB> that nobody takes are to be told there" in said
    assert await pipeline.database.read(lambda session: is_used(session, "CNOT"))


async def test_abandonments_whose_day_is_over_ring_nobody_and_admins_are_told_the_number_once(desk):
    races = [abandonment(f"rc_{number}", off_time=f"1{number}:00") for number in range(3)]
    await tell(desk, *races, abandonment("rc_later", date=day(3)), abandonment("rc_undated", date=None))
    assert await after(desk, 3 * 1_440) == 5
    (ring,) = told(desk, "CGB")
    assert day(3)[-2:].lstrip("0") in ring.text
    (said,) = desk.texts("CADMIN")
    assert "Nobody took 4 abandonments" in said
    assert "<#CGB>" in said
    assert await after(desk, 3 * 1_440) == 0
    assert desk.texts("CALL") == []
    assert (await press(desk, desk.slack.messages("CGB")[0])).is_news


async def test_escalation_of_the_evening_goes_on_in_the_night_and_one_told_late_for_a_day(desk):
    await tell(desk, abandonment("rc_1"), abandonment("rc_2", date=day(-2)))
    assert [await after(desk, minutes) for minutes in (11, 22)] == [2, 2]


async def test_group_of_a_channel_that_is_back_days_later_is_not_rung(pipeline):
    await ask(pipeline, "SDESK")
    await tell(pipeline, abandonment())
    await close(pipeline)
    assert await after(pipeline, 60) == 0
    await reopen(pipeline)
    await after(pipeline, 9 * 1_440)
    assert told(pipeline, "CGB") == []
    assert [text for text in pipeline.texts("CADMIN") if "Nobody took an abandonment" in text]


async def test_repeated_escalation_says_that_it_may_be_a_repeat(desk):
    await tell(desk, abandonment())
    await after(desk, 11)
    fail(desk, post=[failures.drop_after()], look=failures.slack_error("missing_scope"))
    await after(desk, 22)
    await turns(desk, 60)
    assert ["may be a repeat" in shown(one) for one in desk.slack.messages("CALL")] == [False, True]
    await press(desk, desk.slack.messages("CALL")[1])
    again = desk.slack.messages("CALL")[1]
    assert is_taken(again)
    assert "may be a repeat" in shown(again)


@on_both
async def test_time_in_a_closed_channel_counts_by_the_clock_of_the_database(desk):
    await close(desk)
    desk.clock.forward(-1_800)
    await desk.deliver(abandonment())
    desk.clock.forward(1_800)
    await desk.post_all()
    assert [await after(desk, minutes) for minutes in (9, 11)] == [0, 1]
    assert re.search("after 1[01] minutes", desk.texts("CALL")[-1])


async def test_row_that_cant_be_read_stops_nobody_and_admins_hear_of_it_once(desk):
    await tell(desk, abandonment("rc_1"), abandonment("rc_2", off_time="15:00"))
    broken = update(Acknowledgement).where(col(Acknowledgement.message_id) == 1).values(asked="{}")
    await write(desk, lambda session: session.execute(broken))
    assert [await after(desk, minutes) for minutes in (11, 22)] == [1, 1]
    assert len(desk.texts("CALL")) == 1
    (said,) = desk.texts("CADMIN")
    assert "<#CGB>" in said
    await tell(desk, abandonment("rc_1", reason="waterlogged"))
    assert (await press(desk, desk.slack.messages("CGB")[0])).is_news
    assert is_taken(desk.slack.messages("CGB")[0])
    assert (await traced(desk)).versions[0].told[0].acknowledgement.taken_by == "UALICE"


@pytest.mark.parametrize(
    ("database", "found"), first_on_both([(False, True), (True, True), (False, False)]), indirect=["database"]
)
async def test_person_who_is_not_in_the_channel_is_told_by_direct_message_too(pipeline, found):
    is_there, answers = found
    await ask(pipeline, "UALICE", "SDESK", "CALL")
    there = pipeline.slack.channels["CGB"].members
    (there.add if is_there else there.discard)("UALICE")
    if not answers:
        pipeline.slack.script("conversations.members", [], then_always=failures.slack_error("missing_scope"))
    await tell(pipeline, abandonment())
    await wait(pipeline, 11 * 60)
    wake = asyncio.Event()
    job = escalate(pipeline.database, pipeline.notices, partial(members, pipeline.sender), pipeline.clock, wake)
    assert [await run_job(job, pipeline.database) for _ in range(2)] == [1, 0]
    await pipeline.post_all()
    assert "<@UALICE>" in pipeline.texts("CGB")[1]
    assert len(pipeline.slack.messages("DALICE")) == (0 if is_there or not answers else 1)
    assert pipeline.texts("CALL") == []
    await press(pipeline, pipeline.slack.messages("CGB")[1], "UBOB")
    assert all(is_taken(one, "UBOB") for one in pipeline.slack.messages("DALICE"))


async def escalated(pipeline, payload):
    """Everybody has been told of the abandonment."""
    await tell(pipeline, payload)
    for minutes in (11, 22):
        await after(pipeline, minutes)


async def test_escalations_show_what_the_race_book_learns_later(desk):
    await escalated(desk, bare())
    assert "course not given" in desk.texts("CALL")[0]
    await read_list(desk, listed())
    await desk.post_all()
    assert [one.text.startswith("ABANDONED: Ascot 14:30 (GB)") for one in messages(desk)] == [True] * 3


BY_A_CARD = [card_of(DAY, status="abandoned", reason=reason) for reason in ("frost", "waterlogged")]


@pytest.mark.parametrize(
    ("lost", "corrected", "asks_still"),
    [(abandonment(), abandonment(reason="waterlogged"), asks) for asks in (True, False)] + [(*BY_A_CARD, True)],
    ids=["asks still", "asks no longer", "marked by a card"],
)
async def test_escalations_show_a_correction_also_after_the_channel_stopped_asking(desk, lost, corrected, asks_still):
    await escalated(desk, lost)
    if not asks_still:
        await desk.subscribe("CGB", "GB")
    await tell(desk, corrected)
    assert ["waterlogged" in shown(one) for one in messages(desk)] == [True] * 3
    if lost in BY_A_CARD:
        return
    await tell(desk, result())
    (called,) = desk.texts("CALL")
    assert "CONFLICT" in called or "ontradict" in called


@pytest.mark.parametrize("when", ["before", "while it waits", "after"])
async def test_two_channels_that_become_one_have_every_escalation_followed_and_get_no_second(pipeline, when):
    await ask(pipeline, "CALL", "CIRE")
    await tell(pipeline, abandonment())
    if when == "while it waits":
        at = pipeline.clock() + timedelta(minutes=11)
        await write(pipeline, escalations.escalate, at, pipeline.notices)
        assert await asked(pipeline) == [AckState.UNANSWERED]
    elif when == "after":
        await after(pipeline, 11)
    await pipeline.slack.change_id("CALL", "CIRE")
    await write(pipeline, channel_move.move_channel, "CALL", "CIRE")
    await pipeline.post_all()
    assert await after(pipeline, 22) == (when == "before")
    assert len(pipeline.slack.messages("CIRE")) == (2 if when == "after" else 1)
    await press(pipeline, pipeline.slack.messages("CIRE")[0])
    assert all(map(is_taken, pipeline.slack.messages("CIRE")))


async def test_escalation_that_can_not_be_read_holds_no_other_message(pipeline):
    await ask(pipeline, "U1")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, abandonment("rc_1"))
    at = pipeline.clock() + timedelta(minutes=11)
    await write(pipeline, escalations.escalate, at, pipeline.notices)
    broken = update(OutboxMessage).where(col(OutboxMessage.kind) == "escalation").values(content="{broken")
    await write(pipeline, lambda session: session.execute(broken))
    await tell_two_in_ireland(pipeline)
    assert len(pipeline.texts("CIRE")) == 2
