"""Abandonments to be acknowledged: who has each, whom the bot tells otherwise, each once."""

import asyncio
import re
import time
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.db.engine import Database
from bot.db.tables import Acknowledgement, AckState, OutboxMessage
from bot.events.event import Topic
from bot.operations.status_figures import read_status
from bot.outbox import acknowledgements, backlog, channel_move, dead_letters, escalations, ledger, message_store
from bot.outbox.channel_closing import close_channel, pause_channel
from bot.outbox.notices import Notices
from bot.slack.messages.alerts.admin_notice import admin_notice
from bot.slack.messages.answers.status_answer import StatusScope, status_answer
from sandbox.slack import failures
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, shown, tell

MINUTES = timedelta(minutes=10)


@pytest.fixture
async def asking(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), ack=("10m",), escalate=("U1", "SDESK", "CALL"))
    return pipeline


async def after(pipeline, passed, absent=()):
    """The job, so long after now; then all that is due is posted."""
    at, notices = pipeline.clock() + passed, pipeline.notices
    steps = await pipeline.database.write(lambda session: escalations.escalate(session, at, notices, absent))
    await free_all(pipeline)
    await pipeline.post_all()
    return steps


async def press(pipeline, key, user="UALICE"):
    now = pipeline.clock()
    taken = await pipeline.database.write(lambda session: acknowledgements.take(session, key, user, now))
    await free_all(pipeline)
    await pipeline.post_all()
    return taken


async def untaken(pipeline, channel_id=None):
    since = pipeline.clock() - timedelta(days=1)
    found = await pipeline.database.read(
        lambda session: acknowledgements.untaken(session, since, channel_id=channel_id)
    )
    return found.count


def key_in(message):
    (button,) = [
        element
        for block in message.blocks
        for element in block.get("elements", ())
        if str(element.get("action_id")).startswith("acknowledge:")
    ]
    return button["value"]


async def states_of(pipeline):
    def read(session):
        return [row.state for row in session.execute(select(Acknowledgement)).scalars()]

    return await pipeline.database.read(read)


async def test_first_press_is_shown_in_place_and_later_presses_learn_who_was_first(asking):
    await tell(asking, abandonment(), result("rc_2", off_time="15:05"))
    alert, other = asking.slack.messages("CGB")
    assert "I have it" in shown(alert)
    assert "I have it" not in shown(other)
    assert [await untaken(asking, channel) for channel in (None, "CGB", "CALL")] == [1, 1, 0]
    first = await press(asking, key_in(alert))
    assert (first.by, first.is_news) == ("UALICE", True)
    assert await untaken(asking) == 0
    second = await press(asking, key_in(alert), "UBOB")
    assert (second.by, second.is_news) == ("UALICE", False)
    taken, _ = asking.slack.messages("CGB")
    assert "<@UALICE> has it since" in taken.text
    assert "I have it" not in shown(taken)
    assert await after(asking, 9 * MINUTES) == 0
    assert await press(asking, "no such message") is None


@on_both
async def test_escalation_waits_for_no_clock_that_was_set_back(asking):
    await tell(asking, abandonment())
    assert await after(asking, -0.9 * MINUTES) == 0
    assert await after(asking, -timedelta(hours=2)) == 1


async def test_escalation_begins_when_the_minutes_are_over(asking):
    await tell(asking, abandonment())
    at = [await after(asking, MINUTES - timedelta(microseconds=1)), await after(asking, MINUTES)]
    assert at == [0, 1]


async def test_status_names_the_first_abandonments_that_nobody_has_taken_here_and_in_all(asking):
    await asking.subscribe("CALL", "IRE", ack=("10m",))
    await tell(asking, *(abandonment(f"rc_{hour}", off_time=f"{hour}:00") for hour in (13, 14, 15)))
    await tell(asking, meeting(course="York"), abandonment("rc_16", course="Naas", region="IRE", off_time="16:00"))
    await press(asking, key_in(asking.slack.messages("CGB")[0]))
    await tell(asking, abandonment("rc_14", off_time="14:05"))

    def said(*, only=None, here=None):
        def read(session):
            return status_answer(read_status(session, asking.clock, channel_id=only, here=here), StatusScope({}, only))

        return asking.database.read(read)

    races = "Ascot 14:05, Ascot 15:00{} York (whole meeting)"
    of_channel = await said(only="CGB")
    assert (
        f"Taken by nobody in <#CGB>: 3 abandonments of the last 24 hours ({races.format(' and')})." in of_channel.text
    )
    of_all = await said(here="CALL")
    told = f"4 abandonments of the last 24 hours ({races.format(',')} and 1 more)"
    assert f"Taken by nobody: {told}, in this channel 1 (Naas 16:00)." in of_all.text
    assert "in this channel none." in (await said(here="CADMIN")).text
    for one in (*asking.slack.messages("CGB"), *asking.slack.messages("CALL")):
        if "I have it" in shown(one):
            await press(asking, key_in(one))
    assert "Taken by nobody" not in (await said(here="CGB")).text


