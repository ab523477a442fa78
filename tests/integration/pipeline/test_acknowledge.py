"""Abandonments to be acknowledged: who has each, whom the bot tells otherwise, each once."""

import asyncio
import re
import time
from datetime import timedelta

import pytest

from bot.db.engine import Database
from bot.db.tables import AckState
from bot.operations.status_figures import read_status
from bot.outbox import acknowledgements, channel_move, escalations
from bot.slack.messages.answers.listings import status_answer
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.steps import (
    KEEP_HOURS,
    abandonment,
    close,
    expire,
    meeting,
    pause,
    posts,
    result,
    resume,
    shown,
    tell,
    traced,
    wait,
    write,
)
from tests.integration.pipeline.stories import (
    ASKS,
    BUTTON,
    SILENT,
    TAKEN,
    TOLD,
    Story,
    acks,
    after,
    ask,
    asked,
    asks,
    does,
    give_back,
    is_taken,
    key_in,
    later,
    messages,
    passes,
    play,
    post_of,
    press,
    presses,
    rows,
    slack_answers,
    so_far,
)

AT_1505 = {"off_time": "15:05"}
FOG_AT_1435 = abandonment(reason="fog", off_time="14:35")
LOST_BY_A_CARD = result(status="abandoned", placings=()) | {"event": "racecard.published"}
DESK = asks("U1", "SDESK", "CALL")


def untaken(number, **of_channels):
    """Nobody has so many abandonments: `number` in all, and each channel's number there."""

    async def do(pipeline):
        since = pipeline.clock() - timedelta(days=1)

        def read(session):
            of = (None, *of_channels)
            return [acknowledgements.untaken(session, since, channel_id=channel_id).count for channel_id in of]

        assert await pipeline.database.read(read) == [number, *of_channels.values()]

    return do


def gives_back(by="UALICE", *, minutes=0, is_news=True):
    """A person gives back the abandonment of the first message."""

    async def do(pipeline):
        given = await give_back(pipeline, post_of(pipeline.slack.messages("CGB")[0]), by, minutes)
        assert given.is_news is is_news

    return do


def has_it(user, number):
    """Each message says that `user` has the abandonment. None: no message says that anybody has the abandonment."""

    async def do(pipeline):
        found = [re.search("<@(.*?)> has it since", one.text) for one in messages(pipeline)]
        assert [one and one[1] for one in found] == [user] * number

    return do


def moves(old_id, new_id):
    async def do(pipeline):
        await pipeline.slack.change_id(old_id, new_id)
        await write(pipeline, channel_move.move_channel, old_id, new_id)

    return do


