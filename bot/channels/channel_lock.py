"""The lock of a channel: replicas change a channel's subscriptions, pauses and mutes in turn."""

import zlib

from sqlalchemy import func, select
from sqlmodel import Session

from bot.db.engine import dialect_of
from bot.errors import LockTaken

CHANNEL_LOCKS = 72_284
"""The first number of PostgreSQL's advisory locks; the second number comes from the channel's id."""


def take(session: Session, *channel_ids: str) -> None:
    """Lock the channels until the transaction ends.

    A unit of work that changes rows after reading takes the lock before reading. Raises LockTaken where another replica
    has the lock; `Database.write` then repeats the whole unit. No transaction waits for a lock, so the order of locks
    doesn't matter. SQLite has a single writer and needs no lock.
    """
    if dialect_of(session) == "sqlite":
        return
    for channel_id in channel_ids:
        taken = select(func.pg_try_advisory_xact_lock(CHANNEL_LOCKS, _number(channel_id)))
        if not session.execute(taken).scalar_one():
            raise LockTaken(f"another replica changes what {channel_id} receives")


def _number(channel_id: str) -> int:
    return zlib.crc32(channel_id.encode()) - 2**31