async def test_nobody_within_the_time_means_people_are_mentioned_and_later_the_second_channel_is_told_each_once(asking):
    await tell(asking, abandonment())
    assert await after(asking, timedelta(minutes=9)) == 0
    assert await after(asking, timedelta(minutes=11)) == 1
    assert await after(asking, timedelta(minutes=11)) == 0
    _, reminder = asking.slack.messages("CGB")
    assert reminder.text.startswith("ABANDONED: Ascot 14:30")
    assert "<@U1> <!subteam^SDESK>" in reminder.text
    assert re.search("Nobody has taken it after 1[01] minutes", reminder.text)
    assert asking.texts("CALL") == []
    assert await after(asking, timedelta(minutes=22)) == 1
    (told,) = asking.slack.messages("CALL")
    assert re.search("Nobody has taken it after 2[12] minutes", told.text)
    assert "<@U1>" not in shown(told)
    assert "<#CGB>" in shown(told)
    assert await after(asking, 99 * MINUTES) == 0
    assert (len(asking.texts("CGB")), len(asking.texts("CALL"))) == (2, 1)
    # The button in the second channel takes the abandonment of the first.
    await press(asking, key_in(told), "UBOB")
    for message in (*asking.slack.messages("CGB"), *asking.slack.messages("CALL")):
        assert "<@UBOB> has it since" in message.text
        assert "I have it" not in shown(message)


async def test_escalation_that_waits_in_its_queue_shows_who_has_taken_it_meanwhile(asking):
    await tell(asking, abandonment())
    asking.slack.script("chat.postMessage", [failures.rate_limited(1)])
    await after(asking, timedelta(minutes=11))
    (alert,) = asking.slack.messages("CGB")
    await press(asking, key_in(alert))
    _, late = asking.slack.messages("CGB")
    assert "<@UALICE> has it since" in late.text
    assert "<@U1>" not in late.text


@on_both
async def test_correction_that_rings_asks_in_place_of_the_earlier_message_and_others_do_not_ask(asking):
    await tell(asking, abandonment())
    (first,) = asking.slack.messages("CGB")
    key = key_in(first)
    await tell(asking, abandonment(reason="waterlogged"))
    assert [key_in(one) for one in asking.slack.messages("CGB")] == [key]
    await tell(asking, result(), abandonment(reason="fog", off_time="14:35"))
    first, contradiction, again = asking.slack.messages("CGB")
    assert "I have it" not in shown(first)
    assert "I have it" not in shown(contradiction)
    assert key_in(again) != key
    assert (await press(asking, key)).by is None
    assert sorted(await states_of(asking)) == [AckState.ASKED, AckState.REPLACED]
    assert await after(asking, timedelta(minutes=11)) == 1


async def test_abandoned_meeting_asks_in_place_of_its_races(asking):
    await tell(asking, abandonment(meeting_id="mt_1"), meeting("rc_1", "rc_2"))
    race, whole = asking.slack.messages("CGB")
    assert "I have it" not in shown(race)
    await tell(asking, abandonment("rc_2", meeting_id="mt_1", off_time="15:05"))
    assert len(asking.slack.messages("CGB")) == 2
    await press(asking, key_in(whole))
    assert await after(asking, timedelta(minutes=30)) == 0


async def test_abandonment_that_a_closed_channel_never_got_is_told_to_the_second_channel(asking):
    notices = Notices("CADMIN", admin_notice, clock=asking.clock)
    now = asking.clock()
    await asking.database.write(lambda session: close_channel(session, notices, "CGB", "is_archived", now))
    await tell(asking, abandonment())
    await after(asking, timedelta(minutes=11))
    assert asking.texts("CGB") == []
    assert [text for text in asking.texts("CALL") if "Nobody has taken it" in text]


