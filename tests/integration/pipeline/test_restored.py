"""An older copy of the database is put back: messages posted after the copy are not posted again."""

import sqlite3
import subprocess

import pytest
import pytest_asyncio

from bot.cli.recovery_commands import restored
from bot.db.engine import Database
from bot.outbox.notices import Notices
from bot.settings import DoubtfulPosts
from bot.slack.messages.alerts.alert_notes import admin_notice
from sandbox.slack import failures
from tests.clock import move_clock
from tests.databases import new_postgres_database, on_both, postgres_program
from tests.integration.pipeline.steps import (
    LEFT,
    abandonment,
    at_the_hour,
    count,
    fail,
    hour,
    kinds,
    pause,
    posts,
    result,
    step,
    tell,
    tell_due,
    turns,
    wait,
)
from tests.sim.ports import Inline

LOOKED_S = 240
"""A channel's messages are looked for in turn, each message twice."""

POSTED, STORED = result("rc_posted"), result("rc_stored", off_time="15:40")
QUEUED = abandonment("rc_queued", off_time="15:05")


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


async def fill(pipeline):
    """A first message is posted, a second message is queued, and a delivery waits for fan-out."""
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, POSTED)
    await pipeline.deliver(QUEUED)
    while await pipeline.fanout.run_once():
        continue
    await pipeline.deliver(STORED)


async def sent(pipeline):
    """State and ts of each message in the database, by idempotency key."""
    return {post.idempotency_key: (post.state, post.message_ts) for post in await posts(pipeline)}


@on_both
async def test_nothing_that_was_posted_after_the_copy_is_posted_again(pipeline, copy, put_back):
    await fill(pipeline)
    put = copy()
    await pipeline.post_all()
    before = pipeline.texts("CGB")
    assert len(before) == 3
    pipeline.clock.forward(3_600)
    other, doubted = await put_back(put(), pipeline.clock)
    assert doubted[0] == 2
    await turns(other, LOOKED_S)
    assert other.texts("CGB") == before
    assert await sent(other) == await sent(pipeline)
    assert [await other.deliver(payload) for payload in (POSTED, QUEUED, STORED)] == [False] * 3
    await tell(other, result("rc_new", off_time="16:10"))
    assert len(other.texts("CGB")) == 4


async def test_what_was_never_posted_is_posted_once_and_abandonments_first(pipeline, copy, put_back):
    await fill(pipeline)
    url = copy()()
    await put_back(url, pipeline.clock)
    # The command can be repeated.
    other, doubted = await put_back(url, pipeline.clock)
    assert doubted[0] == 2
    await turns(other, LOOKED_S)
    assert kinds(other)[1:] == ["ABANDONED", "Result"]
    assert "may be a repeat" not in str([message.blocks for message in other.slack.messages("CGB")])


async def test_where_history_can_not_be_read_the_operator_has_chosen(pipeline, copy, put_back):
    await fill(pipeline)
    put = copy()
    await pipeline.post_all()
    other, _ = await put_back(put(), pipeline.clock, doubtful=DoubtfulPosts.HOLD)
    fail(other, look=[failures.slack_error("missing_scope")] * 10)
    await turns(other, LOOKED_S)
    assert len(other.texts("CGB")) == 3
    assert (await other.waiting())["dead_letter"] == 2


async def test_abandonment_that_is_looked_for_passes_no_wait_for_its_next_look(pipeline, copy, put_back):
    await fill(pipeline)
    other, _ = await put_back(copy()(), pipeline.clock)
    fail(other, look=failures.slack_error("internal_error"))
    await wait(other, LOOKED_S)
    await step(other, 9)
    assert count(other, "look") == 1


async def test_message_of_a_paused_channel_waits_for_the_end_of_the_pause(gb, copy, put_back):
    await pause(gb)
    await tell(gb, POSTED)
    other, doubted = await put_back(copy()(), gb.clock)
    assert doubted == (0, None)
    assert await other.waiting() == {"queued": 1}


@pytest.mark.parametrize("was_posted", [True, False])
async def test_digest_is_posted_once(pipeline, copy, put_back, was_posted):
    await pipeline.subscribe("CGB", "GB", digest=(hour(pipeline),))
    await tell(pipeline, POSTED, STORED)
    put = copy()
    if was_posted:
        await at_the_hour(pipeline)
    else:
        await wait(pipeline, LEFT.total_seconds())
    other, _ = await put_back(put(), pipeline.clock)
    await turns(other, LOOKED_S)
    assert await tell_due(other) == 0
    (told,) = other.texts("CGB")
    assert told.startswith("Results digest. 2 results")
    if was_posted:
        assert await sent(other) == await sent(pipeline)
