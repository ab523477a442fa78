"""Channels close, pause and come back: the told people, the waiting messages, and the summary afterwards."""

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import EventVersion
from bot.events.event import DEFAULT_TOPICS
from bot.operations.jobs.outbox_jobs import check_channels, end_pauses
from bot.outbox import ledger
from bot.outbox.notices import Urgency
from bot.outbox.resume import Reopening
from sandbox.slack.failures import drop_after, rate_limited, slack_error
from tests.databases import limit_values, on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, shown, tell
from tests.integration.pipeline.steps import (
    close,
    expire,
    fail,
    kinds,
    pause,
    reopen,
    resume,
    run_job,
    states,
    traced,
    turns,
    wait,
    write,
)
from tests.said import ALL_CLEAR, NOTE, URGENT, WARNING

BALLOON_SIGHTED, BALLOON_LANDED = "stewards.weather_balloon.sighted", "stewards.weather_balloon.landed"
ARCHIVE = {"type": "channel_archive", "channel": "CGB"}
NO_BLOCKS, UNKNOWN = slack_error("invalid_blocks"), slack_error("odd")
CORRECTED = (result("rc_1", going="Good"), result("rc_1", going="Soft"))
HOUR_S = 3_600


async def archive(pipeline, number):
    """The channel is archived, and the post of a result finds out."""
    await pipeline.slack.archive("CGB")
    await tell(pipeline, result(f"rc_{number}"))
    await pipeline.post_all()


async def unarchive(pipeline):
    await pipeline.slack.unarchive("CGB")
    return await reopen(pipeline)


async def subscription(pipeline, channel_id="CGB"):
    (row,) = await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))
    assert (row.state_reason == "is_archived") is (row.state == "suspended")
    return row.state


async def is_member(_channel_id):
    return True


def check_of(pipeline, is_member=is_member):
    return check_channels(pipeline.database, is_member, pipeline.reopening, pipeline.clock, pipeline.poster.wake).run


async def wait_long(pipeline, *payloads, hours=4):
    """Deliveries for a closed channel. The messages wait."""
    await close(pipeline)
    await tell(pipeline, *payloads)
    await wait(pipeline, hours * HOUR_S)


async def test_closing_and_its_end_are_told_to_admins_and_to_the_creator_once_each_time(gb):
    for times in (1, 3):
        await archive(gb, times)
        await gb.channel_life().on_closed(ARCHIVE)
        await gb.post_all()
        dm = gb.slack.direct_message("UALICE").id
        assert len(gb.texts("CADMIN")) == len(gb.texts(dm)) == times
        assert gb.texts("CADMIN")[-1].startswith(WARNING)
        assert await gb.waiting() == {"queued": 1}
        assert "CGB" in gb.texts(dm)[-1]
        assert await subscription(gb) == "suspended"
        await wait(gb, 60)
        assert await unarchive(gb) == 1
        assert await subscription(gb) == "live"
        assert len(gb.texts("CADMIN")) == len(gb.texts(dm)) == times + 1
        assert gb.texts("CADMIN")[-1].startswith(ALL_CLEAR)


async def doubtful_before(pipeline):
    fail(pipeline, post=[drop_after()])
    await tell(pipeline, result())


async def edited_after(pipeline):
    await tell(pipeline, CORRECTED[0])
    await close(pipeline)
    await tell(pipeline, CORRECTED[1])


@pytest.mark.parametrize("before", [doubtful_before, edited_after])
async def test_message_from_before_a_closing_ends_no_closing(gb, before):
    await before(gb)
    await close(gb)
    await write(gb, gb.reopening.try_again, "CGB", gb.clock())
    await turns(gb, 60)
    assert (await gb.waiting(), len(gb.texts("CGB")), await subscription(gb)) == ({}, 1, "suspended")
    await tell(gb, result("rc_2"))
    assert (len(gb.texts("CGB")), await subscription(gb)) == (2, "live")


async def test_direct_message_that_is_refused_parks_and_admins_hear_nothing_of_it(pipeline):
    chosen = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)
    await write(pipeline, subscriptions.save, "CGB", chosen, user_id="UGONE", now=pipeline.clock())
    await archive(pipeline, 1)
    assert await states(pipeline, "UGONE") == ["dead_letter"]
    assert len(pipeline.texts("CADMIN")) == 1


async def test_event_of_slacks_holds_the_queue_and_its_coming_back_frees_it(gb):
    listening = gb.channel_life()
    await gb.slack.remove_bot("CGB")
    await listening.on_closed({"type": "channel_left", "channel": "CGB"})
    await tell(gb, abandonment())
    assert await states(gb) == ["queued"]
    await gb.slack.invite_bot("CGB")
    await listening.on_opened({"type": "channel_unarchive", "channel": "CGB"})
    await gb.post_all()
    assert kinds(gb) == ["ABANDONED"]


