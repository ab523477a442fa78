"""Who else runs on this database: each running service notes every few seconds that it lives, as a named value.

The service's limits apply per key, so replicas divide them by their number. By the database's clock, because
replicas must agree on who is alive.
"""

import asyncio
import secrets
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from bot.clock import Clock
from bot.db import named_values
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.db.tables import StoredState
from bot.errors import StorageError
from bot.logs import get_logger

log = get_logger(__name__)

PREFIX = "replica:"

BEAT_S = 10.0
DEAD_AFTER = timedelta(seconds=30)
"""Two beats may be missed: a replica that only stutters is not counted out."""

_IS_REPLICA = col(StoredState.name).startswith(PREFIX, autoescape=True)


def beat(session: Session, replica: str, now: datetime) -> int:
    """How many replicas live, this one among them; those that have not been heard of are forgotten."""
    named_values.put(session, PREFIX + replica, value=True, now=now)
    session.execute(delete(StoredState).where(_IS_REPLICA, col(StoredState.updated_at) <= now - DEAD_AFTER))
    return living(session, now)


def living(session: Session, now: datetime) -> int:
    """How many replicas have been heard of lately."""
    heard = col(StoredState.updated_at) > now - DEAD_AFTER
    found: int = session.execute(select(func.count()).select_from(StoredState).where(_IS_REPLICA, heard)).scalar_one()
    return found


def leave(session: Session, replica: str) -> None:
    """The replica stops: the others need not wait until it counts as dead."""
    named_values.drop(session, PREFIX + replica)


class Replicas:
    """This process among its replicas. `count` is how many live, as last heard: at least this one."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._name = secrets.token_hex(8)
        self.count = 1

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await self.beat()
            await asyncio.sleep(BEAT_S)

    async def beat(self) -> None:
        """Note that this process lives, and count. Where the database can't be asked, the last count holds."""
        try:
            self.count = await self._database.write(
                lambda session: beat(session, self._name, database_now(session, self._clock))
            )
        except StorageError as error:
            log.warning("replicas_not_counted", reason=str(error), count=self.count)

    async def leave(self) -> None:
        """Take this process off the list. What can't be stored now dies off by itself."""
        try:
            await self._database.write(partial(leave, replica=self._name))
        except StorageError as error:
            log.info("replica_not_taken_off", reason=str(error))
