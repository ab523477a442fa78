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
from bot.operations.jobs.routine_jobs import escalate
from bot.outbox import channel_move, escalations, pace, said_anew
from bot.outbox.held_channels import is_used
from bot.outbox.message import Call
from bot.slack.workspace import members
from sandbox.slack import failures
from tests.clock import DAY, now
from tests.databases import first_on_both, on_both
from tests.integration.pipeline.steps import (
    abandonment,
    card_of,
    close,
    fail,
    pause,
    reopen,
    result,
    run_job,
    tell,
    tell_two_in_ireland,
    traced,
    turns,
    wait,
    write,
)
from tests.integration.pipeline.stories import (
    ASKS,
    TAKEN,
    TOLD,
    Story,
    acks,
    after,
    ask,
    asked,
    asks,
    bare,
    does,
    is_taken,
    key_in,
    later,
    listed,
    lists,
    passes,
    play,
    press,
    presses,
    rows,
    slack_answers,
    so_far,
    subscribes,
)

GONE = failures.slack_error("message_not_found")
DAY_MIN = 1_440


def day(days):
    return (now().date() + timedelta(days=days)).isoformat()


async def post_after_all(pipeline):
    (given_up,) = await pipeline.database.read(lambda session: said_anew.newest(session, 5, pipeline.clock()))
    await write(pipeline, said_anew.post_again, given_up.message_id, pipeline.clock())
    await pipeline.post_all()


async def summarises(pipeline):
    """The pause ends, and the summary waits for the poster."""
    await write(pipeline, pipeline.reopening.resume, "CGB", pipeline.clock())


async def finds_nothing(pipeline):
    await write(pipeline, escalations.escalate, pipeline.clock(), pipeline.notices)


DESK = asks("U1", "SDESK", "CALL")
NO_EDIT, TOO_LONG = slack_answers("edit", "edit_window_closed"), slack_answers("post", "msg_too_long", "msg_too_long")
FOG, WATERLOGGED, IS_WATERLOGGED = abandonment(reason="fog"), abandonment(reason="waterlogged"), "+waterlogged"
NOT_CALLED = f"!{TOLD}"
ESCALATED = (later(11, 1), later(22, 1))
TWO = [abandonment(f"rc_{number}", off_time=f"1{number}:00") for number in (1, 2)]
BOTH_ASKED = acks(AckState.ASKED, AckState.ASKED)
SUMMARISED = (DESK, pause, *TWO, does(wait, 4 * 3_600), summarises, BOTH_ASKED)
BY_A_CARD = [card_of(DAY, status="abandoned", reason=reason) for reason in ("frost", "waterlogged")]

