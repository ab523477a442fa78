"""Accepted deliveries told to nobody: whatever the cause, `problem` has the reason, and admins are told once."""

import asyncio

import pytest
from sqlalchemy import update
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlmodel import col

from bot.db.tables import ChannelSubscriptionRow, EventVersion, MutedMeetingRow
from bot.errors import StorageUnavailable
from bot.fanout.standstill import Standstill
from bot.outbox.ledger import LedgerOutcome
from sandbox.slack import failures
from tests.answering import failing
from tests.clock import DAY
from tests.integration.pipeline.steps import abandonment, fan_out, meeting, result, step, tell, traced
from tests.integration.pipeline.stories import Story, passes, play, so_far, subscribes
from tests.logged import capture_logs
from tests.said import URGENT, WARNING

LONG_S = 61
INBOX = "bot.deliveries.inbox.waiting"


@pytest.fixture
def standstill(pipeline):
    return Standstill(
        pipeline.database,
        pipeline.notices,
        fanout=pipeline.fanout,
        poster=pipeline.poster,
        monotonic=lambda: pipeline.clock().timestamp(),
    )


def database_fault(*_args, **_values):
    raise OperationalError("SELECT", {}, Exception("unable to open database file"))


def own_fault(*_args, **_values):
    raise ZeroDivisionError


async def turn(pipeline, standstill):
    """A turn of each loop and a look, in the order of the running service."""
    await pipeline.fanout.turn()
    await step(pipeline)
    pipeline.poster.good_turns += 1
    await standstill.look()


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("bot.channels.subscriptions.listening", database_fault),
        (INBOX, database_fault),
        (INBOX, own_fault),
        ("bot.fanout.transaction.KnownMeetings", own_fault),
    ],
)
async def test_delivery_untold_for_a_minute_is_a_problem_for_admins(gb, standstill, monkeypatch, place, fault):
    await turn(gb, standstill)
    await gb.deliver(abandonment())
    with monkeypatch.context() as patched:
        patched.setattr(place, fault)
        await turn(gb, standstill)
        gb.clock.forward(59)
        await turn(gb, standstill)
        assert standstill.problem is None
        for seconds in (2, LONG_S, 3_600):
            gb.clock.forward(seconds)
            await turn(gb, standstill)
            await turn(gb, standstill)
            assert standstill.problem
    (told,) = gb.texts("CADMIN")
    assert told.startswith(URGENT)
    await passes(600)(gb)
    await turn(gb, standstill)
    assert standstill.problem is None
    assert [text[:9] for text in gb.texts("CGB")] == ["ABANDONED"]


async def test_nothing_stands_still_where_nothing_waits_and_while_deliveries_go_through(gb, standstill):
    for number in range(4):
        await turn(gb, standstill)
        gb.clock.forward(LONG_S)
        await gb.deliver(result(f"rc_{number}"))
        await turn(gb, standstill)
        assert standstill.problem is None
    assert gb.texts("CADMIN") == []


refuse_at_once = failing(StorageUnavailable("no such savepoint"))


async def fail(_work):
    raise ZeroDivisionError


async def never_answer(_work):
    await asyncio.Event().wait()


@pytest.fixture
def stand_still(pipeline, standstill, monkeypatch):
    """A minute passes: fan-out gets nothing done, and the database queues nothing."""

    async def make(refuse=refuse_at_once, *, looks=1):
        with monkeypatch.context() as patched:
            patched.setattr(INBOX, own_fault)
            patched.setattr(pipeline.database, "write", refuse)
            for _ in range(2):
                await pipeline.fanout.turn()
                pipeline.poster.good_turns += 1
                await standstill.look()
                pipeline.clock.forward(LONG_S)
            for number in range(looks):
                await standstill.look()
                pipeline.clock.forward(LONG_S if number else 0)
        return pipeline.texts("CADMIN")

    return make


@pytest.mark.parametrize("refuse", [refuse_at_once, fail, never_answer])
async def test_admins_hear_of_it_once_and_past_the_queue_where_that_takes_nothing(stand_still, refuse):
    (told,) = await stand_still(refuse, looks=4)
    assert told.startswith(
        f"{URGENT}Deliveries are taken and none is posted: fan-out gets nothing done (our own ZeroDivision"
    )


async def test_poster_that_gets_nothing_done_is_told_past_the_queue(pipeline, standstill):
    for _ in range(2):
        await pipeline.fanout.turn()
        pipeline.poster.problem = "OperationalError: database is locked"
        await standstill.look()
        pipeline.clock.forward(LONG_S)
    await pipeline.fanout.turn()
    await standstill.look()
    (told,) = pipeline.texts("CADMIN")
    assert "the poster gets nothing done (OperationalError: database is locked)" in told


async def test_admins_hear_of_it_directly_where_their_channel_is_closed_too(pipeline, stand_still):
    pipeline.slack.add_user("UADMIN", "admin")
    pipeline.slack.channels["CADMIN"].is_archived = True
    pipeline.notices.admin_users = ("UADMIN",)
    await stand_still()
    assert len(pipeline.texts(pipeline.slack.direct_message("UADMIN").id)) == 1


async def test_standstill_is_tried_again_a_minute_after_slack_refused_it(pipeline, stand_still):
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(30)] * 2)
    assert await stand_still() == []
    assert len(await stand_still(looks=4)) == 1


async def test_standstills_that_come_and_go_are_told_directly_once_an_hour(pipeline, standstill, stand_still):
    await stand_still()
    assert standstill.problem
    await turn(pipeline, standstill)
    assert len(await stand_still()) == 1


