"""The database: there, current, writable, roomy, quick, secrets readable. Contents never change."""

import asyncio
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bot.clock import Monotonic
from bot.db import migrate
from bot.db.engine import Database, is_damage
from bot.db.schema import is_there
from bot.db.vault import Vault
from bot.deliveries.intake import place_in, unread_letters
from bot.deliveries.journal import STORE_WITHIN_S
from bot.doctor.check_run import CheckOutcome, Finding, NotApplicable, Seen, finding
from bot.doctor.deployment import Deployment
from bot.errors import SchemaUnknown, StorageError, reason_of
from bot.events.sentences import counted
from bot.racedata import webhook_subscriptions
from bot.settings import MAKE_KEY, MIB

PROOF = "doctor.proof"
PROOF_BYTES = 256 * 1024
"""Bytes written and rolled back: more than SQLite's cache of a single page."""

BODIES_WITH_ROOM = 16
"""Deliveries of the largest size with room on the disk."""

LITTLE_ROOM_BYTES = 1024 * MIB

COMMITS_TIMED = 3
SLOW_COMMIT_S = 0.25
"""Many deliveries share a commit. Beyond STORE_WITHIN_S deliveries are refused."""

JOURNAL_READ_WITHIN = timedelta(minutes=1)
"""The bot reads the journal each second."""


async def database(deployment: Deployment) -> Seen:
    found = deployment.database
    where = found.shown
    if not is_there(found):
        return Seen(where, (finding("database_missing", where=where),))
    # Without a table to read, SQLite does not open the file.
    question = text("SELECT count(*) FROM sqlite_master" if found.is_sqlite else "SELECT 1")
    try:
        await found.read(lambda session: session.execute(question))
    except (StorageError, SQLAlchemyError) as error:
        is_damaged = error.__cause__ is not None and is_damage(error.__cause__)
        name = "database_damaged" if is_damaged else f"database_unreachable {_engine(found)}"
        reason = error if isinstance(error, StorageError) else reason_of(error)
        return Seen(where, (finding(name, error=reason, file=_file(found)),))
    return Seen(where)


async def schema(deployment: Deployment) -> Seen:
    head = migrate.head()
    try:
        found = await deployment.database.read(lambda session: migrate.applied(session.connection()))
    except SchemaUnknown as error:
        told = f"{str(error)[:1].upper()}{str(error)[1:]}"
        return Seen(f"not {head}", (finding("schema_not_current unknown", error=told),))
    if found == head:
        return Seen(f"revision {head}")
    return Seen(f"revision {found or 'none'}", (finding("schema_not_current", found=found or "none", head=head),))


async def writable(deployment: Deployment) -> Seen:
    try:
        await asyncio.to_thread(_write_and_roll_back, deployment.database)
    except DBAPIError as error:
        return Seen("refused", (_not_written(deployment.database, error),))
    return Seen("a row was written and rolled back")


def _write_and_roll_back(found: Database) -> None:
    with found.writer.connect() as connection:
        if found.is_sqlite:
            # A page beyond the cache reaches the disk before the commit, so a full disk shows.
            connection.exec_driver_sql("PRAGMA cache_size=1")
        values = {"name": PROOF, "value": "x" * PROOF_BYTES}
        insert = "INSERT INTO stored_state (name, value, updated_at) VALUES (:name, :value, CURRENT_TIMESTAMP)"
        connection.execute(text(insert), values)
        connection.rollback()


def _not_written(found: Database, error: DBAPIError) -> Finding:
    reason, why = reason_of(error), _engine(found)
    code = getattr(error.orig, "sqlstate", None) or ""
    if "full" in reason or code.startswith("53"):
        why = "full"
    elif "locked" in reason or code == "55P03":
        why = "locked"
    place = _file(found) if found.is_sqlite else "the PostgreSQL server"
    return finding(f"database_not_written {why}", reason=reason, place=place)


