"""An older copy of the database is put back: messages posted after the copy are not posted again."""

import sqlite3
import subprocess

import pytest
import pytest_asyncio
from sqlalchemy import select
from sqlmodel import col

from bot.cli.restored_command import restored
from bot.db.engine import Database
from bot.db.tables import OutboxMessage
from bot.outbox import held_queues
from bot.outbox.notices import Notices
from bot.settings import DoubtfulPosts
from bot.slack.messages.alerts.admin_notice import admin_notice
from sandbox.slack import failures
from tests.clock import move_clock
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, past_waits, result, tell
from tests.integration.pipeline.steps import LEFT, at_the_hour, hour, tell_due
from tests.postgres import new_postgres_database, postgres_program
from tests.sim.ports import Inline

WAITS = 8
"""Rounds, each after every wait is over. A channel's messages are looked for in turn, each message twice."""


def address(database):
    return database.url.set(drivername=database.url.get_backend_name()).render_as_string(hide_password=False)


def copy_sqlite(database, folder):
    """By the recipe of docs/operations/README.md."""
    copy = folder / "copy.db"
    with sqlite3.connect(str(database.url.database)) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    return lambda: f"sqlite:///{copy}"


def copy_postgresql(database, folder, server):
    dump = folder / "racing-bot.dump"
    dumped = [postgres_program("pg_dump"), "--format=custom", f"--file={dump}", address(database)]
    subprocess.run(dumped, check=True, capture_output=True)

    def put_back():
        url = new_postgres_database(server)
        restore = [postgres_program("pg_restore"), "--no-owner", "--exit-on-error", f"--dbname={url}", dump]
        subprocess.run(restore, check=True, capture_output=True)
        move_clock(url)
        return url

    return put_back


@pytest.fixture
def copy(request, database, tmp_path):
    """Makes a copy of the database, and returns a function. The function puts the copy back and returns an address."""
    if database.is_sqlite:
        return lambda: copy_sqlite(database, tmp_path)
    server = request.getfixturevalue("postgres_server")
    return lambda: copy_postgresql(database, tmp_path, server)


@pytest_asyncio.fixture
async def put_back(make_pipeline):
    """Makes a pipeline on a restored copy, after `racing-bot restored`; closes the database at the end."""
    opened = []

    async def make(url, clock, **settings):
        database = Database(url, busy_s=20, runner=Inline() if url.startswith("sqlite") else None)
        opened.append(database)
        pipeline = make_pipeline(database=database, clock=clock, **settings)
        doubted = await restored(database, Notices("CADMIN", admin_notice, clock=clock), clock)
        return pipeline, doubted

    yield make
    for database in opened:
        await database.close()


async def wait_and_post(pipeline):
    for _ in range(WAITS):
        await past_waits(pipeline, 30)
        await pipeline.post_all()


async def fill(pipeline):
    """A first message is posted, a second message is queued, and a delivery waits for fan-out."""
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, result("rc_posted"))
    await pipeline.deliver(abandonment("rc_queued", off_time="15:05"))
    while await pipeline.fanout.run_once():
        continue
    await pipeline.deliver(result("rc_stored", off_time="15:40"))


async def sent(pipeline):
    """State and ts of each message in the database, by idempotency key."""

    def read(session):
        rows = session.execute(select(OutboxMessage).order_by(col(OutboxMessage.id))).scalars()
        return {row.idempotency_key: (row.state, row.message_ts) for row in rows}

    return await pipeline.database.read(read)


@on_both
async def test_nothing_that_was_posted_after_the_copy_is_posted_again(pipeline, copy, put_back):
    await fill(pipeline)
    put = copy()
    await pipeline.post_all()
    before = pipeline.texts("CGB")
    assert len(before) == 3
    other, doubted = await put_back(put(), pipeline.clock)
    assert doubted.messages == 2
    await wait_and_post(other)
    assert other.texts("CGB") == before
    assert await sent(other) == await sent(pipeline)
    for payload in (
        result("rc_posted"),
        abandonment("rc_queued", off_time="15:05"),
        result("rc_stored", off_time="15:40"),
    ):
        assert await other.deliver(payload) is False
    await tell(other, result("rc_new", off_time="16:10"))
    assert len(other.texts("CGB")) == 4


async def test_what_was_never_posted_is_posted_once_and_abandonments_first(pipeline, copy, put_back):
    await fill(pipeline)
    other, doubted = await put_back(copy()(), pipeline.clock)
    assert doubted.messages == 2
    await wait_and_post(other)
    _, *since = other.texts("CGB")
    assert [text.split(":")[0] for text in since] == ["ABANDONED", "Result"]
    assert "may be a repeat" not in str([message.blocks for message in other.slack.messages("CGB")])


async def test_where_history_can_not_be_read_the_operator_has_chosen(pipeline, copy, put_back):
    await fill(pipeline)
    put = copy()
    await pipeline.post_all()
    other, _ = await put_back(put(), pipeline.clock, doubtful=DoubtfulPosts.HOLD)
    other.slack.script("conversations.history", [failures.slack_error("missing_scope")] * 10)
    await wait_and_post(other)
    assert len(other.texts("CGB")) == 3
    assert (await other.waiting())["dead_letter"] == 2


@on_both
async def test_message_of_a_paused_channel_waits_for_the_end_of_the_pause(pipeline, copy, put_back):
    await pipeline.subscribe("CGB", "GB")
    await pipeline.database.write(lambda session: held_queues.pause(session, "CGB", pipeline.clock()))
    await pipeline.deliver(result())
    await pipeline.post_all()
    other, doubted = await put_back(copy()(), pipeline.clock)
    assert (doubted.messages, doubted.oldest) == (0, None)
    assert await other.waiting() == {"queued": 1}


async def test_command_can_be_repeated(pipeline, copy, put_back):
    await fill(pipeline)
    url = copy()()
    await put_back(url, pipeline.clock)
    other, doubted = await put_back(url, pipeline.clock)
    assert doubted.messages == 2
    await wait_and_post(other)
    assert len(other.texts("CGB")) == 3


async def test_digest_that_was_posted_after_the_copy_is_not_posted_again(pipeline, copy, put_back):
    await pipeline.subscribe("CGB", "GB", digest=(hour(pipeline),))
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    put = copy()
    await at_the_hour(pipeline)
    before = pipeline.texts("CGB")
    assert before[0].startswith("Results together. 2 results")
    other, doubted = await put_back(put(), pipeline.clock)
    assert doubted.messages == 1
    await wait_and_post(other)
    assert other.texts("CGB") == before
    assert await sent(other) == await sent(pipeline)


async def test_digest_that_was_never_posted_is_posted_once(pipeline, copy, put_back):
    await pipeline.subscribe("CGB", "GB", digest=(hour(pipeline),))
    await tell(pipeline, result("rc_1"), result("rc_2", off_time="15:05"))
    put = copy()
    pipeline.clock.forward(LEFT.total_seconds())
    other, _ = await put_back(put(), pipeline.clock)
    await wait_and_post(other)
    assert await tell_due(other) == 0
    (told,) = other.texts("CGB")
    assert told.startswith("Results together. 2 results")
