"""Abandonments to be acknowledged: who has each, whom the bot tells otherwise, each once. On both engines."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from bot.db.tables import Acknowledgement, AckState
from bot.events.event import Topic
from bot.outbox import acknowledgements, channel_move, ledger
from bot.outbox.channel_closing import close_channel
from bot.outbox.notices import Notices
from bot.sandbox.slack import failures
from bot.slack.messages.kit.sentences import sentence
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, shown, tell

MINUTES = timedelta(minutes=10)


@pytest.fixture
async def asking(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), ack=("10m",), escalate=("U1", "SDESK", "CALL"))
    return pipeline


async def after(pipeline, passed):
    """The job, so long after now; then all that is due is posted."""
    at = pipeline.clock() + passed
    steps = await pipeline.database.write(lambda session: acknowledgements.escalate(session, at))
    await free_all(pipeline)
    await pipeline.post_all()
    return steps


async def press(pipeline, key, user="UALICE"):
    now = pipeline.clock()
    taken = await pipeline.database.write(lambda session: acknowledgements.take(session, key, user, now))
    await free_all(pipeline)
    await pipeline.post_all()
    return taken


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
    first = await press(asking, key_in(alert))
    assert (first.by, first.is_news) == ("UALICE", True)
    second = await press(asking, key_in(alert), "UBOB")
    assert (second.by, second.is_news) == ("UALICE", False)
    taken, _ = asking.slack.messages("CGB")
    assert "<@UALICE> has it since" in taken.text
    assert "I have it" not in shown(taken)
    assert await after(asking, 9 * MINUTES) == 0
    assert await press(asking, "no such message") is None


async def test_nobody_within_the_time_means_people_are_mentioned_and_later_the_second_channel_is_told_each_once(asking):
    await tell(asking, abandonment())
    assert await after(asking, timedelta(minutes=9)) == 0
    assert await after(asking, timedelta(minutes=11)) == 1
    assert await after(asking, timedelta(minutes=11)) == 0
    _, reminder = asking.slack.messages("CGB")
    assert reminder.text.startswith("ABANDONED: Ascot 14:30")
    assert "<@U1> <!subteam^SDESK>" in reminder.text
    assert asking.texts("CALL") == []
    assert await after(asking, timedelta(minutes=22)) == 1
    (told,) = asking.slack.messages("CALL")
    assert "Nobody has taken it after 10 minutes" in told.text
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
    notices = Notices("CADMIN", sentence, clock=asking.clock)
    now = asking.clock()
    await asking.database.write(lambda session: close_channel(session, notices, "CGB", "is_archived", now))
    await tell(asking, abandonment())
    await after(asking, timedelta(minutes=11))
    assert asking.texts("CGB") == []
    assert [text for text in asking.texts("CALL") if "Nobody has taken it" in text]


async def test_channel_without_people_is_reminded_and_other_channels_are_asked_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB", ack=("5m",))
    await pipeline.subscribe("CALL", "GB")
    await tell(pipeline, abandonment())
    assert "I have it" not in shown(pipeline.slack.messages("CALL")[0])
    assert await after(pipeline, timedelta(minutes=6)) == 1
    assert len(pipeline.texts("CGB")) == 2
    assert await after(pipeline, timedelta(minutes=60)) == 0


async def test_two_replicas_escalate_once(asking, make_pipeline):
    await tell(asking, abandonment())
    other = make_pipeline(clock=asking.clock)
    at = asking.clock() + timedelta(minutes=11)
    steps = [
        await one.database.write(lambda session: acknowledgements.escalate(session, at)) for one in (asking, other)
    ]
    assert steps == [1, 0]


async def test_second_channel_is_told_under_its_new_id(asking):
    await tell(asking, abandonment())
    asking.slack.add_channel("CNEW", "new")
    await asking.database.write(lambda session: channel_move.move_channel(session, "CALL", "CNEW"))
    await after(asking, timedelta(minutes=11))
    await after(asking, timedelta(minutes=22))
    assert (len(asking.texts("CALL")), len(asking.texts("CNEW"))) == (0, 1)
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
