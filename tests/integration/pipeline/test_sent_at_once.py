"""Messages claimed in the transaction of their fan-out, and messages that wait."""

import random
import sqlite3
import time
from datetime import timedelta

import pytest
import pytest_asyncio
from sqlalchemy import event, select, update
from sqlmodel import col

from bot.channels import mutes
from bot.channels.conditions.choices import MEETINGS
from bot.channels.filters import Meeting
from bot.db.engine import database_now
from bot.db.tables import ChannelQueue, InboxDelivery
from bot.deliveries import inbox
from bot.errors import StorageUnavailable
from bot.events.event import EventKind, Topic
from bot.events.races import Course, Race
from bot.fanout.plan import Plan
from bot.outbox import pace
from bot.outbox.message import Call
from bot.outbox.pace import Pace
from bot.racedata import race_book_store
from sandbox.slack import failures
from tests.clock import DAY
from tests.databases import limit_values, on_both, on_postgresql
from tests.integration.pipeline.steps import (
    abandonment,
    close,
    fail,
    fan_out,
    kinds,
    meeting,
    pause,
    quiet_now,
    result,
    shown,
    traced,
    wait,
    write,
)
from tests.integration.pipeline.stories import so_far


@pytest_asyncio.fixture
async def running(pipeline):
    """The poster's loop runs, and begins nothing by itself: fan-out claimed every sent message."""
    pipeline.poster.is_running = True
    return pipeline


async def fan_out_and_finish(pipeline, *payloads):
    for payload in payloads:
        await pipeline.deliver(payload)
        pipeline.clock.forward(0.001)
    await pipeline.fanout.run_once()
    await pipeline.poster.finish()


TWO, NEWER = [result("rc_1"), result("rc_2")], result(placings=("Red Sky", "Blue Moon"))


@pytest.mark.parametrize(
    ("turns_of_fanout", "sent", "queued"),
    [([[result()]], 1, 0), ([TWO], 0, 2), ([TWO, [abandonment("rc_3")]], 0, 3)],
    ids=["one", "two", "behind two"],
)
async def test_only_a_single_new_message_of_a_free_channel_is_sent(running, turns_of_fanout, sent, queued):
    await running.subscribe("CGB", "GB")
    for payloads in turns_of_fanout:
        await fan_out_and_finish(running, *payloads)
    assert len(running.texts("CGB")) == sent
    assert await running.waiting() == ({"queued": queued} if queued else {})
    await running.post_all()
    assert ["ABANDONED" in text for text in running.texts("CGB")] == [queued == 3, False, False][: sent + queued]


@pytest.mark.parametrize(("later", "messages", "waiting"), [(NEWER, 2, {"queued": 1}), (result(going="Soft"), 1, {})])
async def test_correction_or_a_lone_edit_is_made_at_once_and_another_edit_follows(running, later, messages, waiting):
    await running.subscribe("CGB", "GB")
    await fan_out_and_finish(running, result())
    await wait(running, 2)
    await fan_out_and_finish(running, later)
    assert (len(running.texts("CGB")), await running.waiting()) == (messages, waiting)
    await running.post_all()
    assert ("Superseded" if waiting else "Soft") in shown(running.slack.messages("CGB")[0])


@on_both
async def test_news_is_not_sent_before_the_message_that_waits_no_longer_for_its_hour(running, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    card = {"event": "racecard.published", "race": result("rc_2")["race"]}
    for channel_id in ("CGB", "CIRE"):
        await running.subscribe(channel_id, "GB", frozenset(Topic), quiet=quiet_now(running))
    for before, later in ((result(), abandonment()), (card, abandonment("rc_2"))):
        told = len(running.texts("CGB"))
        await fan_out_and_finish(running, before)
        await running.post_all()
        await fan_out_and_finish(running, later)
        assert len(running.texts("CGB")) == told
        await running.post_all()
        assert [text.startswith("ABANDONED") for text in running.texts("CGB")[told:]] == [False, True]


async def test_muted_message_beside_a_message_that_is_sent_stays_muted(running):
    await running.subscribe("CGB", "GB", frozenset(Topic))
    ascot = Meeting(meeting_id="mt_1", course=Course(name="Ascot"), race_date=DAY)
    await write(running, mutes.mute, "CGB", ascot, "UALICE", running.clock())
    await fan_out_and_finish(running, result("rc_1", meeting_id="mt_1"), abandonment("rc_2", meeting_id="mt_1"))
    assert kinds(running) == ["ABANDONED"]


@on_both
async def test_paused_and_closed_channels_and_a_held_method_are_not_sent_to(running):
    for channel_id in ("CGB", "CIRE", "CALL"):
        await running.subscribe(channel_id, "GB")
    await pause(running)
    await close(running, "CIRE")
    await fan_out_and_finish(running, result("rc_1"))
    assert [len(running.texts(channel)) for channel in ("CGB", "CIRE", "CALL")] == [0, 0, 1]
    # By the server's clock too.
    await wait(running, 0)
    until = running.clock.now + timedelta(seconds=60)
    await write(running, pace.hold_call, Call.POST, until, "ratelimited")
    await fan_out_and_finish(running, result("rc_2"))
    assert len(running.texts("CALL")) == 1


@on_both
async def test_no_more_is_sent_at_once_than_the_pace_allows(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0.0, workspace_per_minute=0.001, workspace_burst=2))
    pipeline.poster.is_running = True
    for channel_id in ("CGB", "CIRE", "CALL"):
        await pipeline.subscribe(channel_id, "GB")
    await fan_out_and_finish(pipeline, result("rc_1"))
    assert sum(len(pipeline.texts(channel)) for channel in ("CGB", "CIRE", "CALL")) == 2
    assert await pipeline.waiting() == {"queued": 1}