@on_both
async def test_old_messages_are_summarised_and_young_messages_posted_afterwards(gb):
    winners = [result(f"rc_{number}", placings=(f"Horse {number}",)) for number in range(4)]
    await wait_long(gb, abandonment("rc_8", reason="Fog"), abandonment("rc_9", course="Bath"), *winners)
    await tell(gb, abandonment("rc_young", course="York"))
    await reopen(gb)
    summary, young = gb.slack.messages("CGB")
    assert summary.text.startswith("ABANDONED: Ascot 14:30, Fri 20 Nov (GB)")
    assert "Bath 14:30" in summary.text
    assert "4 results" in summary.text
    assert "1 Horse 3" in shown(summary)
    assert young.text.startswith("ABANDONED: York")
    assert await states(gb) == [*["folded"] * 6, "sent", "sent"]
    ((said,),) = [version.told for version in (await traced(gb, "rc_9")).versions]
    assert (said.outcome, said.within, said.message_ts) == (ledger.LedgerOutcome.FOLDED, True, summary.ts)


async def test_channel_comes_back_with_more_messages_than_a_statement_takes_values(gb):
    await wait_long(gb, *(result(f"rc_{number}") for number in range(201)))
    before = await write(gb, limit_values, 200)
    await reopen(gb)
    await write(gb, limit_values, before)
    (summary,) = gb.texts("CGB")
    assert "201 results" in summary


async def test_abandonments_beyond_one_message_make_several_each_is_named_and_people_are_rung_once(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("UALICE", "SDESK"))
    await pipeline.subscribe("CGB", "*", mentions=("UALICE", "here"))
    await close(pipeline)
    lost = [abandonment(f"rc_{number}", course=f"No {number:02} {'x' * 80}") for number in range(40)]
    await pipeline.deliver_all(*lost, result("rc_99"))
    await pipeline.post_all()
    await wait(pipeline, 4 * HOUR_S)
    await reopen(pipeline)
    first, *others = pipeline.slack.messages("CGB")
    texts = pipeline.texts("CGB")
    assert 1 < len(texts) < 6
    assert all(text.startswith("ABANDONED: ") for text in texts)
    assert [sum(f"No {number:02}" in text for text in texts) for number in range(40)] == [1] * 40
    assert set(await states(pipeline)) == {"folded", "sent"}
    assert first.text.endswith(" <@UALICE> <!subteam^SDESK> <!here>")
    assert str(first.blocks).count("<@UALICE> <!subteam^SDESK> <!here>") == 1
    assert not any("UALICE" in shown(message) for message in others)


async def test_summary_without_abandonments_rings_nobody(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("here",))
    await wait_long(pipeline, result("rc_1"))
    await reopen(pipeline)
    (message,) = pipeline.slack.messages("CGB")
    assert "<!here>" not in shown(message)


async def test_summary_that_can_not_be_made_costs_no_message(gb):
    await wait_long(gb, result("rc_1"), abandonment("rc_2"))

    def fails(_backlog):
        raise ZeroDivisionError

    gb.reopening = Reopening(fails)
    await reopen(gb)
    assert len(gb.texts("CGB")) == 2


@pytest.mark.parametrize("refusals", [[UNKNOWN], [NO_BLOCKS] * 2], ids=["as a message", "in any form"])
async def test_refused_summary_is_told_to_admins_and_posts_each_event_once_in_its_newest_version(gb, refusals):
    await wait_long(gb, *CORRECTED, result("rc_2"))
    fail(gb, post=refusals)
    await reopen(gb)
    first, second = gb.slack.messages("CGB")
    assert "or Soft" in first.text
    assert "Another version" in shown(first)
    assert "rc_2" in shown(second)
    assert await gb.waiting() == {"dead_letter": 1}
    _closed, refused, over = gb.texts("CADMIN")
    assert refused.startswith(f"{WARNING}A message for channel <#CGB> was not posted")
    assert refusals[0].name in refused
    assert over.startswith(ALL_CLEAR)


async def test_summary_whose_blocks_are_refused_is_said_in_words_and_its_edit_is_traced_to_it(gb):
    await wait_long(gb, *CORRECTED)
    fail(gb, post=[NO_BLOCKS])
    await reopen(gb)
    (message,) = gb.slack.messages("CGB")
    assert "1 result came meanwhile" in message.text
    assert await gb.waiting() == {}
    said = [one for version in (await traced(gb)).versions for one in version.told]
    assert [(one.outcome, one.message_ts) for one in said] == [(ledger.LedgerOutcome.FOLDED, message.ts)] * 2


async def test_summary_that_is_taken_back_leaves_an_edit_with_its_message(gb):
    await wait_long(gb, *CORRECTED)
    await write(gb, gb.reopening.reopen, "CGB", gb.clock())
    await close(gb)
    # Young again, to be posted singly.
    await wait(gb, -4 * HOUR_S)
    await reopen(gb)
    (text,) = gb.texts("CGB")
    assert "or Soft" in text