async def test_post_that_slack_does_not_take_for_a_minute_is_named_until_it_does(gb, standstill):
    await gb.deliver(result())
    gb.slack.script("chat.postMessage", [failures.rate_limited(1)])
    await turn(gb, standstill)
    assert (standstill.problem, standstill.not_taken) == (None, None)
    gb.clock.forward(LONG_S)
    await standstill.look()
    assert standstill.not_taken == (
        "result.received:rc_1#1@CGB is tried for more than a minute (chat.postMessage: ratelimited)"
    )
    assert gb.texts("CADMIN") == []
    await gb.post_all()
    await standstill.look()
    assert standstill.not_taken is None


async def test_database_that_can_not_be_read_is_told_directly(pipeline, stand_still, monkeypatch):
    monkeypatch.setattr(pipeline.database, "read_for_alerts", refuse_at_once)
    (told,) = await stand_still()
    assert told.startswith(
        f"{URGENT}The database can't be read, so nothing is posted and new deliveries may be refused: fan-out "
    )


# An unreadable row holds up a single channel or delivery at most, loudly


def refusing(reason, kind=OperationalError):
    def refuse(*_args, **_values):
        raise kind("SELECT", {}, Exception(reason))

    return refuse


def spoils_filter(stored):
    """Spoils the filter of CGB."""

    async def do(pipeline):
        of_cgb = col(ChannelSubscriptionRow.channel_id) == "CGB"
        statement = update(ChannelSubscriptionRow).where(of_cgb).values(filter=stored)
        await pipeline.database.write(lambda session: session.execute(statement))

    return do


async def waits_for_the_poster(pipeline):
    await fan_out(pipeline, abandonment())


async def spoils_a_mute(pipeline):
    row = MutedMeetingRow(channel_id="CIRE", meeting="{", muted_by="UALICE", muted_at=pipeline.clock())
    await pipeline.database.write(lambda session: session.add(row))


STORIES = {
    f"filter {stored}": Story(
        subscribes("CALL", mentions=("UALICE",)),
        spoils_filter(stored),
        abandonment(),
        result("rc_2"),
        abandonment("rc_3", region="IRE"),
        CGB=["", ""],
        CALL=["<@UALICE>", "", ""],
        CADMIN=[f"^{WARNING}A stored subscription of channel <#CGB>"],
    )
    for stored in ("{", "[]", '{"region": "GB", "topics": ["never heard of it"]}')
} | {
    "filter, while a message waits": Story(waits_for_the_poster, spoils_filter("{} "), (), CGB=[""], CALL=[""]),
    "mute": Story(spoils_a_mute, result(), CGB=[""]),
}


@pytest.mark.parametrize("name", STORIES)
async def test_row_that_cant_be_read_stops_nobody(pipeline, name):
    with capture_logs():
        await play(pipeline, STORIES[name])


@pytest.mark.parametrize("next_one", [meeting("rc_2", reason="flood"), abandonment("rc_2"), abandonment("rc_1")])
async def test_unreadable_stored_event_holds_up_no_later_event(gb, next_one):
    await tell(gb, meeting("rc_1"))
    await gb.database.write(lambda session: session.execute(update(EventVersion).values(data="{", remarks="{")))
    assert await gb.waiting() == {}
    await tell(gb, next_one)
    assert await gb.waiting() == {}
    (line,) = (await traced(gb, "inbox-2")).versions[-1].told
    assert line.outcome in {LedgerOutcome.SENT, LedgerOutcome.FOLDED}


async def test_delivery_that_is_refused_alone_is_tried_ever_more_seldom_and_logged_once_an_hour(gb, monkeypatch):
    await gb.deliver(result())
    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr("bot.outbox.message_store.insert", refusing("too many values"))
        waits = [await gb.fanout.turn() for _ in range(10)]
        assert [entry["event"] for entry in logged].count("fanout_waits") == 1
        gb.clock.forward(3_601)
        await gb.fanout.turn()
        assert [entry["event"] for entry in logged].count("fanout_waits") == 2
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert gb.fanout.problem
    assert await gb.fanout.turn() <= 1
    assert gb.fanout.problem is None
    await gb.post_all()
    await so_far(CGB=[""])(gb)


@pytest.mark.parametrize("refusals", range(1, 8))
async def test_database_that_comes_back_in_the_middle_puts_no_delivery_behind_a_later_one(gb, monkeypatch, refusals):
    for second, placings in enumerate((("Blue Moon", "Red Sky"), ("Red Sky", "Blue Moon"))):
        await gb.deliver(result(placings=placings) | {"occurred_at": f"{DAY}T14:35:0{second}Z"})
        gb.clock.forward(0.001)
    left = iter(range(refusals))
    write = gb.database.write

    async def refuse_at_first(work):
        if next(left, None) is not None:
            raise StorageUnavailable("the server closed the connection unexpectedly")
        return await write(work)

    monkeypatch.setattr(gb.database, "write", refuse_at_first)
    waits = [await gb.fanout.turn() for _ in range(refusals + 1)]
    assert max(waits) <= 1
    await gb.post_all()
    await so_far(CGB=["^Superseded", "^CORRECTION:"])(gb)


@pytest.mark.parametrize("damaged", [["put"], ["find", "learn"]])
async def test_damaged_race_book_holds_up_no_alert(pipeline, monkeypatch, damaged):
    for name in damaged:
        malformed = refusing("database disk image is malformed", DatabaseError)
        monkeypatch.setattr(f"bot.racedata.race_book_store.{name}", malformed)
    with capture_logs():
        bare = {"event": "race.abandoned", "race_id": "rc_9"}
        await play(pipeline, Story(abandonment(), bare, meeting(), CGB=["^ABANDONED"] * 3))
