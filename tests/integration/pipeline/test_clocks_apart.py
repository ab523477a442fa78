"""Settling where clocks differ: this machine's from Slack's, and its own from what it was before."""

from datetime import timedelta

import pytest

from sandbox.slack import failures
from tests.clock import now, set_ahead
from tests.databases import first_on_both, on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.racing_day import result, tell
from tests.integration.pipeline.steps import count, fail, turns, wait

MINUTES = [-60, -11, 11, 60]


async def settle(pipeline):
    """The server's clock goes on too, and stays right."""
    for number in (1, 2, 3):
        pipeline.clock.forward(20)
        await set_ahead(pipeline.database, timedelta(seconds=20 * number))
        await pipeline.post_all()


@pytest.mark.parametrize(("database", "minutes"), first_on_both(MINUTES), indirect=["database"])
@pytest.mark.parametrize("posted_before", [0, 1])
async def test_doubtful_post_is_found_however_wrong_this_machines_clock_is(make_pipeline, minutes, posted_before):
    """On PostgreSQL leases go by the server's clock, which is right there."""
    pipeline = make_pipeline(clock=Moment(now() + timedelta(minutes=minutes)))
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *(result(f"rc_before_{number}") for number in range(posted_before)))
    fail(pipeline, post=[failures.drop_after()])
    await tell(pipeline, result())
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == posted_before + 1
    assert await pipeline.waiting() == {}


@on_both
async def test_post_that_was_looked_for_says_nothing_of_the_clocks(pipeline):
    """The post was written down as sent long after its ts: by that the clocks would be apart though they are not."""
    await pipeline.subscribe("CGB", "GB")
    for number in (1, 2):
        fail(pipeline, post=[failures.drop_after()])
        await tell(pipeline, result(f"rc_{number}"))
        await wait(pipeline, 1_200)
        await turns(pipeline, 60)
        assert len(pipeline.texts("CGB")) == number


@pytest.mark.parametrize(("minutes", "looks"), [(61, 1), (10, 0)])
@on_both
async def test_clock_that_was_set_back_an_hour_keeps_no_post_from_being_settled(pipeline, minutes, looks):
    """The wait of a clock that was set back ten minutes is kept."""
    await pipeline.subscribe("CGB", "GB")
    await wait(pipeline, 60 * minutes)
    fail(pipeline, post=[failures.drop_after()])
    await tell(pipeline, result())
    await wait(pipeline, -60 * minutes)
    for _ in range(2):
        await pipeline.poster.start_due()
        await pipeline.poster.finish()
    assert count(pipeline, "look") == looks
    assert len(pipeline.texts("CGB")) == 1
