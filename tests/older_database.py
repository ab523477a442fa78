"""A database as commit b7b2c51 left it: the oldest that is taken over."""

import sqlite3
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

from bot.db import migrate

NEWEST = migrate.head()
"""The revision that this version of the bot migrates to."""

OLDEST = "0018"

_SCHEMAS = Path(__file__).parent / "integration" / "db" / "b7b2c51"


def make_older_database(url: str, revision: str = OLDEST) -> None:
    """Make the tables of an empty database as they were, in the name of a revision."""
    where = make_url(url)
    stored = f"INSERT INTO alembic_version VALUES ('{revision}');"
    if where.get_backend_name() == "sqlite":
        connection = sqlite3.connect(where.database or "")
        connection.executescript((_SCHEMAS / "sqlite.sql").read_text() + stored)
        connection.close()
        return
    with psycopg.connect(where.set(drivername="postgresql").render_as_string(hide_password=False)) as server:
        server.execute((_SCHEMAS / "postgresql.sql").read_text().encode() + stored.encode())
