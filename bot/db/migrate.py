"""Migrates the database to the current schema."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlmodel import SQLModel

from bot.db import generation, tables
from bot.db.engine import Database
from bot.errors import SchemaUnknown

MIGRATIONS = Path(__file__).parent / "migrations"

ADVISORY_LOCK = 7_228_464_115
"""Keeps two processes from migrating PostgreSQL at once."""

_APPLIED = "alembic_version"


@dataclass(frozen=True)
class Upgraded:
    """The revisions before (None: there were no tables) and after."""

    before: str | None
    after: str

    @property
    def told(self) -> str:
        if self.before is None:
            return f"all tables are made, revision {self.after}."
        if self.before == self.after:
            return f"already up to date, revision {self.after}."
        return f"migrated from revision {self.before} to revision {self.after}."


def upgrade(database: Database) -> Upgraded:
    """Raises SchemaUnknown, and the driver's errors."""
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
        before, after = applied(connection), head()
        if before != after and inspect(connection).get_table_names():
            apply_migrations(connection)
        elif before != after:
            _make_tables(connection)
        return Upgraded(before, after)


def is_current(connection: Connection) -> bool:
    return applied(connection) == head()


def applied(connection: Connection) -> str | None:
    """The database's revision; None before the first. Raises SchemaUnknown."""
    if not inspect(connection).has_table(_APPLIED):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {_APPLIED}")).scalar_one_or_none()  # noqa: S608  a constant
    if found is not None and found not in revisions():
        raise SchemaUnknown(
            f"the database is at revision {found}, and this version of racing-bot knows revisions up to {head()} only: "
            "a newer version has migrated the database. Run that version, or put back a copy from before."
        )
    return found


def revisions() -> frozenset[str]:
    return frozenset(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def head() -> str:
    return max(revisions())


def _make_tables(connection: Connection) -> None:
    """All tables at once, as Alembic's documentation advises. All migrations together give the same schema."""
    for index in (index for table in SQLModel.metadata.tables.values() for index in table.indexes):
        if tables.WHERE in index.info:
            index.dialect_options[connection.dialect.name][tables.WHERE] = text(index.info[tables.WHERE])
    SQLModel.metadata.create_all(connection)
    generation.make_triggers(connection)
    connection.execute(text(f"CREATE TABLE {_APPLIED} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {_APPLIED} VALUES (:head)"), {"head": head()})  # noqa: S608  a constant


def apply_migrations(connection: Connection, to: str = "head") -> None:
    # Alembic takes ten megabytes.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
