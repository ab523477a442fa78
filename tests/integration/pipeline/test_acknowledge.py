"""Abandonments to be acknowledged: who has each, whom the bot tells otherwise, each once."""

import asyncio
import re
import time
from datetime import timedelta

import pytest

from bot.db.engine import Database
from bot.db.tables import AckState
from bot.operations.status_figures import read_status
from bot.outbox import acknowledgements, backlog, channel_move, escalations, message_store
from bot.slack.messages.answers.status_answer import status_answer
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.desk import (
    BUTTON,
    after,
    ask,
    asked,
    give_back,
    is_taken,
    key_in,
    messages,
    press,
    told,
)
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.steps import close, count, fail, pause, posts, resume, traced, turns, write

SECOND = abandonment("rc_2", off_time="15:05")


LOST_BY_A_CARD = result(status="abandoned", placings=()) | {"event": "racecard.published"}


async def untaken(pipeline, channel_id=None):
    since = pipeline.clock() - timedelta(days=1)
    read = pipeline.database.read
    return (await read(lambda session: acknowledgements.untaken(session, since, channel_id=channel_id))).count


@on_both
async def test_first_press_is_shown_in_place_and_later_presses_learn_who_was_first(desk):
    await tell(desk, abandonment(), result("rc_2", off_time="15:05"))
    alert, other = desk.slack.messages("CGB")
    assert [BUTTON in shown(one) for one in (alert, other)] == [True, False]
    assert [await untaken(desk, channel) for channel in (None, "CGB", "CALL")] == [1, 1, 0]
    for user, is_news in (("UALICE", True), ("UBOB", False)):
        taken = await press(desk, alert, user)
        assert (taken.by, taken.is_news) == ("UALICE", is_news)
    assert await untaken(desk) == 0
    assert is_taken(desk.slack.messages("CGB")[0])
    assert await after(desk, 90) == 0
    assert await press(desk, "no such message") is None


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


@on_both
async def test_escalation_waits_for_no_clock_that_was_set_back(desk):
    await tell(desk, abandonment())
    assert await after(desk, -9) == 0
    assert await after(desk, -120) == 1


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


async def test_waiting_escalation_shows_who_has_taken_the_abandonment(desk):
    await tell(desk, abandonment())
    fail(desk, post=[failures.rate_limited(1)])
    await after(desk, 11)
    await press(desk, desk.slack.messages("CGB")[0])
    await turns(desk, 2)
    _, late = desk.slack.messages("CGB")
    assert is_taken(late)
    assert "<@U1>" not in late.text


async def test_correction_that_rings_asks_in_place_of_the_earlier_message_and_others_do_not_ask(desk):
    await tell(desk, abandonment())
    key = key_in(desk.slack.messages("CGB")[0])
    await tell(desk, abandonment(reason="waterlogged"))
    assert [key_in(one) for one in desk.slack.messages("CGB")] == [key]
    await tell(desk, result(), abandonment(reason="fog", off_time="14:35"))
    first, contradiction, again = desk.slack.messages("CGB")
    assert [BUTTON in shown(one) for one in (first, contradiction)] == [False, False]
    assert key_in(again) != key
    assert (await press(desk, key)).by is None
    assert await asked(desk) == sorted([AckState.ASKED, AckState.REPLACED])
    assert await after(desk, 11) == 1


async def test_abandoned_meeting_asks_in_place_of_its_races(desk):
    await tell(desk, abandonment(meeting_id="mt_1"), meeting("rc_1", "rc_2"))
    race, whole = desk.slack.messages("CGB")
    assert BUTTON not in shown(race)
    await tell(desk, abandonment("rc_2", meeting_id="mt_1", off_time="15:05"))
    assert len(desk.slack.messages("CGB")) == 2
    await press(desk, whole)
    assert await after(desk, 30) == 0


async def test_people_of_a_closed_channel_are_told_in_direct_messages_and_a_group_once_the_channel_is_back(pipeline):
    await ask(pipeline, "UALICE")
    await ask(pipeline, "SDESK", channel_id="CIRE")
    for channel_id in ("CGB", "CIRE"):
        await close(pipeline, channel_id)
    await tell(pipeline, abandonment())
    assert [await after(pipeline, minutes) for minutes in (11, 60)] == [1, 0]
    (said,) = told(pipeline, "DALICE")
    assert await asked(pipeline) == sorted([AckState.ASKED, AckState.UNANSWERED])
    await press(pipeline, said)
    assert [is_taken(one) for one in messages(pipeline, "DALICE") if "ABANDONED" in one.text] == [True]


