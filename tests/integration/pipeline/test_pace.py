"""Slack's limits of each method, over all replicas: who gets the calls left, and which messages wait."""

import asyncio
from secrets import token_hex

import pytest
from sqlalchemy import select, update
from sqlmodel import Session, col

from bot.db import migrate
from bot.db.engine import Database, database_now
from bot.db.tables import ChannelQueue, MessageKind, MessageState, MethodPace, OutboxMessage
from bot.outbox import channel_queues, message_store, pace, telling_store
from bot.outbox.message import Call, Message, Sending
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.pace import CallLimit, Pace
from bot.outbox.telling_store import Bump
from sandbox.slack.failures import drop_after, passes, rate_limited, slack_error
from tests.databases import new_postgres_database, on_both
from tests.integration.pipeline.steps import abandonment, count, fail, fan_out, result, step, turns, wait, write

FAST = CallLimit(burst=30, per_minute=60_000)
A_MINUTE = CallLimit(burst=1, per_minute=1)


async def queue(pipeline, *channels, priority=Priority.OTHER, said="said"):
    for channel_id in channels:
        if channel_id not in pipeline.slack.channels:
            pipeline.slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
    # Long due, by PostgreSQL's own clock too.
    now = pipeline.clock().replace(year=2020)
    new = [
        NewPost(
            one, f"{said}@{one}", MessageKind.NOTICE, priority, now, content=Message(text=f"{said} {one}").as_json()
        )
        for one in channels
    ]
    await write(pipeline, message_store.add, new)


async def make_doubtful(pipeline, *channels):
    """A post in each channel, taken by Slack without an answer; the first look is due."""
    await queue(pipeline, *channels, said="doubtful")
    fail(pipeline, post=[drop_after() for _ in channels])
    while (await pipeline.waiting()).get("queued"):
        await step(pipeline)
        pipeline.clock.forward(0.1)
    assert await pipeline.waiting() == {"in_doubt": len(channels)}
    await wait(pipeline, 20)


@pytest.mark.parametrize("set_back_s", [300, 3_600])
async def test_channel_goes_on_after_the_clock_was_set_back(make_pipeline, set_back_s):
    pipeline = make_pipeline()
    await queue(pipeline, "C1", said="first")
    await step(pipeline)
    pipeline.clock.forward(-set_back_s)
    await queue(pipeline, "C1", said="second")
    await step(pipeline)
    assert len(said_in(pipeline)) == 2


def looked_at(pipeline):
    return [call.channel for call in pipeline.slack.calls if call.method == "conversations.history"]


def said_in(pipeline, prefix="C"):
    names = [name for name in pipeline.slack.channels if name.startswith(prefix)]
    return [message.text for name in names for message in pipeline.slack.messages(name)]


@on_both
async def test_two_posters_keep_one_pace(make_pipeline, database):
    slowly = Pace(channel_s=0, workspace_per_minute=0.001)
    first, second = make_pipeline(pace=slowly), make_pipeline(pace=slowly)
    other = Database(database.url.render_as_string(hide_password=False), busy_s=20)
    second.poster.database = other
    await queue(first, *(f"C{number}" for number in range(30)))
    for _ in range(8):
        await asyncio.gather(step(first), step(second))
    await other.close()
    assert (len(said_in(first)), await first.waiting()) == (20, {"queued": 10})


async def test_bucket_in_another_replicas_hand_is_not_waited_for(postgres_server):
    url = await asyncio.to_thread(new_postgres_database, postgres_server)
    databases = [Database(url), Database(url)]
    limits = {Call.POST: CallLimit(20, 1)}
    migrate.upgrade(databases[0])
    with Session(databases[0].writer) as one, Session(databases[1].writer) as another:
        ours, theirs = pace.Buckets(limits), pace.Buckets(limits)
        made = ours.take(one)
        one.commit()
        assert made[Call.POST].calls == 20
        (bucket,) = ours.take(one).values()
        ours.put_back(one, Call.POST, bucket.without(20))
        assert theirs.take(another) == {}
        assert theirs.calls(another, Call.POST, bucket.counted_at) == 0
        one.commit()
        assert theirs.take(another)[Call.POST].calls == 0
    for opened in databases:
        await opened.close()


async def test_abandonments_get_the_calls_that_are_left(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, workspace_per_minute=1, workspace_burst=3))
    await queue(pipeline, *(f"CR{number}" for number in range(40)))
    await queue(pipeline, *(f"CA{number}" for number in range(3)), priority=Priority.ABANDONMENT)
    await step(pipeline)
    assert (len(said_in(pipeline, "CA")), said_in(pipeline, "CR")) == (3, [])


