"""Deliveries in fan-out: the order, repeats after a failure, and faults of our own that cost no channel a message."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, col

from bot.db.tables import EventVersion, OutboxMessage
from bot.deliveries import inbox
from bot.errors import StorageUnavailable
from sandbox.slack import failures
from tests.databases import first_on_both, on_both, on_postgresql
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import abandonment, card, fan_out, meeting, result
from tests.integration.pipeline.stories import Story, goes_on, passes, play, rows, so_far
from tests.said import URGENT

MORE_THAN_A_STATEMENT_TAKES = 2**16
"""PostgreSQL's protocol counts values in 16 bits."""

NEWER = result(placings=("Red Sky", "Blue Moon"))
BALLOON = "stewards.weather_balloon.sighted"


async def fails_once(pipeline):
    """The newest delivery, before fan-out has seen the delivery."""
    waiting = await pipeline.database.read(lambda session: inbox.waiting(session, pipeline.clock(), 9))
    await pipeline.database.write(lambda session: inbox.mark_failed(session, waiting[-1], pipeline.clock(), "once"))


def waits_unread(payload):
    async def do(pipeline):
        await pipeline.deliver(payload)
        await fails_once(pipeline)

    return do


an_hour_passes = passes(3_600)
STORIES = {
    "unreadable": Story(
        b"[]",
        CGB=[],
        CALL=["could not be read"],
        CADMIN=[f"^{URGENT}A signed delivery could not be read: The JSON is not one object. It | inbox-1"],
    ),
    "unreadable, and no channel takes all regions": Story(
        b"not json", CGB=[], CADMIN=[f"^{URGENT}A signed delivery could not be read | no channel is told"]
    ),
    **{
        f"result of the region {region}": Story(
            *(result(number, region=region, course="Nowhere") for number in ("rc_1", "rc_2")),
            CGB=[],
            CADMIN=[f"A delivery (results) of {said} went to no channel"],
        )
        for region, said in ((None, "an unknown region"), ("Narnia", 'the unlisted region "Narnia"'))
    },
    "result of an unknown region where all are taken": Story(
        result(region=None, course="Nowhere"), CGB=[], CALL=["^Result"], CADMIN=[]
    ),
    "events of an unknown name": Story(
        *({"event": BALLOON, "race_id": f"rc_{number}"} for number in range(3)),
        CGB=[],
        CALL=["could not be read"] * 3,
        CADMIN=["inbox-1"],
    ),
    "from a clock that is behind": Story(
        *(result(), goes_on(-30), NEWER, passes(30)),
        CGB=["1 Blue Moon", "1 Red Sky | Two versions disagree"],
    ),
    # Of two crossing attempts the newer may have come first: silence could leave the wrong winner.
    "received before, read after": Story(
        waits_unread(result()), NEWER, an_hour_passes, CGB=["1 Red Sky", "1 Blue Moon | Two versions disagree"]
    ),
    "meeting that names far too many races": Story(
        meeting() | {"races": [str(1000 + number) for number in range(MORE_THAN_A_STATEMENT_TAKES)]},
        CGB=["^ABANDONED: Ascot, whole meeting"],
    ),
}


@rows(STORIES)
async def test_delivery(pipeline, story):
    await play(pipeline, story)


async def test_event_goes_to_its_region_and_all_once(pipeline):
    for channel, region in (("CGB", "GB"), ("CIRE", "IRE"), ("CALL", "*"), ("CALL", "GB")):
        await pipeline.subscribe(channel, region)
    at_once = await asyncio.gather(pipeline.deliver(result()), pipeline.deliver(result()))
    assert sorted(at_once) == [False, True]
    payloads = (result(), result() | {"attempt": 2}, result("rc_fr", region="FR"))
    assert [await pipeline.deliver(payload) for payload in payloads] == [False, True, True]
    await pipeline.post_all()
    await so_far(CGB=[""], CALL=["", ""], CIRE=[], waiting={})(pipeline)
    assert await pipeline.deliver(result("rc_fr", region="FR")) is False


