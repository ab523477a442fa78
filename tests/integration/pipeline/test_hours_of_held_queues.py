"""Messages for an hour in a paused or closed channel: given up, summarised, and told at the hour."""

from datetime import timedelta

from bot.events.event import Topic
from bot.operations.jobs.expire_queue import expire_queue
from bot.operations.jobs.tell_due import DueTelling
from bot.outbox.channel_closing import pause_channel
from tests.databases import on_both
from tests.integration.pipeline.racing_day import past_waits, result, shown, tell
from tests.integration.pipeline.test_digests import hour
from tests.integration.pipeline.test_quiet_hours import LEFT

DAY_S = timedelta(days=1).total_seconds()
KEEP_HOURS = 72


async def pause(pipeline):
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))


async def resume(pipeline):
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", pipeline.clock()))
    await pipeline.post_all()


async def tell_due(pipeline):
    told = await DueTelling(pipeline.database, pipeline.reopening, pipeline.clock, pipeline.poster.wake)()
    await pipeline.post_all()
    return told


async def expire(pipeline, keep_hours=KEEP_HOURS):
    return await expire_queue(pipeline.database, pipeline.notices, keep_hours, pipeline.clock)


def cards_of(date):
    races = [{"race_id": "rc_m", "off_time": "14:30"}]
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": date, "region": "GB", "races": races}
    return {"event": "racecard.published", "meeting": meeting}


async def daily(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(pipeline),))


async def test_card_that_waits_for_its_eve_is_not_given_up_by_a_short_pause(pipeline):
    eve = pipeline.clock() + timedelta(days=4) + LEFT
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), cards=(f"{eve:%H:%M}",))
    await tell(pipeline, cards_of(f"{eve + timedelta(days=1):%Y-%m-%d}"))
    pipeline.clock.forward(timedelta(hours=KEEP_HOURS + 1).total_seconds())
    await pause(pipeline)
    assert await expire(pipeline) == 0
    pipeline.clock.forward(1_800)
    await resume(pipeline)
    assert pipeline.texts("CGB") == []
    pipeline.clock.forward(2 * DAY_S)
    assert await tell_due(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Racecard: Ascot")


@on_both
async def test_age_of_a_message_for_an_hour_counts_from_the_hour(pipeline):
    await daily(pipeline)
    await tell(pipeline, result("rc_1"))
    await pause(pipeline)
    pipeline.clock.forward(LEFT.total_seconds() + 3_500)
    assert await expire(pipeline, 1) == 0
    pipeline.clock.forward(200)
    assert await expire(pipeline, 1) == 1
    await resume(pipeline)
    assert await tell_due(pipeline) == 0
    (text,) = pipeline.texts("CGB")
    assert text.endswith("1 message had waited too long and will not be posted")


async def test_long_pause_ends_with_one_summary_and_gives_up_old_results(pipeline):
    await daily(pipeline)
    await pause(pipeline)
    for day in range(8):
        await tell(pipeline, *(result(f"rc_{day}_{course}", course=f"{course} {day}") for course in ("York", "Bath")))
        pipeline.clock.forward(DAY_S)
        assert await tell_due(pipeline) == 0
        await expire(pipeline)
    await resume(pipeline)
    assert await tell_due(pipeline) == 0
    (summary,) = pipeline.slack.messages("CGB")
    assert summary.text.startswith("This channel was paused. 6 results came meanwhile")
    assert "10 messages had waited too long" in summary.text
    assert ["York 4" in shown(summary), "York 5" in shown(summary)] == [False, True]


async def test_digest_whose_hour_fell_into_a_short_pause_comes_after_the_pause(pipeline):
    await daily(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    await pause(pipeline)
    pipeline.clock.forward(LEFT.total_seconds() + 3_600)
    assert await tell_due(pipeline) == 0
    await resume(pipeline)
    assert await tell_due(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Results together. 2 results. Ascot")


async def test_digest_that_a_closed_channel_refused_comes_as_a_digest_once_the_channel_is_back(pipeline):
    await daily(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    await pipeline.slack.archive("CGB")
    pipeline.clock.forward(LEFT.total_seconds())
    assert await tell_due(pipeline) == 1
    await past_waits(pipeline, 5)
    assert await tell_due(pipeline) == 0
    await pipeline.slack.unarchive("CGB")
    await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CGB", pipeline.clock()))
    assert await tell_due(pipeline) == 1
    await past_waits(pipeline, 5)
    await pipeline.post_all()
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Results together. 2 results. Ascot")


async def test_digest_that_a_pause_stopped_waits_for_the_end_of_the_pause(pipeline):
    await daily(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    pipeline.clock.forward(LEFT.total_seconds())
    assert await pipeline.database.write(lambda session: pipeline.reopening.tell_due(session, pipeline.clock)) == 1
    await pause(pipeline)
    assert await expire(pipeline, 1) == 0
    await resume(pipeline)
    assert await tell_due(pipeline) == 1
    assert [text.split(". ")[0] for text in pipeline.texts("CGB")] == ["Results together"]


async def test_card_waits_for_its_eve_while_digests_and_summaries_of_a_pause_are_made_and_taken_back(pipeline):
    eve = pipeline.clock() + timedelta(days=4) + LEFT
    await pipeline.subscribe("CGB", "GB", frozenset(Topic), digest=(hour(pipeline),), cards=(f"{eve:%H:%M}",))
    await tell(pipeline, result("rc_1"), result("rc_2", course="York"))
    await tell(pipeline, cards_of(f"{eve + timedelta(days=1):%Y-%m-%d}"))
    pipeline.clock.forward(LEFT.total_seconds())
    assert await pipeline.database.write(lambda session: pipeline.reopening.tell_due(session, pipeline.clock)) == 1
    await pause(pipeline)
    pipeline.clock.forward(4 * 3_600)
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", pipeline.clock()))
    await pause(pipeline)
    await resume(pipeline)
    await tell_due(pipeline)
    (text,) = pipeline.texts("CGB")
    assert text.startswith("This channel was paused. 2 results")
    pipeline.clock.forward(4 * DAY_S - 4 * 3_600 - 60)
    assert await tell_due(pipeline) == 0
    pipeline.clock.forward(120)
    assert await tell_due(pipeline) == 1
    assert pipeline.texts("CGB")[-1].startswith("Racecard: Ascot")
