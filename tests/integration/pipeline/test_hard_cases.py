"""What cost somebody an alert once: each a fault that was found by looking for it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from sqlmodel import col

from bot.db.tables import ChannelQueue, InboxDelivery, OutboxMessage
from bot.deliveries import inbox
from bot.errors import StorageUnavailable
from bot.events.event import Topic
from bot.outbox import claim_outcomes
from bot.racedata import reference_store
from sandbox.slack import failures
from tests.clock import now
from tests.databases import on_both


def result(race_id="rc_1", region="GB", *, placings=("Blue Moon", "Red Sky"), **race):
    race = {"race_id": race_id, "course": "Ascot", "date": "2026-11-20", "off_time": "14:30", "region": region, **race}
    runners = [{"position": place, "horse": horse} for place, horse in enumerate(placings, start=1)]
    return {"event": "result.received", "race": race | ({"runners": runners} if runners else {})}


def abandonment(race_id="rc_1", region: str | None = "GB", **race):
    race = {"race_id": race_id, "course": "Ascot", "date": "2026-11-20", "off_time": "14:30", **race}
    return {"event": "race.abandoned", "race": race | ({"region": region} if region else {})}


async def know_regions(pipeline, *codes):
    await pipeline.database.write(lambda session: reference_store.put_regions(session, codes, pipeline.clock()))


async def free_lanes(pipeline):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    statement = update(ChannelQueue).values(next_free_at=long_ago, leased_until=None, lease_token=None)
    await pipeline.database.write(lambda session: session.execute(statement))


async def test_storage_that_fails_is_no_reason_to_give_up_reading(pipeline, monkeypatch):
    """However often the database fails, an abandonment that can be read goes to the channels of its region."""
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(abandonment())

    def full(*_):
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr("bot.outbox.message_store.insert", full)
        for _ in range(8):
            with pytest.raises(StorageUnavailable):
                await pipeline.fanout.run_once()
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_payload_that_our_code_fails_on_still_reaches_those_it_is_for(pipeline, monkeypatch):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await pipeline.deliver(abandonment())

    def fail(_body):
        raise ZeroDivisionError

    monkeypatch.setattr(pipeline.fanout.reader, "_read_events", fail)
    for _ in range(8):
        await pipeline.fanout.run_once()
        statement = update(InboxDelivery).values(not_before=None)
        await pipeline.database.write(lambda session, one=statement: session.execute(one))
    await pipeline.post_all()
    # Its region could not be read: it goes to everybody who takes abandonments.
    assert [len(pipeline.texts(channel)) for channel in ("CGB", "CIRE")] == [1, 1]
    assert pipeline.texts("CGB")[0].startswith("ABANDONED")


@pytest.mark.parametrize(
    ("published", "told"),
    [
        ("GB", {"CGB"}),
        ("gb", {"CGB"}),
        ("Great Britain", {"CGB"}),
        ("UK", {"CGB"}),
        ("Atlantis", {"CGB", "CIRE"}),
        ("FR", set()),
    ],
)
async def test_region_that_is_no_code_hides_no_abandonment(pipeline, published, told):
    await know_regions(pipeline, "GB", "IRE", "FR")
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE")
    await pipeline.deliver(abandonment(region=published))
    await pipeline.post_all()
    assert {channel for channel in ("CGB", "CIRE") if pipeline.texts(channel)} == told


async def test_region_that_a_channel_named_is_a_code_though_it_is_not_listed(pipeline):
    await know_regions(pipeline, "GB", "IRE")
    await pipeline.subscribe("CGB", "NZ", frozenset({Topic.RESULTS}))
    await pipeline.deliver(result(region="NZ"))
    await pipeline.post_all()
    assert len(pipeline.texts("CGB")) == 1


async def test_first_placings_are_news_and_later_changes_are_found_through_poorer_versions(pipeline):
    await pipeline.subscribe("CGB", "GB")
    for payload in (
        result(placings=()),
        result(placings=("A Horse", "B Horse")),
        result(placings=(), going="Soft"),
        result(placings=("B Horse", "A Horse")),
        result(placings=("B Horse", "A Horse"), going="Soft"),
        result(placings=("A Horse", "B Horse")) | {"attempt": 2},
        result(placings=("A Horse", "C Horse")),
    ):
        await pipeline.deliver(payload)
        await pipeline.post_all()
        pipeline.clock.forward(1)
    texts = pipeline.texts("CGB")
    assert [text.split(" ")[0] for text in texts] == ["Superseded", "Superseded", "Superseded", "Two"]
    assert "1 A Horse" in texts[1]
    assert "1 B Horse" in texts[2]
    assert "An earlier version was delivered again" in texts[2]
    assert "1 A Horse" in texts[3]


async def test_deliveries_that_shared_a_commit_are_told_in_the_order_they_came(pipeline):
    await pipeline.subscribe("CGB", "GB")
    arrivals = []
    for number in range(12):
        for place, horses in enumerate((("Old", "New"), ("New", "Old"))):
            pipeline.clock.forward(0.001)
            arrivals.append((result(f"rc_{number}", placings=horses), place))
            task = asyncio.create_task(pipeline.deliver(arrivals[-1][0]))
            await asyncio.sleep(0)
            arrivals[-1] = (task, place)
    await asyncio.gather(*(task for task, _ in arrivals))
    await pipeline.post_all()
    last_words = [text for text in pipeline.texts("CGB") if text.startswith("Two versions disagree")]
    assert len(last_words) == 12
    assert all("1 New" in text for text in last_words)


async def test_abandonment_waits_for_its_own_races_result_that_is_being_sent(pipeline):
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.rate_limited(3)])
    await pipeline.deliver(result())
    await pipeline.fanout.run_once()
    (claim,) = await pipeline.database.write(lambda session: pipeline.poster._claim(session, 1))
    await pipeline.deliver(abandonment())
    await pipeline.fanout.run_once()
    now = pipeline.clock()
    await pipeline.database.write(lambda s: claim_outcomes.record_not_sent(s, claim, free_at=now, detail="ratelimited"))
    pipeline.slack.script("chat.postMessage", [])
    await free_lanes(pipeline)
    await pipeline.post_all()
    first, second = pipeline.texts("CGB")
    assert "Result: Ascot" in first
    assert second.startswith("ABANDONED: Ascot")


async def test_notice_that_slack_refuses_makes_no_further_notice(pipeline):
    pipeline.slack.script("chat.postMessage", [], then_always=failures.slack_error("never_heard_of_it"))
    await pipeline.deliver(b"not json")
    for _ in range(5):
        await pipeline.fanout.run_once()
        await pipeline.poster.start_due()
        await pipeline.poster.finish()
        await free_lanes(pipeline)
    posts = await pipeline.database.read(lambda session: session.execute(select(OutboxMessage)).scalars().all())
    assert [post.state for post in posts] == ["dead_letter"]


async def test_history_that_can_not_be_read_is_given_up_after_a_while(make_pipeline, slack):
    pipeline = make_pipeline()
    await pipeline.subscribe("CGB", "GB")
    slack.script("chat.postMessage", [failures.drop_after()])
    slack.script("conversations.history", [], then_always=failures.http_error(500))
    await pipeline.deliver(result())
    for _ in range(12):
        await pipeline.post_all()
        await free_lanes(pipeline)

        def earlier(session):
            for post in session.execute(
                select(OutboxMessage).where(col(OutboxMessage.deadline_at).is_not(None))
            ).scalars():
                post.deadline_at -= timedelta(seconds=20)

        await pipeline.database.write(earlier)
    first, second = slack.messages("CGB")
    assert "repeat" in str(second.blocks)
    assert "repeat" not in str(first.blocks)


async def test_post_that_is_claimed_while_the_poster_is_told_to_stop_is_sent(pipeline):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.deliver(result())
    await pipeline.fanout.run_once()
    running = asyncio.create_task(pipeline.poster.run())
    await asyncio.sleep(0)
    pipeline.poster.stop()
    await running
    await pipeline.poster.finish()
    waiting = await pipeline.waiting()
    assert waiting.get("sending", 0) == 0
    assert len(pipeline.texts("CGB")) + waiting.get("queued", 0) == 1


@on_both
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
    assert (await pipeline.waiting())["queued"] == 20


async def test_delivery_that_is_not_waited_for_any_longer_is_not_kept_in_memory(pipeline, monkeypatch):
    release = asyncio.Event()

    async def hang(_work):
        await release.wait()
        raise StorageUnavailable("gone")

    monkeypatch.setattr(pipeline.ingest, "_patience_s", 0.05)
    monkeypatch.setattr(pipeline.ingest, "_database", type("Hanging", (), {"write": staticmethod(hang)}))
    arrivals = [inbox.Arrival(f"result.received:{n}", None, f"{n:064}", b"{}", now()) for n in range(20)]
    outcomes = await asyncio.gather(*(pipeline.ingest.store(one) for one in arrivals), return_exceptions=True)
    assert {type(one) for one in outcomes} == {StorageUnavailable}
    assert len(pipeline.ingest._waiting) == 0
    release.set()
    await pipeline.ingest.finish()
