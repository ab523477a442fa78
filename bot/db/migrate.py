"""Migrates the database to the current schema."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlmodel import SQLModel

from bot.db import generation, tables
from bot.db.engine import Database, table_of
from bot.db.sqlite_file import copy_file
from bot.errors import SchemaUnknown

MIGRATIONS = Path(__file__).parent / "migrations"

ADVISORY_LOCK = 7_228_464_115
"""Keeps two processes from migrating PostgreSQL at once."""

NEWEST_INDEX = "ix_message_to_edit"

_APPLIED = "alembic_version"

_FIRST_OF_DRAFTS = "0024"
_WAY_FROM_BEFORE, _WAY_FROM_DRAFTS = "d7d507a1", "300a7971"
"""Commits whose `racing-bot migrate` takes over every older schema, and the drafts of the schema of version 1.0."""


@dataclass(frozen=True)
class Upgraded:
    """The revisions before (None: there were no tables) and after. `copy`: SQLite's file as before."""

    before: str | None
    after: str
    copy: Path | None = None

    @property
    def told(self) -> str:
        if self.before is None:
            return f"all tables are made, revision {self.after}."
        if self.before == self.after:
            return f"already up to date, revision {self.after}."
        kept = f" The database as before is kept at {self.copy}." if self.copy else ""
        return f"migrated from revision {self.before} to revision {self.after}.{kept}"


def upgrade(database: Database) -> Upgraded:
    """Raises SchemaUnknown, StorageUnavailable without a copy of SQLite's file, and the driver's errors."""
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            # A statement on all messages may take longer than a statement of the bot.
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:lock), set_config('statement_timeout', '0', true)"),
                {"lock": ADVISORY_LOCK},
            )
        before, after = applied(connection), head()
        copy: Path | None = None
        if before is None:
            _make_tables(connection)
        elif before != after:
            if database.file is not None:
                # Nobody else writes during this transaction.
                copy = database.file.with_name(f"{database.file.name}.revision-{before}")
                copy_file(database.file, copy)
            _apply_migrations(connection)
        return Upgraded(before, after, copy)


def is_current(connection: Connection) -> bool:
    return applied(connection) == head()


def applied(connection: Connection) -> str | None:
    """The database's revision; None before the first. Raises SchemaUnknown."""
    if not inspect(connection).has_table(_APPLIED):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {_APPLIED}")).scalar_one_or_none()  # noqa: S608  a constant
    if found is None or found in revisions():
        return found
    if found > head():
        raise SchemaUnknown(
            f"the database is at revision {found}, and this version of racing-bot knows revisions up to {head()} only: "
            "a newer version has migrated the database. Run that version, or put back a copy from before."
        )
    way = f"commit {_WAY_FROM_DRAFTS}"
    if found < _FIRST_OF_DRAFTS:
        way = f"commit {_WAY_FROM_BEFORE}, then of {way}"
    raise SchemaUnknown(
        f"the database is at revision {found}, of before version 1.0, and this version of racing-bot takes over "
        f"revision {min(revisions())} and revisions from {sorted(revisions())[1]} on: run `racing-bot migrate` "
        f"of {way} first."
    )


def revisions() -> frozenset[str]:
    return frozenset(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def head() -> str:
    return max(revisions())


def _make_tables(connection: Connection) -> None:
    """All tables at once, as Alembic's documentation advises. All migrations together give the same schema."""
    for index in (index for table in SQLModel.metadata.tables.values() for index in table.indexes):
        if tables.WHERE in index.info:
            index.dialect_options[connection.dialect.name][tables.WHERE] = text(index.info[tables.WHERE])
    SQLModel.metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name == "sqlite":
        # Made in any order. Of two partial indexes that serve a statement SQLite takes the newest, and the index of all
        # sent messages grows for ever.
        newest = next(index for index in table_of(tables.OutboxMessage).indexes if index.name == NEWEST_INDEX)
        newest.drop(connection)
        newest.create(connection)
    generation.make_triggers(connection)
    connection.execute(text(f"CREATE TABLE {_APPLIED} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {_APPLIED} VALUES (:head)"), {"head": head()})  # noqa: S608  a constant


def _apply_migrations(connection: Connection) -> None:
    # Alembic takes ten megabytes.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
