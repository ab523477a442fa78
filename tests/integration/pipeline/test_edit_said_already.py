"""An edit that the channel has already, without the bot knowing it, and that Slack then refuses for good."""

from datetime import timedelta

from bot.outbox.message import Message
from sandbox.slack import failures
from tests.clock import now
from tests.integration.pipeline.racing_day import abandonment, free_all, result, shown, tell
from tests.integration.pipeline.test_posting_cases import pass_time

REFUSED = failures.slack_error("edit_window_closed")


async def settle(pipeline):
    for _ in range(6):
        await pass_time(pipeline)
        await pipeline.post_all()
    assert await pipeline.waiting() == {}


async def test_edit_that_its_doubtful_message_said_already_is_no_second_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for going in ("Good", "Soft"):
        await pipeline.deliver(result(going=going))
        pipeline.clock.forward(0.001)
    pipeline.slack.script("chat.postMessage", [failures.http_error(500).accepted()])
    pipeline.slack.script("chat.update", [], then_always=REFUSED)
    await pipeline.post_all()
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == 1


async def test_edit_that_was_made_without_an_answer_and_then_refused_is_no_second_message(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.http_error(500).accepted()], then_always=REFUSED)
    await tell(pipeline, result(going="Soft"))
    await free_all(pipeline)
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == 1


async def test_correction_is_told_where_its_edit_is_refused_and_an_older_version_stands(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(), result(placings=("Red Sky", "Blue Moon")))
    pipeline.slack.script("chat.update", [], then_always=REFUSED)
    await tell(pipeline, result(placings=("Red Sky", "Blue Moon"), going="Soft"))
    *_, last = pipeline.slack.messages("CGB")
    assert len(pipeline.texts("CGB")) == 3
    assert "Soft" in shown(last)


async def test_metadata_names_the_newest_hundred_edits(pipeline):
    sender, moment = pipeline.sender, now()
    numbers = [*range(51, 151), *range(1, 51)]
    await sender.post("CGB", Message("Result"), post_key="k", timeout_s=5, edits=numbers)
    around = {"since": moment - timedelta(minutes=1), "until": moment + timedelta(minutes=1)}
    page = await sender.find("CGB", "k", cursor=None, **around)
    assert page.edits == set(range(51, 151))


async def test_edit_is_tried_again_while_nobody_can_look_whether_it_was_made(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.http_error(500).accepted()], then_always=REFUSED)
    pipeline.slack.script("conversations.history", [failures.http_error(500), failures.http_error(503)])
    await tell(pipeline, result(going="Soft"))
    await free_all(pipeline)
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == 1


async def test_edit_that_an_outage_left_unanswered_is_looked_for_as_often_as_any(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    outage = [failures.http_error(500).accepted(), *[failures.http_error(500)] * 9]
    pipeline.slack.script("chat.update", outage, then_always=REFUSED)
    pipeline.slack.script("conversations.history", [failures.http_error(500), failures.http_error(503)])
    await tell(pipeline, result(going="Soft"))
    for _ in range(len(outage) + 3):
        await pass_time(pipeline)
        await pipeline.post_all()
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CGB")) == 1


async def test_abandonment_waits_for_no_edit_whose_message_nobody_can_look_at(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.http_error(500).accepted()], then_always=REFUSED)
    pipeline.slack.script("conversations.history", [], then_always=failures.http_error(500))
    await tell(pipeline, result(going="Soft"))
    await pass_time(pipeline)
    await pipeline.post_all()
    await tell(pipeline, abandonment("rc_2"))
    assert [text[:9] for text in pipeline.texts("CGB")][1:] == ["ABANDONED"]


async def test_edit_becomes_a_message_where_nobody_may_look_whether_it_was_made(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result(going="Good"))
    pipeline.slack.script("chat.update", [failures.http_error(500)], then_always=REFUSED)
    pipeline.slack.script("conversations.history", [], then_always=failures.slack_error("missing_scope"))
    await tell(pipeline, result(going="Soft"))
    await free_all(pipeline)
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == 2
