"""What a channel muted is not posted, but for abandonments; and whom these ring."""

from functools import partial

from bot.channels import mutes
from bot.channels.filters import Meeting
from bot.db.database_clock import database_now
from bot.events.event import Topic
from bot.events.races import Course
from bot.outbox import ledger
from bot.outbox.channel_move import move_channel
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, edits, meeting, result, shown, tell

ASCOT = Meeting(course=Course(name="Ascot"), race_date=DAY)
EVERYTHING = frozenset(Topic)


async def mute(pipeline, meeting=ASCOT, channel="CGB"):
    return await pipeline.database.write(
        lambda session: mutes.mute(session, channel, meeting, "UALICE", pipeline.clock())
    )


async def traced(pipeline, wanted, channel="CGB"):
    def read(session):
        return ledger.trace(session, wanted, database_now(session, pipeline.clock), channel_id=channel)

    found = await pipeline.database.read(read)
    return [(str(told.outcome), told.muted_by) for version in found.versions for told in version.told]


async def test_muted_meeting_posts_no_results_there_and_the_ledger_says_who_muted_it(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERYTHING)
    await pipeline.subscribe("CALL", "*", EVERYTHING)
    await mute(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    assert [text.split(" (")[0] for text in pipeline.texts("CGB")] == ["Result: York 14:30"]
    assert len(pipeline.texts("CALL")) == 2
    assert await traced(pipeline, "rc_1") == [("muted", "UALICE")]
    assert await traced(pipeline, "rc_1", "CALL") == [("posted", None)]
    assert await pipeline.waiting() == {}


async def test_muted_meeting_still_posts_its_abandonments_and_what_contradicts_one(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await mute(pipeline)
    await tell(pipeline, abandonment("rc_1"), result("rc_1"), meeting("rc_2", "rc_3"))
    lost, won, card = pipeline.texts("CGB")
    assert ". ABANDONED: Ascot 14:30" in lost
    assert "Contradicts" in won
    assert card.startswith("ABANDONED: Ascot, whole meeting")


async def test_changed_winner_is_told_where_the_winner_was_told_before_the_mute_and_nowhere_else(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    await mute(pipeline)
    await tell(pipeline, result("rc_1", placings=("Red Sky", "Blue Moon")))
    before, after = pipeline.slack.messages("CGB")
    assert before.text.startswith("Superseded")
    assert after.text.startswith("Two versions disagree: Ascot 14:30")
    await tell(pipeline, result("rc_2"), result("rc_2", placings=("Red Sky", "Blue Moon")))
    assert len(pipeline.slack.messages("CGB")) == 2


async def test_lesser_change_of_a_message_of_a_muted_meeting_is_an_edit(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1", going="Good"))
    await mute(pipeline)
    await tell(pipeline, result("rc_1", going="Soft"))
    (message,) = pipeline.slack.messages("CGB")
    assert "Soft" in shown(message)
    assert len(edits(pipeline.slack)) == 1


async def test_mute_of_another_day_meeting_or_channel_holds_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await mute(pipeline, ASCOT.model_copy(update={"race_date": "2026-11-19"}))
    await mute(pipeline, Meeting(meeting_id="mt_2", course=Course(name="Ascot"), race_date=DAY))
    await mute(pipeline, channel="CIRE")
    await tell(pipeline, result("rc_1", meeting_id="mt_1"))
    assert len(pipeline.texts("CGB")) == 1


@on_both
async def test_mute_is_made_once_ends_once_and_follows_its_channel(pipeline):
    number = await mute(pipeline)
    assert await mute(pipeline) == number
    await pipeline.database.write(partial(move_channel, old_id="CGB", new_id="CNEW"))
    write = pipeline.database.write
    end = partial(mutes.end, number=number, now=pipeline.clock())
    assert await write(partial(end, channel_id="CGB")) is None
    assert await write(partial(end, channel_id="CNEW")) == ASCOT
    assert await write(partial(end, channel_id="CNEW")) is None
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    assert len(pipeline.texts("CGB")) == 1


async def test_abandonments_ring_whom_their_filters_say_and_results_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("UALICE", "SDESK"))
    await pipeline.subscribe("CGB", "*", mentions=("UALICE", "here"))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, abandonment("rc_1"), meeting("rc_2", course="York", meeting_id="mt_9"), result("rc_3"))
    lost, card, won = pipeline.slack.messages("CGB")
    for message in (lost, card):
        assert message.text.endswith(" <@UALICE> <!subteam^SDESK> <!here>")
        assert "<@UALICE> <!subteam^SDESK> <!here>" in str(message.blocks)
    assert "UALICE" not in shown(won)
    assert not any("UALICE" in shown(message) for message in pipeline.slack.messages("CALL"))
