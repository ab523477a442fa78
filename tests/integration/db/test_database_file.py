"""SQLite's file: for one user alone, and storage is unavailable without the file that was opened."""

import os
import stat
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.db.engine import FILE_GONE, Database
from bot.db.schema import Schema
from bot.errors import StorageUnavailable

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
    look = opened._present_log

    def let_go_first():
        opened._let_go()
        return look()

    monkeypatch.setattr(opened, "_present_log", let_go_first)
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


async def test_read_only_file_that_becomes_writable_is_opened_without_a_restart(folder_of_nobody):
    file = folder_of_nobody / "bot.db"
    before = Database(f"sqlite:///{file}")
    assert await Schema(before).prepare()
    await before.close()
    file.chmod(0o400)
    database = Database(f"sqlite:///{file}")
    assert await Schema(database).prepare()
    with pytest.raises(StorageUnavailable, match="readonly"):
        await database.write(note)
    file.chmod(0o600)
    await database.write(note)
    assert await database.read(count) == 1
    await database.close()
