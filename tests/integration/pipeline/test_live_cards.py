"""Live messages by the races of the day's card, by off times, over replicas, and where rows or our code fail."""

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

from bot.channels import subscriptions
from bot.channels.conditions.choices import MEETINGS
from bot.db.engine import database_now
from bot.db.tables import LiveMeetingRow, MessageKind, OutboxMessage
from bot.events.event import Topic
from bot.operations.jobs.routine_jobs import follow_off_times
from bot.outbox import channel_move, channel_queues, pace
from bot.outbox.message import Call
from bot.racedata.race_book import RaceBook
from sandbox.slack import failures
from tests.clock import DAY, now, set_ahead
from tests.databases import on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import (
    abandonment,
    close,
    edits,
    expire,
    fan_out,
    pause,
    result,
    run_job,
    tell,
    tell_two_in_ireland,
    wait,
)
from tests.integration.pipeline.stories import passes, so_far, subscribes, unsubscribes
from tests.integration.pipeline.test_unchecked import check, service_is_back
from tests.said import without_level
from tests.unit.pages import settings
from tests.unit.racedata.conftest import FakeClient, FakeQuota

LIVE = subscribes("CGB", "GB", *Topic, show=(MEETINGS,))
AT_1505 = result("rc_2", off_time="15:05")
NOT_WHOLE = "I have not read the whole card"
TWO_DAYS_S = 2 * 86_400.0


@pytest.fixture
async def live(pipeline):
    """A channel with live messages."""
    await LIVE(pipeline)
    return pipeline


async def kinds(pipeline, channel="CGB"):
    def read(session):
        found = session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        return [(str(post.kind), post.state) for post in found if post.channel_id == channel]

    return await pipeline.database.read(read)


def seven_races(course="Ascot", race_id="rc_{}"):
    return [
        {"race_id": race_id.format(number), "course": course, "date": DAY, "region": "GB"} for number in range(1, 8)
    ]


async def read_card(pipeline, races, region="GB", **paths):
    client: Any = FakeClient(races=races, page_size=100, answers={f"days/{DAY}": {"races": races}})
    quota: Any = FakeQuota(client)
    book = RaceBook(pipeline.database, client, pipeline.clock, quota, settings(**paths))
    await book.card(region, date.fromisoformat(DAY))
    await pipeline.post_all()
    return book


async def test_message_counts_the_races_of_the_card_once_the_whole_card_was_read(live):
    await tell(live, result())
    await so_far(CGB=[f"+{NOT_WHOLE}", "~1"])(live)
    await read_card(live, seven_races())
    await tell(live, AT_1505)
    await so_far(CGB=[f"2 of 7 races run | !{NOT_WHOLE}", "~1", "~1"])(live)


@pytest.mark.parametrize(
    ("region", "paths"),
    [
        ("GB", {}),
        ("GB", {"racing_day_path": "days/{date}"}),
        (None, {"racing_day_path": "days/{date}"}),
        (None, {}),
    ],
)
async def test_whole_card_that_teaches_no_race_is_one_edit_of_each_live_message(live, paths, region):
    ascot, york = seven_races(), seven_races("York", "rc_y{}")
    for course, races in (("Ascot", ascot), ("York", york)):
        place = {"course": course, "date": DAY, "region": "GB"}
        await tell(live, {"event": "racecard.published", "meeting": place, "races": races})
    before = len(edits(live.slack))
    book = await read_card(live, [*ascot, *york], region, **paths)
    # Stale: the next card is read anew, and meanwhile the day stays whole.
    live.clock.forward(1_000)
    await book.card(region, date.fromisoformat(DAY))
    await live.post_all()
    lives = [message for message in live.slack.messages("CGB") if not message.thread_ts]
    assert [message.text.split(": ")[1] for message in lives] == ["0 of 7 races run"] * 2
    assert NOT_WHOLE not in str([message.blocks for message in lives])
    assert len(edits(live.slack)) == before + 2


async def test_abandonments_of_a_card_outlive_a_list_that_still_says_declared(live):
    place = {"course": "Ascot", "date": DAY, "region": "GB"}
    lost = [race | {"status": "postponed", "abandoned": True} for race in seven_races()]
    await tell(live, {"event": "racecard.published", "meeting": place, "races": lost})
    await so_far(CGB=["", "7 ABANDONED"])(live)
    await read_card(live, [race | {"status": "declared"} for race in seven_races()])
    await so_far(CGB=["", "7 ABANDONED"])(live)


