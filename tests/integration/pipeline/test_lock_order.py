"""In which order posts are locked: two replicas that go by numbers never wait for each other. PostgreSQL's alone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from secrets import token_hex

import pytest
from sqlalchemy import create_engine, select, text, update
from sqlmodel import Session, col

from bot.db.engine import database_now
from bot.db.tables import Acknowledgement, ChannelQueue, OutboxMessage, Reason
from bot.outbox import backlog, channel_move, channel_queues, escalations, message_store
from bot.outbox.claim_outcomes import GivenUp
from bot.outbox.message_store import ALWAYS
from bot.outbox.telling_store import Bumps
from tests.clock import PATIENCE_S, START
from tests.databases import on_postgresql
from tests.integration.pipeline.steps import abandonment, fan_out, meeting, quiet_now, result, tell
from tests.integration.pipeline.stories import ask

WAITS = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'waiting' AND wait_event_type = 'Lock'"
)


@pytest.fixture
def engine(pipeline):
    """Connections beside the pipeline's."""
    made = create_engine(pipeline.database.url)
    yield made
    made.dispose()


def hurry(session):
    bumps = Bumps(session)
    bumps.hurried = set(session.execute(select(col(OutboxMessage.id))).scalars())
    bumps.write()


def drop(session):
    backlog.drop(session, "CGB", START)


def fold(session):
    backlog.fold(session, backlog.of_queue(session, "CGB", START + timedelta(days=1)), 100)


def lock(session):
    backlog.lock(session, "CGB")


def release(session):
    message_store.release(session, col(OutboxMessage.channel_id) == "CGB", due_at=START)


@pytest.mark.parametrize("work", [hurry, drop, fold, lock, release])
@on_postgresql
async def test_several_messages_are_locked_in_the_order_of_their_numbers(pipeline, engine, work):
    await pipeline.subscribe("CGB", "GB", quiet=quiet_now(pipeline) if work is release else ())
    await fan_out(pipeline, *map(result, ("rc_1", "rc_2", "rc_3")))
    await asyncio.to_thread(_hold_the_first, engine, work)


def _hold_the_first(engine, work):
    """While another transaction holds the first message, the work holds no other message."""
    with Session(engine) as other:
        first, *others = other.execute(select(col(OutboxMessage.id)).order_by(col(OutboxMessage.id))).scalars()
        # A changed priority moves its row behind the others, in the table and in every index.
        other.execute(update(OutboxMessage).where(col(OutboxMessage.id) == first).values(priority=3))
        other.commit()
        other.execute(_locking([first]))
        with waiting(engine, _work, engine, work, ends=other.rollback):
            assert len(other.execute(_locking(others)).all()) == len(others) == 2


@contextmanager
def waiting(engine, work, *what, ends):
    """Start work that waits for a lock; `ends` gives the lock back. Yields the future of the work's result."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work, *what)
        try:
            _wait_for_a_lock(engine, working)
            yield working
        finally:
            ends()
        working.result(timeout=PATIENCE_S)


def _locking(numbers):
    return select(col(OutboxMessage.id)).where(col(OutboxMessage.id).in_(numbers)).with_for_update(nowait=True)


def _work(engine, work):
    """The work's result, after the commit."""
    with Session(engine) as session:
        session.execute(text("SET application_name = 'waiting'"))
        session.execute(text(f"SET lock_timeout = '{PATIENCE_S:g}s'"))
        done = work(session)
        session.commit()
        return done


def _wait_for_a_lock(engine, working):
    with engine.connect() as watching:
        while not watching.execute(WAITS).scalar_one():
            assert not working.done()
            watching.rollback()


@on_postgresql
@pytest.mark.parametrize("held", [OutboxMessage, ChannelQueue])
async def test_claim_passes_over_a_message_or_a_queue_that_another_transaction_holds(gb, engine, held):
    """Whoever waited there with queues in hand could wait for fan-out, which waits for the message."""
    await gb.subscribe("CALL", "*")
    await fan_out(gb, result("rc_1"))
    with Session(engine) as other:
        other.execute(select(held).where(col(held.channel_id) == "CGB").with_for_update())
        claims = await gb.database.write(lambda session: claim(session, gb))
        assert [one.channel_id for one in claims] == ["CALL"]
        other.rollback()
    assert [one.channel_id for one in await gb.database.write(lambda session: claim(session, gb))] == ["CGB"]


def claim(session, pipeline):
    now = database_now(session, pipeline.clock)
    return channel_queues.claim(session, now, token=token_hex(8), limit=5, allowed={})


SAID_ALREADY, SAID_BY_AN_EDIT = "frost", "a loose horse"
AFTER_A_REFUSAL = {
    "race that the meeting's message says": (meeting("rc_1"), abandonment("rc_1", reason=SAID_ALREADY), SAID_ALREADY),
    "race that an edit adds": (meeting("rc_1"), abandonment("rc_1", reason=SAID_BY_AN_EDIT), SAID_BY_AN_EDIT),
    "small correction": (result("rc_1", going="Good"), result("rc_1", going="Soft"), "Soft"),
}
"""The first news, which Slack refuses; then the delivery, and a word of the delivery."""


async def refused(pipeline, told, payload):
    """The refusal is not recorded yet. Returns the claim, and the delivery."""
    await pipeline.subscribe("CGB", "GB")
    await fan_out(pipeline, told)
    (claimed,) = await pipeline.database.write(lambda session: claim(session, pipeline))
    await pipeline.deliver(payload)
    return claimed, await pipeline.database.read(
        lambda session: pipeline.fanout.reader.waiting(session, pipeline.clock())
    )


