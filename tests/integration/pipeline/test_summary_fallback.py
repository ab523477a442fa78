"""The summary of what waited: what becomes of it where Slack refuses it, and whom it rings."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import OutboxMessage
from bot.outbox import ledger
from bot.outbox.channel_closing import close_channel
from sandbox.slack import failures
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, shown

BLOCKS, UNKNOWN = failures.slack_error("invalid_blocks"), failures.slack_error("never_heard_of_it")


async def close(pipeline):
    now = pipeline.clock()
    await pipeline.database.write(lambda s: close_channel(s, pipeline.notices, "CGB", "is_archived", now))


async def wait_long(pipeline, *payloads):
    """The channel is closed; these come, and wait for four hours."""
    await close(pipeline)
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    await pipeline.post_all()
    older = pipeline.clock() - timedelta(hours=4)
    statement = update(OutboxMessage).where(col(OutboxMessage.state) == "queued").values(received_at=older)
    await pipeline.database.write(lambda session: session.execute(statement))


async def reopen(pipeline):
    now = pipeline.clock()
    await pipeline.database.write(lambda session: pipeline.reopening.reopen(session, "CGB", now))
    for _ in range(6):
        await free_all(pipeline)
        await pipeline.post_all()


CORRECTED = (result("rc_1", going="Good"), result("rc_1", going="Soft"))


async def refuse_summary(pipeline, *refusals):
    """Refuse the summary itself, and let the notices that a closing makes by."""
    pipeline.slack.script("chat.postMessage", list(refusals))


@pytest.mark.parametrize("refusals", [[UNKNOWN], [BLOCKS, BLOCKS]], ids=["as a message", "in any form"])
async def test_refused_summary_posts_each_event_once_in_its_newest_version(pipeline, refusals):
    await pipeline.subscribe("CGB", "GB")
    await wait_long(pipeline, *CORRECTED, result("rc_2"))
    await refuse_summary(pipeline, *refusals)
    await reopen(pipeline)
    first, second = pipeline.slack.messages("CGB")
    assert "Soft in the other" in first.text
    assert "Another version" in shown(first)
    assert "rc_2" in shown(second)
    assert set(await pipeline.waiting()) == {"dead_letter"}


async def test_summary_whose_blocks_are_refused_is_said_in_words(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await wait_long(pipeline, *CORRECTED)
    await refuse_summary(pipeline, BLOCKS)
    await reopen(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert "1 result came meanwhile" in message.text
    assert await pipeline.waiting() == {}


async def test_summary_that_is_taken_back_leaves_an_edit_with_its_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await wait_long(pipeline, *CORRECTED)
    await pipeline.database.write(lambda s: pipeline.reopening.reopen(s, "CGB", pipeline.clock()))
    await close(pipeline)
    # Young again, so that they are posted singly.
    statement = update(OutboxMessage).where(col(OutboxMessage.state) == "queued").values(received_at=pipeline.clock())
    await pipeline.database.write(lambda session: session.execute(statement))
    await reopen(pipeline)
    (text,) = pipeline.texts("CGB")
    assert "Soft in the other" in text


async def test_edit_that_a_summary_says_is_traced_to_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await wait_long(pipeline, *CORRECTED)
    await reopen(pipeline)
    (summary,) = pipeline.slack.messages("CGB")
    found = await pipeline.database.read(lambda s: ledger.trace(s, "rc_1", pipeline.clock()))
    told = [one for version in found.versions for one in version.told]
    assert [(one.outcome, one.message_ts) for one in told] == [(ledger.LedgerOutcome.FOLDED, summary.ts)] * 2


async def test_meeting_and_its_races_are_one_message_after_a_refused_summary(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await wait_long(pipeline, meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_2", reason="Flood"))
    await refuse_summary(pipeline, UNKNOWN)
    await reopen(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert "Flood" in shown(message)


async def test_summary_rings_whom_abandonments_ring_once(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("UALICE", "SDESK"))
    await pipeline.subscribe("CGB", "*", mentions=("UALICE", "here"))
    lost = [abandonment(f"rc_{number}", course=f"No {number:02} {'x' * 90}") for number in range(40)]
    await wait_long(pipeline, *lost, result("rc_99"))
    await reopen(pipeline)
    first, *others = pipeline.slack.messages("CGB")
    assert first.text.endswith(" <@UALICE> <!subteam^SDESK> <!here>")
    assert str(first.blocks).count("<@UALICE> <!subteam^SDESK> <!here>") == 1
    assert all(sum(f"No {number:02}" in message.text for message in (first, *others)) == 1 for number in range(40))
    assert not any("UALICE" in shown(message) for message in others)


async def test_summary_without_abandonments_rings_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("here",))
    await wait_long(pipeline, result("rc_1"))
    await reopen(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert "<!here>" not in shown(message)
