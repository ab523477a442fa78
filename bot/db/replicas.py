"""Counts the replicas on this database by their heartbeats.

Host and PORT name a replica: the process after a SIGKILL goes on with the heartbeat of the killed process.
"""

import asyncio
import socket
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database, database_now
from bot.db.named_values import Mark
from bot.db.tables import StoredState
from bot.errors import StorageError
from bot.logs import get_logger

log = get_logger(__name__)

BEAT_S = 30.0
DEAD_AFTER = timedelta(seconds=70)
"""A replica may miss a beat."""

_IS_REPLICA = col(StoredState.name).startswith(Mark.REPLICA, autoescape=True)


def beat(session: Session, replica: str, now: datetime) -> None:
    """Note that the replica lives, and forget silent replicas."""
    named_values.put(session, f"{Mark.REPLICA}{replica}", value=True, now=now)
    session.execute(delete(StoredState).where(_IS_REPLICA, col(StoredState.updated_at) <= now - DEAD_AFTER))


def living(session: Session, now: datetime) -> int:
    heard = col(StoredState.updated_at) > now - DEAD_AFTER
    return session.scalars(select(func.count()).select_from(StoredState).where(_IS_REPLICA, heard)).one()


def counts_for(session: Session, now: datetime) -> timedelta | None:
    """How long the last replica still counts as living if no replica beats again; None without a living replica."""
    last: datetime | None = session.execute(select(func.max(col(StoredState.updated_at))).where(_IS_REPLICA)).scalar()
    return None if last is None or last <= now - DEAD_AFTER else last + DEAD_AFTER - now


class Replicas:
    def __init__(self, database: Database, clock: Clock, port: int) -> None:
        self._database = database
        self._clock = clock
        self._name = f"{socket.gethostname()}:{port}"

    async def run(self) -> None:
        while True:
            await self.beat()
            await asyncio.sleep(BEAT_S)

    async def beat(self) -> None:
        try:
            await self._database.write(lambda session: beat(session, self._name, database_now(session, self._clock)))
        except StorageError as error:
            log.warning("replica_not_counted", reason=str(error))

    async def leave(self) -> None:
        try:
            await self._database.write(partial(named_values.drop, name=f"{Mark.REPLICA}{self._name}"))
        except StorageError as error:
            log.info("replica_not_taken_off", reason=str(error))
