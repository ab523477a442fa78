"""Tells more people of abandonments that nobody has acknowledged."""

import asyncio
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.outbox import acknowledgements


@dataclass(frozen=True)
class EscalationCheck:
    database: Database
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> int:
        steps = 0
        while count := await self.database.write(partial(_escalate, clock=self.clock)):
            steps += count
            self.wake.set()
        return steps


def _escalate(session: Session, clock: Clock) -> int:
    # The outbox writes moments by the same clock.
    return acknowledgements.escalate(session, database_now(session, clock))