async def test_new_result_takes_no_call_that_an_abandonment_waits_for(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, workspace_per_minute=0.001, workspace_burst=1))
    pipeline.poster.is_running = True
    for channel_id, region in (("CGB", "GB"), ("CALL", "GB"), ("CIRE", "IRE")):
        await pipeline.subscribe(channel_id, region)
    await fan_out(pipeline, abandonment())
    await pipeline.poster.finish()
    await write(pipeline, lambda session: session.execute(update(MethodPace).values(calls=1)))
    await pipeline.deliver(result("rc_2", region="IRE"))
    # Finds a changed bucket, and reads the bucket.
    await pipeline.database.write(pipeline.poster._buckets.take)
    await pipeline.fanout.run_once()
    await step(pipeline)
    assert [len(pipeline.texts(channel_id)) for channel_id in ("CGB", "CALL", "CIRE")] == [1, 1, 0]


async def test_unused_calls_are_left_in_the_bucket(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, workspace_per_minute=1))
    await queue(pipeline, "C1", "C2")
    await step(pipeline, 3)
    statement = select(col(MethodPace.calls)).where(col(MethodPace.method) == Call.POST)
    assert 18 <= await pipeline.database.read(lambda session: session.execute(statement).scalar_one()) < 19


async def test_poster_without_a_pace_keeps_no_bucket(pipeline):
    await queue(pipeline, "C1")
    await step(pipeline)
    assert await pipeline.database.read(lambda session: session.execute(select(MethodPace)).all()) == []


async def test_poster_sleeps_until_there_is_a_call_again(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, workspace_per_minute=120, workspace_burst=1))
    await queue(pipeline, "C1", "C2")
    assert 0.4 <= await pipeline.poster.start_due() <= 0.5
    await pipeline.poster.finish()
    assert len(said_in(pipeline)) == 1


def leave_sending(session, pipeline, said):
    """The messages as left by a process that died during the calls."""
    state = {"state": MessageState.SENDING, "deadline_at": pipeline.clock(), "sending_at": pipeline.clock()}
    of_these = col(OutboxMessage.idempotency_key).startswith(said)
    session.execute(update(OutboxMessage).where(of_these).values(**state))


def claim(session, pipeline, allowed, limit):
    now = database_now(session, pipeline.clock)
    how = {"token": token_hex(8), "limit": limit}
    return channel_queues.claim(session, now, allowed=allowed, **how)


async def test_method_without_a_call_blocks_neither_the_others_nor_their_queues(pipeline):
    """Due edits in two queues, a new post in one of the two and in a third, and a post in doubt in a fourth."""
    await queue(pipeline, "C1", "C2")
    await step(pipeline)
    await queue(pipeline, "C3", said="doubtful")
    await queue(pipeline, "C1", "C4", said="new")

    def arrange(session):
        leave_sending(session, pipeline, "doubtful")
        sent = message_store.ids_of(session, ["said@C1", "said@C2"])
        telling_store.bump(session, {number: Bump(pipeline.clock()) for number in sent.values()})

    await write(pipeline, arrange)

    async def claimable(**allowed):
        def try_to(session):
            with session.begin_nested() as trial:
                claims = claim(session, pipeline, {Call(name): number for name, number in allowed.items()}, 10)
                keys = {one.post.idempotency_key for one in claims}
                trial.rollback()
            return keys

        return await write(pipeline, try_to)

    assert await claimable() == {"new@C1", "said@C2", "doubtful@C3", "new@C4"}
    assert await claimable(edit=0) == {"new@C1", "doubtful@C3", "new@C4"}
    assert await claimable(post=0, edit=1) == {"said@C1", "doubtful@C3"}
    assert await claimable(look=0, post=0) == {"said@C1", "said@C2"}
    assert await claimable(post=0) == {"said@C1", "said@C2", "doubtful@C3"}
    assert await claimable(look=0) == {"new@C1", "said@C2", "new@C4"}
    assert await claimable(look=0, post=0, edit=0) == set()


async def test_limit_is_filled_by_other_methods_where_one_has_no_call_left(pipeline):
    await queue(pipeline, *(f"C{number}" for number in range(6)), priority=Priority.ABANDONMENT, said="doubtful")
    await queue(pipeline, *(f"CN{number}" for number in range(6)), said="new")
    await write(pipeline, leave_sending, pipeline, "doubtful")
    claims = await write(pipeline, claim, pipeline, {Call.LOOK: 2, Call.POST: 5}, 6)
    assert [one.call for one in claims] == [Call.LOOK] * 2 + [Call.POST] * 4


async def test_rate_limited_history_holds_every_look_and_no_post(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, looks=A_MINUTE))
    await make_doubtful(pipeline, "C1", "C2", "C3")
    fail(pipeline, look=rate_limited(60))
    await step(pipeline)
    assert await pipeline.holds() == {"conversations.history": "ratelimited"}
    await queue(pipeline, "C4")
    await step(pipeline, 3)
    assert "said C4" in said_in(pipeline)
    assert len(looked_at(pipeline)) == 1
    fail(pipeline, look=[])
    for _ in range(3):
        await wait(pipeline, 65)
        await step(pipeline, 2)
    assert await pipeline.waiting() == {}
    assert (len(looked_at(pipeline)), len(said_in(pipeline))) == (4, 4)


