"""A channel with live messages: one message a meeting, results in its thread, abandonments in the channel too."""

import asyncio
import re
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from secrets import token_hex
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlmodel import col

from bot.channels import mutes, subscriptions
from bot.channels.conditions.show_condition import MEETINGS
from bot.channels.filters import Meeting
from bot.db.database_clock import database_now
from bot.db.tables import BookRace, ChannelQueue, LiveMeetingRow, MessageKind, OutboxMessage
from bot.events.event import Topic
from bot.events.races import Course, Race
from bot.operations.jobs.expire_queue import expire_queue
from bot.operations.jobs.follow_off_times import OffTimes
from bot.outbox import backlog, call_holds, channel_move, channel_queues
from bot.outbox.channel_closing import close_channel, pause_channel
from bot.outbox.messenger import Call
from bot.racedata.day_path import Paths
from bot.racedata.race_book import RaceBook
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import (
    abandonment,
    edits,
    free_all,
    meeting,
    past_waits,
    result,
    tell,
    tell_two_in_ireland,
)
from tests.integration.pipeline.racing_day import shown as shown_by
from tests.integration.pipeline.stories import bare, listed, read_list
from tests.integration.pipeline.test_unchecked import check, service_is_back
from tests.notice_levels import without_level
from tests.unit.racedata.conftest import FakeClient, FakeQuota

EVERYTHING = frozenset(Topic)


async def subscribe(pipeline, channel="CGB"):
    await pipeline.subscribe(channel, "GB", EVERYTHING, show=(MEETINGS,))


def shown(pipeline, channel="CGB"):
    """The texts in the channel, and those in threads by the beginning of the thread's first message."""
    messages = pipeline.slack.messages(channel)
    first = {message.ts: message.text for message in messages}
    flat = [message.text for message in messages if message.thread_ts is None]
    return flat, [(first[message.thread_ts], message.text) for message in messages if message.thread_ts]


async def look_for_what_is_in_doubt(pipeline):
    for _ in range(4):
        await past_waits(pipeline, 60)
        await pipeline.post_all()


async def kinds(pipeline, channel="CGB"):
    def read(session):
        found = session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        return [(post.kind, post.state) for post in found if post.channel_id == channel]

    return await pipeline.database.read(read)


async def test_results_are_in_the_thread_of_their_meeting_and_the_live_message_is_kept_up_to_date(pipeline):
    await subscribe(pipeline)
    await pipeline.subscribe("CALL", "*", EVERYTHING)
    await tell(
        pipeline,
        result("rc_1"),
        result("rc_2", off_time="15:05", placings=("Green Field", "Red Sky")),
        result("rc_3", course="York"),
    )
    (ascot, york), threads = shown(pipeline)
    assert [(live.split(",")[0], text.split(" (")[0]) for live, text in threads] == [
        ("Ascot (GB)", "Result: Ascot 14:30"),
        ("Ascot (GB)", "Result: Ascot 15:05"),
        ("York (GB)", "Result: York 14:30"),
    ]
    assert ascot.endswith("2 run so far")
    assert york.endswith("1 run so far")
    (live, *_) = pipeline.slack.messages("CGB")
    lines = live.blocks[0]["text"]["text"]
    assert "won by *Blue Moon*" in lines
    assert "won by *Green Field*" in lines
    flat, in_threads = shown(pipeline, "CALL")
    assert (len(flat), in_threads) == (3, [])


def seven_races(course="Ascot", race_id="rc_{}"):
    return [
        {"race_id": race_id.format(number), "course": course, "date": DAY, "region": "GB"} for number in range(1, 8)
    ]


def race_book(pipeline, races, **paths):
    quota: Any = FakeQuota()
    client: Any = FakeClient(races=races, page_size=100, answers={f"/days/{DAY}": {"races": races}})
    return RaceBook(pipeline.database, client, pipeline.clock, quota, Paths(**paths))


@pytest.mark.parametrize("paths", [{}, {"day": "/days/{date}"}])
async def test_message_counts_the_races_of_the_card_once_the_whole_card_was_read(pipeline, paths):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    (live, _) = pipeline.slack.messages("CGB")
    assert "I have not read the whole card" in shown_by(live)
    book = race_book(pipeline, seven_races(), **paths)
    await book.card("GB", date.fromisoformat(DAY))
    await tell(pipeline, result("rc_2"))
    live = pipeline.slack.messages("CGB")[0]
    assert live.text.endswith("2 of 7 races run")
    assert "I have not read the whole card" not in shown_by(live)