@on_both
async def test_no_more_is_sent_at_once_than_another_replica_has_left(make_pipeline):
    pace = Pace(channel_s=0.0, workspace_per_minute=0.001, workspace_burst=3)
    one = make_pipeline(pace=pace)
    other = make_pipeline(pace=pace, clock=one.clock)
    await one.subscribe("CGB", "GB")
    for number, replica in enumerate((one, other, other, one)):
        replica.poster.is_running = True
        await fan_out_and_finish(replica, result(f"rc_{number}"))
        # The channel is free a moment after the outcome.
        await wait(replica, 1)
    assert len(one.texts("CGB")) == 3
    assert await one.waiting() == {"queued": 1}


async def test_refused_message_that_was_sent_at_once_waits_as_any_other(running):
    await running.subscribe("CGB", "GB")
    fail(running, post=[failures.rate_limited(3)])
    await fan_out_and_finish(running, result())
    assert await running.waiting() == {"queued": 1}


@on_postgresql
async def test_slow_transaction_shortens_no_wait_after_a_message(running, monkeypatch):
    """The system sets PostgreSQL's clock by milliseconds, and not the monotonic clock."""
    slow_s = 0.2
    learn, post, posted_at = race_book_store.learn, running.sender.post, []

    def learn_slowly(*what):
        time.sleep(slow_s)
        return learn(*what)

    async def post_and_note(*what, **how):
        posted_at.append(await running.database.read(lambda session: database_now(session, running.clock)))
        return await post(*what, **how)

    monkeypatch.setattr(race_book_store, "learn", learn_slowly)
    monkeypatch.setattr(running.sender, "post", post_and_note)
    await running.subscribe("CGB", "GB")
    await fan_out_and_finish(running, result())
    free_at = await running.database.read(lambda s: s.execute(select(col(ChannelQueue.next_free_at))).scalar_one())
    assert posted_at
    assert free_at > posted_at[0] - timedelta(seconds=slow_s / 2)


# Transactions of a bounded size, and a delivery that the database refuses