NO_ID = {"race_id": None}
OTHER = result("rc_8")
TOLD = ["^Contradicted", "^ABANDONED | CONFLICT", "^Result"]
OVERTAKING = {
    "abandonment": Story((OTHER, result(), abandonment()), CGB=TOLD),
    "abandonment of a race without an id": Story(
        (result("rc_8", off_time="15:00"), result(**NO_ID), abandonment(**NO_ID)), CGB=TOLD
    ),
    "meeting that names the race": Story((OTHER, result(), meeting("rc_1")), CGB=["+rc_1", "^ABANDONED", "+rc_8"]),
    "meeting that names no race": Story(
        (result("rc_8", course="York"), result(), meeting()), CGB=["Ascot", "^ABANDONED", "York"]
    ),
    "void race": Story((OTHER, result(placings=(), status="void")), CGB=["^VOID", "^Result"]),
    "race that its card marks": Story((OTHER, card("Ascot", status="abandoned")), CGB=["^ABANDONED", "^Result"]),
}


@rows(OVERTAKING)
async def test_loss_overtakes_what_waits_but_no_earlier_news_of_its_race(pipeline, story):
    await play(pipeline, story)


BEFORE_A_LOSS = {
    "another race": (OTHER, [1, 1]),
    "its own race": (result(), [2]),
    "more races than a transaction takes": ([result(f"rc_{number}") for number in range(2, 28)], [1, 26]),
}


@pytest.mark.parametrize("is_fresh", [True, False], ids=["handed over", "from the inbox"])
@pytest.mark.parametrize(("earlier", "done"), BEFORE_A_LOSS.values(), ids=BEFORE_A_LOSS)
async def test_loss_has_a_transaction_before_other_news_of_its_batch(gb, monkeypatch, earlier, done, is_fresh):
    """Else an abandonment would wait until another event is stored for a thousand channels."""
    if is_fresh:
        monkeypatch.setattr("bot.fanout.fanout.POLL_S", 60)
        await gb.fanout.run_once()
    for payload in (earlier, abandonment()):
        await gb.deliver(payload)
        gb.clock.forward(0.001)
    found, first = list[int](), await gb.fanout.run_once()
    keys = select(col(OutboxMessage.idempotency_key)).where(col(OutboxMessage.idempotency_key).contains("abandoned"))
    assert await gb.database.read(lambda session: len(session.execute(keys).all())) == 1
    while first or not found:
        found.append(first)
        first = await gb.fanout.run_once()
    assert found == done


LONG_BACKLOG = [result(f"rc_{number}", off_time=f"14:{number:02}") for number in range(30)]


@pytest.mark.parametrize(
    "last",
    [meeting("rc_29", "rc_90"), [abandonment("rc_90", off_time="15:00"), abandonment("rc_29", off_time="14:29")]],
    ids=["meeting", "second of a delivery"],
)
async def test_abandonment_overtakes_no_result_of_its_races_in_a_long_backlog(gb, last):
    for payload in (*LONG_BACKLOG, last):
        await gb.deliver(payload)
        gb.clock.forward(0.001)
    while await gb.fanout.run_once():
        continue
    order = select(col(OutboxMessage.idempotency_key)).order_by(col(OutboxMessage.id))
    keys = await gb.database.read(lambda session: list(session.execute(order).scalars()))
    own = [number for number, key in enumerate(keys) if key.startswith("result.received:rc_29#")]
    assert own < [number for number, key in enumerate(keys) if "abandoned" in key and "rc_90" not in key]