async def test_result_and_a_newer_message_are_seen_where_the_abandonment_was_escalated(desk):
    await tell(desk, abandonment())
    for minutes in (11, 22):
        await after(desk, minutes)
    await tell(desk, result())
    called = desk.slack.messages("CALL")[0]
    assert BUTTON in shown(called)
    assert "CONFLICT" in called.text or "ontradict" in called.text
    await tell(desk, abandonment(reason="fog", off_time="14:35"))
    for message in (desk.slack.messages("CALL")[0], desk.slack.messages("CGB")[1]):
        assert "A newer message in <#CGB> has more" in message.text
        assert BUTTON not in shown(message)
        assert "<@U1>" not in message.text


@on_both
async def test_abandonment_that_is_given_back_asks_again_and_the_time_counts_from_then(desk):
    await tell(desk, abandonment())
    key = key_in(desk.slack.messages("CGB")[0])

    def takers():
        """Who has it, message by message."""
        found = [re.search("<@(.*?)> has it since", one.text) for one in messages(desk)]
        return [one and one[1] for one in found]

    await press(desk, key)
    assert not (await give_back(desk, key, "UBOB")).is_news
    assert takers() == ["UALICE"]
    assert (await give_back(desk, key, minutes=8)).is_news
    assert takers() == [None]
    assert key_in(desk.slack.messages("CGB")[0]) == key
    assert not (await give_back(desk, key)).is_news
    assert await give_back(desk, "no such message") is None
    assert [await after(desk, minutes) for minutes in (16, 19)] == [0, 1]
    assert await asked(desk) == [AckState.REMINDED]
    # Taken and given back anew, now with an escalation: both messages show each change.
    await press(desk, key, "UBOB")
    assert takers() == ["UBOB"] * 2
    await give_back(desk, key, "UBOB", minutes=20)
    assert (takers(), await asked(desk)) == ([None] * 2, [AckState.REMINDED])
    assert await after(desk, 31) == 1
    assert len(desk.texts("CALL")) == 1
    await press(desk, key)
    await give_back(desk, key, minutes=32)
    assert await asked(desk) == [AckState.UNANSWERED]
    assert await after(desk, 990) == 0
    await press(desk, key, "UBOB")
    assert takers() == ["UBOB"] * 3


@on_both
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


async def test_press_in_a_paused_channel_is_shown_at_once_and_posts_wait_for_the_end_of_the_pause(desk):
    await tell(desk, abandonment())
    (alert,) = desk.slack.messages("CGB")

    async def held():
        return (await desk.database.read(message_store.depths))[message_store.HELD_STATE].count

    await pause(desk)
    await tell(desk, SECOND, abandonment(reason="Frost"))
    assert (await held(), desk.texts("CGB")) == (2, [alert.text])
    await press(desk, alert)
    assert await held() == 1
    (taken,) = desk.slack.messages("CGB")
    assert is_taken(taken)
    await resume(desk)
    first, second = desk.slack.messages("CGB")
    assert is_taken(first)
    assert "15:05" in second.text


async def test_press_in_a_paused_channel_waits_for_no_contradiction_that_the_pause_holds(desk):
    await tell(desk, abandonment())
    (alert,) = desk.slack.messages("CGB")
    await pause(desk)
    await tell(desk, result())
    await press(desk, alert)
    (taken,) = desk.slack.messages("CGB")
    assert (is_taken(taken), count(desk, "edit")) == (True, 1)
    await resume(desk)
    first, second = desk.slack.messages("CGB")
    assert (is_taken(first), count(desk, "edit")) == (True, 2)
    assert "a result was reported, see the later message" in first.text
    assert "Blue Moon" in second.text


async def test_abandonment_that_waited_for_days_in_a_pause_is_not_escalated(desk):
    await pause(desk)
    await tell(desk, abandonment())
    now = desk.clock()
    await write(desk, backlog.give_up, now + timedelta(minutes=10), 10, now)
    assert await after(desk, 11) == 1
    assert await asked(desk) == [AckState.REPLACED]
    assert desk.texts("CALL") == []


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


async def test_second_channel_is_told_under_its_new_id(desk):
    async def moved(old_id, new_id):
        desk.slack.add_channel(new_id, new_id.lower())
        await write(desk, channel_move.move_channel, old_id, new_id)

    await tell(desk, abandonment())
    await moved("CALL", "CNEW")
    for minutes in (11, 22):
        await after(desk, minutes)
    assert (len(desk.texts("CALL")), len(desk.texts("CNEW"))) == (0, 1)
    await moved("CNEW", "CNEWER")
    edited = count(desk, "edit")
    await press(desk, desk.slack.messages("CGB")[0])
    assert count(desk, "edit") == edited + 3, "the alert, the reminder, and what the other channel has"
    await moved("CNEWER", "CNEW")
    await tell(desk, SECOND)
    for minutes in (11, 22):
        await after(desk, minutes)
    assert len(desk.texts("CNEW")) == 2
