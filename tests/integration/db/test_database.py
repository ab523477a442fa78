"""The database on both engines: shared transactions, separate failures; and SQLite's file."""

import asyncio
import os
import sqlite3
import stat
import tempfile
import threading
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import event, inspect, text
from sqlmodel import Session

from bot.db import migrate, named_values
from bot.db.engine import FILE_GONE, SYNCHRONOUS, Database, Repeatable, as_read
from bot.db.schema import Schema
from bot.db.tables import EventVersion, OutboxMessage
from bot.db.threads import READERS, WorkUnit
from bot.deliveries import inbox
from bot.errors import StorageUnavailable
from bot.events.races import Race
from bot.operations.jobs import scheduler
from bot.racedata import race_book_store
from tests.databases import on_both
from tests.rows import over

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@on_both
async def test_writes_that_wait_share_commits(database):
    commits = []
    event.listen(database.writer, "commit", lambda _connection: commits.append(1))
    await asyncio.gather(
        *(database.write(partial(named_values.put, name=f"n{number}", value=number, now=NOW)) for number in range(200))
    )
    assert len(commits) < 20
    kept = [await database.read(partial(named_values.get, name=f"n{number}")) for number in range(200)]
    assert [value for value, _ in kept] == list(range(200))


@over("model", [EventVersion, OutboxMessage])
def test_row_as_read_is_the_row_as_made(model):
    values = {name: f"the {name}" for name, field in model.model_fields.items() if field.is_required()}
    read, made = as_read(model, **values), model(**values)
    assert read == made
    assert inspect(read).dict.keys() == inspect(made).dict.keys()
    assert not inspect(read).modified


@on_both
async def test_read_sees_the_database_of_one_moment(database):
    await database.write(partial(named_values.put, name="a", value=1, now=NOW))

    def read(session):
        before = named_values.get(session, "a")
        with Session(database.writer) as writing:
            named_values.put(writing, "a", 2, NOW)
            writing.commit()
        return before, named_values.get(session, "a")

    assert await database.read(read) == ((1, NOW), (1, NOW))
    assert await database.read(partial(named_values.get, name="a")) == (2, NOW)


@on_both
async def test_write_that_fails_takes_no_other_with_it(database):
    def fail(session):
        named_values.put(session, "half", 1, NOW)
        raise ZeroDivisionError

    outcomes = await asyncio.gather(
        database.write(partial(named_values.put, name="a", value=1, now=NOW)),
        database.write(fail),
        database.write(partial(named_values.put, name="b", value=2, now=NOW)),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), ZeroDivisionError, type(None)]
    assert await database.read(partial(named_values.get, name="half")) is None
    assert await database.read(partial(named_values.get, name="b")) == (2, NOW)


async def test_write_beside_a_failing_write_is_answered_by_a_commit_of_its_own(database):
    queued, answered = threading.Event(), threading.Event()

    def fail(_session):
        raise ZeroDivisionError

    writes = [
        database.write(work) for work in (lambda _: queued.wait(30), lambda _: 1, fail, lambda _: answered.wait(3))
    ]
    waiting, first, failing, last = [asyncio.create_task(write) for write in writes]
    await asyncio.sleep(0)
    queued.set()
    assert await first == 1
    answered.set()
    assert await last
    assert await waiting
    with pytest.raises(ZeroDivisionError):
        await failing


@pytest.mark.parametrize("way", ["write", "read", "read_for_alerts"])
async def test_caller_hears_of_a_next_without_a_value(database, way):
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(getattr(database, way)(lambda _session: next(iter(()))), 5)


@on_both
async def test_cancelled_caller_does_not_stop_the_writer(database):
    waiting = asyncio.create_task(database.write(partial(named_values.put, name="a", value=1, now=NOW)))
    await asyncio.sleep(0)
    waiting.cancel()
    await database.write(partial(named_values.put, name="b", value=2, now=NOW))
    assert (await database.read(partial(named_values.get, name="b")))[0] == 2


