"""Channels close, pause and come back: the told people, the waiting messages, and the summary afterwards."""

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.tables import EventVersion
from bot.events.event import DEFAULT_TOPICS
from bot.operations.jobs.routine_jobs import check_channels, end_pauses
from bot.outbox import ledger
from bot.outbox.held_channels import Reopening
from bot.outbox.notices import Urgency
from sandbox.slack.failures import drop_after, rate_limited
from tests.databases import limit_values, on_both
from tests.integration.pipeline.steps import (
    abandonment,
    close,
    expire,
    kinds,
    meeting,
    pause,
    reopen,
    result,
    resume,
    run_job,
    shown,
    states,
    tell,
    traced,
    turns,
    wait,
    write,
)
from tests.integration.pipeline.stories import Story, does, passes, play, rows, slack_answers, so_far, subscribes
from tests.said import ALL_CLEAR, NOTE, URGENT, WARNING

BALLOON_SIGHTED, BALLOON_LANDED = "stewards.weather_balloon.sighted", "stewards.weather_balloon.landed"
ARCHIVE = {"type": "channel_archive", "channel": "CGB"}
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


async def tries_again(pipeline):
    await write(pipeline, pipeline.reopening.try_again, "CGB", pipeline.clock())


async def makes_a_summary(pipeline):
    """The channel is open again, and the summary waits for the poster."""
    await write(pipeline, pipeline.reopening.reopen, "CGB", pipeline.clock())


async def newer_version_knows_rc_3(pipeline):
    newer = update(EventVersion).where(col(EventVersion.race_id) == "rc_3").values(kind=BALLOON_LANDED)
    await write(pipeline, lambda session: session.execute(newer))


def is_folded(number, race_id="rc_1"):
    """So many versions are traced to a summary, the first message."""

    async def do(pipeline):
        said = [one for version in (await traced(pipeline, race_id)).versions for one in version.told]
        where = (ledger.LedgerOutcome.FOLDED, pipeline.slack.messages("CGB")[0].ts, True)
        assert [(one.outcome, one.message_ts, one.within) for one in said] == [where] * number

    return do


async def says_why(pipeline):
    assert "waited too long" in (await traced(pipeline)).versions[0].told[0].why


def hours(number):
    return does(wait, number * HOUR_S)


OUT_AT_THE_LOOK = slack_answers("post", drop_after(), "is_archived"), slack_answers("look", "not_in_channel")
SUSPENDED, LIVE = does(subscription, gives="suspended"), does(subscription, gives="live")
WINNERS = [result(f"rc_{number}", placings=(f"Horse {number}",)) for number in range(4)]
SIGHTED = {"event": BALLOON_SIGHTED, "race": {"race_id": "rc_2", "region": "GB"}}
GIVEN_UP = f"^{URGENT}Messages for channel <#CGB>, abandonments among them, are being given up | 72 hours"

STORIES = (
    {
        f"message from before a closing, {how}": Story(
            *(*before, close, *edited, tries_again, does(turns, 60), SUSPENDED, so_far(waiting={}, CGB=[""])),
            *(result("rc_2"), LIVE),
            CGB=["", ""],
        )
        for how, before, edited in (
            ("in doubt", [slack_answers("post", drop_after()), result()], []),
            ("repeated blindly", [*OUT_AT_THE_LOOK, result(), does(turns, 20)], []),
            ("edited", [CORRECTED[0]], [CORRECTED[1]]),
        )
    }
    | {
        f"summary refused {how}": Story(
            *(close, *CORRECTED, result("rc_2"), hours(4), slack_answers("post", *refusals), reopen, does(turns, 60)),
            waiting={"dead_letter": 1},
            CGB=["or Soft | +Another version", "+rc_2"],
            CADMIN=["", f"^{WARNING}A message for channel <#CGB> was not posted | {refusals[0]}", f"^{ALL_CLEAR}"],
        )
        for how, refusals in {"as a message": ["odd"] * 6, "in any form": ["invalid_blocks"] * 2}.items()
    }
    | {
        "old and young": Story(
            *(close, abandonment("rc_8", reason="Fog"), abandonment("rc_9", course="Bath"), *WINNERS, hours(4)),
            *(abandonment("rc_young", course="York"), reopen, does(states, gives=[*["folded"] * 6, "sent", "sent"])),
            is_folded(1, "rc_9"),
            CGB=[
                "^ABANDONED: Ascot 14:30, Fri 20 Nov (GB) | Bath 14:30 | 4 results | +1 Horse 3",
                "^ABANDONED: York",
            ],
        ),
        "rings nobody": Story(
            subscribes("CGB", mentions=("here",)), close, result(), hours(4), reopen, CGB=["!<!here>"]
        ),
        "said in words": Story(
            *(close, *CORRECTED, hours(4), slack_answers("post", "invalid_blocks"), reopen, is_folded(2)),
            CGB=["1 result came meanwhile"],
        ),
        # Young again, to be posted singly.
        "taken back": Story(close, *CORRECTED, hours(4), makes_a_summary, close, hours(-4), reopen, CGB=["or Soft"]),
        "refused, of a meeting and its races": Story(
            *(close, meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_2", reason="Flood"), hours(4)),
            *(slack_answers("post", "invalid_blocks", "invalid_blocks"), reopen),
            waiting={"dead_letter": 1},
            CGB=["+Flood"],
        ),
        # An event of an unknown name, and an event stored by a replica of a newer version.
        "unknown events": Story(
            *(subscribes("CGB", "*"), close, SIGHTED, result("rc_3"), result("rc_4"), hours(4)),
            *(newer_version_knows_rc_3, reopen),
            CGB=[f"1 result and 2 other events (`{BALLOON_SIGHTED}` and `{BALLOON_LANDED}`) came meanwhile"],
        ),
        "waits too long": Story(
            *(close, abandonment(), hours(71), does(expire, gives=0), result("rc_2"), hours(2), does(expire, gives=1)),
            *(hours(71), result("rc_3"), does(expire, gives=1)),
            *(does(states, gives=["dead_letter", "dead_letter", "queued"]), passes(0), so_far(CADMIN=["", GIVEN_UP])),
            *(hours(4), reopen, says_why),
            waiting={"dead_letter": 2},
            CGB=["2 messages had waited too long | 1 result came meanwhile"],
        ),
        "waits for Slack": Story(
            *(slack_answers("post", rate_limited(30)), result(), hours(100), does(expire, gives=0)),
            waiting={"queued": 1},
            CGB=[],
        ),
    }
)


@rows(STORIES, "old and young")
async def test_what_waits_in_a_closed_channel(pipeline, story):
    await play(pipeline, story)


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


async def test_channel_comes_back_with_more_messages_than_a_statement_takes_values(gb):
    await wait_long(gb, *(result(f"rc_{number}") for number in range(101)))
    before = await write(gb, limit_values, 100)
    await reopen(gb)
    await write(gb, limit_values, before)
    (summary,) = gb.texts("CGB")
    assert "101 results" in summary


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


async def test_summary_that_can_not_be_made_costs_no_message(gb):
    await wait_long(gb, result("rc_1"), abandonment("rc_2"))

    def fails(_backlog):
        raise ZeroDivisionError

    gb.reopening = Reopening(fails)
    await reopen(gb)
    assert len(gb.texts("CGB")) == 2


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
