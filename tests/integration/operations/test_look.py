"""The figures of the gauges."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from bot.operations.gauges import read_service_state
from bot.operations.jobs import job_runs
from bot.outbox import held_queues
from sandbox.slack import failures
from tests.clock import now
from tests.databases import on_both
from tests.payloads import result


async def look(pipeline):
    return await pipeline.database.read(lambda session: read_service_state(session, pipeline.clock()))


def counts(depths):
    return {state: depth.count for state, depth in depths.items() if depth.count}


async def test_stored_deliveries_are_counted_until_their_fan_out(pipeline):
    received_at = pipeline.clock()
    await pipeline.deliver(result("rc_1"))
    pipeline.clock.forward(90)
    await pipeline.deliver(result("rc_2"))
    seen = await look(pipeline)
    assert counts(seen.inbox) == {"new": 2}
    assert seen.inbox["new"].oldest_at == received_at
    assert seen.inbox["new"].age_s(seen.now) == pytest.approx(90)
    await pipeline.post_all()
    assert counts((await look(pipeline)).inbox) == {}


async def test_delivery_whose_fan_out_failed_is_counted_as_failed(pipeline):
    await pipeline.deliver(result("rc_1"))
    await pipeline.database.write(lambda session: session.execute(text("UPDATE inbox SET attempts = 1")))
    await pipeline.deliver(result("rc_2"))
    assert counts((await look(pipeline)).inbox) == {"failed": 1, "new": 1}


async def test_messages_of_open_paused_and_closed_channels_are_told_apart(pipeline):
    now = pipeline.clock()
    for channel_id in ("CGB", "CIRE", "CALL"):
        await pipeline.subscribe(channel_id, "GB")
    await pipeline.database.write(lambda session: held_queues.pause(session, "CIRE", now))
    await pipeline.database.write(lambda session: held_queues.close(session, "CALL", "is_archived", now))
    await pipeline.deliver(result("rc_1"))
    await pipeline.fanout.run_once()
    seen = await look(pipeline)
    assert counts(seen.messages) == {"queued": 1, "held": 2}
    assert seen.messages["queued"].oldest_at == now


async def test_message_in_doubt_and_message_given_up_are_counted(pipeline, slack):
    for channel_id in ("CGB", "CIRE"):
        await pipeline.subscribe(channel_id, "GB" if channel_id == "CGB" else "IRE")
    slack.script("chat.postMessage", [failures.drop_after()])
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    slack.script("chat.postMessage", [failures.slack_error("msg_too_long")] * 3)
    await pipeline.deliver(result("rc_2", region="IRE"))
    await pipeline.post_all()
    seen = counts((await look(pipeline)).messages)
    # The notice to admins of the message that was given up is sent.
    assert seen == {"in_doubt": 1, "dead_letter": 1}


async def test_last_success_of_a_job_stands_while_the_job_runs_again(database):
    at = now()
    slots = [at + timedelta(hours=hours) for hours in range(3)]

    def run(session):
        for slot in slots:
            assert job_runs.claim(session, "check_quota", slot, by="one", now=slot, every_s=3600, lease_s=60).is_ours
            if slot != slots[2]:
                job_runs.finish(session, "check_quota", slot, by="one", now=slot)

    await database.write(run)
    seen = await database.read(lambda session: read_service_state(session, at))
    assert seen.last_done == {"check_quota": slots[1]}


@on_both
async def test_empty_database_has_nothing_to_show(database):
    seen = await database.read(lambda session: read_service_state(session, now()))
    assert (counts(seen.inbox), counts(seen.messages), seen.quota, seen.last_done) == ({}, {}, None, {})
