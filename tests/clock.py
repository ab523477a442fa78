"""The clock of the tests: each run begins at noon of the same day, and PostgreSQL goes by this clock too.

To be imported before the bot and the stand-ins: what they take for the real clock is then the clock of the tests.
"""

import asyncio
import os
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

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


# Event loops with a clock of their own: a busy machine makes no test meet a limit of seconds


Done = TypeVar("Done")
Given = TypeVarTuple("Given")


class _Waits(selectors.DefaultSelector):
    waited_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        # Without a wait where something is ready, however long the process was not scheduled.
        if (found := super().select(0)) or timeout == 0:
            return found
        began_s = time.monotonic()
        found = super().select(timeout)
        passed_s = time.monotonic() - began_s
        self.waited_s += passed_s if timeout is None else min(passed_s, max(0.0, timeout))
        return found


class PatientLoop(asyncio.SelectorEventLoop):
    """Counts the time of its own work and waits, without the time in which another process has the processor."""

    def __init__(self) -> None:
        self._waits = _Waits()
        self._thread, self._seen_s = threading.get_ident(), 0.0
        super().__init__(self._waits)

    def time(self) -> float:
        """Another thread gets the time that the loop has seen last: the thread's work is not the loop's."""
        if threading.get_ident() == self._thread:
            self._seen_s = time.thread_time() + self._waits.waited_s
        return self._seen_s


class _Selector(selectors.DefaultSelector):
    skips = False
    skipped_s = 0.0
    threads = 0
    """Threads at work for the loop. While a thread works, no time is skipped."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if not self.skips or timeout is None or self.threads:
            return super().select(timeout)
        self.skipped_s += max(0.0, timeout)
        return []


class SkippingLoop(asyncio.SelectorEventLoop):
    """Skips idle time, once `skips` is set. For tests without threads and sockets."""

    def __init__(self) -> None:
        self._chosen = _Selector()
        super().__init__(self._chosen)

    @property
    def skips(self) -> bool:
        return self._chosen.skips

    @skips.setter
    def skips(self, skips: bool) -> None:
        self._chosen.skips = skips

    def time(self) -> float:
        return super().time() + self._chosen.skipped_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Given], Done], *args: *Given
    ) -> asyncio.Future[Done]:
        work = super().run_in_executor(executor, func, *args)
        self._chosen.threads += 1
        work.add_done_callback(self._thread_is_done)
        return work

    def _thread_is_done(self, _work: asyncio.Future[Any]) -> None:
        self._chosen.threads -= 1
