"""The journal between receiver and bot, and how the bot reads it: nothing is lost, and nothing is stored twice."""

import asyncio
import hashlib
import signal
import sqlite3
from contextlib import closing, nullcontext
from datetime import timedelta

import pytest

from bot.cli.backup_command import run_backup
from bot.cli.recovery_commands import restored
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.deliveries import inbox
from bot.deliveries.intake import LETTERS_PER_COMMIT, Intake, place_in
from bot.deliveries.journal import (
    BYTES_AT_ONCE,
    MENDS_MAX,
    Journal,
    JournalPlace,
    Letter,
    beside,
    connect_postgresql,
)
from bot.deliveries.payload import payload_of
from bot.errors import StorageUnavailable
from bot.outbox.notices import Notices
from bot.slack.messages.alerts.alert_notes import admin_notice
from tests.answering import failing
from tests.clock import START, now
from tests.databases import empty, on_both, on_postgresql


def letter(number, received_at=START):
    body = f'{{"event":"result.received","race_id":"rc_{number}"}}'.encode()
    return Letter(hashlib.sha256(body).hexdigest(), f"req-{number}", received_at, body)


@pytest.fixture
def monotonic():
    return iter(range(0, 10_000, 11)).__next__


@pytest.fixture
def journal(database: Database, tmp_path, monotonic):
    """A journal of the test alone: on PostgreSQL the table is dropped at the end."""
    address = f"sqlite:///{tmp_path / 'bot.db'}" if database.is_sqlite else database.address
    opened = Journal(address, monotonic)
    opened.durable = False
    yield opened
    opened.close()
    if not database.is_sqlite:
        with database.writer.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS journal")


async def keys(database):
    stored = await database.read(lambda session: inbox.waiting(session, now(), 1_000))
    return [delivery.event_key for delivery in stored]


@on_both
async def test_letters_are_kept_once_in_order_and_read_on_from_a_place(database, journal):
    first, second, third = map(letter, range(3))
    assert journal.append([first, second, first]) == [True, True, False]
    assert journal.append([second, third]) == [False, True]
    place, letters = journal.after(None, 2)
    assert (place, letters) == (None, [(1, first), (2, second)])
    _, ((number, last),) = journal.after(JournalPlace(2, second.sha256), 5)
    assert last == third
    assert journal.after(JournalPlace(number, third.sha256), 5) == (JournalPlace(number, third.sha256), [])


@on_both
async def test_letters_that_were_read_are_forgotten_and_stored_again_where_they_come_again(database, journal):
    letters = [letter(number, START + timedelta(days=number)) for number in range(5)]
    journal.append(letters)
    place = JournalPlace(4, letters[3].sha256)
    assert journal.forget(START + timedelta(days=9), JournalPlace(4, "of another journal")) == 0
    assert [journal.forget(START + timedelta(days=number), place) for number in (2, 2, 9)] == [2, 0, 1]
    assert journal.after(place, 9) == (place, [(5, letters[4])])
    assert journal.append(letters) == [True, True, True, False, False]
    assert [one for _, one in journal.after(place, 9)[1]] == [letters[4], *letters[:3]]


@on_both
async def test_repeat_of_a_forgotten_letter_is_no_news_except_for_an_older_database(database, journal):
    journal.append([letter(1), letter(2)])
    intake = Intake(database, journal, now)
    await intake.take()
    assert journal.forget(START + timedelta(days=9), await database.read(place_in)) == 1
    journal.append([letter(1)])
    assert await intake.take() == 1
    assert sorted(await keys(database)) == ["result.received:rc_1", "result.received:rc_2"]
    empty(database)
    await Intake(database, journal, now).take()
    assert sorted(await keys(database)) == ["result.received:rc_1", "result.received:rc_2"]


@on_both
async def test_journal_proves_storing_and_the_bot_starts_again_at_its_place(database, journal):
    journal.prove()
    journal.prove()
    journal.append([letter(number) for number in range(LETTERS_PER_COMMIT + 3)])
    intake = Intake(database, journal, now)
    assert [await intake.take() for _ in range(3)] == [LETTERS_PER_COMMIT, 3, 0]
    assert intake.hand_over() is None
    assert len(await keys(database)) == LETTERS_PER_COMMIT + 3
    again = Intake(database, journal, now)
    assert await again.take() == 0
    journal.append([letter(1_000)])
    assert await again.take() == 1
    assert [one.event_key for one in again.hand_over() or ()] == ["result.received:rc_1000"]


