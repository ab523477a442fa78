"""Settling where clocks differ: this machine's from Slack's, and its own from what it was before."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from bot.db.tables import OutboxMessage
from sandbox.slack import failures
from tests.clock import now
from tests.databases import on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.racing_day import free_all, result, tell


def ahead(**units):
    """A clock that is wrong. On PostgreSQL leases go by the server's, which is right there."""
    return Moment(now() + timedelta(**units))


async def settle(pipeline, times=4):
    for _ in range(times):
        pipeline.clock.forward(20)
        earlier = {"deadline_at": pipeline.clock() - timedelta(minutes=1)} if pipeline.database.is_sqlite else None
        if not earlier:
            earlier = {"deadline_at": now() - timedelta(minutes=1)}
        await pipeline.database.write(lambda session, one=earlier: session.execute(update(OutboxMessage).values(**one)))
        await free_all(pipeline)
        await pipeline.post_all()


@pytest.mark.parametrize("minutes", [-60, -11, 11, 60])
@pytest.mark.parametrize("posted_before", [0, 1])
@on_both
async def test_doubtful_post_is_found_however_wrong_this_machines_clock_is(make_pipeline, minutes, posted_before):
    pipeline = make_pipeline(clock=ahead(minutes=minutes))
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *(result(f"rc_before_{number}") for number in range(posted_before)))
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    await tell(pipeline, result("rc_1"))
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == posted_before + 1
    assert await pipeline.waiting() == {}


@on_both
async def test_post_that_was_looked_for_says_nothing_of_the_clocks(make_pipeline):
    """It was written down as sent long after its ts: by that the clocks would be apart though they are not."""
    pipeline = make_pipeline()
    await pipeline.subscribe("CGB", "GB")
    for race_id in ("rc_1", "rc_2"):
        pipeline.slack.script("chat.postMessage", [failures.drop_after()])
        await tell(pipeline, result(race_id))
        pipeline.clock.forward(1_200)
        await settle(pipeline)
    assert len(pipeline.texts("CGB")) == 2


@on_both
async def test_clock_that_was_set_back_keeps_no_post_from_being_settled(make_pipeline):
    pipeline = make_pipeline()
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    await tell(pipeline, result())
    # As if the clock had been an hour ahead when it was sent.
    later = {"deadline_at": now() + timedelta(hours=1), "sending_at": now()}
    await pipeline.database.write(lambda session: session.execute(update(OutboxMessage).values(**later)))
    await free_all(pipeline)
    await pipeline.post_all()
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 1


@on_both
async def test_wait_of_a_clock_that_was_set_back_a_little_is_kept(make_pipeline):
    pipeline = make_pipeline()
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.drop_after()])
    await tell(pipeline, result())
    later = {"deadline_at": now() + timedelta(minutes=10)}
    await pipeline.database.write(lambda session: session.execute(update(OutboxMessage).values(**later)))
    await free_all(pipeline)
    await pipeline.poster.start_due()
    await pipeline.poster.finish()
    assert await pipeline.waiting() == {"in_doubt": 1}
    assert not [call for call in pipeline.slack.calls if call.method == "conversations.history"]