@pytest.mark.parametrize("paths", [{}, {"day": "/days/{date}"}])
@pytest.mark.parametrize("region", ["GB", None])
async def test_whole_card_that_teaches_no_race_is_one_edit_of_each_live_message(pipeline, paths, region):
    await subscribe(pipeline)
    ascot, york = seven_races(), seven_races("York", "rc_y{}")
    for course, races in (("Ascot", ascot), ("York", york)):
        meeting_of_all = {"course": course, "date": DAY, "region": "GB"}
        await tell(pipeline, {"event": "racecard.published", "meeting": meeting_of_all, "races": races})
    book = race_book(pipeline, [*ascot, *york], **paths)
    before = len(edits(pipeline.slack))
    for _ in range(2):
        await book.card(region, date.fromisoformat(DAY))
        await pipeline.post_all()
        # Stale: the next card is read anew, and meanwhile the day stays whole.
        pipeline.clock.forward(1_000)
    lives = [message for message in pipeline.slack.messages("CGB") if not message.thread_ts]
    assert [live.text.split(": ")[1] for live in lives] == ["0 of 7 races run"] * 2
    assert not any("I have not read the whole card" in shown_by(live) for live in lives)
    assert len(edits(pipeline.slack)) == before + 2


async def test_abandonment_correction_and_contradiction_are_in_the_channel_and_in_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(
        pipeline,
        result("rc_1"),
        abandonment("rc_2", off_time="15:05"),
        result("rc_1", placings=("Red Sky", "Blue Moon")),
        abandonment("rc_1"),
    )
    (live, lost, corrected, contradicted), threads = shown(pipeline)
    assert live.endswith("1 ABANDONED, 1 CONFLICT")
    assert "ABANDONED: Ascot 15:05" in lost
    assert "Red Sky" in corrected
    assert "ABANDONED" in contradicted
    assert len(threads) == 1
    (message, *_) = pipeline.slack.messages("CGB")
    assert "🛑 *1 ABANDONED*, ⚠️ *1 CONFLICT*" in str(message.blocks)
    assert "🛑 *ABANDONED*, frost" in str(message.blocks)
    assert "⚠️ *CONFLICT*" in str(message.blocks)


async def test_first_abandonment_is_told_before_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, abandonment("rc_1"))
    first, live = pipeline.texts("CGB")
    assert first.startswith("ABANDONED: Ascot 14:30")
    assert live.endswith("1 ABANDONED")


async def test_waiting_edits_are_one(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_0", off_time="12:00"))
    for number in range(1, 31):
        await pipeline.deliver(result(f"rc_{number}", off_time=f"13:{number:02}"))
    await pipeline.post_all()
    (live,), threads = shown(pipeline)
    assert live.endswith("31 run so far")
    assert len(threads) == 31
    assert len(edits(pipeline.slack)) <= 5
    assert await pipeline.waiting() == {}


async def test_reply_in_doubt_is_found_in_the_thread_and_not_repeated(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503).accepted()])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 2)
    assert await pipeline.waiting() == {}


async def test_reply_that_is_not_in_the_thread_is_repeated_once(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503)])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 2)


async def test_live_message_in_doubt_is_found_and_gets_its_replies(pipeline):
    await subscribe(pipeline)
    pipeline.slack.script("chat.postMessage", [failures.http_error(503).accepted()])
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    (live,), threads = shown(pipeline)
    assert live.endswith("2 run so far")
    assert len(threads) == 2


async def test_result_is_flat_while_the_live_message_is_not_in_the_channel(pipeline):
    await subscribe(pipeline)
    pipeline.slack.script("chat.postMessage", [failures.slack_error("msg_blocked_by_policy")])
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    flat, threads = shown(pipeline)
    assert [text.split(" (")[0] for text in flat] == ["Result: Ascot 14:30", "Result: Ascot 15:05"]
    assert threads == []
    assert await pipeline.waiting() == {"dead_letter": 1}


async def test_result_refused_in_the_thread_is_told_in_the_channel(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.slack_error("thread_not_found")])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    (_, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:05")
    assert len(threads) == 1


async def test_results_are_flat_after_somebody_deleted_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.update", [failures.slack_error("message_not_found")])
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", off_time="15:40"))
    (_, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:40")
    assert len(threads) == 2
    assert await pipeline.waiting() == {}


@on_both
async def test_two_replicas_make_one_live_message(make_pipeline):
    one, other = make_pipeline(), make_pipeline()
    await subscribe(one)
    for number in range(10):
        await one.deliver(result(f"rc_{number}", off_time=f"13:1{number}"))
    await asyncio.gather(one.post_all(), other.post_all())
    await free_all(one)
    await asyncio.gather(one.post_all(), other.post_all())
    (live,), threads = shown(one)
    assert live.endswith("10 run so far")
    assert len(threads) == 10


async def test_muted_meeting_gets_no_live_message_and_a_present_one_goes_on(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    for course in ("Ascot", "York"):
        muted = Meeting(course=Course(name=course), race_date=DAY)
        await pipeline.database.write(
            lambda session, muted=muted: mutes.mute(session, "CGB", muted, "UALICE", pipeline.clock())
        )
    await tell(pipeline, result("rc_2", off_time="15:05"), result("rc_3", course="York"))
    (live,), threads = shown(pipeline)
    assert live.endswith("2 run so far")
    assert len(threads) == 1


async def test_live_message_of_a_day_gone_by_is_dropped_while_the_channel_is_closed(pipeline):
    await subscribe(pipeline)
    await pipeline.database.write(
        lambda session: close_channel(session, pipeline.notices, "CGB", "is_archived", pipeline.clock())
    )
    await tell(pipeline, result("rc_1"))
    pipeline.clock.forward(timedelta(days=2).total_seconds())
    await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock)
    assert await kinds(pipeline) == [(MessageKind.LIVE, "dead_letter"), (MessageKind.EVENT, "queued")]


async def test_locked_thread_closes_no_channel(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.slack_error("restricted_action_thread_locked")])
    await tell(pipeline, result("rc_2", off_time="15:05"), abandonment("rc_3", off_time="15:40"))
    (_, told, lost), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:05")
    assert lost.startswith("ABANDONED: Ascot 15:40")
    assert len(threads) == 1


async def test_reply_in_doubt_is_told_in_the_channel_where_threads_cant_be_read(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503)])
    pipeline.slack.script("conversations.replies", [failures.slack_error("missing_scope")])
    await tell(pipeline, result("rc_2", off_time="15:05"))
    await look_for_what_is_in_doubt(pipeline)
    (_, told), threads = shown(pipeline)
    assert "Result: Ascot 15:05" in told
    assert len(threads) == 1
    assert await pipeline.waiting() == {}


