"""The generation: a random mark that triggers change with all data kept in memory (`bot/outbox/fanout_knowledge.py`).

Changes by other replicas, by tools and by hand count too. A rolled back change and a later change never share a mark.
"""

from sqlalchemy import Connection, Function, ScalarSelect, Text, func, select, text
from sqlmodel import col

from bot.db.named_values import Mark
from bot.db.tables import Generation

LISTS = (Mark.REGIONS, Mark.COURSES, Mark.COUNTRIES)
"""Rows of `stored_state` that processes keep in memory."""

CHANGES = ("INSERT", "UPDATE", "DELETE")

TABLES = ("channel_subscription", "muted_meeting", "watch")
"""Kept in memory whole."""

_NAMES = ", ".join(f"'{name}'" for name in LISTS)

_ON_SQLITE = "BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END"
"""Not INSERT OR REPLACE: the conflict clause of the changing statement would override the trigger's clause."""

_ON_POSTGRESQL = """
CREATE OR REPLACE FUNCTION move_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO generation (id, mark) VALUES (1, md5(random()::text || clock_timestamp()::text))
    ON CONFLICT (id) DO UPDATE SET mark = excluded.mark;
    RETURN NULL;
END
$$
"""


_AFTER_LOCKS = """
CREATE OR REPLACE FUNCTION generation_after_locks() RETURNS text LANGUAGE sql VOLATILE AS 'SELECT mark FROM generation'
"""
"""A volatile function sees what was committed since the beginning of the statement that calls the function."""


def current() -> ScalarSelect[str]:
    """A subquery for the present mark; null before the first change."""
    return select(col(Generation.mark)).scalar_subquery()


def after_locks() -> Function[str]:
    """As `current`, on PostgreSQL, for a statement that takes a lock before the mark is read."""
    return func.generation_after_locks(type_=Text())


def make_triggers(connection: Connection) -> None:
    """For a database with all tables. The names of triggers begin with the table's name."""
    action, each = _ON_SQLITE, ""
    if connection.dialect.name != "sqlite":
        connection.execute(text(_ON_POSTGRESQL))
        action, each = "EXECUTE FUNCTION move_generation()", "FOR EACH STATEMENT "
    moves = [(table, change, change, each) for table in TABLES for change in CHANGES]
    for change in CHANGES:
        row = "OLD" if change == "DELETE" else "NEW"
        moves.append(("stored_state", change, change, f"FOR EACH ROW WHEN ({row}.name IN ({_NAMES})) "))
    # This process does not know a queue under a new id.
    moves += [("channel_queue", "DELETE", "DELETE", each), ("channel_queue", "UPDATE", "UPDATE OF channel_id", each)]
    for table, name, change, when in moves:
        trigger = f"{table}_{name.lower()}_moves"
        connection.execute(text(f"CREATE TRIGGER {trigger} AFTER {change} ON {table} {when}{action}"))
    make_after_locks(connection)


def make_after_locks(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        connection.execute(text(_AFTER_LOCKS))
