"""Tells what waited for an hour that its channel chose."""

import asyncio
from dataclasses import dataclass
from functools import partial

from bot.clock import Clock
from bot.db.engine import Database
from bot.logs import get_logger
from bot.outbox.resume import Reopening

log = get_logger(__name__)


@dataclass(frozen=True)
class DueTelling:
    database: Database
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> int:
        ended = 0
        while count := await self.database.write(partial(self.reopening.tell_due, clock=self.clock)):
            ended += count
            self.wake.set()
        if ended:
            log.info("waited_for_its_hour", channels=ended)
        return ended
