"""What waits for an hour and is not wanted any more: unsubscribed, or its meeting muted."""

from types import SimpleNamespace

import pytest

from bot.events.event import Topic
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.mute import MUTE_BUTTON, UNMUTE_BUTTON
from bot.slack.commands.unsubscribe import UNSUBSCRIBE_COMMAND
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, result, tell
from tests.integration.pipeline.steps import at_the_hour, card, hour, kinds, tell_due, traced, wait, watch

IRISH = {"region": "IRE", "course": "Cork"}


async def everybody_may(_user_id, _channel_id):
    """Anybody may change anything."""


class Digest:
    """A channel with a digest, and what people type there."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self.desk = SimpleNamespace(
            database=pipeline.database,
            people=SimpleNamespace(check_may_change=everybody_may),
            settings=SimpleNamespace(announce_changes=False),
            clock=pipeline.clock,
        )

    async def of(self, *regions, **hours):
        for region in regions:
            await self.pipeline.subscribe("CGB", region, frozenset(Topic), digest=(hour(self.pipeline),), **hours)

    async def typed(self, command, text):
        return await command(self.desk, Invocation(text, "CGB", "UALICE", "ref-1", None))

    async def withdrawn(self, race_id):
        found = await traced(self.pipeline, race_id)
        return [(str(told.outcome), told.why) for version in found.versions for told in version.told]


@pytest.fixture
def digest(pipeline):
    return Digest(pipeline)


@on_both
async def test_unsubscribed_region_is_not_in_the_digest(pipeline, digest):
    await digest.of("GB", "IRE")
    await tell(pipeline, result(), result("rc_2", **IRISH), result("rc_2", going="Soft", **IRISH))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "IRE")
    assert await tell_due(pipeline) == 0
    assert await digest.withdrawn("rc_2") == [("not posted", "the channel unsubscribed while it waited")] * 2
    assert await at_the_hour(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Results digest. 1 result. Ascot")
    assert await pipeline.waiting() == {}
    # A correction of a withdrawn result is no news here.
    await tell(pipeline, result("rc_2", placings=("Red Sky", "Blue Moon"), **IRISH))
    assert len(pipeline.texts("CGB")) == 1


async def test_unsubscribed_topic_is_withdrawn_and_the_other_topic_waits_on(pipeline, digest):
    await digest.of("GB", quiet=("00:00-23:59",))
    await tell(pipeline, result(), card())
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "GB results")
    await wait(pipeline, 24 * 3_600)
    await tell_due(pipeline)
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Racecard: York")


async def test_nothing_of_a_channel_that_unsubscribed_from_everything_is_told_though_it_watches(pipeline, digest):
    await digest.of("GB")
    await watch(pipeline, "CGB", "Nobody")
    await tell(pipeline, result(), result("rc_2", course="York"))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "all")
    assert await at_the_hour(pipeline) == 0
    assert pipeline.texts("CGB") == []


async def test_result_that_another_filter_takes_waits_by_that_filter(pipeline, digest):
    await digest.of("GB", "*")
    await tell(pipeline, result(), result("rc_2", **IRISH))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "GB")
    assert await at_the_hour(pipeline) == 1
    assert "2 results" in pipeline.texts("CGB")[0]


async def test_result_of_a_meeting_muted_since_is_not_in_the_digest(pipeline, digest):
    await digest.of("GB")
    await tell(pipeline, result(), result("rc_2", off_time="15:00"), result("rc_3", course="York"))
    muted = await digest.typed(MUTE_BUTTON.commit, "result.received:rc_1")
    await tell(pipeline, result(going="Soft"), abandonment("rc_4", off_time="16:00"))
    assert kinds(pipeline) == ["ABANDONED"]
    await digest.typed(UNMUTE_BUTTON.commit, str(muted.number))
    assert await at_the_hour(pipeline) == 1
    assert pipeline.texts("CGB")[1].startswith("Results digest. 1 result. York")
    assert await digest.withdrawn("rc_2") == [("not posted", "the channel muted the meeting while it waited")]
