"""The generation: a random mark that triggers change with all data kept in memory (`bot/outbox/fanout_knowledge.py`).

Changes by other replicas, by tools and by hand count too. A rolled back change and a later change never share a mark.
"""

from sqlalchemy import Connection, ScalarSelect, select, text
from sqlmodel import col

from bot.db.tables import Generation

LISTS = ("regions", "courses", "countries")
"""Rows of `stored_state` that processes keep in memory."""

CHANGES = ("INSERT", "UPDATE", "DELETE")

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


def current() -> ScalarSelect[str]:
    """A subquery for the present mark; null before the first change."""
    return select(col(Generation.mark)).scalar_subquery()


def make_triggers(connection: Connection) -> None:
    """The names of triggers begin with the table's name."""
    is_sqlite = connection.dialect.name == "sqlite"
    if not is_sqlite:
        connection.execute(text(_ON_POSTGRESQL))
    action = _ON_SQLITE if is_sqlite else "EXECUTE FUNCTION move_generation()"
    each = "" if is_sqlite else "FOR EACH STATEMENT "
    for table in ("channel_subscription", "muted_meeting"):
        for change in CHANGES:
            connection.execute(
                text(f"CREATE TRIGGER {table}_{change.lower()}_moves AFTER {change} ON {table} {each}{action}")
            )
    for change in CHANGES:
        row = "OLD" if change == "DELETE" else "NEW"
        connection.execute(
            text(
                f"CREATE TRIGGER stored_state_{change.lower()}_moves AFTER {change} ON stored_state "
                f"FOR EACH ROW WHEN ({row}.name IN ({_NAMES})) {action}"
            )
        )
    # This process does not know a queue under a new id.
    for change, what in (("DELETE", "delete"), ("UPDATE OF channel_id", "update")):
        connection.execute(
            text(f"CREATE TRIGGER channel_queue_{what}_moves AFTER {change} ON channel_queue {each}{action}")
        )
