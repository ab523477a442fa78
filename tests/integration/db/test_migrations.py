"""A new database is made at once, an older database migrated: both get the same tables."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlmodel import Session, SQLModel, select

from bot.db import migrate
from bot.db.engine import Database
from bot.db.schema import Schema
from bot.db.tables import JobRun
from bot.errors import SchemaUnknown, StorageUnavailable
from tests.databases import NEWEST, OLDEST, make_older_database

AT = "2026-11-20 12:00:00.000000"


def plain(expression):
    """The text without types and brackets: PostgreSQL moves both about in a schema written down and read again."""
    return re.sub(r"::[a-z ]+(\[\])?|[()]", "", expression)


def shape(connection):
    """Every table's columns, constraints and indexes, and the triggers, sorted."""
    found = inspect(connection)
    tables = {
        table: (
            sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)),
            found.get_pk_constraint(table)["constrained_columns"],
            sorted((u["name"], u["column_names"]) for u in found.get_unique_constraints(table)),
            sorted((k["constrained_columns"], k["referred_table"]) for k in found.get_foreign_keys(table)),
            sorted(
                (i["name"], i["column_names"], {k: plain(str(v)) for k, v in i.get("dialect_options", {}).items()})
                for i in found.get_indexes(table)
            ),
            sorted((c["name"], plain(c["sqltext"])) for c in found.get_check_constraints(table)),
        )
        for table in sorted(found.get_table_names())
    }
    if connection.dialect.name == "sqlite":
        made = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    else:
        made = (
            "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
            " UNION SELECT proname, prosrc FROM pg_proc WHERE proname LIKE '%generation%' ORDER BY 1"
        )
    return tables, [(name, plain(words)) for name, words in connection.execute(text(made))]


def test_older_database_comes_to_the_tables_of_a_new_database(old_database):
    assert migrate.upgrade(old_database).before == OLDEST
    with old_database.writer.begin() as connection:
        migrated, triggers = shape(connection)
        assert migrate.is_current(connection)
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []
        SQLModel.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
    assert migrate.upgrade(old_database) == migrate.Upgraded(None, NEWEST)
    with old_database.writer.connect() as connection:
        made, made_triggers = shape(connection)
        assert MigrationContext.configure(connection).get_current_revision() == NEWEST
    assert made.keys() == migrated.keys()
    for table, expected in migrated.items():
        assert made[table] == expected, table
    assert made_triggers == triggers != []
    assert migrate.upgrade(old_database) == migrate.Upgraded(NEWEST, NEWEST)


async def test_sqlite_has_the_index_of_due_edits_as_the_newest(tmp_path):
    """Else each look for messages reads all sent messages."""
    old, new = (Database(f"sqlite:///{tmp_path / name}") for name in ("old.db", "new.db"))
    make_older_database(str(old.url))
    for database in (old, new):
        migrate.upgrade(database)
        with database.writer.connect() as connection:
            newest = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'message' ORDER BY rowid DESC"
            assert connection.execute(text(newest)).scalars().first() == migrate.NEWEST_INDEX
        await database.close()


def dump(file):
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    ("revision", "way"),
    [
        ("9999", "a newer version has migrated"),
        ("0002", "run `racing-bot migrate` of commit d7d507a1, then of commit 300a7971 first"),
        ("0023", "run `racing-bot migrate` of commit d7d507a1, then of commit 300a7971 first"),
        ("0024", "run `racing-bot migrate` of commit 300a7971 first"),
        ("0030", "run `racing-bot migrate` of commit 300a7971 first"),
    ],
)
async def test_database_of_another_version_is_left_alone_with_the_way_out(revision, way, tmp_path):
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    make_older_database(url, revision)
    before = dump(tmp_path / "bot.db")
    database = Database(url)
    with pytest.raises(SchemaUnknown, match=f"revision {revision}.* {way}"):
        migrate.upgrade(database)
    schema = Schema(database)
    assert not await schema.prepare()
    assert way in str(schema.problem)
    await database.close()
    assert dump(tmp_path / "bot.db") == before
    assert [path.name for path in tmp_path.iterdir()] == ["bot.db"]


async def test_sqlite_is_copied_before_it_is_taken_over(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    make_older_database(str(database.url))
    before = dump(tmp_path / "bot.db")
    copy = tmp_path / f"bot.db.revision-{OLDEST}"
    copy.mkdir()
    with pytest.raises(StorageUnavailable, match=str(copy)):
        migrate.upgrade(database)
    schema = Schema(database)
    assert not await schema.prepare()
    assert "no copy could be made" in str(schema.problem)
    copy.rmdir()
    upgraded = migrate.upgrade(database)
    await database.close()
    assert upgraded == migrate.Upgraded(OLDEST, NEWEST, copy)
    assert str(copy) in upgraded.told
    assert copy.stat().st_mode & 0o777 == 0o600
    assert dump(copy) == before


def insert(connection, table, *rows):
    for row in rows:
        names = f"({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
        connection.execute(text(f"INSERT INTO {table} {names}"), row)


def pairs(connection, columns, table):
    return dict(connection.execute(text(f"SELECT {columns} FROM {table}")).fetchall())


def runs_of_jobs(connection):
    for job, hour, is_done in (("repair", 1, True), ("repair", 2, True), ("repair", 3, False), ("escalate", 1, False)):
        at = f"2026-11-20 0{hour}:00:00.000000"
        row = {"job": job, "slot": at, "claimed_by": "one", "leased_until": at, "done_at": at if is_done else None}
        insert(connection, "job_run", row)


def bodies_under_two_keys(connection):
    stored = {"a": "1" * 64, "b": "2" * 64, "c": "1" * 64, "d": "1" * 64}
    same = {"received_at": AT, "state": "done", "attempts": 0}
    insert(connection, "inbox", *({"event_key": key, "body_sha256": one} | same for key, one in stored.items()))


def what_was_told(connection):
    day = "refused:unauthorized:2026-11-"
    keys = (f"{day}19", f"taken-after:{day}19", f"{day}20")
    insert(connection, "notice", *({"key": key, "created_at": AT} for key in keys))
    insert(connection, "stored_state", {"name": "repair.unread", "value": '["dl_1", "dl_2"]', "updated_at": AT})


def test_older_database_keeps_the_last_slots_each_body_once_and_what_was_told(old_database):
    with old_database.writer.begin() as connection:
        what_was_told(connection)
        runs_of_jobs(connection)
        bodies_under_two_keys(connection)
        insert(connection, "learnt_race", {"race_id": "rc_1"})
    migrate.upgrade(old_database)
    with old_database.writer.connect() as connection:
        (run,) = Session(connection).exec(select(JobRun))
        kept = pairs(connection, "event_key, body_sha256", "inbox")
        notices = set(pairs(connection, "key, created_at", "notice"))
        assert pairs(connection, "name, value", "stored_state") == {}
        assert pairs(connection, "what, name", "touched") == {"race": "rc_1"}
    assert notices == {
        "unread-record:dl_1",
        "unread-record:dl_2",
        "taken-after:refused:unauthorized:2026-11-19",
        "refused:unauthorized:2026-11-20",
    }
    assert (run.job, run.leased_until, run.slot_at) == ("repair", None, run.done_at)
    assert run.done_at == datetime(2026, 11, 20, 2, tzinfo=UTC)
    assert kept | {"a": "1" * 64, "b": "2" * 64} == kept
    assert len(set(kept.values())) == 4
