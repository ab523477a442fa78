"""An outage of Slack's turns no edit into a message: it is made once Slack answers again."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.db.tables import OutboxMessage
from sandbox.slack.failures import drop_before, http_error
from tests.integration.pipeline.racing_day import edits, free_all, result, tell


async def pass_time(pipeline, times):
    """So many rounds of waiting, in each of which all is tried again."""
    for _ in range(times):
        pipeline.clock.forward(20)

        def move(session):
            for post in session.execute(
                select(OutboxMessage).where(col(OutboxMessage.deadline_at).is_not(None))
            ).scalars():
                post.deadline_at -= timedelta(seconds=20)

        await pipeline.database.write(move)
        await free_all(pipeline)
        await pipeline.post_all()


@pytest.mark.parametrize("failure", [http_error(503), drop_before()], ids=["503", "dropped"])
@pytest.mark.parametrize("others", [0, 1], ids=["nothing else", "another post"])
async def test_edit_outlasts_an_outage_in_which_nothing_is_posted(pipeline, failure, others):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_1", going="Good"))
    for method in ("chat.postMessage", "chat.update", "conversations.history"):
        pipeline.slack.script(method, [], then_always=failure)
    await tell(pipeline, result("rc_1", going="Soft"), *(result(f"rc_{n}", region="IRE") for n in range(others)))
    await pass_time(pipeline, 10)
    assert edits(pipeline.slack) == []
    for method in ("chat.postMessage", "chat.update", "conversations.history"):
        pipeline.slack.script(method, [])
    await pass_time(pipeline, 4)
    (text,) = pipeline.texts("CGB")
    assert "Soft in the other" in text
    assert len(pipeline.texts("CIRE")) == others
    assert len(edits(pipeline.slack)) == 1
    assert await pipeline.waiting() == {}


async def test_edit_that_alone_gets_no_answer_becomes_a_message_once_another_is_taken(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_1", going="Good"))
    pipeline.slack.script("chat.update", [], then_always=http_error(503))
    await tell(pipeline, result("rc_1", going="Soft"))
    await pass_time(pipeline, 6)
    assert len(pipeline.texts("CGB")) == 1
    await tell(pipeline, result("rc_2", region="IRE"))
    await pass_time(pipeline, 2)
    assert "Soft in the other" in pipeline.texts("CGB")[1]
    assert await pipeline.waiting() == {}


async def test_edit_is_no_message_while_the_last_that_was_tried_got_no_answer(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await tell(pipeline, result("rc_1", going="Good"))
    pipeline.slack.script("chat.update", [], then_always=http_error(503))
    await tell(pipeline, result("rc_1", going="Soft"), result("rc_2", region="IRE"))
    pipeline.slack.script("chat.postMessage", [], then_always=http_error(503))
    await tell(pipeline, result("rc_3", region="IRE"))
    await pass_time(pipeline, 8)
    assert len(pipeline.texts("CGB")) == 1
    pipeline.slack.script("chat.update", [])
    pipeline.slack.script("chat.postMessage", [])
    await pass_time(pipeline, 4)
    (text,) = pipeline.texts("CGB")
    assert "Soft in the other" in text
