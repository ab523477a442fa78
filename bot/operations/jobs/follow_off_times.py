"""Queues an edit of each live message that an off time, gone by, has put out of date."""

import asyncio
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.outbox import fanout_knowledge, live_meetings


@dataclass(frozen=True)
class OffTimes:
    database: Database
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> int:
        count = await self.database.write(partial(_follow, clock=self.clock))
        if count:
            self.wake.set()
        return count


def _follow(session: Session, clock: Clock) -> int:
    # The outbox notes the moments by the same clock.
    now = database_now(session, clock)
    return live_meetings.edit_what_is_out_of_date(
        session, lambda: fanout_knowledge.read(session, now).with_live_messages, now
    )
