"""A new database is made at once, an older one migrated: both come to the same tables."""

from datetime import UTC, datetime

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlmodel import Session, SQLModel, select

from bot.db import migrate
from bot.db.schema import Schema
from bot.db.tables import JobRun
from bot.errors import SchemaUnknown
from bot.outbox.call_holds import EVERY_CALL

AT = "2026-11-20 12:00:00.000000"


def shape(connection):
    """Every table's columns, constraints and indexes, in one order."""
    found = inspect(connection)
    return {
        table: (
            sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)),
            found.get_pk_constraint(table)["constrained_columns"],
            sorted((u["name"], u["column_names"]) for u in found.get_unique_constraints(table)),
            sorted((k["constrained_columns"], k["referred_table"]) for k in found.get_foreign_keys(table)),
            sorted(
                (i["name"], i["column_names"], {k: str(v) for k, v in i.get("dialect_options", {}).items()})
                for i in found.get_indexes(table)
            ),
        )
        for table in sorted(found.get_table_names())
    }


def test_new_database_has_what_all_migrations_come_to(empty_database):
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection)
        migrated = shape(connection)
        assert migrate.is_current(connection)
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []
        SQLModel.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
    assert migrate.upgrade(empty_database) == migrate.Upgraded(None, migrate.head())
    with empty_database.writer.connect() as connection:
        made = shape(connection)
        assert migrate.is_current(connection)
        assert MigrationContext.configure(connection).get_current_revision() == migrate.head()
    assert made.keys() == migrated.keys()
    for table, expected in migrated.items():
        assert made[table] == expected, table


async def test_database_of_a_newer_version_is_left_alone_and_told(empty_database):
    with empty_database.writer.begin() as connection:
        assert not migrate.is_current(connection)
    migrate.upgrade(empty_database)
    assert migrate.upgrade(empty_database) == migrate.Upgraded(migrate.head(), migrate.head())
    with empty_database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaUnknown, match="9999"):
        migrate.upgrade(empty_database)
    schema = Schema(empty_database)
    assert not await schema.prepare()
    assert "a newer version has migrated" in str(schema.problem)


# What older versions stored: each function stores rows of its time, and then sees what has become of the rows


def insert(connection, table, *rows):
    for row in rows:
        names = f"({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
        connection.execute(text(f"INSERT INTO {table} {names}"), row)


def pairs(connection, columns, table):
    return dict(connection.execute(text(f"SELECT {columns} FROM {table}")).fetchall())


DAMAGED = ["{}", "", "null", "[1]", '{"race_id": "x"', '{"meeting_id": 5}', '{"meeting_id": "m\\u0000x"}']
"""What a row of the race book may hold, and nobody reads a meeting from."""


def race_book_without_meetings(connection):
    data = ['{"race_id": "rc_1", "meeting_id": "mt_1"}', *DAMAGED]
    races = [{"race_id": f"rc_{number}", "data": one} for number, one in enumerate(data)]
    insert(connection, "book_race", *(one | {"region": "GB", "race_date": "", "updated_at": AT} for one in races))
    connection = yield
    meetings = pairs(connection, "race_id, meeting_id", "book_race")
    assert meetings == dict.fromkeys(meetings) | {"rc_0": "mt_1"}
    assert len(meetings) == len(data)


def warnings_without_their_limit(connection):
    keys = {"quota:2026-11:50", "quota:2026-11:80:250000", "quota:2026-11:turned", "quota:2026-10:50", "told"}
    insert(connection, "notice", *({"key": key, "created_at": AT} for key in keys))
    seen = {"name": "quota.limit_seen", "value": '{"month": "2026-11", "limit": 15000}', "updated_at": AT}
    insert(connection, "stored_state", seen)
    connection = yield
    assert pairs(connection, "key, 1", "notice").keys() == keys - {"quota:2026-11:50"} | {"quota:2026-11:50:15000"}
    assert pairs(connection, "name, 1", "stored_state") == {}


def methods_of_slack(connection):
    """A replica of the new version may have run on the older schema, and have stored "post" and "look"."""
    held = ("chat.postMessage", "post", "look", "chat.update", EVERY_CALL)
    calls = {"chat.postMessage": 3, "post": 9, "conversations.history": 5, "chat.update": 7, EVERY_CALL: 1}
    insert(connection, "method_hold", *({"method": one, "until": AT, "reason": one} for one in held))
    insert(connection, "method_pace", *({"method": one, "calls": n, "counted_at": AT} for one, n in calls.items()))
    connection = yield
    assert pairs(connection, "method, calls", "method_pace") == {"post": 3, "look": 5, "edit": 7, EVERY_CALL: 1}
    holds = pairs(connection, "method, reason", "method_hold")
    assert holds == {"post": "chat.postMessage", "look": "look", "edit": "chat.update", EVERY_CALL: EVERY_CALL}


def a_row_for_each_run_of_a_job(connection):
    for job, hour, is_done in (("repair", 1, True), ("repair", 2, True), ("repair", 3, False), ("escalate", 1, False)):
        at = f"2026-11-20 0{hour}:00:00.000000"
        row = {"job": job, "slot": at, "claimed_by": "one", "leased_until": at, "done_at": at if is_done else None}
        insert(connection, "job_run", row)
    connection = yield
    (run,) = Session(connection).exec(select(JobRun))
    assert (run.job, run.leased_until, run.slot_at) == ("repair", None, run.done_at)
    assert run.done_at == datetime(2026, 11, 20, 2, tzinfo=UTC)


def a_body_under_two_keys(connection):
    stored = {"a": "1" * 64, "b": "2" * 64, "c": "1" * 64, "d": "1" * 64}
    same = {"received_at": AT, "state": "done", "attempts": 0}
    insert(connection, "inbox", *({"event_key": key, "body_sha256": one} | same for key, one in stored.items()))
    connection = yield
    kept = pairs(connection, "event_key, body_sha256", "inbox")
    assert kept | {"a": "1" * 64, "b": "2" * 64} == kept
    assert len(set(kept.values())) == len(stored)


def what_was_missing(connection):
    rows = {"race:rc_1": ("race", "rc_1", AT), "race:rc_2": ("delivery", "rc_2", None), "day:1": ("day", None, AT)}
    same = {"name": "", "race_date": "2026-11-20", "found_at": AT}
    for key, (kind, race_id, told_at) in rows.items():
        insert(connection, "missing", same | {"key": key, "kind": kind, "race_id": race_id, "told_at": told_at})
    connection = yield
    assert pairs(connection, "race_id, came_at", "missing_race") == {"rc_1": None}


OLDER = {
    "0003": race_book_without_meetings,
    "0007": warnings_without_their_limit,
    "0010": methods_of_slack,
    "0018": a_row_for_each_run_of_a_job,
    "0019": a_body_under_two_keys,
    "0022": what_was_missing,
}


def test_older_database_is_migrated_with_what_it_holds(empty_database):
    kept, revision = [], ""
    with empty_database.writer.begin() as connection:
        for revision, rows in OLDER.items():
            migrate.apply_migrations(connection, to=revision)
            kept.append(rows(connection))
            next(kept[-1])
        assert not migrate.is_current(connection)
    assert migrate.upgrade(empty_database) == migrate.Upgraded(revision, migrate.head())
    with empty_database.writer.connect() as connection:
        assert migrate.is_current(connection)
        for seen in kept:
            with pytest.raises(StopIteration):
                seen.send(connection)