def test_every_connection_to_sqlite_needs_no_temporary_file(tmp_path, monkeypatch, served_pragmas):
    monkeypatch.setattr("bot.db.engine.PRAGMAS", served_pragmas)
    monkeypatch.setattr("bot.db.engine.SYNCHRONOUS", SYNCHRONOUS)
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    wanted = {"temp_store": 2, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    for engine, count in ((database.writer, 1), (database._reader, READERS + 1)):
        # All at once: the pool would give a returned connection again.
        with ExitStack() as stack:
            for _ in range(count):
                connection = stack.enter_context(engine.connect())
                assert {name: connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in wanted} == wanted
        engine.dispose()


async def test_only_repeatable_work_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("bot.db.engine.SYNCHRONOUS", SYNCHRONOUS)
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")

    def level(session):
        return session.execute(text("PRAGMA synchronous")).scalar_one()

    assert [await database.write(work) for work in (level, Repeatable(level), level)] == [2, 1, 2]
    database._commit_together(units := [WorkUnit(Repeatable(level)), WorkUnit(level)])
    assert [unit.result for unit in units] == [2, 2]
    await database.close()


PUT = partial(named_values.put, name="a", value="x" * 1_000_000, now=NOW)


def limit_pages(session, pages):
    session.execute(text(f"PRAGMA max_page_count={pages}"))


async def locked(_database, file):
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def full(database, _file):
    await database.write(partial(limit_pages, pages=1))
    yield
    await database.write(partial(limit_pages, pages=1_000_000))


@pytest.mark.parametrize(("happens", "told"), [(locked, "locked"), (full, "full")])
async def test_file_that_takes_no_write_is_unavailable_and_recovers(tmp_path, happens, told):
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}", busy_s=0.1)
    migrate.upgrade(database)
    trouble = happens(database, tmp_path / "bot.db")
    await anext(trouble)
    with pytest.raises(StorageUnavailable, match=told):
        await database.write(PUT)
    await anext(trouble, None)
    await database.write(PUT)
    await database.close()


async def test_file_that_is_no_database_is_unavailable_and_recovers(tmp_path):
    (tmp_path / "bot.db").write_bytes(b"not a database at all" * 400)
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    schema = Schema(database)
    assert not await schema.prepare()
    with pytest.raises(StorageUnavailable, match="file is not a database"):
        await database.write(PUT)
    (tmp_path / "bot.db").unlink()
    assert await schema.prepare()
    await database.write(PUT)
    await database.close()