FIRST = "race.abandoned:rc_1#1@CGB"
NEWER = "A newer message in <#CGB> has more"
ESCALATED = (later(11, 1), later(22, 1))
STORIES = {
    "first press, and later presses": Story(
        *(DESK, abandonment(), result("rc_2", **AT_1505), so_far(CGB=[ASKS, SILENT]), untaken(1, CGB=1, CALL=0)),
        *(presses(1), presses(1, "UBOB", finds="UALICE"), untaken(0), later(90, 0)),
        does(press, "no such message", gives=None),
        CGB=[TAKEN, ""],
    ),
    "clock that was set back": Story(DESK, abandonment(), later(-9, 0), later(-120, 1), CGB=["", ""]),
    "press while the reminder waits": Story(
        *(DESK, abandonment(), slack_answers("post", failures.rate_limited(1)), later(11), presses(1), passes(2)),
        CGB=[TAKEN, f"{TAKEN} | !<@U1>"],
    ),
    "correction that rings asks in place of the earlier message": Story(
        *(DESK, abandonment(), abandonment(reason="waterlogged"), so_far(CGB=[ASKS]), result(), FOG_AT_1435),
        *(
            so_far(CGB=[SILENT, SILENT, ASKS]),
            does(press, FIRST),
            acks(AckState.ASKED, AckState.REPLACED),
            later(11, 1),
        ),
        CGB=[""] * 4,
    ),
    "loss that was taken back": Story(
        *(DESK, abandonment() | {"sequence": 1}, later(11, 1), abandonment(status="Reinstated") | {"sequence": 2}),
        *(later(60, 0), untaken(0)),
        CGB=[SILENT, f"{NEWER} | {SILENT}", f"^GOING AHEAD | {SILENT}"],
        CALL=[],
    ),
    "meeting in place of its races": Story(
        *(DESK, abandonment(meeting_id="mt_1"), meeting("rc_1", "rc_2"), so_far(CGB=[SILENT, ASKS])),
        *(abandonment("rc_2", meeting_id="mt_1", **AT_1505), presses(2), later(30, 0)),
        CGB=[SILENT, TAKEN],
    ),
    "part of a meeting beside another lost race": Story(
        *(DESK, abandonment("rc_2", race_number=2, **AT_1505), meeting(from_race=6)),
        *(abandonment(race_number=1), acks(*[AckState.ASKED] * 3)),
        CGB=[ASKS] * 3,
    ),
    "people and a group of closed channels": Story(
        *(asks("UALICE"), asks("SDESK", channel="CIRE"), close, does(close, "CIRE"), abandonment()),
        *(later(11, 1), later(60, 0), acks(AckState.ASKED, AckState.UNANSWERED)),
        *(so_far(DALICE=["!ABANDONED", "!ABANDONED", f"{TOLD} | {ASKS}"]), presses(3, of="DALICE")),
        waiting={"queued": 2},
        DALICE=["", "", TAKEN],
    ),
    "result and a newer message, seen where the abandonment was escalated": Story(
        *(DESK, abandonment(), *ESCALATED, result(), so_far(CALL=[f"ontradict | {ASKS}"]), FOG_AT_1435),
        CGB=["", f"{NEWER} | {SILENT} | !<@U1>", "", ""],
        CALL=[f"{NEWER} | {SILENT} | !<@U1>"],
    ),
    # The second time with escalations: all messages show each change.
    "given back": Story(
        *(DESK, abandonment(), presses(1), gives_back("UBOB", is_news=False), has_it("UALICE", 1)),
        *(gives_back(minutes=8), so_far(CGB=[f"!has it since | {ASKS}"]), gives_back(is_news=False)),
        *(does(give_back, "no such message", gives=None), later(16, 0), later(19, 1), acks(AckState.REMINDED)),
        *(presses(1, "UBOB"), has_it("UBOB", 2), gives_back("UBOB", minutes=20), has_it(None, 2)),
        *(acks(AckState.REMINDED), later(31, 1), so_far(CALL=[""]), presses(1), gives_back(minutes=32)),
        *(acks(AckState.UNANSWERED), later(990, 0), presses(1, "UBOB"), has_it("UBOB", 3)),
        CALL=[""],
    ),
    "press in a pause is shown at once, and posts wait": Story(
        *(DESK, abandonment(), pause, abandonment("rc_2", **AT_1505), abandonment(reason="Frost")),
        *(so_far(waiting={"queued": 2}, CGB=[ASKS]), presses(1), so_far(waiting={"queued": 1}, CGB=[TAKEN]), resume),
        CGB=[TAKEN, "15:05"],
    ),
    "press in a pause waits for no contradiction that the pause holds": Story(
        *(DESK, abandonment(), pause, result(), presses(1), so_far(edits=1, CGB=[TAKEN]), resume),
        edits=2,
        CGB=[f"{TAKEN} | a result was reported, see the later message", "Blue Moon"],
    ),
    "waited for days in a pause": Story(
        *(DESK, pause, abandonment(), does(wait, KEEP_HOURS * 3_600 + 60), does(expire, gives=1), later(11, 1)),
        acks(AckState.REPLACED),
        waiting={"dead_letter": 1},
        CGB=[],
        CALL=[],
    ),
    "other channel under its new id": Story(
        *(DESK, abandonment(), moves("CALL", "CNEW"), *ESCALATED, so_far(edits=0, CNEW=[""])),
        # Edited: the alert, the reminder, and the other channel's message.
        *(moves("CNEW", "CNEWER"), presses(1), so_far(edits=3), moves("CNEWER", "CNEW")),
        *(abandonment("rc_2", **AT_1505), *ESCALATED),
        CNEW=["", ""],
    ),
}


@rows(STORIES, "clock that was set back", "given back")
async def test_abandonment_is_taken_or_escalated(pipeline, story):
    await play(pipeline, story)


A_MOMENT = 1 / 60_000_000


@pytest.mark.parametrize(
    ("escalate", "steps", "lost"),
    [
        (["U1", "SDESK", "CALL"], {9: 0, 11: 1, 11.1: 0, 22: 1, 990: 0}, abandonment()),
        (["U1"], {10 - A_MOMENT: 0, 10: 1, 60: 0}, abandonment()),
        ([], {11: 1, 60: 0}, abandonment()),
        (["U1"], {11: 1, 60: 0}, LOST_BY_A_CARD),
        (["U1"], {11: 1, 60: 0}, abandonment(date="2026-11-28")),
    ],
    ids=["people and a channel", "to the moment", "nobody", "marked by a card", "of another day"],
)
async def test_nobody_within_the_time_means_each_is_told_once(pipeline, escalate, steps, lost):
    desk = await ask(pipeline, *escalate)
    await pipeline.subscribe("CIRE", "GB")
    await tell(desk, lost)
    assert {minutes: await after(desk, minutes) for minutes in steps} == steps
    assert len(await asked(desk)) == 1, "nothing is stored for a channel that asks for nothing"
    _, reminder = desk.slack.messages("CGB")
    assert reminder.text.startswith("ABANDONED: Ascot 14:30")
    assert ("14:30, Sat 28 Nov (GB)" in reminder.text) is (lost["race"]["date"] == "2026-11-28")
    assert [name in reminder.text for name in ("<@U1>", "<!subteam^SDESK>")] == ["U1" in escalate, "SDESK" in escalate]
    assert re.search("Nobody has taken it after 1[01] minutes", reminder.text)
    assert [BUTTON in shown(one) for one in messages(desk, "CIRE")] == [False]
    assert len(desk.slack.messages("CALL")) == escalate.count("CALL")
    for called in desk.slack.messages("CALL"):
        assert re.search("Nobody has taken it after 2[12] minutes", called.text)
        assert "<@U1>" not in shown(called)
        assert "<#CGB>" in shown(called)
        # The button in the second channel takes the abandonment of the first.
        await press(desk, called)
        assert all(map(is_taken, messages(desk)))