@on_both
async def test_two_replicas_make_one_live_message(make_pipeline):
    clock = Moment()
    one, other = make_pipeline(clock=clock), make_pipeline(clock=clock)
    await LIVE(one)
    for number in range(10):
        await one.deliver(result(f"rc_{number}", off_time=f"13:1{number}"))
    await asyncio.gather(one.post_all(), other.post_all())
    await passes(60)(one)
    await asyncio.gather(one.post_all(), other.post_all())
    await so_far(CGB=["10 run so far", *["~1"] * 10])(one)


@pytest.mark.parametrize(("days_ahead", "state"), [(0, "dead_letter"), (2, "queued")])
async def test_live_message_of_a_closed_channel_is_dropped_once_the_day_has_gone_by(live, days_ahead, state):
    await close(live)
    day = (live.clock() + timedelta(days=days_ahead)).date().isoformat()
    await tell(live, {"event": "racecard.published", "race": result(date=day, placings=())["race"]})
    live.clock.forward(TWO_DAYS_S)
    await expire(live)
    assert await kinds(live) == [("live", state), ("event", "queued")]


async def test_moved_channel_keeps_its_live_message(live):
    await tell(live, result())
    await live.database.write(lambda session: channel_move.move_channel(session, "CGB", "CNEW"))
    await fan_out(live, AT_1505)
    assert [state for _, state in await kinds(live, "CNEW")] == ["sent", "sent", "queued"]
    assert await live.waiting() == {"queued": 2}


async def test_missed_results_are_in_the_thread(pipeline):
    await subscribes("CGB", "gb", *Topic, show=(MEETINGS,), unchecked_since=pipeline.clock())(pipeline)
    pipeline.clock.forward(1)
    lost = abandonment("rc_2", off_time="15:05")
    await tell(pipeline, result(), result(going="Soft"), lost, result("rc_3", off_time="15:40"))
    assert not [message for message in pipeline.slack.messages("CGB") if message.thread_ts]
    await service_is_back(pipeline)
    await check(pipeline)
    messages = pipeline.slack.messages("CGB")
    first = {message.ts: message.text for message in messages}
    flat = [without_level(message.text).split(":")[0].split(",")[0] for message in messages if not message.thread_ts]
    assert sorted(text.split(" ")[0] for text in flat) == ["ABANDONED", "Ascot", "This"]
    replies = [message for message in messages if message.thread_ts]
    assert [message.text.split(" (")[0] for message in replies] == ["Result: Ascot 14:30", "Result: Ascot 15:40"]
    assert {first[message.thread_ts].split(" ")[0] for message in replies} == {"Ascot"}


async def test_live_message_is_edited_where_our_code_fails_on_a_delivery(live, monkeypatch):
    await tell(live, result())
    read = live.fanout.reader._read_events

    def fail_on_one(body):
        if b"rc_bad" in body:
            raise ZeroDivisionError
        return read(body)

    monkeypatch.setattr(live.fanout.reader, "_read_events", fail_on_one)
    await fan_out(live, *map(result, ("rc_2", "rc_bad", "rc_3")))
    assert [kind for kind, _ in await kinds(live)][-2:] == ["event", "event"]
    assert await live.waiting() == {"queued": 3}


async def test_error_in_a_live_message_holds_up_no_result(live, monkeypatch):
    await tell(live, result())

    def fail(*_args):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("bot.fanout.drafts.LiveMessages._edited", fail)
        await tell(live, AT_1505)
    await so_far(CGB=["", "~1", "~1"])(live)


async def test_edit_waits_for_a_live_message_whose_call_is_held(live):
    await fan_out(live, result())
    live.slack.script("chat.postMessage", [replace(failures.rate_limited(30), delay_before_s=0.5)])
    await live.poster.start_due()
    await fan_out(live, AT_1505)
    await live.poster.finish()
    assert await kinds(live) == [(kind, "queued") for kind in ("live", "event", "event")]
    await passes(31)(live)
    await tell(live, result("rc_3", off_time="15:40"))
    await so_far(CGB=["3 run so far", "~1", "~1", "~1"], waiting={})(live)