def give_up(engine, pipeline, claimed):
    outcome = GivenUp(claimed, Reason.REFUSED, "msg_too_long")
    _work(engine, lambda one: outcome.record(pipeline.poster.recording(one, database_now(one, pipeline.clock))))


@on_postgresql
async def test_message_given_up_is_locked_after_its_acknowledgement(pipeline, engine):
    """As a press locks the two."""
    claimed, _ = await refused(pipeline, abandonment("rc_1"), result("rc_2"))
    with Session(engine) as press:
        press.add(Acknowledgement(message_id=claimed.post.id, asked="{}"))
        press.commit()
        press.execute(select(Acknowledgement).with_for_update())
        with waiting(engine, give_up, engine, pipeline, claimed, ends=press.rollback):
            assert press.execute(_locking([claimed.post.id])).all()


@pytest.mark.parametrize("when", ["right after", "meanwhile"])
@pytest.mark.parametrize("change", AFTER_A_REFUSAL)
@on_postgresql
async def test_change_is_told_though_the_message_is_given_up(pipeline, engine, monkeypatch, change, when):
    """`meanwhile`: after fan-out has read what the channel was told, and before fan-out has the message's lock."""
    told, payload, word = AFTER_A_REFUSAL[change]
    claimed, read = await refused(pipeline, told, payload)
    claiming = pipeline.poster.claiming

    def claiming_after_the_refusal(*at):
        give_up(engine, pipeline, claimed)
        return claiming(*at)

    if when == "meanwhile":
        monkeypatch.setattr(pipeline.poster, "claiming", claiming_after_the_refusal)
    with Session(engine) as one:
        pipeline.fanout.transactions.together(one, read)
        if when == "meanwhile":
            one.commit()
        else:
            with waiting(engine, give_up, engine, pipeline, claimed, ends=one.commit):
                pass
    pipeline.clock.forward(2)
    await pipeline.post_all()
    assert [word in one for one in pipeline.texts("CGB")] == [True]


def escalate(engine, pipeline):
    return _work(engine, lambda session: escalations.escalate(session, pipeline.clock(), pipeline.notices))


@on_postgresql
async def test_step_of_an_escalation_waits_for_no_queue(pipeline, engine):
    """An outcome holds the queue, and may wait for the step's acknowledgement."""
    await tell(await ask(pipeline, "CALL"), abandonment())
    await pipeline.post_all()
    await pipeline.database.write(lambda session: message_store.make_queues(session, ["CALL"]))
    pipeline.clock.forward(3600)
    with Session(engine) as outcome:
        outcome.execute(update(ChannelQueue).values(next_free_at=ALWAYS))
        assert await asyncio.to_thread(escalate, engine, pipeline) == 1
        outcome.rollback()


@on_postgresql
async def test_step_of_an_escalation_makes_queues_before_it_holds_an_acknowledgement(pipeline, engine):
    """In the order of fan-out, perhaps for the same queue."""
    await tell(await ask(pipeline, "CALL"), abandonment())
    pipeline.clock.forward(3600)
    with Session(engine) as fanout:
        message_store.make_queues(fanout, ["CALL"])
        with waiting(engine, escalate, engine, pipeline, ends=fanout.rollback) as escalating:
            assert fanout.execute(select(Acknowledgement).with_for_update(nowait=True)).all()
        assert escalating.result() == 1


def by_fan_out(session, pipeline, read):
    """An abandonment asks no longer beside an edited abandonment."""
    pipeline.fanout.transactions.together(session, read)


def move(session, *_):
    channel_move.move_channel(session, "CALL", "CNEW")


@pytest.mark.parametrize("work", [by_fan_out, move])
@on_postgresql
async def test_acknowledgements_are_locked_in_the_order_of_their_numbers(pipeline, engine, work):
    """In the order of a press on both."""
    await tell(await ask(pipeline, "CALL"), abandonment("rc_1", course="York"), abandonment("rc_2"))
    await pipeline.deliver(abandonment("rc_1", course="York", reason="fog"))
    await pipeline.deliver(meeting("rc_2"))
    read = await pipeline.database.read(lambda session: pipeline.fanout.reader.waiting(session, pipeline.clock()))
    of_number = select(Acknowledgement).order_by(col(Acknowledgement.message_id))
    with Session(engine) as press:
        first, second = (row.message_id for row in press.execute(of_number).scalars())
        # A changed row moves behind the other.
        same = col(Acknowledgement.asked) + " "
        press.execute(update(Acknowledgement).where(col(Acknowledgement.message_id) == first).values(asked=same))
        press.commit()
        press.execute(_acknowledgement(first).with_for_update())
        with waiting(engine, _work, engine, lambda session: work(session, pipeline, read), ends=press.rollback):
            assert press.execute(_acknowledgement(second).with_for_update(nowait=True)).all()


@on_postgresql
async def test_replicas_fan_out_meeting_and_race_one_after_another(gb, engine):
    """Neither transaction would see the other's uncommitted rows."""
    await tell(gb, result("rc_0"))
    await gb.deliver(meeting("rc_1"))
    await gb.deliver(abandonment("rc_1"))
    read = await gb.database.read(lambda session: gb.fanout.reader.waiting(session, gb.clock()))
    with Session(engine) as one, Session(engine) as other:
        done = [
            gb.fanout.transactions.together(session, [each]) for session, each in zip((one, other), read, strict=True)
        ]
        assert [each and each.deliveries for each in done] == [1, None]
        one.commit()
        assert gb.fanout.transactions.together(other, [read[1]]).deliveries == 1
        other.commit()
    await gb.post_all()
    assert [text[:17] for text in gb.texts("CGB")[1:]] == ["ABANDONED: Ascot,"]


def _acknowledgement(number):
    return select(Acknowledgement).where(col(Acknowledgement.message_id) == number)