STORIES = (
    {
        f"taken, and the edit is {how}": Story(
            *(DESK, abandonment(), *refused, presses(1), NO_EDIT, WATERLOGGED, so_far(CGB=["", TAKEN]), NO_EDIT, FOG),
            *(presses(1, "UBOB", finds="UALICE"), later(30, 0)),
            CGB=["", "", TAKEN],
        )
        for how, refused in {"made": [], "refused": [NO_EDIT]}.items()
    }
    | {
        f"posted after all, {how}": Story(
            *(DESK, TOO_LONG, abandonment(), later(11, 1), so_far(CGB=[TOLD], CALL=[TOLD]), *pressed, post_after_all),
            *(so_far(CGB=["", stands]), later(22, 0), later(33, 0), later(44, 0), presses(1, of="CALL", finds=has)),
            waiting={"dead_letter": 1},
            CGB=["", TAKEN],
            CALL=[TAKEN],
        )
        for how, pressed, stands, has in (
            ("taken before", [presses(1, of="CALL")], TAKEN, "UALICE"),
            ("taken by nobody", [], ASKS, None),
        )
    }
    | {
        f"refused, {escalate}": Story(
            *(asks(*escalate, also=["CALL"]), TOO_LONG, abandonment(), later(11, 1), later(22, 0), later(33, 0)),
            *(so_far(CGB=[f"{TOLD} | +The alert is for <#CGB>"]), presses(1)),
            waiting={"dead_letter": 1},
            CGB=[TAKEN],
            CALL=[""] * escalate.count("CALL"),
        )
        for escalate in (("SDESK",), (), ("here",), ("U1", "CALL"))
    }
    | {
        f"correction is shown, {how}": Story(
            *(DESK, lost, *ESCALATED, *stops, corrected, so_far(CGB=[IS_WATERLOGGED] * 2, CALL=[IS_WATERLOGGED])),
            result(),
            CGB=["", "", ""],
            CALL=[called],
        )
        for how, lost, stops, corrected, called in (
            ("asks still", abandonment(), [], WATERLOGGED, "ontradict"),
            ("asks no longer", abandonment(), [subscribes("CGB")], WATERLOGGED, "ontradict"),
            ("marked by a card", BY_A_CARD[0], [], BY_A_CARD[1], ""),
        )
    }
    | {
        # The second channel is told of abandonments that the closed channel lacks.
        "closed before": Story(DESK, close, abandonment(), later(11, 1), waiting={"queued": 1}, CALL=[TOLD]),
        "closed while in doubt": Story(
            *(DESK, slack_answers("post", failures.drop_after()), abandonment(), close, later(11, 1)),
            waiting={"in_doubt": 1},
            CALL=[TOLD],
        ),
        "closed after the pause": Story(
            *(*SUMMARISED, finds_nothing, BOTH_ASKED, close, later(11, 2)), waiting={"queued": 2}, CALL=[TOLD, TOLD]
        ),
        "summary refused": Story(
            *(*SUMMARISED, TOO_LONG, passes(0), so_far(CGB=["^ABANDONED", "^ABANDONED"]), later(11, 2)),
            waiting={"dead_letter": 1},
            CGB=["^ABANDONED", "^ABANDONED", TOLD, TOLD],
        ),
        "summary taken": Story(
            *(*SUMMARISED, later(60, 0), later(3 * DAY_MIN, 2), acks(AckState.REPLACED, AckState.REPLACED)),
            CGB=[NOT_CALLED],
            CALL=[],
            CADMIN=[],
        ),
        # One race is still to come. Admins are told the number of the others once.
        "days over": Story(
            *(DESK, abandonment("rc_0"), *TWO, abandonment("rc_4", date=day(3)), abandonment("rc_5", date=None)),
            *(later(3 * DAY_MIN, 5), later(3 * DAY_MIN, 0), presses(1)),
            CGB=[*[NOT_CALLED] * 5, f"{TOLD} | {day(3)[-2:].lstrip('0')}"],
            CALL=[],
            CADMIN=["Nobody took 4 abandonments | <#CGB>"],
        ),
        "evening, and told late": Story(
            *(DESK, abandonment("rc_1"), abandonment("rc_2", date=day(-2)), later(11, 2), later(22, 2)), CGB=[""] * 4
        ),
        "group of a channel that is back days later": Story(
            *(asks("SDESK"), abandonment(), close, later(60, 0), reopen, later(9 * DAY_MIN)),
            CGB=[NOT_CALLED],
            CADMIN=["", "Nobody took an abandonment"],
        ),
        "repeated escalation": Story(
            *(DESK, abandonment(), later(11), slack_answers("post", failures.drop_after())),
            *(slack_answers("look", always="missing_scope"), later(22), does(turns, 60)),
            *(so_far(CALL=["!may be a repeat", "+may be a repeat"]), presses(2, of="CALL")),
            CALL=["", f"{TAKEN} | +may be a repeat"],
        ),
        "later values": Story(
            *(DESK, bare(), *ESCALATED, so_far(CALL=["course not given"]), lists(listed())),
            CGB=["^ABANDONED: Ascot 14:30 (GB)"] * 2,
            CALL=["^ABANDONED: Ascot 14:30 (GB)"],
        ),
    }
)


@rows(STORIES, "posted after all, taken before")
async def test_abandonment_is_escalated_whatever_happens(pipeline, story):
    await play(pipeline, story)


@pytest.mark.parametrize("before", [[11], [11, 22]], ids=["reminded", "told everybody"])
async def test_escalation_goes_on_from_its_step_after_a_message_took_the_place_of_a_lost_one(desk, before):
    await tell(desk, abandonment())
    alert = key_in(desk.slack.messages("CGB")[0])
    for minutes in before:
        await after(desk, minutes)
    called_before = desk.slack.messages("CALL")
    fail(desk, edit=[GONE])
    await tell(desk, WATERLOGGED)
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


async def test_missed_abandonments_that_are_to_be_acknowledged_are_in_no_summary_of_late_events(desk):
    await desk.subscribe("CIRE", "GB")
    for number in (1, 2):
        await desk.deliver(abandonment(f"rc_{number}", off_time=f"1{number}:00"))
    at = desk.clock()

    def summarise(session):
        ids = [row.id for row in session.execute(select(EventVersion)).scalars()]
        desk.reopening.summarise_late(session, ids, at - timedelta(hours=1), at)

    await write(desk, pace.hold_call, Call.POST, at + timedelta(minutes=5), "ratelimited")
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