async def test_live_message_that_waits_is_dropped_when_the_channel_unsubscribes(pipeline):
    await subscribe(pipeline)
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await tell(pipeline, result("rc_1"))

    def unsubscribe(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", pipeline.clock())
        pipeline.reopening.resume(session, "CGB", pipeline.clock())

    await pipeline.database.write(unsubscribe)
    await pipeline.post_all()
    assert shown(pipeline) == ([], [])


async def test_moved_channel_keeps_its_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    await pipeline.database.write(lambda session: channel_move.move_channel(session, "CGB", "CNEW"))
    await pipeline.deliver(result("rc_2", off_time="15:05"))
    await pipeline.fanout.run_once()
    assert [kind for kind, _ in await kinds(pipeline, "CNEW")] == [
        MessageKind.LIVE,
        MessageKind.EVENT,
        MessageKind.EVENT,
        MessageKind.LIVE_EDIT,
    ]


async def test_late_result_of_a_past_day_makes_no_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1", date="2026-01-02"))
    (told,), threads = shown(pipeline)
    assert told.startswith("Result: Ascot")
    assert threads == []


async def test_waiting_live_message_of_a_day_to_come_outlasts_a_closing(pipeline):
    await subscribe(pipeline)
    await pipeline.database.write(
        lambda session: close_channel(session, pipeline.notices, "CGB", "is_archived", pipeline.clock())
    )
    coming = (pipeline.clock() + timedelta(days=2)).date().isoformat()
    race = {"race_id": "rc_1", "course": "Ascot", "date": coming, "off_time": "14:30", "region": "GB"}
    await tell(pipeline, {"event": "racecard.published", "race": race})
    pipeline.clock.forward(timedelta(days=2).total_seconds())
    await expire_queue(pipeline.database, pipeline.notices, 72, pipeline.clock)
    assert await kinds(pipeline) == [(MessageKind.LIVE, "queued"), (MessageKind.EVENT, "queued")]


async def test_meeting_whose_region_becomes_known_keeps_its_live_message(pipeline):
    await pipeline.subscribe("CGB", "*", EVERYTHING, show=(MEETINGS,))
    await tell(pipeline, result("rc_1", region=None), result("rc_2", off_time="15:05"))
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (1, 2)


NO_PLACINGS = ()


@on_both
async def test_results_whose_region_the_race_book_tells_later_are_in_the_thread(pipeline):
    await subscribe(pipeline)
    for number in (2, 3):
        await tell(pipeline, bare("result.received", f"rc_{number}", runners=[{"position": 1, "horse": "Blue Moon"}]))
    assert shown(pipeline) == ([], [])
    await read_list(pipeline, *(listed(f"rc_{number}", off=f"15:0{number}") for number in (2, 3)))
    for _ in range(3):
        await pipeline.post_all()
        await free_all(pipeline)
    (live,), threads = shown(pipeline)
    assert live.endswith("2 run so far")
    assert sorted(text.split(" (")[0] for _, text in threads) == ["Result: Ascot 15:02", "Result: Ascot 15:03"]


async def test_missed_results_are_in_the_thread(pipeline):
    await pipeline.subscribe("CGB", "gb", EVERYTHING, show=(MEETINGS,), unchecked_since=pipeline.clock())
    pipeline.clock.forward(1)
    await tell(
        pipeline,
        result("rc_1"),
        result("rc_1", going="Soft"),
        abandonment("rc_2", off_time="15:05"),
        result("rc_3", off_time="15:40"),
    )
    assert shown(pipeline)[1] == []
    await service_is_back(pipeline)
    await check(pipeline)
    flat, threads = shown(pipeline)
    assert sorted(without_level(text).split(":")[0].split(",")[0] for text in flat) == [
        "ABANDONED",
        "Ascot (GB)",
        "This channel was subscribed to gb while I could not check that. The data service calls it GB",
    ]
    assert [text.split(" (")[0] for _, text in threads] == ["Result: Ascot 14:30", "Result: Ascot 15:40"]


async def test_placings_that_come_later_are_in_the_thread(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1", placings=NO_PLACINGS), result("rc_1"))
    (live,), ((_, first), (_, placed)) = shown(pipeline)
    assert live.endswith("1 run so far")
    assert "Result: Ascot 14:30" in first
    assert "1 Blue Moon, 2 Red Sky" in placed


async def test_correction_is_in_the_thread_with_the_result_unless_the_winner_changes(pipeline):
    await subscribe(pipeline)
    third = (
        result("rc_1", placings=("Blue Moon", "Red Sky", "Grey Dawn")),
        result("rc_1", placings=("Blue Moon", "Red Sky", "Fog")),
    )
    await tell(pipeline, *(one | {"sequence": number} for number, one in enumerate(third, 1)))
    (_,), (_, (_, corrected)) = shown(pipeline)
    assert corrected.startswith("CORRECTION: Ascot 14:30")
    await tell(pipeline, result("rc_1", placings=("Red Sky", "Blue Moon", "Fog")) | {"sequence": 3})
    (_, winner), threads = shown(pipeline)
    assert "1st was Blue Moon, now Red Sky" in winner
    assert len(threads) == 2
    # The channel has the result by now.
    await tell(pipeline, result("rc_1", placings=("Red Sky", "Blue Moon", "Grey Dawn")) | {"sequence": 4})
    flat, threads = shown(pipeline)
    assert (len(flat), len(threads)) == (3, 2)


async def test_winner_of_another_name_is_in_the_channel(pipeline):
    await subscribe(pipeline)
    for number, horse in enumerate(("Blue Moon", "Blue Noon"), 1):
        runners = [{"position": 1, "number": "4", "horse": horse}, {"position": 2, "number": "5", "horse": "Red Sky"}]
        await tell(pipeline, result("rc_1", placings=(), runners=runners) | {"sequence": number})
    (_, corrected), threads = shown(pipeline)
    assert "Blue Noon" in corrected
    assert len(threads) == 1


async def test_live_message_shows_also_what_the_channel_is_not_told(pipeline):
    await pipeline.subscribe("CGB", "GB", frozenset({Topic.RESULTS}), show=(MEETINGS,))
    await tell(pipeline, result("rc_1"), abandonment("rc_2", off_time="15:05"))
    (live,), _ = shown(pipeline)
    assert live.endswith("1 ABANDONED")


async def test_what_the_race_book_learns_is_in_the_live_message(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    await read_list(pipeline, listed("rc_1", title="The Cup"), listed("rc_2", off="15:05"))
    await pipeline.post_all()
    (message, *_) = pipeline.slack.messages("CGB")
    assert "15:05" in str(message.blocks)


async def test_edits_come_last_where_our_code_fails_on_a_delivery(pipeline, monkeypatch):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    read = pipeline.fanout.reader._read_events

    def fail_on_one(body):
        if b"rc_bad" in body:
            raise ZeroDivisionError
        return read(body)

    monkeypatch.setattr(pipeline.fanout.reader, "_read_events", fail_on_one)
    for race_id in ("rc_2", "rc_bad", "rc_3"):
        await pipeline.deliver(result(race_id))
    await pipeline.fanout.run_once()
    assert [kind for kind, _ in await kinds(pipeline)][-3:] == [
        MessageKind.EVENT,
        MessageKind.EVENT,
        MessageKind.LIVE_EDIT,
    ]


async def test_error_in_a_live_message_holds_up_no_result(pipeline, monkeypatch):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))

    def fail(*_args):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("bot.outbox.live_meetings.edit", fail)
        await tell(pipeline, result("rc_2", off_time="15:05"))
    assert len(shown(pipeline)[1]) == 2


@on_both
async def test_reply_in_doubt_waits_no_longer_than_others_where_the_thread_is_gone(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    pipeline.slack.script("chat.postMessage", [failures.http_error(503), failures.slack_error("thread_not_found")])
    pipeline.slack.script("conversations.replies", [failures.slack_error("thread_not_found")] * 2)
    await tell(pipeline, result("rc_2", off_time="15:05"))
    for _ in range(2):
        await past_waits(pipeline, 20)
        await pipeline.post_all()
    (_, told), _ = shown(pipeline)
    assert told.startswith("Result: Ascot 15:05")


async def test_edit_waits_for_a_live_message_whose_call_is_held(pipeline):
    await subscribe(pipeline)
    await pipeline.deliver(result("rc_1"))
    await pipeline.fanout.run_once()
    pipeline.slack.script("chat.postMessage", [replace(failures.slack_error("ratelimited"), delay_before_s=0.5)])
    await pipeline.poster.start_due()
    await pipeline.deliver(result("rc_2", off_time="15:05"))
    await pipeline.fanout.run_once()
    await pipeline.poster.finish()
    assert await kinds(pipeline) == [
        (MessageKind.LIVE, "queued"),
        (MessageKind.EVENT, "queued"),
        (MessageKind.EVENT, "queued"),
        (MessageKind.LIVE_EDIT, "queued"),
    ]
    await pipeline.post_all()
    await free_all(pipeline)
    await pipeline.post_all()
    await tell(pipeline, result("rc_3", off_time="15:40"))
    (live,), threads = shown(pipeline)
    assert live.endswith("3 run so far")
    assert len(threads) == 3


async def test_channel_that_subscribes_again_gets_a_live_message(pipeline):
    await subscribe(pipeline)
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    await tell(pipeline, result("rc_1"))

    def subscribe_again(session):
        subscriptions.remove(session, "CGB")
        backlog.drop(session, "CGB", pipeline.clock())
        pipeline.reopening.resume(session, "CGB", pipeline.clock())

    await pipeline.database.write(subscribe_again)
    await subscribe(pipeline)
    await tell(pipeline, result("rc_2", off_time="15:05"))
    (live,), threads = shown(pipeline)
    assert live.endswith("2 run so far")
    assert len(threads) == 1


async def test_abandonment_passes_an_edit_that_a_dead_process_left_while_edits_are_held(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    await pipeline.deliver(result("rc_1", going="Soft"))
    await pipeline.fanout.run_once()

    def die_while_editing(session):
        now = database_now(session, pipeline.clock)
        (claim,) = channel_queues.claim(session, now, token=token_hex(8), limit=1, lease_s=1, call_s=1)
        assert claim.call is Call.EDIT
        call_holds.hold_call(session, Call.EDIT, now + timedelta(minutes=5), "ratelimited")
        session.execute(update(ChannelQueue).values(leased_until=None, lease_token=None))

    await pipeline.database.write(die_while_editing)
    await tell(pipeline, abandonment("rc_2", off_time="15:05"))
    flat, _ = shown(pipeline)
    assert flat[-1].startswith("ABANDONED: Ascot 15:05")
    await free_all(pipeline)
    await pipeline.post_all()
    (live, *_), _ = shown(pipeline)
    assert live.endswith("1 ABANDONED")
    assert await pipeline.waiting() == {}


async def subscribe_to_all(pipeline):
    await pipeline.subscribe("CGB", "*", EVERYTHING, show=(MEETINGS,))


def lines(pipeline, beginning):
    """The lines of the only live message with this beginning."""
    (live,) = [one for one in pipeline.slack.messages("CGB") if not one.thread_ts and one.text.startswith(beginning)]
    return [line for block in live.blocks for line in block["text"]["text"].split("\n")]


def times(pipeline, beginning):
    return [line.split(" ")[0] for line in lines(pipeline, beginning) if line[:1].isdecimal()]


@on_both
async def test_race_of_unknown_region_stays_in_the_live_message_once_the_region_is_known(pipeline):
    await subscribe_to_all(pipeline)
    await tell(pipeline, result("rc_1", region=None), result("rc_2", off_time="15:05"))
    assert times(pipeline, "Ascot (GB)") == ["14:30", "15:05"]


async def test_live_message_of_a_region_takes_no_race_of_another_region(pipeline):
    await subscribe_to_all(pipeline)
    await tell(
        pipeline,
        result("rc_1", region=None),
        result("rc_2", off_time="15:05"),
        result("rc_9", region="AUS", off_time="05:05"),
    )
    (gb, aus), threads = shown(pipeline)
    assert gb.startswith("Ascot (GB)")
    assert aus.startswith("Ascot (AUS)")
    assert [live.split(",")[0] for live, _ in threads] == ["Ascot (GB)", "Ascot (GB)", "Ascot (AUS)"]
    assert times(pipeline, "Ascot (AUS)") == ["05:05"]


async def test_result_that_may_be_of_two_meetings_is_told_flat(pipeline):
    await subscribe_to_all(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_9", region="AUS"), result("rc_2", region=None, off_time="15:05"))
    (_, _, told), threads = shown(pipeline)
    assert told.startswith("Result: Ascot 15:05")
    assert len(threads) == 2


async def test_event_of_unknown_region_goes_to_the_only_live_message_of_its_course(pipeline):
    await subscribe_to_all(pipeline)
    await tell(
        pipeline,
        result("rc_1"),
        result("rc_2", region=None, off_time="15:05"),
        abandonment("rc_4", region=None, off_time="16:15"),
    )
    flat, threads = shown(pipeline)
    assert [text.split(",")[0] for text in flat] == ["Ascot (GB)", "ABANDONED: Ascot 16:15 (region unknown)"]
    assert len(threads) == 2
    assert times(pipeline, "Ascot (GB)") == ["14:30", "15:05", "16:15"]


@on_both
async def test_course_by_id_and_by_name_has_one_live_message(pipeline):
    await subscribe(pipeline)
    by_id, by_both = {"course_id": "cr_asc"}, {"course_id": "cr_asc", "name": "Ascot"}
    await tell(
        pipeline,
        result("rc_1", course=by_id),
        result("rc_2", off_time="12:05", course=by_both),
        result("rc_3", off_time="15:40"),
        result("rc_4", off_time="16:15", course=by_id),
    )
    (live,), threads = shown(pipeline)
    assert live.startswith("Ascot (GB)")
    assert len(threads) == 4
    assert times(pipeline, "Ascot (GB)") == ["12:05", "14:30", "15:40", "16:15"]


@on_both
async def test_course_by_name_and_then_by_id_has_one_live_message_once_both_are_known(pipeline):
    await subscribe(pipeline)
    await tell(
        pipeline,
        result("rc_1"),
        result("rc_2", off_time="15:05", course={"course_id": "cr_asc", "name": "ASCOT"}),
        result("rc_3", off_time="15:40", course={"course_id": "cr_asc"}),
    )
    (_,), threads = shown(pipeline)
    assert len(threads) == 3
    assert times(pipeline, "Ascot (GB)") == ["14:30", "15:05", "15:40"]


async def test_letter_case_of_a_course_loses_no_race(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05", course="ASCOT"))
    (live,), _ = shown(pipeline)
    assert live.endswith("2 run so far")


async def off_times_pass(pipeline, passed, replicas=()):
    """As if so much time had passed for the race book and the live messages, on PostgreSQL too; then the job runs."""

    def move(session):
        for row in session.execute(select(BookRace)).scalars():
            race = Race.model_validate_json(row.data)
            if race.off.off_at:
                off = race.off.model_copy(update={"off_at": race.off.off_at - passed})
                row.data = race.model_copy(update={"off": off}).model_dump_json(exclude_defaults=True)
        for row in session.execute(select(LiveMeetingRow).where(col(LiveMeetingRow.changes_at).is_not(None))).scalars():
            row.changes_at -= passed

    await pipeline.database.write(move)
    jobs = [OffTimes(one.database, one.clock, asyncio.Event()) for one in replicas or (pipeline,)]
    counts = await asyncio.gather(*(job() for job in jobs))
    await free_all(pipeline)
    await pipeline.post_all()
    return sum(counts)


def card(pipeline, *minutes):
    """A racecard whose off times have offsets, so many minutes from now."""
    at = [(pipeline.clock() + timedelta(minutes=of)).isoformat() for of in minutes]
    races = [{"race_id": f"rc_{number}", "off_time": off} for number, off in enumerate(at, start=1)]
    return {
        "event": "racecard.published",
        "meeting": {"course": "Ascot", "date": DAY, "region": "GB"},
        "races": races,
    }


def said(pipeline):
    found = [re.search("off next|no result yet|to come|won by", line) for line in lines(pipeline, "Ascot (GB)")]
    return [one[0] for one in found if one]


async def test_off_time_gone_by_is_an_edit_without_an_event(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, card(pipeline, 5, 40, 75))
    assert said(pipeline) == ["off next", "to come", "to come"]
    assert await off_times_pass(pipeline, timedelta(minutes=1)) == 0
    assert await off_times_pass(pipeline, timedelta(minutes=10)) == 1
    assert said(pipeline) == ["no result yet", "off next", "to come"]
    assert await off_times_pass(pipeline, timedelta(minutes=1)) == 0
    assert await off_times_pass(pipeline, timedelta(hours=3)) == 1
    assert said(pipeline) == ["no result yet"] * 3
    assert await off_times_pass(pipeline, timedelta(hours=3)) == 0
    assert len(edits(pipeline.slack)) == 2


@on_both
async def test_off_time_is_one_edit_over_replicas_and_none_for_a_channel_that_unsubscribed(make_pipeline):
    one, other = make_pipeline(), make_pipeline()
    await subscribe(one)
    await tell(one, card(one, 5, 40, 75))
    assert await off_times_pass(one, timedelta(minutes=10), (one, other)) == 1
    assert len(edits(one.slack)) == 1
    await one.database.write(lambda session: subscriptions.remove(session, "CGB"))
    await off_times_pass(one, timedelta(minutes=35))
    assert len(edits(one.slack)) == 1


async def test_settled_race_says_that_earlier_races_without_a_moment_are_off(pipeline):
    await subscribe(pipeline)
    races = [listed(f"rc_{number}", off=off) for number, off in enumerate(("13:30", "14:30", "17:00", "17:30"), 1)]
    await read_list(pipeline, *races)
    await tell(pipeline, result("rc_3", off_time="17:00"))
    # The day has begun in some time zone, so nothing is certain of the 17:30 either.
    assert said(pipeline) == ["no result yet", "no result yet", "won by", "no result yet"]


async def tell_at_once(pipeline, *payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
    await pipeline.post_all()


WORDY = {"title": "The Very Long Stakes " * 10}


async def test_long_card_shows_every_race(pipeline):
    await subscribe(pipeline)
    run = [result(f"rc_{n}", off_time=f"12:{n}", placings=("H" * 60, "Red Sky"), **WORDY) for n in range(10, 26)]
    lost = [abandonment(f"rc_{n}", off_time=f"12:{n}", reason="frost " * 30, **WORDY) for n in range(26, 30)]
    await tell_at_once(pipeline, *run, *lost)
    assert len(times(pipeline, "Ascot (GB)")) == 20
    assert sum("ABANDONED*, frost" in line for line in lines(pipeline, "Ascot (GB)")) == 4


async def test_card_that_is_too_long_cuts_no_race_with_a_mark_and_counts_what_is_cut(pipeline):
    await subscribe(pipeline)
    await tell_at_once(
        pipeline,
        *(result(f"rc_{number}", off_time=f"12:{number}", **WORDY) for number in range(10, 60)),
        *(abandonment(f"rc_1{n}", off_time=f"15:{n}", **WORDY) for n in range(10, 20)),
        abandonment("rc_59", off_time="12:59", **WORDY),
        result("rc_90", off_time="16:00", status="void", placings=(), **WORDY),
    )
    (_, *shown_lines, cut, _) = lines(pipeline, "Ascot (GB)")
    marked = [line.split(" ")[0] for line in shown_lines if re.search("ABANDONED|CONFLICT|VOID", line)]
    assert marked == times(pipeline, "Ascot (GB)")[:12] == ["12:59", *(f"15:{n}" for n in range(10, 20)), "16:00"]
    assert cut == f"and {61 - len(shown_lines)} more"


async def test_result_after_the_abandonment_of_its_meeting_is_no_certain_winner(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, meeting("rc_1", "rc_2", reason="waterlogged"), result("rc_1"))
    (live, *_) = [message for message in pipeline.slack.messages("CGB") if message.text.startswith("Ascot")]
    assert live.text.endswith("MEETING ABANDONED, 0 run so far, 1 ABANDONED, 1 CONFLICT")
    (line,) = [line for line in lines(pipeline, "Ascot (GB)") if line.startswith("14:30")]
    assert "⚠️ *CONFLICT*: reported abandoned (waterlogged) and as run" in line
    assert "won by" not in shown_by(live)


async def test_meeting_that_is_abandoned_after_a_race_contradicts_no_winner(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"), meeting("rc_1", "rc_2"))
    assert "won by *Blue Moon*" in str(lines(pipeline, "Ascot (GB)"))


async def test_winner_of_results_that_disagree_is_marked_until_the_newer_version_is_known(pipeline):
    await subscribe(pipeline)
    other = result("rc_1", placings=("Red Sky", "Blue Moon"))
    await tell(pipeline, result("rc_1"), other, other | {"going": "Soft"})
    (_, line, *_) = lines(pipeline, "Ascot (GB)")
    assert line.startswith(
        "14:30  ⚠️ *CONFLICT*: two versions of the result disagree: check. The later says won by *Red Sky*"
    )
    assert shown(pipeline)[0][0].endswith("1 CONFLICT")
    for number, one in ((1, other), (2, result("rc_1"))):
        await tell(pipeline, one | {"sequence": number})
    (_, line, *_) = lines(pipeline, "Ascot (GB)")
    assert line.startswith("14:30  won by *Blue Moon*")


async def test_reason_of_a_race_goes_before_the_reason_of_its_meeting(pipeline):
    await subscribe(pipeline)
    named = meeting("rc_1", "rc_2", "rc_3", reason="waterlogged")
    await tell(
        pipeline,
        named,
        abandonment("rc_1", off_time="13:00", reason="frost"),
        abandonment("rc_3", off_time="14:00", reason=None),
        result("rc_3", off_time="14:00"),
        # The later of two versions, so that the meeting is read after the race.
        named | {"reason": "flooded", "sequence": 2},
        result("rc_4", off_time="15:00", reason="photo finish"),
        abandonment("rc_4", off_time="15:00", reason=None),
    )
    shown_lines = lines(pipeline, "Ascot (GB)")
    said = {line[:5]: line for line in shown_lines if line[:1].isdecimal()}
    assert "ABANDONED*, frost" in said["13:00"]
    assert "reported abandoned (flooded) and as run" in said["14:00"]
    assert "photo finish" not in said["15:00"]
    assert any("ABANDONED*, flooded" in line and "rc_2" in line for line in shown_lines)


async def test_live_message_says_where_the_results_are(pipeline):
    lost = frozenset({Topic.ABANDONMENTS})
    await pipeline.subscribe("CGB", "GB", lost, show=(MEETINGS,))
    await tell(pipeline, abandonment("rc_1"), result("rc_2", off_time="15:05"))
    assert lines(pipeline, "Ascot (GB)")[-1].startswith(
        "This channel is told of no results: they are shown here alone."
    )
    assert shown(pipeline)[1] == []
    await pipeline.subscribe("CGB", "*", frozenset({Topic.RESULTS}))
    await tell(pipeline, result("rc_3", off_time="15:40"))
    assert lines(pipeline, "Ascot (GB)")[-1].startswith("Results are in the channel.")
    await pipeline.subscribe("CGB", "GB", show=(MEETINGS,))
    await tell(pipeline, result("rc_4", off_time="16:15"))
    assert lines(pipeline, "Ascot (GB)")[-1].startswith("Results are in the thread.")
    flat, ((_, told),) = shown(pipeline)
    assert [re.split("[:,]", text)[0] for text in flat] == ["ABANDONED", "Ascot (GB)", "Result"]
    assert told.startswith("Result: Ascot 16:15")


async def test_number_of_a_deleted_live_message_is_no_live_message(pipeline):
    """SQLite gives the number to the next message."""
    await subscribe(pipeline)
    now = pipeline.clock()
    await pipeline.database.write(lambda session: pause_channel(session, "CGB", None, now))
    await tell(pipeline, abandonment("rc_1"))
    await pipeline.database.write(lambda session: backlog.drop(session, "CGB", now))
    await pipeline.database.write(lambda session: pipeline.reopening.resume(session, "CGB", now))
    await tell(pipeline, abandonment("rc_9", course="York", reason="flood"))
    await tell(pipeline, result("rc_2", off_time="15:05"))
    flat, threads = shown(pipeline)
    assert [text for text in flat if text.startswith("ABANDONED: York")]
    assert len(threads) == 1
    assert not threads[0][0].startswith("ABANDONED")


async def test_abandonment_at_a_course_with_an_endless_name_is_told(pipeline):
    """An index of PostgreSQL takes no text of 9,000 bytes. Random, because PostgreSQL compresses."""
    name = "".join(map(chr, Random(1).sample(range(0x4E00, 0x9FFF), 3_000)))
    await subscribe(pipeline)
    await pipeline.subscribe("CALL", "*", EVERYTHING)
    await tell(pipeline, abandonment("rc_1", course=name), result("rc_2"))
    assert len(pipeline.texts("CALL")) == 2


async def test_live_message_that_can_not_be_read_holds_no_other_message(pipeline):
    await subscribe(pipeline)
    await pipeline.subscribe("CIRE", "IRE", EVERYTHING)
    await pipeline.deliver(result("rc_1"))
    await pipeline.fanout.run_once()
    broken = update(OutboxMessage).where(col(OutboxMessage.kind) == MessageKind.LIVE).values(content="{broken")
    await pipeline.database.write(lambda session: session.execute(broken))
    await tell_two_in_ireland(pipeline)
    assert len(pipeline.texts("CIRE")) == 2
    assert pipeline.texts("CGB")[0].startswith("Ascot (GB)")


async def test_race_that_moves_to_another_course_leaves_the_live_message_of_the_first(pipeline):
    await subscribe(pipeline)
    at = pipeline.clock()
    first, later = (
        abandonment("rc_1", course=course) | {"occurred_at": (at - timedelta(minutes=minutes)).isoformat()}
        for course, minutes in (("Ascot", 2), ("York", 1))
    )
    await tell(pipeline, result("rc_0", off_time="13:00"), first)
    assert "1 ABANDONED" in pipeline.texts("CGB")[0]
    await tell(pipeline, later)
    assert "ABANDONED" not in pipeline.texts("CGB")[0]


async def test_abandonment_without_a_date_is_in_the_live_message_of_the_day(pipeline):
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    undated = abandonment("rc_2", off_time="15:00")
    del undated["race"]["date"]
    await tell(pipeline, undated)
    assert "1 ABANDONED" in pipeline.texts("CGB")[0]


async def test_meeting_without_a_region_is_in_the_live_messages_of_all_regions(pipeline):
    await subscribe_to_all(pipeline)
    await tell(pipeline, result("rc_1", course="Newcastle"), result("rc_2", course="Newcastle", region="AUS"))
    lost = {"event": "meeting.abandoned", "meeting": {"course": "Newcastle", "date": DAY}, "reason": "frost"}
    await tell(pipeline, lost)
    live = [text for text in pipeline.texts("CGB") if text.startswith("Newcastle (")]
    assert len(live) == 2
    assert all("ABANDONED" in text for text in live)


async def test_live_message_without_its_row_is_edited(pipeline):
    """An earlier version of the bot, running beside this version, made the message."""
    await subscribe(pipeline)
    await tell(pipeline, result("rc_1"))
    await pipeline.database.write(lambda session: session.execute(delete(LiveMeetingRow)))
    await tell(pipeline, result("rc_2", off_time="15:00"))
    assert "2 run" in pipeline.texts("CGB")[0]