async def test_damaged_page_fails_only_those_who_read_it(tmp_path):
    path = tmp_path / "bot.db"
    database = Database(f"sqlite:///{path}")
    migrate.upgrade(database)
    await database.close()
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'book_race'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    database = Database(f"sqlite:///{path}")
    read_the_damaged = partial(race_book_store.put, races=[Race(race_id="rc_1", race_date="2026-11-20")], now=NOW)
    outcomes = await asyncio.gather(*map(database.write, [PUT] * 5 + [read_the_damaged]), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [*[type(None)] * 5, StorageUnavailable]
    await database.close()


async def test_unreachable_postgresql_is_unavailable_and_its_password_is_not_shown():
    database = Database("postgresql://someone:hunter2@127.0.0.1:1/none")
    with pytest.raises(StorageUnavailable) as caught:
        await database.write(partial(named_values.put, name="a", value=1, now=NOW))
    assert "hunter2" not in f"{caught.value} {database!r}"
    schema = Schema(database)
    assert await schema.prepare() is False
    assert "hunter2" not in str(schema.problem)
    await database.close()


@on_both
async def test_events_3_body_is_stored_once_whatever_key_another_version_read(database):
    """As after an upgrade: the new version reads the race's id from another field."""
    first, *others = [inbox.Arrival(key, "result.received", "0" * 64, b"{}", NOW) for key in ("a", "b", "c")]
    (stored,) = await database.write(lambda session: inbox.store(session, [first]))
    assert stored.event_key == "a"
    assert await database.write(lambda session: inbox.store(session, others)) == []


@on_both
async def test_slot_is_finished_by_the_claimant_alone(database):
    def claim(by, now):
        work = partial(scheduler.claim_slot, job="job", slot_at=NOW, by=by, now=now, every_s=60)
        return database.write(work)

    def finish(by):
        return database.write(partial(scheduler.finish_slot, job="job", slot_at=NOW, by=by, now=NOW))

    later = NOW + timedelta(seconds=61)
    assert await claim("a", NOW) is scheduler.SlotClaim.OURS
    assert await claim("b", later) is scheduler.SlotClaim.OURS
    await finish("a")
    assert await claim("c", later) is scheduler.SlotClaim.UNDER_WAY
    await finish("b")
    assert await claim("c", later + timedelta(seconds=61)) is scheduler.SlotClaim.DONE


# SQLite's file: for one user alone, and storage is unavailable without the opened file


NOBODY = 65_534


@pytest.fixture
async def opened(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    assert await Schema(database).prepare()
    yield database
    await database.close()


def count(session):
    return session.execute(text("SELECT count(*) FROM notice")).scalar()


def note(session):
    session.execute(text("INSERT INTO notice (key, created_at) VALUES ('told', '2026-11-20 12:00:00.000000')"))


async def test_file_and_the_files_beside_it_are_for_this_user_alone(opened, tmp_path):
    await opened.write(note)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("bot.db", "bot.db-wal", "bot.db-shm"), 0o600)


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_without_the_file_that_was_opened_nothing_is_stored_and_nothing_read(opened, tmp_path, is_replaced):
    file, elsewhere = tmp_path / "bot.db", tmp_path / "elsewhere.db"
    await opened.write(note)
    file.rename(elsewhere)
    if is_replaced:
        file.write_bytes(elsewhere.read_bytes())
    for step in (opened.write, opened.read, opened.read_for_alerts):
        with pytest.raises(StorageUnavailable, match=FILE_GONE):
            await step(count)
    elsewhere.rename(file)
    assert await opened.write(count) == 1


async def test_write_that_is_refused_at_the_end_is_not_kept(opened):
    """The last commit includes all waiting work."""
    holding, go_on = threading.Event(), threading.Event()

    def hold(_session):
        holding.set()
        assert go_on.wait(60)

    held = asyncio.create_task(opened.write(hold))
    await asyncio.to_thread(holding.wait, 60)
    ended = asyncio.create_task(opened.close())
    await asyncio.sleep(0)
    with pytest.raises(StorageUnavailable):
        await opened.write(note)
    go_on.set()
    await asyncio.gather(held, ended)
    with closing(sqlite3.connect(opened.file)) as connection:
        assert connection.execute("SELECT count(*) FROM notice").fetchone() == (0,)


async def test_without_the_log_of_commits_nothing_is_stored_and_a_restart_loses_nothing(opened, tmp_path):
    await opened.write(note)
    (tmp_path / "bot.db-wal").unlink()
    for step in (opened.write, opened.read):
        with pytest.raises(StorageUnavailable, match=FILE_GONE):
            await step(count)
    await opened.close()
    again = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    assert await again.read(count) == 1
    await again.close()


async def test_log_that_the_writer_lets_go_during_a_look_is_not_gone(opened, monkeypatch):
    await opened.write(note)
    look = opened._kept._present_log

    def let_go_first():
        opened._let_go()
        return look()

    monkeypatch.setattr(opened._kept, "_present_log", let_go_first)
    assert await opened.read(count) == 1


async def test_removed_file_is_not_made_anew(opened, tmp_path):
    for path in tmp_path.iterdir():
        path.unlink()
    for _ in range(3):
        with pytest.raises(StorageUnavailable):
            await opened.write(note)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def folder_of_nobody():
    """A folder, and a user whom the modes of files keep out: root may write everywhere."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        if is_root:
            os.chown(name, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield Path(name)
        if is_root:
            os.seteuid(0)


def copy_read_only(opened, file):
    for end in ("", "-wal", "-shm"):
        Path(f"{file}{end}").write_bytes(Path(f"{opened}{end}").read_bytes())
        Path(f"{file}{end}").chmod(0o400)


async def test_read_only_file_that_becomes_writable_is_opened_without_a_restart(folder_of_nobody):
    """As after a kill. SQLite opens the log's index once for all connections, and closes it with the last."""
    killed, file = folder_of_nobody / "killed.db", folder_of_nobody / "bot.db"
    before = Database(f"sqlite:///{killed}")
    assert await Schema(before).prepare()
    copy_read_only(killed, file)
    await before.close()
    database = Database(f"sqlite:///{file}")
    assert await Schema(database).prepare()
    reads, may_end = threading.Event(), threading.Event()

    def read_slowly(session):
        number = count(session)
        reads.set()
        may_end.wait()
        return number

    reading = asyncio.create_task(database.read(read_slowly))
    await asyncio.to_thread(reads.wait)
    with pytest.raises(StorageUnavailable, match="readonly"):
        await database.write(note)
    may_end.set()
    assert await reading == 0
    file.chmod(0o600)
    await database.write(note)
    assert await database.read(count) == 1
    await database.close()
