"""Rows that can't be read, or that the database refuses: they hold up one channel or one delivery at most, loudly."""

import pytest
from sqlalchemy import update
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlmodel import col
from structlog.testing import capture_logs

from bot.db.tables import ChannelSubscriptionRow, EventVersion, MutedMeetingRow
from bot.errors import StorageUnavailable
from bot.outbox.ledger import LedgerOutcome
from tests.clock import DAY
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell
from tests.integration.pipeline.steps import traced
from tests.integration.pipeline.stories import Story, play, so_far, subscribes
from tests.notice_levels import WARNING


def refusing(reason, kind=OperationalError):
    def refuse(*_args, **_values):
        raise kind("SELECT", {}, Exception(reason))

    return refuse


def spoils_filter(stored):
    """Of CGB."""

    async def do(pipeline):
        of_cgb = col(ChannelSubscriptionRow.channel_id) == "CGB"
        statement = update(ChannelSubscriptionRow).where(of_cgb).values(filter=stored)
        await pipeline.database.write(lambda session: session.execute(statement))

    return do


async def waits_for_the_poster(pipeline):
    await pipeline.deliver(abandonment())
    await pipeline.fanout.run_once()


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
async def test_stored_event_that_cant_be_read_keeps_none_that_comes_after_it(pipeline, next_one):
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, meeting("rc_1"))
    await pipeline.database.write(lambda session: session.execute(update(EventVersion).values(data="{")))
    assert await pipeline.waiting() == {}
    await tell(pipeline, next_one)
    assert await pipeline.waiting() == {}
    (line,) = (await traced(pipeline, "inbox-2")).versions[-1].told
    assert line.outcome in {LedgerOutcome.SENT, LedgerOutcome.FOLDED}


async def test_delivery_that_is_refused_alone_is_tried_ever_more_seldom_and_logged_once_an_hour(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr("bot.outbox.message_store.insert", refusing("too many values"))
        waits = [await pipeline.fanout.turn() for _ in range(10)]
        assert [entry["event"] for entry in logged].count("fanout_waits") == 1
        pipeline.clock.forward(3_601)
        await pipeline.fanout.turn()
        assert [entry["event"] for entry in logged].count("fanout_waits") == 2
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert pipeline.fanout.problem
    assert await pipeline.fanout.turn() <= 1
    assert pipeline.fanout.problem is None
    await pipeline.post_all()
    await so_far(CGB=[""])(pipeline)


@pytest.mark.parametrize("refusals", range(1, 8))
async def test_database_that_comes_back_in_the_middle_puts_no_delivery_behind_a_later_one(
    pipeline, monkeypatch, refusals
):
    await pipeline.subscribe("CGB", "GB")
    for second, placings in enumerate((("Blue Moon", "Red Sky"), ("Red Sky", "Blue Moon"))):
        await pipeline.deliver(result(placings=placings) | {"occurred_at": f"{DAY}T14:35:0{second}Z"})
        pipeline.clock.forward(0.001)
    left = iter(range(refusals))
    write = pipeline.database.write

    async def refuse_at_first(work):
        if next(left, None) is not None:
            raise StorageUnavailable("the server closed the connection unexpectedly")
        return await write(work)

    monkeypatch.setattr(pipeline.database, "write", refuse_at_first)
    waits = [await pipeline.fanout.turn() for _ in range(refusals + 1)]
    assert max(waits) <= 1
    await pipeline.post_all()
    await so_far(CGB=["^Superseded", "^CORRECTION:"])(pipeline)


@pytest.mark.parametrize("damaged", [["put"], ["find", "learn"]])
async def test_damaged_race_book_holds_up_no_alert(pipeline, monkeypatch, damaged):
    for name in damaged:
        malformed = refusing("database disk image is malformed", DatabaseError)
        monkeypatch.setattr(f"bot.racedata.race_book_store.{name}", malformed)
    with capture_logs():
        bare = {"event": "race.abandoned", "race_id": "rc_9"}
        await play(pipeline, Story(abandonment(), bare, meeting(), CGB=["^ABANDONED"] * 3))
