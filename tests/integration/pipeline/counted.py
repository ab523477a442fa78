"""Counts of a database's statements and commits.

BEGIN and SAVEPOINT count as statements, as they do for the database; COMMIT is counted by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event


@dataclass
class Counted:
    """The statements of a database."""

    statements: list[str] = field(default_factory=list)
    commits: int = 0

    def __str__(self) -> str:
        """Each statement's beginning, for whoever reads a failure."""
        head = f"{len(self.statements)} statements, {self.commits} commits:"
        return "\n".join([head, *(statement[:100] for statement in self.statements)])


@contextmanager
def counting(database) -> Iterator[Counted]:
    """Count the driver's statements. A statement for many rows counts once."""
    counted = Counted()

    def executed(_connection, _cursor, statement, _values, _context, _many):
        counted.statements.append(" ".join(statement.split()))

    def begun(_connection):
        counted.statements.append("BEGIN")

    def committed(_connection):
        counted.commits += 1

    listeners: list[tuple[str, Any]] = [("before_cursor_execute", executed), ("begin", begun), ("commit", committed)]
    engines = (database.writer, database._reader)
    for engine in engines:
        for name, listener in listeners:
            event.listen(engine, name, listener)
    yield counted
    for engine in engines:
        for name, listener in listeners:
            event.remove(engine, name, listener)
