"""Whoever was told of something hears that it is contradicted, also of races without an id."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import OutboxMessage
from bot.events.event import Topic
from bot.outbox.channel_closing import pause_channel
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, free_all, meeting, result, shown, tell

LOST_ONLY = frozenset({Topic.ABANDONMENTS})


def without_id(payload):
    del payload["race"]["race_id"]
    return payload


def lost(**race):
    return without_id(abandonment(**race))


def won(**race):
    return without_id(result(**race))


async def summarised(pipeline, *payloads):
    """These are told in the summary of a pause."""
    await pipeline.database.write(lambda s: pause_channel(s, "CGB", None, pipeline.clock()))
    await tell(pipeline, *payloads)
    older = pipeline.clock() - timedelta(hours=4)
    statement = update(OutboxMessage).where(col(OutboxMessage.state) == "queued").values(received_at=older)
    await pipeline.database.write(lambda session: session.execute(statement))
    await pipeline.database.write(lambda s: pipeline.reopening.resume(s, "CGB", pipeline.clock()))
    await free_all(pipeline)
    await pipeline.post_all()


@pytest.mark.parametrize("kinds", [(abandonment, result), (lost, won)], ids=["by id", "without an id"])
async def test_contradiction_reaches_whom_a_meetings_message_told_of_the_race(pipeline, kinds):
    called_off, settled = kinds
    await pipeline.subscribe("CGB", "GB", LOST_ONLY)
    await tell(pipeline, meeting(), called_off(reason="flood"))
    (card,) = pipeline.slack.messages("CGB")
    assert "flood" in shown(card)
    await tell(pipeline, settled())
    card, contradiction = pipeline.slack.messages("CGB")
    assert "Contradicts" in contradiction.text
    assert "flood" not in shown(card)


@pytest.mark.parametrize("kinds", [(abandonment, result), (lost, won)], ids=["by id", "without an id"])
async def test_contradiction_reaches_whom_a_summary_told_of_the_race(pipeline, kinds):
    called_off, settled = kinds
    await pipeline.subscribe("CGB", "GB", LOST_ONLY)
    await summarised(pipeline, called_off())
    (summary,) = pipeline.texts("CGB")
    assert summary.startswith("ABANDONED")
    await tell(pipeline, settled())
    assert "Contradicts" in pipeline.texts("CGB")[1]


@on_both
async def test_contradiction_reaches_whom_a_summary_told_of_the_meeting(pipeline):
    await pipeline.subscribe("CGB", "GB", LOST_ONLY)
    await summarised(pipeline, meeting("rc_1", "rc_2"))
    await tell(pipeline, result("rc_1"))
    assert "Contradicts" in pipeline.texts("CGB")[1]


@on_both
async def test_result_of_a_race_without_an_id_mends_no_message_of_another(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting(), lost(reason="flood"), lost(off_time="15:00", reason="fog"), won())
    card = pipeline.slack.messages("CGB")[0]
    assert "flood" not in shown(card)
    assert "fog" in shown(card)


async def test_region_that_becomes_known_is_no_news_where_a_summary_told_of_the_race(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await summarised(pipeline, abandonment(region=None))
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 1]
    await tell(pipeline, abandonment())
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 1]
    assert await pipeline.waiting() == {}
