"""Bringing the database to the current schema, and knowing whether it is there."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlmodel import SQLModel

from bot.storage import tables
from bot.storage.engine import Database

MIGRATIONS = Path(__file__).parent / "migrations"

ADVISORY_LOCK = 7_228_464_115
"""Held on PostgreSQL while migrating, so that replicas that start together do it one after another."""

_APPLIED = "alembic_version"
"""Alembic's own table: one row, the revision that the database is at."""


def upgrade(database: Database) -> None:
    """Make the tables of an empty database, or apply the migrations that are missing.

    Raises what the driver raises where the database refuses.
    """
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
        if is_current(connection):
            return
        if inspect(connection).get_table_names():
            apply_migrations(connection)
        else:
            _make_tables(connection)


def is_current(connection: Connection) -> bool:
    """Whether every migration has been applied."""
    if not inspect(connection).has_table(_APPLIED):
        return False
    applied: str | None = connection.execute(text(f"SELECT version_num FROM {_APPLIED}")).scalar_one_or_none()  # noqa: S608  a constant
    return applied == head()


def head() -> str:
    """The newest revision: the number that the last migration's file name begins with."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def _make_tables(connection: Connection) -> None:
    """All tables at once, as Alembic's documentation has it for a new database: the migrations come to the same."""
    for index in (index for table in SQLModel.metadata.tables.values() for index in table.indexes):
        if tables.WHERE in index.info:
            index.dialect_options[connection.dialect.name][tables.WHERE] = text(index.info[tables.WHERE])
    SQLModel.metadata.create_all(connection)
    connection.execute(text(f"CREATE TABLE {_APPLIED} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {_APPLIED} VALUES (:head)"), {"head": head()})  # noqa: S608  a constant


def apply_migrations(connection: Connection, to: str = "head") -> None:
    """Apply those that are missing, up to a revision."""
    # Alembic is ten megabytes, which a process that has nothing to migrate need not hold for as long as it lives.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
