"""Edits as revisions: what comes during a call, in a channel that was held, or for a message that was given up."""

from dataclasses import replace

from bot.operations.jobs.outbox_jobs import expire_queue
from bot.outbox.ledger import LedgerOutcome
from sandbox.slack.failures import passes, slack_error
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.steps import close, count, fail, pause, reopen, resume, traced

KEEP_HOURS = 72


def going(said, minute=0):
    return result("rc_1", going=said, occurred_at=f"2026-11-20T14:{minute:02}:00Z")


def last(pipeline):
    return shown(pipeline.slack.messages("CGB")[-1])


@on_both
async def test_news_during_the_call_of_an_edit_leaves_an_edit_due(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, going("Good"))
    await pipeline.deliver(going("Soft", 1))
    await pipeline.fanout.run_once()
    pipeline.slack.script("chat.update", [replace(passes(), delay_before_s=0.3)])
    await pipeline.poster.start_due()
    await pipeline.deliver(going("Heavy", 2))
    await pipeline.fanout.run_once()
    await pipeline.poster.finish()
    assert await pipeline.waiting() == {"queued": 1}
    await pipeline.post_all()
    assert (count(pipeline, "edit"), await pipeline.waiting()) == (2, {})
    assert "Heavy" in last(pipeline)


async def test_edit_that_waited_for_days_in_a_paused_channel_is_made_when_the_channel_goes_on(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, going("Good"))
    await pause(pipeline)
    await tell(pipeline, going("Soft", 1))
    pipeline.clock.forward((KEEP_HOURS + 1) * 3_600)
    await expire_queue(pipeline.database, pipeline.notices, KEEP_HOURS, pipeline.clock).run()
    await resume(pipeline)
    assert "Soft" in last(pipeline)
    assert len(pipeline.slack.messages("CGB")) == 1


@on_both
async def test_correction_outlives_a_message_that_waited_too_long(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    await tell(pipeline, going("Good"))
    pipeline.clock.forward((KEEP_HOURS - 1) * 3_600)
    await tell(pipeline, going("Soft", 1))
    pipeline.clock.forward(2 * 3_600)
    await expire_queue(pipeline.database, pipeline.notices, KEEP_HOURS, pipeline.clock).run()
    await reopen(pipeline)
    assert "Soft" in last(pipeline)
    first, second = (version.told for version in (await traced(pipeline)).versions)
    assert [line.outcome for line in (*first, *second)] == [LedgerOutcome.DEAD_LETTER, LedgerOutcome.SENT]


@on_both
async def test_lost_race_told_by_an_edit_waits_for_no_results(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"))
    for number in range(5):
        await pipeline.deliver(result(f"rc_{number + 10}", course="York"))
    await pipeline.deliver(abandonment("rc_1", reason="a loose horse"))
    await pipeline.fanout.run_once()
    pipeline.clock.forward(2)
    await pipeline.poster.start_due()
    await pipeline.poster.finish()
    (told,) = pipeline.slack.messages("CGB")
    assert "a loose horse" in shown(told)
    await pipeline.post_all()
    assert (len(pipeline.slack.messages("CGB")), await pipeline.waiting()) == (6, {})


async def lost_beside_a_refused_meeting(pipeline, later):
    """Slack refuses the message of a meeting. A race of the meeting is lost, and something else is told later."""
    await pipeline.subscribe("CGB", "GB")
    refused = slack_error("msg_too_long")
    fail(pipeline, post=[refused, refused, refused])
    for payload in (meeting("rc_1"), abandonment("rc_1", reason="a loose horse"), later):
        await pipeline.deliver(payload)
    await pipeline.fanout.run_once()
    pipeline.clock.forward(2)
    await pipeline.post_all()


@on_both
async def test_lost_race_of_a_meeting_that_was_given_up_says_that_a_result_contradicts_it(pipeline):
    await lost_beside_a_refused_meeting(pipeline, result("rc_1"))
    lost = next(one for one in pipeline.slack.messages("CGB") if "a loose horse" in one.text)
    assert lost.text.startswith("Contradicted")


@on_both
async def test_lost_race_of_a_meeting_that_was_given_up_is_told_with_its_later_version(pipeline):
    await lost_beside_a_refused_meeting(pipeline, abandonment("rc_1", reason="fog"))
    (told,) = pipeline.texts("CGB")
    assert "a loose horse" in told
    assert "fog" in told
