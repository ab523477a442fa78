"""What a channel muted is not posted, but for abandonments; and whom these ring."""

from functools import partial

import pytest

from bot.channels import mutes
from bot.channels.filters import Meeting
from bot.events.event import Topic
from bot.events.races import Course
from bot.outbox.channel_move import move_channel
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.steps import kinds, traced, write

ASCOT = Meeting(course=Course(name="Ascot"), race_date=DAY)
BY_A_CARD = {"event": "racecard.published"}
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}


async def mute(pipeline, meeting=ASCOT, channel="CGB"):
    return await write(pipeline, mutes.mute, channel, meeting, "UALICE", pipeline.clock())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [result(), result("rc_2", course="York")], ["Result: York"]),
        ([], [abandonment(), result()], [". ABANDONED: Ascot 14:30", "before you act"]),
        ([], [meeting("rc_2", "rc_3")], ["ABANDONED: Ascot, whole meeting"]),
        ([], [result(status="void")], ["VOID: Ascot"]),
        ([], [result(status="abandoned", placings=()) | BY_A_CARD], ["ABANDONED: Ascot 14:30"]),
        # A changed winner is told where the winner was told before the mute.
        ([result()], [result(**RED_FIRST)], ["Superseded", "Two versions disagree: Ascot"]),
        ([], [result(), result(**RED_FIRST)], []),
        # A lesser change is an edit.
        ([result(going="Good")], [result(going="Soft")], ["or Soft"]),
    ],
    ids=[
        "results",
        "contradiction",
        "meeting",
        "void",
        "marked by a card",
        "winner told before",
        "winner not told",
        "edit",
    ],
)
async def test_muted_meeting_posts_abandonments_and_what_they_or_told_winners_need(pipeline, before, after, told):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic))
    await tell(pipeline, *before)
    await mute(pipeline)
    await tell(pipeline, *after)
    for message, words in zip(pipeline.slack.messages("CGB"), told, strict=True):
        assert words in message.text
    assert await pipeline.waiting() == {}


async def test_ledger_says_who_muted(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await mute(pipeline)
    await tell(pipeline, result())
    (version,) = (await traced(pipeline)).versions
    told = {one.channel_id: (str(one.outcome), one.muted_by) for one in version.told}
    assert told == {"CGB": ("muted", "UALICE"), "CALL": ("posted", None)}


async def test_mute_of_another_day_meeting_or_channel_holds_nothing(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await mute(pipeline, ASCOT.model_copy(update={"race_date": "2026-11-19"}))
    await mute(pipeline, Meeting(meeting_id="mt_2", course=Course(name="Ascot"), race_date=DAY))
    await mute(pipeline, channel="CIRE")
    await tell(pipeline, result("rc_1", meeting_id="mt_1"))
    assert kinds(pipeline) == ["Result"]


@on_both
async def test_mute_is_made_once_ends_once_and_follows_its_channel(pipeline):
    number = await mute(pipeline)
    assert await mute(pipeline) == number
    await write(pipeline, move_channel, "CGB", "CNEW")
    end = partial(write, pipeline, mutes.end, number=number, now=pipeline.clock())
    assert await end(channel_id="CGB") is None
    assert await end(channel_id="CNEW") == ASCOT
    assert await end(channel_id="CNEW") is None
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_1"))
    assert kinds(pipeline) == ["Result"]


async def test_abandonments_ring_whom_their_filters_say_and_results_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("UALICE", "SDESK"))
    await pipeline.subscribe("CGB", "*", mentions=("UALICE", "here"))
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, abandonment("rc_1"), meeting("rc_2", course="York", meeting_id="mt_9"), result("rc_3"))
    await tell(pipeline, result("rc_4", status="void"))
    lost, card, won, void = pipeline.slack.messages("CGB")
    for message in (lost, card, void):
        assert message.text.endswith(" <@UALICE> <!subteam^SDESK> <!here>")
        assert "<@UALICE> <!subteam^SDESK> <!here>" in str(message.blocks)
    assert "UALICE" not in shown(won)
    assert not any("UALICE" in shown(message) for message in pipeline.slack.messages("CALL"))