async def test_abandonment_passes_an_edit_that_a_dead_process_left_while_edits_are_held(live):
    await tell(live, result())
    await fan_out(live, result(going="Soft"))

    def die_while_editing(session):
        at = database_now(session, live.clock)
        (claim,) = channel_queues.claim(session, at, token=token_hex(8), limit=1, allowed={})
        assert claim.call is Call.EDIT
        pace.hold_call(session, Call.EDIT, at + timedelta(minutes=5), "ratelimited")

    await live.database.write(die_while_editing)
    await wait(live, 10)
    await tell(live, abandonment("rc_2", off_time="15:05"))
    await so_far(CGB=["!ABANDONED", "~1", "^ABANDONED: Ascot 15:05"])(live)
    await passes(301)(live)
    await so_far(CGB=["1 ABANDONED", "~1", ""], waiting={})(live)


def card(pipeline, *minutes):
    """A racecard whose off times have offsets, so many minutes from now."""
    at = [(pipeline.clock() + timedelta(minutes=of)).isoformat() for of in minutes]
    races = [{"race_id": f"rc_{number}", "off_time": off} for number, off in enumerate(at, start=1)]
    place = {"course": "Ascot", "date": DAY, "region": "GB"}
    return {"event": "racecard.published", "meeting": place, "races": races}


async def off_times_pass(pipeline, minutes, *replicas):
    """Time passes, and the job runs, on each replica at once."""
    pipeline.clock.forward(60 * minutes)
    await set_ahead(pipeline.database, pipeline.clock() - now())
    jobs = [(follow_off_times(one.database, one.clock, asyncio.Event()), one.database) for one in (pipeline, *replicas)]
    counts = await asyncio.gather(*(run_job(*job) for job in jobs))
    await pipeline.post_all()
    return sum(counts)


async def test_off_time_gone_by_is_an_edit_without_an_event(live):
    def said():
        (message,) = [one for one in live.slack.messages("CGB") if one.text.startswith("Ascot (GB)")]
        return re.findall("off next|no result yet|to come", str(message.blocks))

    await tell(live, card(live, 5, 40, 75))
    assert said() == ["off next", "to come", "to come"]
    assert await off_times_pass(live, 1) == 0
    assert await off_times_pass(live, 10) == 1
    assert said() == ["no result yet", "off next", "to come"]
    assert await off_times_pass(live, 1) == 0
    assert await off_times_pass(live, 180) == 1
    assert said() == ["no result yet"] * 3
    assert await off_times_pass(live, 180) == 0
    assert len(edits(live.slack)) == 2


@on_both
async def test_off_time_is_an_edit_over_replicas_and_no_edit_in_an_unsubscribed_channel(make_pipeline):
    clock = Moment()
    one, other = make_pipeline(clock=clock), make_pipeline(clock=clock)
    await LIVE(one)
    await tell(one, card(one, 5, 40, 75))
    assert await off_times_pass(one, 10, other) == 1
    assert len(edits(one.slack)) == 1
    await one.database.write(lambda session: subscriptions.remove(session, "CGB"))
    await off_times_pass(one, 35)
    assert len(edits(one.slack)) == 1


async def test_number_of_a_deleted_live_message_is_no_live_message(live):
    """SQLite gives the number to the next message."""
    await pause(live)
    await tell(live, abandonment())
    await unsubscribes(live)
    await LIVE(live)
    await tell(live, abandonment("rc_9", course="York", reason="flood"), AT_1505)
    await so_far(CGB=["^ABANDONED: York", "^York", "^Ascot", "~3"])(live)


async def test_abandonment_at_a_course_with_an_endless_name_is_told(live):
    """An index of PostgreSQL takes no text of 9,000 bytes. Random, because PostgreSQL compresses."""
    name = "".join(map(chr, Random(1).sample(range(0x4E00, 0x9FFF), 3_000)))
    await subscribes("CALL", "*", *Topic)(live)
    await tell(live, abandonment(course=name), AT_1505)
    await so_far(CALL=["", ""])(live)


async def test_live_message_that_can_not_be_read_holds_no_other_message(live):
    await subscribes("CIRE")(live)
    await fan_out(live, result())
    broken = update(OutboxMessage).where(col(OutboxMessage.kind) == MessageKind.LIVE).values(content="{broken")
    await live.database.write(lambda session: session.execute(broken))
    await tell_two_in_ireland(live)
    assert len(live.texts("CIRE")) == 2
    assert live.texts("CGB")[0].startswith("Ascot (GB)")


async def test_live_message_without_its_row_is_edited(live):
    """An earlier version of the bot, running beside this version, made the message."""
    await tell(live, result())
    await live.database.write(lambda session: session.execute(delete(LiveMeetingRow)))
    await tell(live, AT_1505)
    await so_far(CGB=["2 run", "~1", "~1"])(live)
