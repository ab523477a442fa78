"""Databases that the tests of one worker share."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event, text
from sqlmodel import SQLModel

from bot.db import migrate
from bot.db.engine import Database


@contextmanager
def current(url: str) -> Iterator[Database]:
    """A database with the current schema, for this worker's tests one after another.

    Made once, because it takes ten times as long as to empty it, and a new one compiles each statement anew.
    """
    # Patient: what a test is about is not how busy the machine is.
    database = Database(url, busy_s=20)
    if database.is_sqlite:
        # As with PostgreSQL: no test pulls the plug.
        event.listen(database.writer, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    migrate.upgrade(database)
    yield database
    asyncio.run(database.close())


def empty(database: Database) -> None:
    """Forget what the test before has stored; numbers begin at one again."""
    tables = reversed(SQLModel.metadata.sorted_tables)
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text(f"TRUNCATE {', '.join(table.name for table in tables)} RESTART IDENTITY"))
            return
        for table in tables:
            connection.execute(table.delete())
