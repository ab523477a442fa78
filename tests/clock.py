"""The clock of the tests: each run begins at noon of the same day, and PostgreSQL goes by this clock too."""

from datetime import UTC, datetime, timedelta

import psycopg
from sqlalchemy import text

from bot.db.engine import Database

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = START.date().isoformat()

_AHEAD = START - datetime.now(UTC)


def now() -> datetime:
    """START plus the time since the run began."""
    return datetime.now(UTC) + _AHEAD


def move_clock(address: str) -> None:
    """Have the PostgreSQL database at `address` go by `now`, and by `set_ahead`.

    The server finds a function of the schema `public` before its own function of the same name.
    """
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")
        connection.execute("CREATE SEQUENCE IF NOT EXISTS public.clock_ahead MINVALUE -9000000000000000 START 1")
        connection.execute(
            "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            f" $$ SELECT pg_catalog.clock_timestamp() + interval '{_AHEAD.total_seconds()} seconds'"
            " + (SELECT last_value FROM public.clock_ahead) * interval '1 microsecond' $$"
        )


async def set_ahead(database: Database, ahead: timedelta) -> None:
    """Set PostgreSQL's clock; on SQLite the bot's own clock is the clock of the database."""
    if not database.is_sqlite:
        ahead_us = ahead // timedelta(microseconds=1)
        await database.write(lambda session: session.execute(text(f"SELECT setval('clock_ahead', {ahead_us})")))