async def test_status_names_the_first_abandonments_that_nobody_has_taken_here_and_in_all(desk):
    await desk.subscribe("CALL", "IRE", ack=("10m",))
    await tell(desk, *(abandonment(f"rc_{hour}", off_time=f"{hour}:00") for hour in (13, 14, 15)))
    await tell(desk, meeting(course="York"), abandonment("rc_16", course="Naas", region="IRE", off_time="16:00"))
    await press(desk, desk.slack.messages("CGB")[0])
    await tell(desk, abandonment("rc_14", off_time="14:05"))

    async def said(*, only=None, here=None):
        def read(session):
            return status_answer(read_status(session, desk.clock, (), channel_id=only, here=here), {}, only)

        return (await desk.database.read(read)).text

    races = "Ascot 14:05, Ascot 15:00{} York (whole meeting)"
    of_channel = f"Not taken in <#CGB>: 3 abandonments of the last 24 hours ({races.format(' and')})."
    assert of_channel in await said(only="CGB")
    of_all = f"4 abandonments of the last 24 hours ({races.format(',')} and 1 more)"
    assert f"Not taken: {of_all}, in this channel 1 (Naas 16:00)." in await said(here="CALL")
    assert "in this channel none." in await said(here="CADMIN")
    for one in messages(desk):
        if BUTTON in shown(one):
            await press(desk, one)
    assert "Not taken" not in await said(here="CGB")


async def test_person_who_was_told_finds_what_nobody_has_taken_and_what_the_person_has(desk):
    await tell(desk, abandonment())

    async def of(user):
        since = desk.clock() - timedelta(days=1)
        found = await desk.database.read(lambda session: acknowledgements.of_person(session, user, since, 10))
        return [(one.event.race.course.name, one.channel_id, one.taken_at is not None) for one in found]

    assert await of("U1") == []
    await after(desk, 11)
    assert await of("U1") == [("Ascot", "CGB", False)]
    assert [await of(user) for user in ("U", "U11", "UALICE")] == [[], [], []]
    ((version,),) = [(await traced(desk)).versions]
    said = version.told[0].acknowledgement
    assert (said.state, [step.channel_id for step in said.steps]) == (AckState.REMINDED, ["CGB"])
    await press(desk, desk.slack.messages("CGB")[0])
    assert (await of("U1"), await of("UALICE")) == ([], [("Ascot", "CGB", True)])


@on_both
async def test_replicas_that_escalate_and_take_at_the_same_time_leave_one_taker_and_no_step_twice(desk, database):
    """Each replica writes by itself, and holds its transaction open a while: without locks they would overlap."""
    replicas = [Database(database.url.render_as_string(hide_password=False), busy_s=20) for _ in range(4)]
    at = desk.clock() + timedelta(minutes=11)

    def slowly(work, *what):
        def run(session):
            done = work(session, *what)
            time.sleep(0.05)
            return done

        return run

    for number in range(2):
        await tell(desk, abandonment(f"rc_{number}", off_time=f"14:{number:02}"))
        key = key_in(desk.slack.messages("CGB")[-1])
        works = [slowly(escalations.escalate, at, desk.notices)] * 2
        works += [slowly(acknowledgements.take, key, user, at) for user in ("UALICE", "UBOB")]
        if number:
            works.reverse()
        done = await asyncio.gather(*(one.write(work) for one, work in zip(replicas, works, strict=True)))
        steps = sum(one for one in done if isinstance(one, int))
        presses = [one for one in done if not isinstance(one, int)]
        assert steps <= 1
        assert sorted(one.is_news for one in presses) == [False, True]
        assert len({one.by for one in presses}) == 1
        reminders = [post for post in await posts(desk) if post.idempotency_key == f"{key}!reminder"]
        assert len(reminders) == steps
    for one in replicas:
        await one.close()