@pytest.mark.parametrize(
    "of_race",
    [
        pytest.param([], id="another subject"),
        pytest.param(["C2"], id="its own race, whose message fan-out made urgent"),
    ],
)
async def test_abandonment_passes_a_message_in_doubt_unless_of_the_race(make_pipeline, of_race):
    pipeline = make_pipeline(pace=Pace(channel_s=0, looks=A_MINUTE))
    await make_doubtful(pipeline, "C1", "C2", "C3")
    hurried = update(OutboxMessage).where(col(OutboxMessage.channel_id).in_(of_race))
    await write(pipeline, lambda session: session.execute(hurried.values(priority=Priority.ABANDONMENT)))
    await queue(pipeline, "C2", priority=Priority.ABANDONMENT, said="ABANDONED")
    await step(pipeline)
    assert ("ABANDONED C2" in said_in(pipeline)) is (not of_race)
    assert looked_at(pipeline) == (of_race or ["C1"])


async def test_new_abandonment_passes_the_wait_for_a_look_that_has_begun(make_pipeline):
    pipeline = make_pipeline(pace=Pace(channel_s=0, looks=A_MINUTE))
    await make_doubtful(pipeline, "C1")
    fail(pipeline, look=slack_error("internal_error"))
    await step(pipeline)
    await queue(pipeline, "C1", said="result")
    await queue(pipeline, "C1", priority=Priority.ABANDONMENT, said="ABANDONED")
    await step(pipeline, 2)
    assert [one for one in said_in(pipeline) if "doubtful" not in one] == ["ABANDONED C1"]


async def test_post_whose_deadline_has_not_passed_costs_no_look(make_pipeline):
    """Another process made the calls."""
    pace = Pace(channel_s=0, looks=A_MINUTE)
    await make_doubtful(make_pipeline(pace=pace), "C1", "C2", "C3")
    pipeline = make_pipeline(pace=pace)
    now = await pipeline.database.read(lambda session: database_now(session, pipeline.clock))
    await write(pipeline, lambda session: session.execute(update(OutboxMessage).values(deadline_at=now)))
    await step(pipeline, 4)
    assert looked_at(pipeline) == []
    # Past the deadline, and too short a time for another look to be allowed.
    await wait(pipeline, 20)
    await step(pipeline, 4)
    assert len(looked_at(pipeline)) == 1


async def test_all_of_many_doubtful_posts_are_settled_and_none_is_repeated(make_pipeline):
    fast = Pace(channel_s=0, workspace_per_minute=60_000, workspace_burst=200, edits=FAST, looks=FAST)
    pipeline = make_pipeline(pace=fast)
    # More than twice as many as are posted to at once.
    channels = [f"C{number}" for number in range(70)]
    await make_doubtful(pipeline, *channels)
    for _ in range(100):
        await step(pipeline)
        pipeline.clock.forward(0.05)
        if not await pipeline.waiting():
            break
    assert await pipeline.waiting() == {}
    assert sorted(said_in(pipeline)) == sorted(f"doubtful {channel_id}" for channel_id in channels)
    assert sorted(looked_at(pipeline)) == sorted(channels)


async def test_look_goes_on_from_the_page_that_it_had_come_to(pipeline, monkeypatch):
    """The limits of an app with few messages a page and one page a minute."""
    monkeypatch.setattr("bot.slack.web_client.HISTORY_PAGE", 2)
    await make_doubtful(pipeline, "C1")
    for number in range(5):
        await pipeline.sender.post("C1", Message(text=f"{number}"), Sending(f"other{number}", 5))
    fail(pipeline, look=[passes(), rate_limited(60), passes(), rate_limited(60)])
    await turns(pipeline, 130)
    assert await pipeline.waiting() == {}
    # The post is on the third page. Two calls were refused in between, and no call was made twice.
    assert (count(pipeline, "look"), len(said_in(pipeline, "C1"))) == (5, 6)


@pytest.mark.parametrize("code", ["channel_not_found", "missing_scope"])
async def test_history_that_is_refused_says_nothing_about_posting(pipeline, code):
    await make_doubtful(pipeline, "C1")
    fail(pipeline, look=slack_error(code))
    await pipeline.post_all()
    first, second = pipeline.slack.messages("C1")
    assert (first.text, await pipeline.waiting(), await pipeline.holds()) == (second.text, {}, {})
    held = select(ChannelQueue).where(col(ChannelQueue.state) != "open")
    assert await pipeline.database.read(lambda session: session.execute(held).all()) == []
