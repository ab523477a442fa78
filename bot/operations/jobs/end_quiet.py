"""Tells what waited for the end of quiet hours."""

import asyncio
from dataclasses import dataclass
from functools import partial

from bot.clock import Clock
from bot.db.engine import Database
from bot.logs import get_logger
from bot.outbox.resume import Reopening

log = get_logger(__name__)


@dataclass(frozen=True)
class QuietEnd:
    database: Database
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> int:
        ended = 0
        while count := await self.database.write(partial(self.reopening.end_quiet, clock=self.clock)):
            ended += count
            self.wake.set()
        if ended:
            log.info("quiet_hours_ended", channels=ended)
        return ended