async def test_many_channels_are_posted_to_in_transactions_of_a_bounded_size(pipeline, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.MESSAGES_PER_COMMIT", 6)
    for number in range(4):
        await pipeline.subscribe(f"C{number}", "GB")
    for number in range(5):
        await pipeline.deliver(result(f"rc_{number}"))
    done = []
    while count := await pipeline.fanout.run_once():
        done.append(count)
    assert done == [2, 2, 1]
    assert await pipeline.waiting() == {"queued": 20}


async def test_first_channels_are_posted_to_before_the_messages_of_the_others_are_made(running, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    channels = ("CALL", "CGB", "CIRE")
    for channel_id in channels:
        await running.subscribe(channel_id, "GB")
    await fan_out_and_finish(running, result())
    assert [len(running.texts(channel_id)) for channel_id in channels] == [1, 0, 0]
    # The other channels are told before a later version of the race.
    await wait(running, 2)
    await fan_out_and_finish(running, result(going="Soft"))
    await running.post_all()
    assert all("Soft" in shown(running.slack.messages(channel_id)[0]) for channel_id in channels)
    assert [len(running.texts(channel_id)) for channel_id in channels] == [1, 1, 1]


async def test_live_message_of_another_channel_holds_up_no_first_post(running, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    await running.subscribe("CALL", "GB")
    await running.subscribe("CGB", "GB", frozenset(Topic), show=(MEETINGS,))
    await fan_out_and_finish(running, result())
    assert len(running.texts("CALL")) == 1


async def test_delivery_that_is_done_singly_passes_no_unfinished_delivery(running, monkeypatch):
    def refuse(*_what, **_how):
        raise StorageUnavailable("refused")

    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    for channel_id in ("CALL", "CGB"):
        await running.subscribe(channel_id, "GB")
    with monkeypatch.context() as patched:
        patched.setattr(running.fanout.transactions, "together", refuse)
        with pytest.raises(StorageUnavailable):
            await fan_out(running, result(), abandonment())
    await running.fanout.run_once()
    await running.post_all()
    assert [len(running.slack.messages(channel_id)) for channel_id in ("CALL", "CGB")] == [2, 2]
    assert all("CONFLICT" in running.texts(channel_id)[1] for channel_id in ("CALL", "CGB"))


async def test_other_channels_are_told_of_each_version_in_a_delivery(running, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    for channel_id in ("CALL", "CGB", "CIRE"):
        await running.subscribe(channel_id, "GB")
    await fan_out_and_finish(running, {"events": [result(), NEWER]})
    await running.post_all()
    told = ["Superseded", "^Two versions disagree"]
    await so_far(CALL=told, CGB=told, CIRE=told)(running)


async def test_correction_of_an_event_that_nobody_was_told_of_goes_to_each_channel(running, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    channels = ("CALL", "CGB", "CIRE")
    await fan_out_and_finish(running, result())
    for channel_id in channels:
        await running.subscribe(channel_id, "GB")
    await fan_out_and_finish(running, NEWER)
    await running.post_all()
    assert [len(running.texts(channel_id)) for channel_id in channels] == [1, 1, 1]


RESULT, LOST = "^Result", "^ABANDONED | CONFLICT: reported as run too"
DISAGREE = "^Two versions disagree | !delivered again"


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        ((), [[RESULT], [RESULT], [RESULT]]),
        ((abandonment(),), [["Contradicted", LOST], [LOST], ["^CONFLICT | Blue Moon"]]),
        ((NEWER,), [["Superseded", DISAGREE], [DISAGREE], [DISAGREE]]),
    ],
    ids=["nothing", "abandonment", "correction"],
)
async def test_other_channels_are_told_later_where_our_code_fails_on_one(running, monkeypatch, meanwhile, told):
    def fail_on(_plan, channel_id, *_about):
        assert channel_id == "CALL"

    monkeypatch.setattr("bot.fanout.transaction.FIRST_CHANNELS", 1)
    channels = ("CALL", "CGB", "CIRE")
    for channel_id in channels:
        topics = [Topic.RESULTS] if channel_id == "CIRE" else [Topic.RESULTS, Topic.ABANDONMENTS]
        await running.subscribe(channel_id, "GB", frozenset(topics))
    with monkeypatch.context() as patched:
        patched.setattr(Plan, "_until", fail_on)
        await fan_out_and_finish(running, result())
        await running.fanout.run_once()
    assert [len(running.texts(channel_id)) for channel_id in channels] == [1, 0, 0]
    found = await traced(running)
    assert (found.untold, [one.attempts for one in found.deliveries]) == ((), [1])
    await fan_out_and_finish(running, *meanwhile)
    await wait(running, 2 * inbox.FIRST_BACKOFF_S)
    await running.post_all()
    await so_far(**dict(zip(channels, told, strict=True)))(running)


@pytest.fixture
async def refused_races(database):
    """Races that the database really refuses in a single statement: too many values, or a value too long."""
    if not database.is_sqlite:
        # A row of an index takes 2,704 bytes, and the text can't be compressed.
        yield (Race(race_id=random.Random(1).randbytes(20_000).hex()),)
        return

    def limit_new(connection, _record):
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 400)

    # After a refusal the bot opens the file anew.
    event.listen(database.writer, "connect", limit_new)
    before = await database.write(lambda session: limit_values(session, 400))
    yield tuple(Race(race_id=str(number)) for number in range(401))
    event.remove(database.writer, "connect", limit_new)
    await database.write(lambda session: limit_values(session, before))


@on_both
async def test_delivery_that_the_database_refuses_alone_does_not_hold_up_the_others(gb, refused_races, monkeypatch):
    read = gb.fanout.reader.read

    def with_poison(delivery):
        ((_, event),) = read(delivery)
        is_whole = event.kind is EventKind.MEETING_ABANDONED and event.unreadable_because is None
        return [(delivery, event.model_copy(update={"races": refused_races}) if is_whole else event)]

    monkeypatch.setattr(gb.fanout.reader, "read", with_poison)
    await gb.deliver(meeting())
    gb.clock.forward(0.001)
    await gb.deliver(result("rc_2"))
    with pytest.raises(StorageUnavailable):
        await gb.fanout.run_once()
    await gb.post_all()
    assert len(gb.texts("CGB")) == 1
    attempts = select(col(InboxDelivery.attempts)).order_by(col(InboxDelivery.attempts))
    assert await gb.database.read(lambda session: list(session.execute(attempts).scalars())) == [0, 1]
    # At last the message says no more than whom the message is for.
    retry = update(InboxDelivery).values(not_before=None, attempts=5)
    await gb.database.write(lambda session: session.execute(retry))
    await gb.post_all()
    assert gb.texts("CGB")[1].startswith("ABANDONED: Ascot")