async def free_space(deployment: Deployment) -> Seen:
    found = deployment.database
    if not found.is_sqlite:
        return NotApplicable("PostgreSQL does not tell the free space of the server: watch the server's own disk")
    folder = _file(found).parent
    free = shutil.disk_usage(folder).free
    needed = BODIES_WITH_ROOM * deployment.settings.max_body_bytes
    told = f"{free / MIB:,.0f} MiB are free in {folder.absolute()}"
    if free >= max(needed, LITTLE_ROOM_BYTES):
        return Seen(told)
    name = "disk_nearly_full" if free < needed else "disk_nearly_full little"
    return Seen(told, (finding(name, free=told, bodies=BODIES_WITH_ROOM, folder=folder.absolute()),))


async def commit(deployment: Deployment) -> Seen:
    found = deployment.database
    try:
        slowest_s = await asyncio.to_thread(_slowest_commit_s, found, deployment.ports.monotonic)
    except DBAPIError as error:
        return Seen("refused", (_not_written(found, error),))
    commits = f"{COMMITS_TIMED} commits took {slowest_s * 1000:.0f} ms"
    slow = finding(f"commits_slow {_engine(found)}", commits=commits, within_s=STORE_WITHIN_S)
    if slowest_s >= STORE_WITHIN_S:
        slow = replace(slow, outcome=CheckOutcome.FAILED)
    return Seen(f"the slowest of {commits}", (slow,) if slowest_s >= SLOW_COMMIT_S else ())


def _slowest_commit_s(found: Database, monotonic: Monotonic) -> float:
    """The slowest of real commits. SQLite's user_version gets its present value, PostgreSQL's log a record alone."""
    slowest_s = 0.0
    for _ in range(COMMITS_TIMED):
        started = monotonic()
        with found.writer.connect() as connection:
            if found.is_sqlite:
                number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
                connection.exec_driver_sql(f"PRAGMA user_version={int(number)}")
            else:
                connection.execute(text("SELECT pg_logical_emit_message(true, 'racing-bot', 'doctor')"))
            connection.commit()
        slowest_s = max(slowest_s, monotonic() - started)
    return slowest_s


async def encryption_keys(deployment: Deployment) -> Seen:
    keys = [key.get_secret_value() for key in deployment.settings.encryption_keys]
    rows = await deployment.database.read(webhook_subscriptions.live)
    locked = {row.id or 0: kept for row in rows if (kept := row.secret or row.answer)}
    closed = [*Vault(keys).open_all(locked).shut]
    told = f"{len(locked) - len(closed)} of {len(locked)} stored secrets can be opened"
    if closed:
        numbers = ", ".join(map(str, closed))
        return Seen(told, (finding("secrets_not_opened", numbers=numbers, first=closed[0]),))
    if not keys and not deployment.settings.racing_webhook_secrets:
        return Seen(told, (finding("no_encryption_key", make_key=MAKE_KEY),))
    return Seen(told)


async def journal(deployment: Deployment) -> Seen:
    found = deployment.database
    place = await found.read(place_in)
    try:
        waits = await unread_letters(found, place, deployment.ports.monotonic)
    except StorageError as error:
        return Seen("not readable", (finding("journal_not_read", error=error),))
    if waits is None:
        return NotApplicable("there is no journal yet: `racing-bot serve` makes the journal")
    count, first = waits
    if first is None:
        return Seen("no delivery waits")
    waiting = counted(count, "delivery", "deliveries")
    told = f"The bot has not read {waiting} of the journal, received since {first:%Y-%m-%d %H:%M} UTC"
    if deployment.ports.clock() - first < JOURNAL_READ_WITHIN:
        return Seen(told)
    return Seen(told, (finding("deliveries_wait", waiting=told),))


def _engine(found: Database) -> str:
    return found.url.get_backend_name()


def _file(found: Database) -> Path:
    return Path(found.url.database or "")