@on_both
async def test_large_bodies_are_read_a_few_at_a_time_and_not_kept_as_read(database, journal):
    padding = "x" * (BYTES_AT_ONCE // 2)
    bodies = [f'{{"event":"result.received","race_id":"rc_{number}","note":"{padding}"}}' for number in range(5)]
    journal.append([Letter(str(n), f"req-{n}", START, body.encode()) for n, body in enumerate(bodies)])
    intake = Intake(database, journal, now)
    counts = []
    for _ in range(4):
        intake.wake.clear()
        counts.append((await intake.take(), intake.wake.is_set()))
    assert counts == [(2, True), (2, True), (1, False), (0, False)]
    assert payload_of(bodies[0].encode()) is not payload_of(bodies[0].encode())


def zero(file, page, begin=0, end=4096):
    with closing(sqlite3.connect(file)) as connection:
        offsets = connection.execute(f"SELECT pgoffset FROM dbstat WHERE {page}").fetchall()
    with file.open("r+b") as damaged:
        for (offset,) in offsets:
            damaged.seek(offset + begin)
            damaged.write(bytes(end - begin))


LEAF = "name = 'journal' AND path = '/000/'"


@pytest.mark.parametrize(
    "damage",
    [
        (LEAF, 0, 4096, 4),
        (LEAF, 2048, 2560, 4),
        (LEAF, 0, 512, 4),
        ("name = 'journal' ORDER BY path DESC LIMIT 1", 0, 4096, 4),
        ("name = 'journal' AND pagetype = 'internal'", 0, 4096, 24),
        ("name = 'sqlite_autoindex_journal_1'", 0, 4096, 0),
        ("name = 'ix_journal_received_at'", 0, 4096, 0),
        ("name = 'sqlite_autoindex_journal_1' OR name = 'journal' AND path = '/001/'", 0, 4096, 4),
        ("true ORDER BY pgoffset DESC LIMIT 1", 0, 4096, 4),
    ],
)
@pytest.mark.parametrize("appends_first", [True, False])
async def test_damaged_page_loses_its_own_letters_alone_and_takes_new_letters(
    database, journal, caplog, damage, appends_first
):
    page, begin, end, lost = damage
    letters = [one._replace(body=one.body + b" " * 700) for one in map(letter, range(24))]
    journal.append(letters)
    journal.close()
    zero(journal.file, page, begin, end)
    intake = Intake(database, journal, now)
    if appends_first:
        assert journal.append([letter(24), letter(25)]) == [True, True]
        assert journal.forget(START, JournalPlace(24, letters[23].sha256)) == 0
    assert [await intake.take() for _ in range(2)] == [26 if appends_first else 24, 0]
    assert not appends_first or journal.append([letter(24), letter(25)]) == [False, False]
    assert journal.append([letter(26)]) == [True]
    assert await Intake(database, journal, now).take() == 1
    journal.prove()
    read = await keys(database)
    unreadable = [key for key in read if key.startswith("unreadable:")]
    assert bool(lost) <= len(unreadable) <= lost
    # A letter may be damaged in its body alone.
    assert bool(lost) <= len([one for one in caplog.messages if "can't be read" in one]) <= len(unreadable)


async def test_letters_are_stored_anew_once_by_two_processes_and_after_a_wait_in_vain(journal):
    journal.append([letter(number) for number in range(48)])
    journal.close()
    zero(journal.file, LEAF)
    with closing(sqlite3.connect(journal.file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="locked"):
            journal.after(None, 48)
    meanwhile = []

    class SlowJournal(Journal):
        def _transaction(self, *, writes=False):
            """Another process reads between damage and mending."""
            meanwhile.extend([journal.after(None, 48)] if writes else [])
            return super()._transaction(writes=writes)

    with closing(SlowJournal(journal.url, lambda: 0.0)) as first, closing(sqlite3.connect(journal.file)) as connection:
        assert [first.after(None, 48)] == meanwhile
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert sum(name.startswith("journal_damaged") for name in names) == 1


async def test_journal_is_mended_at_each_damage_until_its_disk_is_surely_at_fault(journal):
    for mends in range(MENDS_MAX + 1):
        journal.append([letter(number) for number in range(48)])
        journal.close()
        zero(journal.file, "name = 'journal' ORDER BY path DESC LIMIT 1")
        with nullcontext() if mends < MENDS_MAX else pytest.raises(StorageUnavailable, match="malformed"):
            journal.prove()


@on_postgresql
async def test_tables_of_the_journal_are_made_once(database, journal):
    journal.append([letter(1)])
    with closing(connect_postgresql(database.address)) as connection:
        connection.execute("LOCK TABLE journal IN ROW EXCLUSIVE MODE")
        with closing(Journal(database.address, lambda: 0.0)) as other:
            assert len(other.after(None, 5)[1]) == 1


@on_postgresql
async def test_connection_of_the_journal_waits_for_a_silent_server_no_longer_than_the_writer(database):
    with closing(connect_postgresql(database.address)) as connection, database.writer.connect() as writer:
        of_writer = writer.connection.driver_connection.info.get_parameters()
        assert connection.info.get_parameters() == of_writer
        assert of_writer["tcp_user_timeout"] == "5000"


async def test_another_journal_at_the_same_place_is_read_from_its_beginning(database, tmp_path, monotonic):
    """After somebody put back an older journal, or none, which has grown past the place meanwhile."""
    for name, numbers in (("one", range(3)), ("other", range(2, 9))):
        journal = Journal(f"sqlite:///{tmp_path / name}", monotonic)
        journal.append([letter(number) for number in numbers])
        await Intake(database, journal, now).take()
        journal.close()
    assert sorted(await keys(database)) == [f"result.received:rc_{number}" for number in range(9)]


async def test_new_and_empty_journal_is_warned_of_once(database, journal, tmp_path, monotonic, capsys):
    journal.append([letter(1)])
    await Intake(database, journal, now).take()
    capsys.readouterr()
    with closing(Journal(f"sqlite:///{tmp_path / 'other'}", monotonic)) as empty_journal:
        intake = Intake(database, empty_journal, now)
        assert [await intake.take() for _ in range(3)] == [0, 0, 0]
    assert capsys.readouterr().err.count("journal_read_anew") == 1


async def test_journal_that_is_removed_or_locked_stores_nothing_until_it_is_back(journal):
    journal.append([letter(1)])
    away = journal.file.with_name("away")
    journal.file.rename(away)
    with pytest.raises(StorageUnavailable, match="removed or replaced"):
        journal.append([letter(2)])
    assert not journal.file.exists()
    away.rename(journal.file)
    assert journal.append([letter(2)]) == [True]
    with closing(sqlite3.connect(journal.file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="locked"):
            journal.append([letter(3)])
    assert journal.append([letter(3)]) == [True]
    assert journal.file.stat().st_mode & 0o777 == 0o600


async def test_full_disk_stores_nothing_until_there_is_room(journal):
    """A limit on the size of files refuses the write itself, as a full disk does."""
    resource = pytest.importorskip("resource")
    journal.append([letter(1)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_024, hard))
    try:
        for _ in range(2):
            with pytest.raises(StorageUnavailable):
                journal.append([letter(2), letter(3)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert journal.append([letter(1), letter(2), letter(3)]) == [False, True, True]
    assert [one for _, one in journal.after(None, 9)[1]] == [letter(1), letter(2), letter(3)]


@on_postgresql
async def test_first_letter_after_the_servers_restart_is_stored(database, journal):
    journal.append([letter(1)])
    with database.writer.begin() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert journal.append([letter(1), letter(2)]) == [False, True]


async def test_delivery_that_our_code_fails_on_is_stored_and_holds_up_no_other(database, journal, monkeypatch):
    monkeypatch.setattr("bot.deliveries.payload.Payload.region", property(lambda _self: 1 / 0))
    journal.append([letter(1), letter(2)])
    assert await Intake(database, journal, now).take() == 2
    assert {key.partition(":")[0] for key in await keys(database)} == {"unreadable"}


async def test_intake_goes_on_after_the_database_was_away(database, journal, monkeypatch):
    intake = Intake(database, journal, now)
    journal.append([letter(1)])
    write = database.write

    monkeypatch.setattr(database, "write", failing(StorageUnavailable("gone")))
    running = asyncio.create_task(intake.run())
    while intake.problem is None:  # noqa: ASYNC110  nothing tells of a problem
        await asyncio.sleep(0)
    monkeypatch.setattr(database, "write", write)
    intake.wake.set()
    await intake.stored.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await keys(database) == ["result.received:rc_1"]


async def test_older_copy_of_the_database_gets_from_the_journal_what_the_copy_lacks(tmp_path, monotonic):
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    database, journal = Database(url), Journal(url, monotonic)
    upgrade(database)
    journal.append([letter(1)])
    await Intake(database, journal, now).take()
    run_backup(url, tmp_path / "copy.db")
    journal.append([letter(2)])
    await Intake(database, journal, now).take()
    await database.close()
    journal.close()
    # The copy of both files, and the copy of the database beside the newer journal.
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    assert beside(tmp_path / "copy.db") == tmp_path / "copy.deliveries.db"
    for address, known in ((copy, 1), (url, 2)):
        if address == url:
            (tmp_path / "copy.db").replace(tmp_path / "bot.db")
        put_back = Database(address)
        await restored(put_back, Notices("CADMIN", admin_notice, clock=now), now)
        counted = await put_back.read(lambda session: inbox.count_received(session, START - timedelta(days=9)))
        assert counted == {"result.received": known}
        place = await put_back.read(place_in)
        assert place is not None
        assert place.number == known
        await put_back.close()
