"""Bringing the database to the current schema, and knowing whether it is there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from bot.storage.engine import Database

MIGRATIONS = Path(__file__).parent / "migrations"

ADVISORY_LOCK = 7_228_464_115
"""Held on PostgreSQL while migrating, so that replicas that start together do it one after another."""


def upgrade(database: Database) -> None:
    """Apply the migrations that are missing. Raises what the driver raises where the database refuses."""
    with database.writer.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
        if not is_current(connection):
            command.upgrade(_config(connection), "head")


def is_current(connection: Connection) -> bool:
    """Whether every migration has been applied."""
    applied = MigrationContext.configure(connection).get_current_revision()
    return applied == ScriptDirectory(str(MIGRATIONS)).get_current_head()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
