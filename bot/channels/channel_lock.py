"""The lock of a channel: two replicas never change what one channel receives at the same time."""

import zlib

from sqlalchemy import func, select
from sqlmodel import Session

from bot.db.engine import dialect_of
from bot.errors import LockTaken

CHANNEL_LOCKS = 72_284
"""PostgreSQL's advisory locks of channels: the first of their two numbers. The second is of the channel's id."""


def take(session: Session, *channel_ids: str) -> None:
    """Keep other replicas from changing these channels' subscriptions, pauses and mutes until this transaction ends.

    A change takes the lock itself. A unit of work that changes what it has read takes the lock before it reads.
    Raises LockTaken where another replica has the lock: `Database.write` then does the whole unit once more. Nobody
    waits within a transaction, so that units which share one may take the locks of several channels in any order.
    SQLite has one writer.
    """
    if dialect_of(session) == "sqlite":
        return
    for channel_id in channel_ids:
        taken = select(func.pg_try_advisory_xact_lock(CHANNEL_LOCKS, _number(channel_id)))
        if not session.execute(taken).scalar_one():
            raise LockTaken(f"another replica changes what {channel_id} receives")


def _number(channel_id: str) -> int:
    """A number within PostgreSQL's integers. Channels that share one only wait for each other."""
    return zlib.crc32(channel_id.encode()) - 2**31
