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
from bot.slack.web_client import METHOD_OF


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


def test_older_database_is_migrated_with_what_it_holds(empty_database):
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0001")
        connection.execute(
            text("INSERT INTO notice (key, created_at) VALUES ('told', :at)"), {"at": "2026-11-20 12:00:00.000000"}
        )
        assert not migrate.is_current(connection)
    assert migrate.upgrade(empty_database) == migrate.Upgraded("0001", migrate.head())
    with empty_database.writer.connect() as connection:
        assert migrate.is_current(connection)
        assert connection.execute(text("SELECT key FROM notice")).scalars().all() == ["told"]


async def test_database_of_a_newer_version_is_left_alone_and_told(empty_database):
    migrate.upgrade(empty_database)
    assert migrate.upgrade(empty_database) == migrate.Upgraded(migrate.head(), migrate.head())
    with empty_database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaUnknown, match="9999"):
        migrate.upgrade(empty_database)
    schema = Schema(empty_database)
    assert not await schema.prepare()
    assert "a newer version has migrated" in str(schema.problem)


DAMAGED = [
    "{}",
    "",
    "null",
    "[1]",
    '{"race_id": "x"',
    '{"meeting_id": 5}',
    '{"meeting_id": "m\\u0000x"}',
]
"""What a row of the race book may hold, and nobody reads a meeting from."""


def test_race_book_that_is_migrated_knows_the_meetings_of_its_races(empty_database):
    row = {"id": "rc_1", "data": '{"race_id": "rc_1", "meeting_id": "mt_1"}', "at": "2026-11-20 12:00:00.000000"}
    statement = (
        "INSERT INTO book_race (race_id, region, race_date, data, updated_at) VALUES (:id, 'GB', '', :data, :at)"
    )
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0003")
        connection.execute(text(statement), row)
        for number, damaged in enumerate(DAMAGED):
            connection.execute(text(statement), row | {"id": f"rc_0{number}", "data": damaged})
    migrate.upgrade(empty_database)
    with empty_database.writer.connect() as connection:
        found = connection.execute(text("SELECT meeting_id FROM book_race ORDER BY race_id")).scalars().all()
    assert found == [None] * len(DAMAGED) + ["mt_1"]


def test_warning_given_before_the_migration_is_known_by_its_new_name(empty_database):
    keys = ["quota:2026-11:50", "quota:2026-11:80:250000", "quota:2026-11:turned", "quota:2026-10:50", "told"]
    at = "2026-11-20 12:00:00.000000"
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0007")
        for key in keys:
            connection.execute(text("INSERT INTO notice (key, created_at) VALUES (:key, :at)"), {"key": key, "at": at})
        seen = {"name": "quota.limit_seen", "value": '{"month": "2026-11", "limit": 15000}', "at": at}
        statement = "INSERT INTO stored_state (name, value, updated_at) VALUES (:name, :value, :at)"
        connection.execute(text(statement), seen)
    migrate.upgrade(empty_database)
    with empty_database.writer.connect() as connection:
        found = set(connection.execute(text("SELECT key FROM notice")).scalars())
        assert connection.execute(text("SELECT count(*) FROM stored_state")).scalar() == 0
    assert found == {*keys} - {"quota:2026-11:50"} | {"quota:2026-11:50:15000"}


def test_holds_and_buckets_are_kept_under_the_new_names_of_calls(empty_database):
    methods = {method: str(call) for call, method in METHOD_OF.items()} | {EVERY_CALL: EVERY_CALL}
    at = "2026-11-20 12:00:00.000000"
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0010")
        for number, method in enumerate(methods):
            hold = {"method": method, "at": at, "reason": method}
            connection.execute(
                text("INSERT INTO method_hold (method, until, reason) VALUES (:method, :at, :reason)"), hold
            )
            bucket = {"method": method, "calls": number, "at": at}
            connection.execute(
                text("INSERT INTO method_pace (method, calls, counted_at) VALUES (:method, :calls, :at)"), bucket
            )
    migrate.upgrade(empty_database)
    with empty_database.writer.connect() as connection:
        holds = dict(connection.execute(text("SELECT reason, method FROM method_hold")).fetchall())
        buckets = dict(connection.execute(text("SELECT method, calls FROM method_pace")).fetchall())
    assert holds == methods
    assert buckets == {call: number for number, call in enumerate(methods.values())}


def test_rows_of_both_names_of_a_call_are_one_row_after_the_migration(empty_database):
    """A replica of the new version may have run on the older schema."""
    at = "2026-11-20 12:00:00.000000"
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0010")
        for method, calls in (("chat.postMessage", 3), ("post", 9), ("look", 5)):
            hold = {"method": method, "at": at, "calls": calls}
            connection.execute(text("INSERT INTO method_hold (method, until, reason) VALUES (:method, :at, '')"), hold)
            connection.execute(
                text("INSERT INTO method_pace (method, calls, counted_at) VALUES (:method, :calls, :at)"), hold
            )
    migrate.upgrade(empty_database)
    with empty_database.writer.connect() as connection:
        assert set(connection.execute(text("SELECT method FROM method_hold")).scalars()) == {"post", "look"}
        buckets = dict(connection.execute(text("SELECT method, calls FROM method_pace")).fetchall())
    assert buckets == {"post": 3, "look": 5}


def test_newest_good_run_of_each_job_is_kept(empty_database):
    runs = [("repair", 1, True), ("repair", 2, True), ("repair", 3, False), ("escalate", 1, False)]
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0018")
        for job, hour, is_done in runs:
            at = f"2026-11-20 0{hour}:00:00.000000"
            row = {"job": job, "slot": at, "at": at, "done": at if is_done else None}
            connection.execute(
                text(
                    "INSERT INTO job_run (job, slot, claimed_by, leased_until, done_at)"
                    " VALUES (:job, :slot, 'one', :at, :done)"
                ),
                row,
            )
    migrate.upgrade(empty_database)
    with Session(empty_database.writer) as session:
        (run,) = session.exec(select(JobRun))
        assert (run.job, run.leased_until, run.slot_at) == ("repair", None, run.done_at)
        assert run.done_at == datetime(2026, 11, 20, 2, tzinfo=UTC)


def test_body_that_was_stored_under_two_keys_keeps_its_hash_once(empty_database):
    columns = "event_key, body_sha256, received_at, state, attempts"
    row = f"INSERT INTO inbox ({columns}) VALUES (:key, :hash, '2026-11-20 12:00:00', 'done', 0)"
    stored = [("a", "1" * 64), ("b", "2" * 64), ("c", "1" * 64), ("d", "1" * 64)]
    with empty_database.writer.begin() as connection:
        migrate.apply_migrations(connection, to="0019")
        for key, digest in stored:
            connection.execute(text(row), {"key": key, "hash": digest})
    migrate.upgrade(empty_database)
    with empty_database.writer.connect() as connection:
        kept = dict(connection.execute(text("SELECT event_key, body_sha256 FROM inbox")).fetchall())
    assert (kept["a"], kept["b"]) == ("1" * 64, "2" * 64)
    assert len(set(kept.values())) == len(stored)
