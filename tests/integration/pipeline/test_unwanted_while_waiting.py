"""What waits for an hour and is not wanted any more: unsubscribed, or its meeting muted."""

from types import SimpleNamespace

from bot.channels import watches
from bot.channels.watches import WatchedName
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import ledger
from bot.slack.commands import mute, unsubscribe
from bot.slack.commands.invocation import Invocation
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, result, tell
from tests.integration.pipeline.steps import at_the_hour, card, hour, tell_due

EVERYTHING = frozenset(Topic)


async def everybody_may(_user_id, _channel_id):
    """Anybody may change anything."""


def desk_of(pipeline):
    return SimpleNamespace(
        database=pipeline.database,
        people=SimpleNamespace(check_may_change=everybody_may),
        settings=SimpleNamespace(announce_changes=False),
        clock=pipeline.clock,
    )


def typed(text):
    return Invocation(text, "CGB", "UALICE", "ref-1", None)


async def withdrawn(pipeline, race_id):
    found = await pipeline.database.read(lambda session: ledger.trace(session, race_id, pipeline.clock()))
    return [(str(told.outcome), told.why) for version in found.versions for told in version.told]


@on_both
async def test_unsubscribed_region_is_not_in_the_digest(pipeline):
    for region in ("GB", "IRE"):
        await pipeline.subscribe("CGB", region, EVERYTHING, digest=(hour(pipeline),))
    await tell(pipeline, result("rc_1"), result("rc_2", region="IRE", course="Cork"))
    await tell(pipeline, result("rc_2", region="IRE", course="Cork", going="Soft"))
    await unsubscribe.commit(desk_of(pipeline), typed("IRE"))
    assert await tell_due(pipeline) == 0
    assert await withdrawn(pipeline, "rc_2") == [("not posted", "the channel unsubscribed while it waited")] * 2
    assert await at_the_hour(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Results together. 1 result. Ascot")
    assert await pipeline.waiting() == {}
    # A correction of a withdrawn result is no news here.
    await tell(pipeline, result("rc_2", region="IRE", course="Cork", placings=("Red Sky", "Blue Moon")))
    assert len(pipeline.texts("CGB")) == 1


async def test_unsubscribed_topic_is_withdrawn_and_the_other_topic_waits_on(pipeline):
    hours = {"digest": (hour(pipeline),), "quiet": ("00:00-23:59",)}
    await pipeline.subscribe("CGB", "GB", EVERYTHING, **hours)
    await tell(pipeline, result("rc_1"), card())
    await unsubscribe.commit(desk_of(pipeline), typed("GB results"))
    pipeline.clock.forward(24 * 3_600)
    await tell_due(pipeline)
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Racecard: York")


async def test_nothing_of_a_channel_that_unsubscribed_from_everything_is_told_though_it_watches(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERYTHING, digest=(hour(pipeline),))
    names = [WatchedName(WatchKind.HORSE, "Nobody")]
    await pipeline.database.write(lambda s: watches.add(s, "CGB", names, user_id="U1", now=pipeline.clock()))
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    await unsubscribe.commit(desk_of(pipeline), typed("all"))
    assert await at_the_hour(pipeline) == 0
    assert pipeline.texts("CGB") == []


async def test_result_that_another_filter_takes_waits_by_that_filter(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERYTHING, digest=(hour(pipeline),))
    await pipeline.subscribe("CGB", "*", EVERYTHING, digest=(hour(pipeline),))
    await tell(pipeline, result("rc_1"), result("rc_2", region="IRE", course="Cork"))
    await unsubscribe.commit(desk_of(pipeline), typed("GB"))
    assert await at_the_hour(pipeline) == 1
    assert "2 results" in pipeline.texts("CGB")[0]


async def test_result_of_a_meeting_muted_since_is_not_in_the_digest(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERYTHING, digest=(hour(pipeline),))
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:00"), result("rc_3", course="York"))
    muted = await mute.commit_mute(desk_of(pipeline), typed("result.received:rc_1"))
    await tell(pipeline, result("rc_1", going="Soft"), abandonment("rc_4", off_time="16:00"))
    assert [text.split(":")[0] for text in pipeline.texts("CGB")] == ["ABANDONED"]
    await mute.commit_unmute(desk_of(pipeline), typed(str(muted.number)))
    assert await at_the_hour(pipeline) == 1
    assert pipeline.texts("CGB")[1].startswith("Results together. 1 result. York")
    assert await withdrawn(pipeline, "rc_2") == [("not posted", "the channel muted the meeting while it waited")]