async def closed(pipeline, channel_id):
    notices, now = pipeline.notices, pipeline.clock()
    await pipeline.database.write(lambda session: close_channel(session, notices, channel_id, "is_archived", now))


async def test_abandonment_in_doubt_in_a_channel_that_closes_is_told_to_the_second_channel(asking):
    asking.slack.script("chat.postMessage", [failures.drop_after()])
    await asking.deliver(abandonment())
    await asking.fanout.run_once()
    await asking.poster.start_due()
    await asking.poster.finish()
    await closed(asking, "CGB")
    await after(asking, timedelta(minutes=11))
    assert [text for text in asking.texts("CALL") if "Nobody has taken it" in text]


async def test_people_of_a_closed_channel_are_told_in_direct_messages_and_a_group_once_the_channel_is_back(pipeline):
    await pipeline.subscribe("CGB", "GB", ack=("10m",), escalate=("UALICE",))
    await pipeline.subscribe("CIRE", "GB", ack=("10m",), escalate=("SDESK",))
    await closed(pipeline, "CGB")
    await closed(pipeline, "CIRE")
    await tell(pipeline, abandonment())
    assert await after(pipeline, timedelta(minutes=11)) == 1
    assert await after(pipeline, timedelta(minutes=60)) == 0
    (told,) = [one for one in pipeline.slack.messages("DALICE") if "Nobody has taken it" in one.text]
    assert sorted(await states_of(pipeline)) == [AckState.ASKED, AckState.UNANSWERED]
    await press(pipeline, key_in(told))
    (told,) = [one for one in pipeline.slack.messages("DALICE") if "ABANDONED" in one.text]
    assert "<@UALICE> has it since" in told.text


async def test_closing_of_the_second_channel_is_told_to_admins_and_to_whoever_named_it(asking):
    await closed(asking, "CALL")
    await free_all(asking)
    await asking.post_all()
    (told,) = [text for text in asking.texts("CADMIN") if "no longer lets me post" in text]
    assert "<#CALL>" in told
    assert "Abandonments of <#CGB> that nobody takes are to be told there" in told


async def test_result_and_a_newer_message_are_seen_where_the_abandonment_was_escalated(asking):
    await tell(asking, abandonment())
    await after(asking, timedelta(minutes=11))
    await after(asking, timedelta(minutes=22))
    await tell(asking, result())
    told = asking.slack.messages("CALL")[0]
    assert "I have it" in shown(told)
    assert "CONFLICT" in told.text or "ontradict" in told.text
    await tell(asking, abandonment(reason="fog", off_time="14:35"))
    for message in (asking.slack.messages("CALL")[0], asking.slack.messages("CGB")[1]):
        assert "A newer message in <#CGB> tells more" in message.text
        assert "I have it" not in shown(message)
        assert "<@U1>" not in message.text


async def test_abandonment_posted_after_all_and_one_in_place_of_a_deleted_message_ask_anew(asking):
    asking.slack.script(
        "chat.postMessage", [failures.slack_error("msg_too_long"), failures.slack_error("msg_too_long")]
    )
    await tell(asking, abandonment())
    assert [text for text in asking.texts("CGB") if "ABANDONED: Ascot" in text] == []
    (given_up,) = await asking.database.read(lambda session: dead_letters.newest(session, 5, asking.clock()))
    now = asking.clock()
    await asking.database.write(lambda session: dead_letters.post_again(session, given_up.message_id, now))
    await free_all(asking)
    await asking.post_all()
    (again,) = asking.slack.messages("CGB")
    await press(asking, key_in(again))
    assert "has it since" in asking.slack.messages("CGB")[0].text


async def give_back(pipeline, key, user="UALICE", passed=timedelta(0)):
    now = pipeline.clock() + passed
    given = await pipeline.database.write(lambda session: acknowledgements.give_back(session, key, user, now))
    await free_all(pipeline)
    await pipeline.post_all()
    return given


