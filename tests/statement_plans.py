"""The statements of a part of the bot on SQLite, and the indexes used."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from bot.db.engine import Database

Noted = tuple[str, Any]


@contextmanager
def noted(database: Database) -> Iterator[list[Noted]]:
    """The reading statements of the block, with their values; BEGIN stands before each transaction."""
    statements: list[Noted] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, _many: bool) -> None:
        statements.append((statement, values))

    def note_begin(_connection: Any) -> None:
        statements.append(("BEGIN", ()))

    listeners = (("before_cursor_execute", note), ("begin", note_begin))
    for name, listener in listeners:
        event.listen(database._reader, name, listener)
    try:
        yield statements
    finally:
        for name, listener in listeners:
            event.remove(database._reader, name, listener)


def plans_of(database: Database, statements: Iterable[Noted]) -> list[str]:
    plans: list[str] = []
    with database.writer.connect() as connection:
        for statement, values in statements:
            plans += [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    return plans
