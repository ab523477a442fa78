"""The database: there, current, writable, roomy, quick, secrets readable. Contents never change."""

import asyncio
import shutil
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bot.clock import Monotonic
from bot.db import migrate
from bot.db.engine import Database, is_damage
from bot.db.schema import is_there
from bot.db.vault import Vault
from bot.deliveries.intake import journal_beside, place_in
from bot.deliveries.journal import STORE_WITHIN_S
from bot.doctor.check_run import Finding, NotApplicable, Seen, failed, warning
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

MIGRATE = "Run `racing-bot migrate`."


async def database(deployment: Deployment) -> Seen:
    found = deployment.database
    where = found.shown
    if not is_there(found):
        told = f"There is no database yet at {where}."
        return Seen(where, (failed("database_missing", told, "Run `racing-bot migrate`: all tables are made."),))
    # Without a table to read, SQLite does not open the file.
    question = text("SELECT count(*) FROM sqlite_master" if found.is_sqlite else "SELECT 1")
    try:
        await found.read(lambda session: session.execute(question))
    except (StorageError, SQLAlchemyError) as error:
        return Seen(where, (_not_opened(found, error),))
    return Seen(where)


def _not_opened(found: Database, fault: Exception) -> Finding:
    error = fault if isinstance(fault, StorageError) else reason_of(fault)
    if fault.__cause__ is not None and is_damage(fault.__cause__):
        mend = "Put a copy from the backup in its place, or move the file away and run `racing-bot migrate`."
        return failed("database_damaged", f"The file is damaged, or no database ({error}).", mend)
    mend = (
        f"Let the bot's user read and write {_file(found)} and the folder around the file."
        if found.is_sqlite
        else "Start PostgreSQL, or correct the host, the port, the user or the password in DATABASE_URL."
    )
    return failed("database_unreachable", f"The database does not answer ({error}).", mend)


async def schema(deployment: Deployment) -> Seen:
    head = migrate.head()
    try:
        found = await deployment.database.read(lambda session: migrate.applied(session.connection()))
    except SchemaUnknown as error:
        told = f"{str(error)[:1].upper()}{str(error)[1:]}"
        mend = "Run the named version, or put back a copy from before."
        return Seen(f"not {head}", (failed("schema_not_current", told, mend),))
    if found == head:
        return Seen(f"revision {head}")
    told = f"The schema is at revision {found or 'none'}, and this version of racing-bot needs {head}."
    return Seen(f"revision {found or 'none'}", (failed("schema_not_current", told, MIGRATE),))


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
    reason = reason_of(error)
    told = f"The database takes no write ({reason}). Every delivery is answered with 503 meanwhile."
    code = getattr(error.orig, "sqlstate", None) or ""
    if "full" in reason or code.startswith("53"):
        place = f"the disk of {_file(found)}" if found.is_sqlite else "the disk of the PostgreSQL server"
        return failed("database_not_written", told, f"Make room on {place}. The bot goes on by itself.")
    if "locked" in reason or code == "55P03":
        mend = "End the process or the session that holds the lock, such as a shell with an open transaction."
        return failed("database_not_written", told, mend)
    mend = (
        f"Let the bot's user write {_file(found)} and the folder around the file."
        if found.is_sqlite
        else "Point DATABASE_URL at the primary server, with a user that may write."
    )
    return failed("database_not_written", told, mend)


async def free_space(deployment: Deployment) -> Seen | NotApplicable:
    found = deployment.database
    if not found.is_sqlite:
        return NotApplicable("PostgreSQL does not tell the free space of the server: watch the server's own disk")
    folder = _file(found).parent
    free = shutil.disk_usage(folder).free
    needed = BODIES_WITH_ROOM * deployment.settings.max_body_bytes
    told = f"{free / MIB:,.0f} MiB are free in {folder.absolute()}"
    mend = f"Make room on the disk of {folder.absolute()}, or move the database to a larger disk."
    if free < needed:
        cost = f"{told}: less than {BODIES_WITH_ROOM} deliveries of MAX_BODY_BYTES."
        return Seen(told, (failed("disk_nearly_full", cost, mend),))
    if free < LITTLE_ROOM_BYTES:
        return Seen(told, (warning("disk_nearly_full", f"{told}: less than 1 GiB.", mend),))
    return Seen(told)


async def commit(deployment: Deployment) -> Seen:
    found = deployment.database
    try:
        slowest_s = await asyncio.to_thread(_slowest_commit_s, found, deployment.ports.monotonic)
    except DBAPIError as error:
        return Seen("refused", (_not_written(found, error),))
    told = f"the slowest of {COMMITS_TIMED} commits took {slowest_s * 1000:.0f} ms"
    if slowest_s < SLOW_COMMIT_S:
        return Seen(told)
    cost = f"{told[:1].upper()}{told[1:]}. A delivery waits {STORE_WITHIN_S:g} s at most and is then answered with 503."
    mend = (
        "Put the database on a local disk (no network share), and end other processes that hold its lock."
        if found.is_sqlite
        else "Put the bot near the PostgreSQL server, and look at the server's disk and load."
    )
    finding = (failed if slowest_s >= STORE_WITHIN_S else warning)("commits_slow", cost, mend)
    return Seen(told, (finding,))


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
        cost = f"No key opens the secret of subscription {numbers}: deliveries signed with the secret are refused."
        mend = (
            "Add the key of that time to ENCRYPTION_KEYS, after the newest. If the key is lost, run "
            f"`racing-bot subscribe --again`, then `racing-bot subscribe --retire {closed[0]}`."
        )
        return Seen(told, (failed("secrets_not_opened", cost, mend),))
    if not keys and not deployment.settings.racing_webhook_secrets:
        cost = "ENCRYPTION_KEYS is not set, and `racing-bot subscribe` stores no secret without a key."
        return Seen(told, (warning("no_encryption_key", cost, f"Set ENCRYPTION_KEYS to a key made by: {MAKE_KEY}"),))
    return Seen(told)


async def journal(deployment: Deployment) -> Seen | NotApplicable:
    found = deployment.database
    kept = await journal_beside(found, deployment.ports.monotonic)
    if kept is None:
        return NotApplicable("there is no journal yet: `racing-bot serve` makes the journal")
    place = await deployment.database.read(place_in)
    with closing(kept):
        try:
            count, first = await found.read_beside(partial(kept.waiting, place))
        except StorageError as error:
            told = f"The journal of deliveries can't be read ({error})."
            mend = "Put the journal's copy back, or remove the journal: docs/operations/README.md, Put a copy back."
            return Seen("not readable", (failed("journal_not_read", told, mend),))
    if first is None:
        return Seen("no delivery waits")
    waiting = counted(count, "delivery", "deliveries")
    told = f"The bot has not read {waiting} of the journal, received since {first:%Y-%m-%d %H:%M} UTC"
    if deployment.ports.clock() - first < JOURNAL_READ_WITHIN:
        return Seen(told)
    mend = "Start `racing-bot serve`. If the bot runs, mend the database as the other checks say, and see the log."
    return Seen(told, (failed("deliveries_wait", f"{told}: no channel is told.", mend),))


def _file(found: Database) -> Path:
    return Path(found.url.database or "")
