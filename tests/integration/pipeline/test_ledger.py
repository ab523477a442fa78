"""The ledger: of each event who was told and when, or why not. On both engines."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import ChannelQueue, InboxDelivery
from bot.outbox import ledger
from bot.outbox.ledger import LedgerOutcome
from bot.sandbox.slack import failures
from bot.slack.commands.trace import named_race, races_there
from bot.slack.messages.answers.trace_answer import trace_answer
from tests.integration.pipeline.racing_day import meeting, tell
from tests.integration.pipeline.racing_day import result as day_result


def result(race_id="rc_1", horse="Blue Moon", **race):
    race = {"race_id": race_id, "region": "GB", "course": "Ascot", "date": "2026-11-20", "off_time": "14:30", **race}
    return {"event": "result.received", "race": race | {"runners": [{"position": 1, "horse": horse}]}}


def abandonment(race_id="rc_1", **race):
    race = {"race_id": race_id, "region": "GB", "course": "Ascot", "date": "2026-11-20", "off_time": "14:30", **race}
    return {"event": "race.abandoned", "race": race}


async def trace(pipeline, wanted, channel_id=None):
    return await pipeline.database.read(
        lambda session: ledger.trace(session, wanted, pipeline.clock(), channel_id=channel_id)
    )


def shown(found, wanted="rc_1", only=None):
    message = trace_answer(found, wanted, lambda channel, ts: f"https://x.slack.com/{channel}/{ts}", only)
    assert len(message.blocks) <= 50
    return message.text + str(message.blocks)


async def post_all(pipeline):
    long_ago = pipeline.clock.now.replace(year=2020)
    statement = update(ChannelQueue).values(next_free_at=long_ago, leased_until=None, lease_token=None)
    await pipeline.database.write(lambda session: session.execute(statement))
    await pipeline.post_all()


async def test_unknown_id_is_told_apart_from_an_event_that_nobody_wanted(pipeline):
    assert "none of anything else" in shown(await trace(pipeline, "rc_1"))
    await pipeline.deliver(result())
    await pipeline.post_all()
    unknown = shown(await trace(pipeline, "RC_1"), "RC_1")
    assert "received no delivery about `RC_1`" in unknown
    assert "since <!date^" in unknown
    nobody = shown(await trace(pipeline, "rc_1"))
    assert "Nobody was subscribed" in nobody
    assert "inbox-1" in nobody


async def test_every_version_of_every_event_of_a_race_is_traced(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await pipeline.deliver(result())
    await pipeline.deliver(result(horse="Green Field"))
    await pipeline.deliver(abandonment())
    await pipeline.fanout.run_once()
    await pipeline.deliver(result(horse="Green Field") | {"attempt": 2})
    await post_all(pipeline)
    found = await trace(pipeline, "rc_1")
    assert [(one.kind, one.version, one.posts) for one in found.versions] == [
        ("result.received", 1, 2),
        ("result.received", 2, 2),
        ("race.abandoned", 1, 2),
    ]
    assert {told.outcome for one in found.versions for told in one.told} == {LedgerOutcome.SENT}
    first = found.versions[0].told[1]
    assert (first.channel_id, first.attempts) == ("CGB", 1)
    assert first.message_ts == pipeline.slack.messages("CGB")[0].ts
    said = shown(found)
    assert f"ts `{first.message_ts}`" in said
    assert "inbox-4" in said
    assert "said nothing new" in said


@pytest.mark.parametrize("wanted", ["rc_1", "m_7", "result.received:rc_1", "inbox-1"])
async def test_race_meeting_key_and_reference_name_it(pipeline, wanted):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result(meeting_id="m_7"))
    await pipeline.post_all()
    found = await trace(pipeline, wanted)
    assert [one.event_key for one in found.versions] == ["result.received:rc_1"]


async def test_race_is_traced_to_its_meetings_abandonment(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result(meeting_id="m_7"))
    await pipeline.post_all()
    pipeline.clock.forward(1)
    meeting = {"meeting_id": "m_7", "region": "GB", "course": "Ascot", "date": "2026-11-20"}
    await pipeline.deliver({"event": "meeting.abandoned", "meeting": meeting})
    await post_all(pipeline)
    found = await trace(pipeline, "rc_1")
    assert [one.kind for one in found.versions] == ["result.received", "meeting.abandoned"]


async def test_others_than_admins_see_their_own_channel(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await pipeline.deliver(result())
    await pipeline.post_all()
    said = shown(await trace(pipeline, "rc_1", "CGB"), only="CGB")
    assert "• <#CGB>: " in said
    assert "Limited to this channel, <#CGB>: admins see all." in said
    assert "CALL" not in said
    assert "Limited to this channel" in said
    elsewhere = shown(await trace(pipeline, "rc_1", "CIRE"), only="CIRE")
    assert "This channel had not asked for it." in elsewhere


async def test_why_nobody_was_told_yet_is_said(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    waits = await trace(pipeline, "rc_1")
    assert "waits to be read" in shown(waits)
    broken = update(InboxDelivery).values(attempts=2, error="ValueError: <!here>", not_before=pipeline.clock())
    await pipeline.database.write(lambda session: session.execute(broken))
    failing = shown(await trace(pipeline, "rc_1"))
    assert "failed 2 times" in failing
    assert "<!here>" not in failing


@pytest.mark.parametrize(
    ("failure", "outcome", "why"),
    [
        (failures.rate_limited(30), LedgerOutcome.WAITING, "ratelimited"),
        (failures.slack_error("is_archived"), LedgerOutcome.WAITING, "is_archived"),
        (failures.slack_error("never_heard_of_it"), LedgerOutcome.DEAD_LETTER, "never_heard_of_it"),
        (failures.drop_before(), LedgerOutcome.IN_DOUBT, "chat.postMessage"),
    ],
    ids=["rate limited", "closed", "given up", "doubtful"],
)
async def test_why_a_channel_was_not_told_is_said(pipeline, failure, outcome, why):
    pipeline.slack.script("chat.postMessage", [failure])
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    await pipeline.post_all()
    # A call's deadline lies a few seconds ahead, on PostgreSQL by its own clock, which is ahead of the pipeline's.
    pipeline.clock.catch_up()
    pipeline.clock.forward(6)
    found = await trace(pipeline, "rc_1")
    ((told,),) = [one.told for one in found.versions]
    assert told.outcome is outcome
    assert why in (told.why or "")
    assert why.split(".")[0] in shown(found)


async def test_event_of_very_many_channels_is_counted_and_those_not_told_come_first(pipeline):
    for number in range(70):
        await pipeline.subscribe(f"C{number:03}", "GB")
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    while await pipeline.fanout.run_once():
        continue
    await pipeline.database.write(
        lambda session: session.execute(
            update(ChannelQueue)
            .where(col(ChannelQueue.channel_id) != "CGB")
            .values(state="closed", state_reason="is_archived", state_since=pipeline.clock())
        )
    )
    await post_all(pipeline)
    said = shown(await trace(pipeline, "rc_1"))
    assert "70 waiting, 1 posted" in said
    assert "<#C000>: waiting, because Slack said `is_archived`." in said
    assert "and 11 more: 10 waiting, 1 posted" in said


async def test_race_is_found_by_course_and_time(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, day_result("rc_1", course="York", off_time="13:30"), day_result("rc_2", course="York"))

    def named(words):
        return pipeline.database.read(lambda session: named_race(session, words, pipeline.clock()))

    said = {"York 13:30": "rc_1", "york, 14.30": "rc_2", "york 1.30": "rc_1", "York 2.30pm": "rc_2"}
    assert {words: await named(words) for words in said} == said
    assert [await named(words) for words in ("York 9:30", "rc_1", "York", "York again")] == [None] * 4


@pytest.mark.parametrize("words", ["york", "YORK 9.30"])
async def test_races_of_a_course_are_offered_where_no_race_is_named(pipeline, words):
    await tell(pipeline, day_result("rc_1", course="York", off_time="13:30"), day_result("rc 2", course="York"))
    await tell(pipeline, day_result("rc_3", course="Ayr"))
    there = await pipeline.database.read(lambda session: races_there(session, words, pipeline.clock()))
    assert [label.rpartition(",")[0] for label in there] == ["York 14:30", "York 13:30"]
    assert list(there.values()) == ['trace "rc 2"', "trace rc_1"]


async def test_lost_race_and_course_are_found_by_the_abandonment_of_their_meeting(pipeline):
    await pipeline.subscribe("CGB", "GB")
    lost = meeting("rc_8", course="York")
    await tell(pipeline, day_result("rc_1", course="York", off_time="13:30"), lost)

    async def key(words):
        return await pipeline.database.read(lambda session: named_race(session, words, pipeline.clock()))

    assert await key("York 13:30") == "rc_1"
    (found,) = {await key(words) for words in ("York 14:05", "york", "YORK 9.30")}
    assert found.startswith("meeting.abandoned:")
    assert "1 posted" in shown(await trace(pipeline, found))
    assert await key("Yo") is None
    pipeline.clock.now += timedelta(days=3)
    assert await key("York") is None
