"""The statements of a delivery, from its commit to its post that was sent: how long each takes in the driver."""

import asyncio
import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url

from bench.ingest import arrival
from bench.payloads import Results
from bot.app import Service
from bot.cli.server import loop_factory
from bot.logs import configure_logging
from bot.outbox.pace import Pace
from bot.settings import load_settings

APART_S = 0.06
SETTLE_S = 0.3
READ_S = 2.0
"""After its start a bot still reads what the data service publishes, once."""

_VALUE = r"(?:\?|%\(\w+\)s(?:::[\w ]+)?)"
_VALUES = re.compile(rf"{_VALUE}(?:, {_VALUE})+")
_ROWS = re.compile(r"\(…\)(?:, \(…\))+")


@dataclass
class Statement:
    """A statement of one database, with how often it was carried out and how long that took in all."""

    text: str
    each_s: list[float] = field(default_factory=list)
    """How long it took each time, its rows included."""
    last: tuple[str, Any] = ("", ())
    """As it was carried out the last time, with its values."""
    plan: str = ""

    @property
    def median_s(self) -> float:
        """How long it takes: on a busy machine a few are longer for other reasons."""
        return median(self.each_s) if self.each_s else 0.0

    @property
    def seconds(self) -> float:
        """How long it took in all, were each time the median."""
        return self.median_s * len(self.each_s)


Statements = dict[str, Statement]
Clock = Callable[[], float]
Plan = Callable[[str, Any], str]
"""How a statement with these values is carried out."""


def alike(text: str) -> str:
    """A statement without its number of values and rows, which differ from time to time."""
    return _ROWS.sub("(…), …", _VALUES.sub("…", " ".join(text.split())))


class Timing:
    """Times what drivers do while `is_on`; statements by the name of their database."""

    def __init__(self) -> None:
        self.is_on = False
        self.by_database: dict[str, Statements] = {}

    def install(self) -> None:
        """Have every engine of this process connect with cursors that are timed."""
        event.listen(Engine, "do_connect", self.connect)

    @contextlib.contextmanager
    def timed(self, database: str, text: str, values: Any = None, clock: Clock = time.thread_time) -> Iterator[None]:
        """What is done within is a part of the statement. `values` are given where it is carried out anew.

        SQLite works in the thread that asks it, so that the thread's own clock leaves out what others do meanwhile.
        """
        began = clock()
        try:
            yield
        finally:
            if self.is_on:
                self._add(self.by_database.setdefault(database, {}), text, clock() - began, values)

    def _add(self, known: Statements, text: str, seconds: float, values: Any) -> None:
        statement = known.setdefault(alike(text), Statement(alike(text)))
        if values is not None:
            statement.each_s.append(seconds)
            statement.last = (text, values)
        elif statement.each_s:
            statement.each_s[-1] += seconds

    def connect(self, dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Change what an engine connects with; called by SQLAlchemy."""
        if dialect.name == "sqlite":
            options["factory"] = _sqlite(self, arguments[0])
        else:
            options["cursor_factory"] = _postgresql(self, options["dbname"])


def _sqlite(timing: Timing, database: str) -> type[sqlite3.Connection]:
    class Cursor(sqlite3.Cursor):
        text = ""

        def execute(self, text: str, values: Any = (), /) -> "Cursor":
            self.text = text
            with timing.timed(database, text, values):
                super().execute(text, values)
            return self

        def executemany(self, text: str, rows: Any, /) -> "Cursor":
            self.text, rows = text, list(rows)
            with timing.timed(database, text, rows[0]):
                super().executemany(text, rows)
            return self

        def fetchall(self) -> list[Any]:
            with timing.timed(database, self.text):
                return super().fetchall()

        def fetchone(self) -> Any:
            with timing.timed(database, self.text):
                return super().fetchone()

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

    return Connection


def _postgresql(timing: Timing, database: str) -> "type[psycopg.Cursor[TupleRow]]":
    # psycopg has all rows once a statement was carried out.
    class Cursor(psycopg.Cursor[TupleRow]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            with timing.timed(database, str(query), params or (), time.perf_counter):
                return super().execute(query, params, **options)

        def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
            rows = list(params_seq)
            with timing.timed(database, str(query), rows[0], time.perf_counter):
                super().executemany(query, rows, **options)

    return Cursor


def time_statements(
    settings: Sequence[Mapping[str, str]], regions: tuple[str, ...], rounds: int, deliveries: int, log: Path
) -> list[Statements]:
    """The statements of so many rounds of deliveries, by each of these bots in turns, with their plans; for `apart`."""
    loaded = [
        load_settings(env_file=None, **{name.lower(): value for name, value in each.items()}) for each in settings
    ]
    timing = Timing()
    timing.install()
    with log.open("w", encoding="utf-8") as lines, contextlib.redirect_stderr(lines):
        configure_logging(loaded[0].log_level, loaded[0].log_format)
        services = [Service(each, pace=Pace(channel_s=0, workspace_per_minute=None)) for each in loaded]
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_deliver(services, timing, regions, rounds, deliveries))
    return [explained(url, timing.by_database[name_of(url)]) for url in (each["DATABASE_URL"] for each in settings)]


def name_of(url: str) -> str:
    """How the driver is told of a database: a file's path, or a name."""
    return make_url(url).database or ""


async def _deliver(
    services: Sequence[Service], timing: Timing, regions: tuple[str, ...], rounds: int, deliveries: int
) -> None:
    """One after another, in turns. The first round does not count."""
    for service in services:
        await service.start()
    await asyncio.sleep(READ_S)
    results, numbers = Results("st", regions), [count() for _ in services]
    for round_number in range(rounds + 1):
        # What a bot asks by the clock it asks in the other's turn as well.
        timing.is_on = round_number > 0
        for service, number in zip(services, numbers, strict=True):
            for _ in range(deliveries):
                await service.ingest.store(arrival(results.body(next(number))))
                await asyncio.sleep(APART_S)
            await asyncio.sleep(SETTLE_S)
    for service in services:
        await service.stop()


def explained(url: str, statements: Statements) -> Statements:
    """The statements with how the database carries each out, and without their values, which no pipe takes."""
    plan_of = _plans_of_sqlite if url.startswith("sqlite") else _plans_of_postgresql
    with plan_of(url) as plan:
        for each in statements.values():
            each.plan = plan(*each.last)
            each.last = ("", ())
    return statements


@contextlib.contextmanager
def _plans_of_sqlite(url: str) -> Iterator[Plan]:
    with contextlib.closing(sqlite3.connect(name_of(url))) as database:

        def plan(text: str, values: Any) -> str:
            try:
                return "\n".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {text}", values))
            except sqlite3.Error as error:
                return str(error)

        yield plan


@contextlib.contextmanager
def _plans_of_postgresql(url: str) -> Iterator[Plan]:
    with psycopg.connect(url, autocommit=True) as server:

        def plan(text: str, values: Any) -> str:
            try:
                return "\n".join(row[0] for row in server.execute(f"EXPLAIN {text}".encode(), values or None))
            except psycopg.Error as error:
                return str(error).splitlines()[0]

        yield plan