@on_both
async def test_abandonment_that_is_given_back_asks_again_and_the_time_counts_from_then(asking):
    await tell(asking, abandonment())
    key = key_in(asking.slack.messages("CGB")[0])
    await press(asking, key)
    assert not (await give_back(asking, key, "UBOB")).is_news
    assert "<@UALICE> has it since" in asking.texts("CGB")[0]
    assert (await give_back(asking, key, passed=timedelta(minutes=8))).is_news
    assert key_in(asking.slack.messages("CGB")[0]) == key
    assert "has it" not in asking.texts("CGB")[0]
    assert not (await give_back(asking, key)).is_news
    assert await give_back(asking, "no such message") is None
    assert await after(asking, timedelta(minutes=16)) == 0
    assert await after(asking, timedelta(minutes=19)) == 1
    assert await states_of(asking) == [AckState.REMINDED]
    # Taken and given back anew, now with an escalation: both messages show each change.
    await press(asking, key, "UBOB")
    assert [text.count("<@UBOB> has it since") for text in asking.texts("CGB")] == [1, 1]
    await give_back(asking, key, "UBOB", timedelta(minutes=20))
    assert [text.count("has it since") for text in asking.texts("CGB")] == [0, 0]
    assert await states_of(asking) == [AckState.REMINDED]
    assert await after(asking, timedelta(minutes=31)) == 1
    assert len(asking.texts("CALL")) == 1
    await press(asking, key)
    await give_back(asking, key, passed=timedelta(minutes=32))
    assert await states_of(asking) == [AckState.UNANSWERED]
    assert await after(asking, 99 * MINUTES) == 0
    await press(asking, key, "UBOB")
    assert [text.count("<@UBOB> has it since") for text in (*asking.texts("CGB"), *asking.texts("CALL"))] == [1, 1, 1]


@on_both
async def test_person_who_was_told_finds_what_nobody_has_taken_and_what_the_person_has(asking):
    await tell(asking, abandonment())

    async def of(user):
        since = asking.clock() - timedelta(days=1)
        found = await asking.database.read(lambda session: acknowledgements.of_person(session, user, since, 10))
        return [(one.event.race.course.name, one.channel_id, one.taken_at is not None) for one in found]

    assert await of("U1") == []
    await after(asking, timedelta(minutes=11))
    assert await of("U1") == [("Ascot", "CGB", False)]
    assert [await of(user) for user in ("U", "U11", "UALICE")] == [[], [], []]
    await press(asking, key_in(asking.slack.messages("CGB")[0]))
    assert (await of("U1"), await of("UALICE")) == ([], [("Ascot", "CGB", True)])


async def test_escalation_of_a_race_of_another_day_says_the_day(asking):
    await tell(asking, abandonment(date="2026-11-28"))
    await after(asking, timedelta(minutes=11))
    _, reminder = asking.slack.messages("CGB")
    assert reminder.text.startswith("ABANDONED: Ascot 14:30, Sat 28 Nov (GB), frost. Nobody has taken it")


async def test_press_in_a_paused_channel_is_shown_at_once_and_posts_wait_for_the_end_of_the_pause(asking):
    await tell(asking, abandonment())
    (alert,) = asking.slack.messages("CGB")
    now = asking.clock()
    await asking.database.write(lambda session: pause_channel(session, "CGB", None, now))
    await tell(asking, abandonment("rc_2", off_time="15:05"))
    await tell(asking, abandonment(reason="Frost"))
    assert (await asking.database.read(message_store.depths))[message_store.HELD_STATE].count == 2
    assert asking.texts("CGB") == [alert.text]
    await press(asking, key_in(alert))
    (taken,) = asking.slack.messages("CGB")
    assert "<@UALICE> has it since" in taken.text
    assert (await asking.database.read(message_store.depths))[message_store.HELD_STATE].count == 1
    await asking.database.write(lambda session: asking.reopening.resume(session, "CGB", now))
    await free_all(asking)
    await asking.post_all()
    first, second = asking.texts("CGB")
    assert "<@UALICE> has it since" in first
    assert "15:05" in second


async def test_abandonment_that_waited_for_days_in_a_pause_is_not_escalated(asking):
    now = asking.clock()
    await asking.database.write(lambda session: pause_channel(session, "CGB", None, now))
    await tell(asking, abandonment())
    await asking.database.write(lambda session: backlog.give_up(session, now + MINUTES, 10, now))
    assert await after(asking, timedelta(minutes=11)) == 1
    assert await states_of(asking) == [AckState.REPLACED]
    assert asking.texts("CALL") == []


