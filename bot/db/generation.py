"""The generation: a mark that the database changes with everything that is kept in memory (`bot/outbox/memory.py`).

Triggers change the mark, so that a change by another replica, by a tool or by hand counts too. The mark is random: a
change that was rolled back and a later change never have the same mark.
"""

from sqlalchemy import Connection, ScalarSelect, select, text
from sqlmodel import col

from bot.db.tables import Generation

LISTS = ("regions", "courses", "countries")
"""The rows of `stored_state` that are kept in memory."""

CHANGES = ("INSERT", "UPDATE", "DELETE")

_NAMES = ", ".join(f"'{name}'" for name in LISTS)

_ON_SQLITE = "BEGIN DELETE FROM generation; INSERT INTO generation (id, mark) VALUES (1, hex(randomblob(16))); END"
"""Not INSERT OR REPLACE: what the changing statement says of conflicts would hold for its triggers as well."""

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
    """The mark of now, to be read within another statement; null before the first change."""
    return select(col(Generation.mark)).scalar_subquery()


def make_triggers(connection: Connection) -> None:
    """Have the database change the mark. The names of triggers begin with the table's name."""
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
    # A queue under a new id is not the queue that this process knows.
    for change, what in (("DELETE", "delete"), ("UPDATE OF channel_id", "update")):
        connection.execute(
            text(f"CREATE TRIGGER channel_queue_{what}_moves AFTER {change} ON channel_queue {each}{action}")
        )
