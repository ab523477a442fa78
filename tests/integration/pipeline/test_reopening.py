"""Channels that close, pause and come back: who is told, what waits, and what becomes of it."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS
from bot.db.tables import ChannelQueue, ChannelSubscriptionRow, EventVersion, OutboxMessage
from bot.operations.jobs.check_channels import ChannelCheck
from bot.operations.jobs.end_pauses import PauseEnd
from bot.operations.jobs.expire_queue import expire_queue
from bot.outbox import ledger
from bot.outbox.channel_closing import pause_channel
from bot.outbox.notices import Urgency
from sandbox.slack import failures
from tests.databases import on_both
from tests.notice_levels import ALL_CLEAR, NOTE, URGENT, WARNING

BALLOON_SIGHTED, BALLOON_LANDED = "stewards.weather_balloon.sighted", "stewards.weather_balloon.landed"


def result(race_id="rc_1", horse="Blue Moon", region="GB"):
    race = {"race_id": race_id, "region": region, "course": "Ascot", "date": "2026-11-20", "off_time": "14:30"}
    return {"event": "result.received", "race": race | {"runners": [{"position": 1, "horse": horse}]}}


def abandonment(race_id="rc_9", course="Kempton", **race):
    race = {"race_id": race_id, "region": "GB", "course": course, "date": "2026-11-20", "off_time": "15:05", **race}
    return {"event": "race.abandoned", "race": race, "reason": "Frozen track"}


async def free_lanes(pipeline):
    long_ago = pipeline.clock.now.replace(year=2020)
    statement = update(ChannelQueue).values(next_free_at=long_ago, leased_until=None, lease_token=None)
    await pipeline.database.write(lambda session: session.execute(statement))


async def post_all(pipeline):
    await free_lanes(pipeline)
    await pipeline.post_all()


async def close(pipeline, channel_id="CGB"):
    """The channel is archived, and a post of a result finds out."""
    await pipeline.slack.archive(channel_id)
    await pipeline.deliver(result("rc_closing"))
    await post_all(pipeline)


async def reopen(pipeline, channel_id="CGB"):
    await pipeline.slack.unarchive(channel_id)
    started = await pipeline.database.write(lambda s: pipeline.reopening.reopen(s, channel_id, pipeline.clock()))
    await post_all(pipeline)
    return started


async def age(pipeline, **units):
    """As if what waits now had been received so long ago."""
    older = timedelta(**units)

    def move(session):
        for post in session.execute(select(OutboxMessage).where(col(OutboxMessage.state) == "queued")).scalars():
            post.received_at -= older

    await pipeline.database.write(move)


async def states(pipeline, channel_id="CGB"):
    statement = select(OutboxMessage).where(col(OutboxMessage.channel_id) == channel_id).order_by(col(OutboxMessage.id))
    rows = await pipeline.database.read(lambda session: session.execute(statement).scalars().all())
    return [row.state for row in rows]


async def subscription(pipeline, channel_id="CGB"):
    (row,) = await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))
    return row.state


async def test_closing_and_its_end_are_told_to_admins_and_to_the_creator_once_each_time(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for times in (1, 3):
        await close(pipeline)
        await pipeline.channel_life().on_closed({"type": "channel_archive", "channel": "CGB"})
        await post_all(pipeline)
        assert len(pipeline.texts("CADMIN")) == times
        dm = pipeline.slack.direct_message("UALICE").id
        assert len(pipeline.texts(dm)) == times
        assert "CGB" in pipeline.texts(dm)[-1]
        assert await subscription(pipeline) == "suspended"
        pipeline.clock.forward(60)
        assert await reopen(pipeline) == 1
        assert await subscription(pipeline) == "live"
        await pipeline.deliver(result(f"rc_{times}"))
        await post_all(pipeline)
        assert len(pipeline.texts("CADMIN")) == len(pipeline.texts(dm)) == times + 1
        assert "again" in pipeline.texts("CADMIN")[-1]


async def test_direct_message_that_is_refused_parks_and_admins_hear_nothing_of_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.database.write(
        lambda session: session.execute(update(ChannelSubscriptionRow).values(created_by="UGONE"))
    )
    await close(pipeline)
    assert await states(pipeline, "UGONE") == ["dead_letter"]
    assert len(pipeline.texts("CADMIN")) == 1


async def test_event_of_slacks_holds_the_lane_and_its_coming_back_frees_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    listening = pipeline.channel_life()
    await pipeline.slack.remove_bot("CGB")
    await listening.on_closed({"type": "channel_left", "channel": "CGB"})
    await pipeline.deliver(abandonment())
    await post_all(pipeline)
    assert await states(pipeline) == ["queued"]
    await pipeline.slack.invite_bot("CGB")
    await listening.on_opened({"type": "channel_unarchive", "channel": "CGB"})
    await post_all(pipeline)
    (text,) = pipeline.texts("CGB")
    assert text.startswith("ABANDONED: Kempton 15:05")


async def test_old_ones_are_summarised_in_one_message_and_young_ones_posted_after_it(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    await pipeline.deliver(abandonment("rc_8", reason="Fog"))
    await pipeline.deliver(abandonment("rc_9", course="Bath"))
    for number in range(4):
        await pipeline.deliver(result(f"rc_{number}", horse=f"Horse {number}"))
    await pipeline.post_all()
    await age(pipeline, hours=4)
    await pipeline.deliver(abandonment("rc_young", course="York"))
    await pipeline.post_all()
    await reopen(pipeline)
    summary, young = pipeline.slack.messages("CGB")
    assert summary.text.startswith("ABANDONED: Kempton, 15:05, Fri 20 Nov (GB)")
    assert "Bath, 15:05" in summary.text
    assert "5 results" in summary.text
    assert "1 Horse 3" in str(summary.blocks)
    assert young.text.startswith("ABANDONED: York")
    assert await states(pipeline) == [*["folded"] * 7, "sent", "sent"]
    found = await pipeline.database.read(lambda s: ledger.trace(s, "rc_9", pipeline.clock()))
    ((told,),) = [version.told for version in found.versions]
    assert (told.outcome, told.within, told.message_ts) == (ledger.LedgerOutcome.FOLDED, True, summary.ts)


async def test_abandonments_beyond_one_message_make_several_and_each_is_named(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    for number in range(60):
        await pipeline.deliver(abandonment(f"rc_a{number}", course=f"Course no {number:02} {'x' * 60}"))
    await pipeline.post_all()
    await age(pipeline, hours=5)
    await reopen(pipeline)
    texts = pipeline.texts("CGB")
    assert 1 < len(texts) < 6
    assert all(text.startswith("ABANDONED: ") for text in texts)
    assert all(sum(f"Course no {number:02}" in text for text in texts) == 1 for number in range(60))
    assert set(await states(pipeline)) == {"folded", "sent"}


async def test_summary_that_can_not_be_made_costs_no_message(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    await pipeline.deliver(abandonment())
    await pipeline.post_all()
    await age(pipeline, hours=5)
    monkeypatch.setattr("bot.outbox.resume._newest", lambda _waiting: 1 / 0)
    await reopen(pipeline)
    assert len(pipeline.texts("CGB")) == 2


async def test_what_waits_too_long_is_given_up_kept_and_told_once(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    await pipeline.deliver(abandonment())
    await pipeline.post_all()
    await age(pipeline, hours=71)
    assert await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock) == 0
    for race_id in ("rc_2", "rc_3"):
        await age(pipeline, hours=2)
        assert await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock) > 0
        await pipeline.deliver(result(race_id))
        await pipeline.post_all()
        await age(pipeline, hours=71)
    assert (await states(pipeline)).count("dead_letter") == 3
    await post_all(pipeline)
    _closing, given_up = pipeline.texts("CADMIN")
    assert given_up.startswith(f"{URGENT}Messages for channel <#CGB>, abandonments among them, are being given up")
    assert "72 hours" in given_up
    await reopen(pipeline)
    (summary,) = pipeline.texts("CGB")
    assert "3 messages had waited too long" in summary
    assert "1 result came meanwhile" in summary
    found = await pipeline.database.read(lambda s: ledger.trace(s, "rc_9", pipeline.clock()))
    assert "waited too long" in found.versions[0].told[0].why


async def test_lanes_that_are_not_held_give_nothing_up(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)])
    await pipeline.deliver(result())
    await post_all(pipeline)
    await age(pipeline, hours=100)
    assert await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock) == 0


async def test_paused_channel_gets_notices_and_no_events_until_the_pause_is_over(pipeline):
    await pipeline.subscribe("CADMIN", "GB")
    until = pipeline.clock() + timedelta(hours=1)
    paused = await pipeline.database.write(lambda s: pause_channel(s, "CADMIN", until, pipeline.clock()))
    assert paused == 1
    await pipeline.deliver(abandonment())

    def tell_something(session):
        pipeline.notices.tell(session, "key", "Something to know", urgency=Urgency.NOTE)

    await pipeline.database.write(tell_something)
    await post_all(pipeline)
    assert pipeline.texts("CADMIN") == [f"{NOTE}Something to know"]
    ends = PauseEnd(pipeline.database, pipeline.reopening, pipeline.clock, pipeline.poster.wake)
    assert await ends() == 0
    pipeline.clock.forward(3_601)
    assert await ends() == 1
    await post_all(pipeline)
    assert pipeline.texts("CADMIN")[1].startswith("ABANDONED: Kempton 15:05")
    assert await subscription(pipeline, "CADMIN") == "live"


@pytest.mark.parametrize("until", [timedelta(hours=9), None], ids=["for a time", "until resumed"])
async def test_pause_outlives_the_closing_of_its_channel(pipeline, until):
    await pipeline.subscribe("CGB", "GB")
    now = pipeline.clock()
    await pipeline.database.write(lambda s: pause_channel(s, "CGB", until and now + until, now))
    await pipeline.slack.archive("CGB")
    await pipeline.channel_life().on_closed({"type": "channel_archive", "channel": "CGB"})
    assert await subscription(pipeline) == "suspended"
    await pipeline.database.write(lambda s: pipeline.reopening.resume(s, "CNONE", now))
    assert await reopen(pipeline) == 1
    assert await subscription(pipeline) == "paused"
    await pipeline.subscribe("CGB", "GB")
    assert await subscription(pipeline) == "paused"
    await pipeline.deliver(abandonment())
    await post_all(pipeline)
    assert pipeline.texts("CGB") == []
    await pipeline.database.write(lambda s: pipeline.reopening.resume(s, "CGB", now))
    await post_all(pipeline)
    assert len(pipeline.texts("CGB")) == 1


async def test_resuming_does_not_open_a_channel_that_is_closed(pipeline):
    await pipeline.subscribe("CGB", "GB")
    now = pipeline.clock()
    await pipeline.database.write(lambda s: pause_channel(s, "CGB", None, now))
    await pipeline.slack.archive("CGB")
    await pipeline.channel_life().on_closed({"type": "channel_archive", "channel": "CGB"})
    await pipeline.database.write(lambda s: pipeline.reopening.resume(s, "CGB", now))
    assert await subscription(pipeline) == "suspended"
    assert await reopen(pipeline) == 1
    assert await subscription(pipeline) == "live"


async def test_check_reopens_closed_channels_and_leaves_paused_ones(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await close(pipeline)
    await pipeline.database.write(lambda s: pause_channel(s, "CIRE", None, pipeline.clock()))
    asked = []

    async def is_member(channel_id):
        asked.append(channel_id)
        return True

    check = ChannelCheck(pipeline.database, is_member, pipeline.reopening, pipeline.clock, pipeline.poster.wake)
    await check()
    assert asked == ["CGB"]
    await check()
    assert await subscription(pipeline) == "live"
    assert await subscription(pipeline, "CIRE") == "paused"


@on_both
async def test_channel_that_lets_nobody_post_is_tried_again_quietly_until_it_does(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.slack_error("restricted_action")])
    await pipeline.deliver(abandonment())
    await post_all(pipeline)
    await age(pipeline, hours=4)

    async def is_member(_channel_id):
        return True

    check = ChannelCheck(pipeline.database, is_member, pipeline.reopening, pipeline.clock, pipeline.poster.wake)
    for _ in range(3):
        pipeline.slack.script("chat.postMessage", [failures.slack_error("restricted_action")])
        await check()
        await post_all(pipeline)
        pipeline.clock.forward(600)
        assert await states(pipeline) == ["queued"]
    assert len(pipeline.texts("CADMIN")) == 1
    for _ in range(2):
        await check()
        await post_all(pipeline)
    assert len(pipeline.texts("CGB")) == 1
    assert await states(pipeline) == ["folded", "sent"]
    assert await subscription(pipeline) == "live"


async def test_summary_that_slack_refuses_is_told_to_admins_and_its_messages_are_posted_singly(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await close(pipeline)
    await age(pipeline, hours=4)
    pipeline.slack.script("chat.postMessage", [failures.slack_error("never_heard_of_it")])
    await reopen(pipeline)
    await post_all(pipeline)
    _, refused, over = pipeline.texts("CADMIN")
    assert refused.startswith(f"{WARNING}A message for channel <#CGB> was not posted")
    assert "never_heard_of_it" in refused
    assert over.startswith(f"{ALL_CLEAR}Slack lets me post in channel <#CGB> again")
    assert await states(pipeline) == ["sent", "dead_letter"]
    assert len(pipeline.texts("CGB")) == 1


async def test_summary_counts_what_this_version_does_not_know(pipeline):
    await pipeline.subscribe("CGB", ALL_REGIONS)
    await close(pipeline)
    # One event whose name is unknown here, and one that another replica, of a newer version, has stored.
    await pipeline.deliver({"event": BALLOON_SIGHTED, "race": {"race_id": "rc_2", "region": "GB"}})
    await pipeline.deliver(result("rc_3"))
    await pipeline.post_all()
    newer = update(EventVersion).where(col(EventVersion.race_id) == "rc_3").values(kind=BALLOON_LANDED)
    await pipeline.database.write(lambda session: session.execute(newer))
    await age(pipeline, hours=5)
    await reopen(pipeline)
    (summary,) = pipeline.texts("CGB")
    assert f"1 result and 2 other events (`{BALLOON_SIGHTED}` and `{BALLOON_LANDED}`) came meanwhile" in summary
