"""The clock of the tests: each run begins at noon of the same day, and PostgreSQL goes by this clock too.

To be imported before the bot and the stand-ins: what they take for the real clock is then the clock of the tests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
from sqlalchemy import text

import bot.clock
from bot.db.engine import Database

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = START.date().isoformat()

PATIENCE_S = 60.0
"""For whatever comes soon on a quiet machine. The limit ends a test that hangs; no test is about a busy machine."""

AHEAD_S = os.environ.setdefault("TESTS_CLOCK_AHEAD_S", str((START - datetime.now(UTC)).total_seconds()))
"""The workers of a run, and the processes of a worker, have the same clock."""

_ahead = timedelta(seconds=float(AHEAD_S))


def now() -> datetime:
    """START plus the time since the run began."""
    return datetime.now(UTC) + _ahead


bot.clock.utc_now = now


@contextmanager
def real_clock() -> Iterator[None]:
    """The real time within the block: for stand-ins of a bot that is started as users start the bot."""
    global _ahead  # noqa: PLW0603  functions of the bot hold `now` by its name
    _ahead = timedelta(0)
    try:
        yield
    finally:
        _ahead = timedelta(seconds=float(AHEAD_S))


def move_clock(address: str) -> None:
    """Have the PostgreSQL database at `address` go by `now`, and by `set_ahead`.

    The server finds a function of the schema `public` before its own function of the same name.
    """
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        (server_now,) = connection.execute("SELECT pg_catalog.clock_timestamp()").fetchone() or ()
        # A server that `.ci/at` does not reach goes by the real time.
        behind_s = round((datetime.now(UTC) - server_now).total_seconds())
        connection.execute(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")
        connection.execute("CREATE SEQUENCE IF NOT EXISTS public.clock_ahead MINVALUE -9000000000000000 START 1")
        connection.execute(
            "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            f" $$ SELECT pg_catalog.clock_timestamp() + interval '{float(AHEAD_S) + behind_s} seconds'"
            " + (SELECT last_value FROM public.clock_ahead) * interval '1 microsecond' $$"
        )


async def set_ahead(database: Database, ahead: timedelta) -> None:
    """Set PostgreSQL's clock; on SQLite the bot's own clock is the clock of the database."""
    if not database.is_sqlite:
        ahead_us = ahead // timedelta(microseconds=1)
        await database.write(lambda session: session.execute(text(f"SELECT setval('clock_ahead', {ahead_us})")))