async def test_channel_without_people_is_reminded_and_other_channels_are_asked_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB", ack=("5m",))
    await pipeline.subscribe("CALL", "GB")
    await tell(pipeline, abandonment())
    assert "I have it" not in shown(pipeline.slack.messages("CALL")[0])
    assert await after(pipeline, timedelta(minutes=6)) == 1
    assert len(pipeline.texts("CGB")) == 2
    assert await after(pipeline, timedelta(minutes=60)) == 0


@on_both
async def test_replicas_that_escalate_and_take_at_the_same_time_leave_one_taker_and_no_step_twice(asking, database):
    """Each replica writes by itself, and holds its transaction open a while: without locks they would overlap."""
    replicas = [Database(database.url.render_as_string(hide_password=False)) for _ in range(3)]
    at = asking.clock() + timedelta(minutes=11)

    def slowly(work):
        def run(session):
            done = work(session)
            time.sleep(0.05)
            return done

        return run

    for number in range(4):
        await tell(asking, abandonment(f"rc_{number}", off_time=f"14:{number:02}"))
        key = key_in(asking.slack.messages("CGB")[-1])
        works = [
            lambda session: escalations.escalate(session, at, asking.notices),
            lambda session: escalations.escalate(session, at, asking.notices),
            lambda session, key=key: acknowledgements.take(session, key, "UALICE", at),
            lambda session, key=key: acknowledgements.take(session, key, "UBOB", at),
        ]
        if number % 2:
            works.reverse()
        done = await asyncio.gather(
            *(one.write(slowly(work)) for one, work in zip([database, *replicas], works, strict=True))
        )
        steps = sum(one for one in done if isinstance(one, int))
        presses = [one for one in done if not isinstance(one, int)]
        assert steps <= 1
        assert sorted(press.is_news for press in presses) == [False, True]
        assert len({press.by for press in presses}) == 1
        reminders = await asking.database.read(partial(posts_of, key=f"{key}!reminder"))
        assert len(reminders) == steps
    for one in replicas:
        await one.close()


def edits_of(session, channel_id):
    of_channel = select(col(OutboxMessage.idempotency_key)).where(col(OutboxMessage.channel_id) == channel_id)
    return session.execute(of_channel.order_by(col(OutboxMessage.id))).scalars().all()


def posts_of(session, key):
    return (
        session.execute(select(col(OutboxMessage.id)).where(col(OutboxMessage.idempotency_key) == key)).scalars().all()
    )


async def test_second_channel_is_told_under_its_new_id(asking):
    await tell(asking, abandonment())
    asking.slack.add_channel("CNEW", "new")
    await asking.database.write(lambda session: channel_move.move_channel(session, "CALL", "CNEW"))
    await after(asking, timedelta(minutes=11))
    await after(asking, timedelta(minutes=22))
    assert (len(asking.texts("CALL")), len(asking.texts("CNEW"))) == (0, 1)
    asking.slack.add_channel("CNEWER", "newer")
    await asking.database.write(lambda session: channel_move.move_channel(session, "CNEW", "CNEWER"))
    await press(asking, key_in(asking.slack.messages("CGB")[0]))
    last = (await asking.database.read(lambda session: edits_of(session, "CNEWER")))[-1]
    assert last.endswith("@CGB!CNEWER!taken")
    asking.slack.add_channel("CNEW", "new again")
    await asking.database.write(lambda session: channel_move.move_channel(session, "CNEWER", "CNEW"))
    await tell(asking, abandonment("rc_2"))
    await after(asking, timedelta(minutes=11))
    await after(asking, timedelta(minutes=22))
    assert len(asking.texts("CNEW")) == 2


async def test_ledger_says_who_has_it_and_who_was_told(asking):
    await tell(asking, abandonment())
    await after(asking, timedelta(minutes=11))
    found = await asking.database.read(lambda session: ledger.trace(session, "rc_1", asking.clock()))
    (version,) = found.versions
    (told, *_) = version.told
    assert told.acknowledgement.state == AckState.REMINDED
    assert [step.channel_id for step in told.acknowledgement.steps] == ["CGB"]


async def test_nothing_is_stored_for_channels_that_ask_for_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, abandonment())
    assert await states_of(pipeline) == []