CORRECTED = result("rc_29", off_time="14:29", placings=("Red Sky",))
TWO = [result("rc_90", off_time="15:00"), result("rc_29", off_time="14:29", placings=("White Sea",))]
BESIDE = {
    "beside an abandonment": ([], [abandonment("rc_90", off_time="15:00"), CORRECTED]),
    "beside a race of another region": ([], [result("rc_90", region="FR", course="Auteuil"), CORRECTED]),
    "beside an abandonment, behind more than a turn": (
        [result("rc_29", off_time="14:29", placings=(f"Horse {number}",)) for number in range(30)],
        [abandonment("rc_90", off_time="15:00"), CORRECTED],
    ),
    "beside an abandonment, behind another race": ([TWO], [abandonment("rc_91", off_time="15:30"), CORRECTED]),
    "abandonment behind another race": ([TWO], abandonment("rc_29", off_time="14:29")),
    "abandonment behind another race with earlier news": (
        [result("rc_90", off_time="15:00", placings=("White Sea",)), TWO],
        abandonment("rc_29", off_time="14:29"),
    ),
}


@pytest.mark.parametrize(("before", "last"), BESIDE.values(), ids=BESIDE)
async def test_no_event_of_a_delivery_overtakes_earlier_news_of_its_race_in_a_long_backlog(gb, before, last):
    for payload in (*LONG_BACKLOG, *before, last):
        await gb.deliver(payload)
        gb.clock.forward(0.001)
    while await gb.fanout.run_once():
        continue
    delivered = [one for many in (*LONG_BACKLOG, *before, last) for one in (many if isinstance(many, list) else [many])]
    for race_id in ("rc_29", "rc_90"):
        stored = select(col(EventVersion.inbox_id)).where(col(EventVersion.race_id) == race_id)
        order = stored.order_by(col(EventVersion.id))
        numbers = await gb.database.read(lambda session: list(session.execute(order).scalars()))  # noqa: B023
        assert len(numbers) == [one["race"]["race_id"] for one in delivered].count(race_id)
        assert numbers == sorted(numbers)


def disagreements(gb, count):
    """The texts of all races with two versions. Fails for another number of them."""
    texts = [text for text in gb.texts("CGB") if text.startswith("Two versions disagree")]
    assert len(texts) == count
    return texts


@pytest.mark.parametrize(("database", "apart_s"), first_on_both([-1.0, 0.001, 0.0]), indirect=["database"])
async def test_deliveries_that_shared_a_commit_are_told_in_the_order_they_came(gb, apart_s):
    stored = []
    for number in range(6):
        for horses in (("Old", "New"), ("New", "Old")):
            gb.clock.forward(apart_s)
            stored.append(asyncio.create_task(gb.deliver(result(f"rc_{number}", placings=horses))))
            await asyncio.sleep(0)
    await asyncio.gather(*stored)
    await gb.post_all()
    assert all("1 New" in text for text in disagreements(gb, 6))


@on_both
async def test_deliveries_stored_together_are_told_in_their_order(gb):
    """Deliveries of a repair, received at the same moment."""
    versions = [result(f"rc_{number}", placings=horses) for number in range(6) for horses in (("Old",), ("New",))]
    await gb.deliver_all(*versions)
    await gb.post_all()
    assert all("later delivery says 1 New" in text for text in disagreements(gb, 6))


@on_postgresql
@pytest.mark.parametrize("fails", [False, True])
async def test_correction_does_not_overtake_a_result_received_by_a_replica_whose_clock_is_ahead(make_pipeline, fails):
    """Nor where the transaction of several deliveries fails."""
    behind, ahead = make_pipeline(), make_pipeline()
    ahead.clock.forward(5)
    await behind.subscribe("CGB", "GB")
    await behind.fanout.run_once()
    await ahead.deliver(result())
    await behind.deliver(NEWER)
    if fails:
        behind.fanout.transactions.together = None
    assert await behind.fanout.run_once() == 0
    await behind.post_all()
    assert "later delivery says 1 Red Sky" in behind.texts("CGB")[-1]


@on_postgresql
async def test_replica_waits_for_its_turn_and_then_sees_the_contradiction(make_pipeline):
    clock = Moment()
    one, other = make_pipeline(clock=clock), make_pipeline(clock=clock)
    await one.subscribe("CGB", "GB")
    await one.deliver(result())
    read = await one.database.read(lambda session: one.fanout.reader.waiting(session, one.clock()))
    engine = create_engine(one.database.url)
    with Session(engine) as session:
        assert one.fanout.transactions.together(session, read).deliveries == 1
        clock.forward(1)
        await other.deliver(abandonment())
        assert await other.fanout.run_once() == 0
        session.commit()
    engine.dispose()
    await other.post_all()
    assert ["before you act" in text for text in one.texts("CGB")] == [False, True]