async def test_meeting_and_its_races_are_one_message_after_a_refused_summary(gb):
    await wait_long(gb, meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_2", reason="Flood"))
    fail(gb, post=[UNKNOWN])
    await reopen(gb)
    (message,) = gb.slack.messages("CGB")
    assert "Flood" in shown(message)


async def test_summary_counts_what_this_version_does_not_know(pipeline):
    await pipeline.subscribe("CGB", ALL_REGIONS)
    # An event of an unknown name, and an event stored by a replica of a newer version.
    sighted = {"event": BALLOON_SIGHTED, "race": {"race_id": "rc_2", "region": "GB"}}
    await wait_long(pipeline, sighted, result("rc_3"), result("rc_4"))
    newer = update(EventVersion).where(col(EventVersion.race_id) == "rc_3").values(kind=BALLOON_LANDED)
    await write(pipeline, lambda session: session.execute(newer))
    await reopen(pipeline)
    (summary,) = pipeline.texts("CGB")
    assert f"1 result and 2 other events (`{BALLOON_SIGHTED}` and `{BALLOON_LANDED}`) came meanwhile" in summary


async def test_what_waits_too_long_is_given_up_kept_and_told_once(gb):
    await close(gb)
    await tell(gb, abandonment("rc_1"))
    await wait(gb, 71 * HOUR_S)
    assert await expire(gb) == 0
    await tell(gb, result("rc_2"))
    await wait(gb, 2 * HOUR_S)
    assert await expire(gb) == 1
    await wait(gb, 71 * HOUR_S)
    await tell(gb, result("rc_3"))
    assert await expire(gb) == 1
    assert await states(gb) == ["dead_letter", "dead_letter", "queued"]
    await gb.post_all()
    _closing, given_up = gb.texts("CADMIN")
    assert given_up.startswith(f"{URGENT}Messages for channel <#CGB>, abandonments among them, are being given up")
    assert "72 hours" in given_up
    await wait(gb, 4 * HOUR_S)
    await reopen(gb)
    (summary,) = gb.texts("CGB")
    assert "2 messages had waited too long" in summary
    assert "1 result came meanwhile" in summary
    assert "waited too long" in (await traced(gb)).versions[0].told[0].why


async def test_queues_that_are_not_held_give_nothing_up(gb):
    fail(gb, post=[rate_limited(30)])
    await tell(gb, result())
    await wait(gb, 100 * HOUR_S)
    assert await expire(gb) == 0


@on_both
async def test_paused_channel_gets_notices_and_no_events_until_the_pause_is_over(pipeline):
    await pipeline.subscribe("CADMIN", "GB")
    until = pipeline.clock().replace(hour=23)
    assert await pause(pipeline, "CADMIN", until) == 1
    await pipeline.deliver(abandonment())
    await write(pipeline, pipeline.notices.tell, "key", "Something to know", urgency=Urgency.NOTE)
    await pipeline.post_all()
    assert pipeline.texts("CADMIN") == [f"{NOTE}Something to know"]
    job = end_pauses(pipeline.database, pipeline.reopening, pipeline.clock, pipeline.poster.wake)
    assert await run_job(job, pipeline.database) == 0
    await wait(pipeline, (until - pipeline.clock()).total_seconds() + 1)
    assert await run_job(job, pipeline.database) == 1
    await pipeline.post_all()
    assert kinds(pipeline, "CADMIN")[1].startswith("ABANDONED")
    assert await subscription(pipeline, "CADMIN") == "live"


@pytest.mark.parametrize("ends", ["at 23:00", "later", "while closed"])
async def test_pause_outlives_the_closing_of_its_channel_unless_it_ends_meanwhile(gb, ends):
    await pause(gb, until=gb.clock().replace(hour=23) if ends == "at 23:00" else None)
    await gb.slack.archive("CGB")
    await gb.channel_life().on_closed(ARCHIVE)
    await resume(gb, "CGB" if ends == "while closed" else "CNONE")
    assert await subscription(gb) == "suspended"
    assert await unarchive(gb) == 1
    assert await subscription(gb) == ("live" if ends == "while closed" else "paused")
    if ends == "while closed":
        return
    await gb.subscribe("CGB", "GB")
    assert await subscription(gb) == "paused"
    await tell(gb, abandonment())
    assert gb.texts("CGB") == []
    await resume(gb)
    assert kinds(gb) == ["ABANDONED"]


@on_both
async def test_check_reopens_closed_channels_and_leaves_paused_ones(gb):
    await gb.subscribe("CIRE", "IRE")
    await archive(gb, 1)
    await pause(gb, "CIRE")
    asked = []

    async def is_member(channel_id):
        asked.append(channel_id)
        return True

    check = check_of(gb, is_member)
    for _ in range(2):
        await check()
        assert asked[:1] == ["CGB"]
        assert "CIRE" not in asked
    assert [await subscription(gb, channel_id) for channel_id in ("CGB", "CIRE")] == ["live", "paused"]
