"""Storing deliveries in an inbox that has had very many: keys and hashes are kept for ever, so it only grows."""

import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean, median

from sqlalchemy import DateTime, bindparam, text

from bench.common import Below, Measure, Plan, paired_ratio
from bench.postgres import NewDatabase
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.deliveries import inbox
from bot.deliveries.inbox import Arrival

FEW = 10_000
TOGETHER = 32
"""Deliveries of a batch: as many as the ingest measure has connections, which share a commit."""

RECEIVED_AT = datetime(2026, 1, 1, tzinfo=UTC)
BUILD_CACHE = "PRAGMA cache_size = -500000"
"""KiB, while a SQLite inbox is filled: keys in no order would else read and write each page many times."""

STEP = 50_000
"""Rows of a statement: on PostgreSQL none may take longer than the bot's statement_timeout."""

FILL = """
    INSERT INTO inbox (event_key, event_name, body_sha256, received_at, done_at, state, attempts)
    WITH RECURSIVE counted (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < :rows)
    SELECT 'result.received:rc_' || substr({hex_64}, 1, 12), 'result.received', {hex_64}, :at, :at, 'done', 0
    FROM counted
"""
HEX_64_SQLITE = "lower(hex(randomblob(32)))"
HEX_64_POSTGRESQL = "md5(random()::text) || md5(random()::text)"


@dataclass
class Inbox:
    """An inbox under measure, and how long a batch took in each round."""

    database: Database
    keys: int
    batch_s: list[float] = field(default_factory=list)


async def measure(folder: Path, new_postgres: NewDatabase | None, plan: Plan) -> list[Measure]:
    """Milliseconds of a batch, its commit included, where there are few keys and where there are many; their ratio."""
    lines = await _compare("SQLite", f"sqlite:///{folder / 'few.db'}", f"sqlite:///{folder / 'many.db'}", plan)
    if new_postgres is not None:
        lines += await _compare("PostgreSQL", new_postgres(), new_postgres(), plan)
    return lines


async def _compare(engine: str, few_url: str, many_url: str, plan: Plan) -> list[Measure]:
    few, many = Inbox(Database(few_url), FEW), Inbox(Database(many_url), plan.kept_keys)
    for each in (few, many):
        fill(each.database, each.keys)
    for round_number in range(plan.rounds):
        await _round(few, many, [batch(f"{round_number}-{number}") for number in range(plan.batches)])
    for each in (few, many):
        await each.database.close()
    return [
        *(
            Measure(f"{engine}: {TOGETHER} deliveries into {each.keys:,} keys", median(each.batch_s) * 1000, "ms")
            for each in (few, many)
        ),
        Measure(
            f"{engine}: into {many.keys:,} keys / {few.keys:,}",
            paired_ratio(many.batch_s, few.batch_s),
            "ratio",
            Below(1.5),
        ),
    ]


async def _round(few: Inbox, many: Inbox, batches: list[list[Arrival]]) -> None:
    """The same batches into both, in turns."""
    seconds: dict[int, list[float]] = {few.keys: [], many.keys: []}
    for arrivals in batches:
        for each in (few, many):
            started = time.perf_counter()
            await each.database.write(partial(inbox.store, arrivals=arrivals))
            seconds[each.keys].append(time.perf_counter() - started)
    for each in (few, many):
        each.batch_s.append(fmean(seconds[each.keys]))


def batch(name: str) -> list[Arrival]:
    """Deliveries that no inbox has had. What a body costs does not depend on the keys: these are short."""
    hashes = [hashlib.sha256(f"{name}-{number}".encode()).hexdigest() for number in range(TOGETHER)]
    return [
        Arrival(f"result.received:rc_{sha256[:12]}", "result.received", sha256, b"{}", RECEIVED_AT) for sha256 in hashes
    ]


def fill(database: Database, rows: int) -> None:
    """A new inbox that has had so many deliveries: done, pruned, their keys in no order, as ids of races come."""
    upgrade(database)
    hex_64 = HEX_64_SQLITE if database.is_sqlite else HEX_64_POSTGRESQL
    at = bindparam("at", RECEIVED_AT, type_=DateTime(timezone=True))
    with database.writer.begin() as connection:
        if database.is_sqlite:
            connection.exec_driver_sql(BUILD_CACHE)
        for start in range(0, rows, STEP):
            some = min(STEP, rows - start)
            connection.execute(text(FILL.format(hex_64=hex_64)).bindparams(at, rows=some))
    # The connection that filled it has a cache that the bot's have not.
    database.writer.dispose()
    if not database.is_sqlite:
        _settle(database)


def _settle(database: Database) -> None:
    """What PostgreSQL does some time after so many rows has been done."""
    with database.writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in ("VACUUM ANALYZE inbox", "CHECKPOINT"):
            connection.exec_driver_sql(statement)