@on_both
async def test_delivery_that_failed_waits_for_no_clock_that_was_set_back_and_may_fail_for_weeks(pipeline):
    at = pipeline.clock()
    await pipeline.deliver(abandonment("rc_0"))
    await fails_once(pipeline)

    def due(session):
        return [hours for hours in (0, 1, -0.1, -2) if inbox.waiting(session, at + timedelta(hours=hours), 1)]

    assert await pipeline.database.read(due) == [1, -2]
    # A raised failure would roll back the other deliveries of the transaction.
    (failed,) = await pipeline.database.read(lambda session: inbox.waiting(session, at + timedelta(hours=1), 1))
    for_weeks = replace(failed, attempts=5_000)
    await pipeline.database.write(lambda session: inbox.mark_failed(session, for_weeks, pipeline.clock(), "again"))
    assert await pipeline.database.read(inbox.count_waiting) == 1


async def test_delivery_that_failed_is_tried_again_while_others_keep_coming(gb):
    await gb.deliver(abandonment("rc_0"))
    await fails_once(gb)
    await gb.fanout.run_once()
    for number in range(1, 4):
        gb.clock.forward(120)
        await asyncio.sleep(1)
        await fan_out(gb, result(f"rc_{number}"))
    assert await gb.database.read(inbox.count_waiting) == 0


async def test_storage_that_fails_is_no_reason_to_give_up_reading(gb, monkeypatch):
    """However often the database fails, a readable abandonment goes to the channels of its region."""
    await gb.subscribe("CIRE", "IRE")
    await gb.deliver(abandonment())

    def full(*_):
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr("bot.outbox.message_store.insert", full)
        for _ in range(8):
            with pytest.raises(StorageUnavailable):
                await gb.fanout.run_once()
    await gb.post_all()
    await so_far(CGB=[""], CIRE=[])(gb)


async def test_payload_on_which_our_code_fails_still_reaches_its_channels(gb, monkeypatch):
    await gb.subscribe("CIRE", "IRE")
    await gb.deliver(abandonment())

    def fail(_body):
        raise ZeroDivisionError

    monkeypatch.setattr(gb.fanout.reader, "_read_events", fail)
    for _ in range(8):
        await gb.fanout.run_once()
        gb.clock.forward(3_600)
    await gb.post_all()
    # The region could not be read: everybody who takes abandonments is told.
    await so_far(CGB=["^ABANDONED"], CIRE=["^ABANDONED"])(gb)


async def test_abandonment_waits_for_its_own_races_result_that_is_being_sent(gb):
    gb.slack.script("chat.postMessage", [replace(failures.rate_limited(3), delay_before_s=0.5)])
    await fan_out(gb, result())
    await gb.poster.start_due()
    await fan_out(gb, abandonment())
    await gb.poster.finish()
    await an_hour_passes(gb)
    await so_far(CGB=["Result: Ascot", "^ABANDONED: Ascot"])(gb)


async def test_notice_that_slack_refuses_makes_no_further_notice(pipeline):
    pipeline.slack.script("chat.postMessage", [], then_always=failures.slack_error("never_heard_of_it"))
    await pipeline.deliver(b"not json")
    for _ in range(6):
        await an_hour_passes(pipeline)
    assert await pipeline.waiting() == {"dead_letter": 1}


async def test_post_that_is_claimed_while_the_poster_is_told_to_stop_is_sent(gb):
    await fan_out(gb, result())
    running = asyncio.create_task(gb.poster.run())
    await asyncio.sleep(0)
    gb.poster.stop()
    await running
    await gb.poster.finish()
    waiting = await gb.waiting()
    assert waiting.get("sending", 0) == 0
    assert len(gb.texts("CGB")) + waiting.get("queued", 0) == 1
