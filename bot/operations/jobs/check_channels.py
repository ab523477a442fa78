"""Finds closed channels open to the bot again: Slack's event of the opening may be lost."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db.engine import Database
from bot.outbox import channel_queues, held_queues
from bot.outbox.resume import Reopening

CHANNELS_PER_RUN = 40
"""conversations.info allows about fifty calls a minute."""


@dataclass(frozen=True)
class ChannelCheck:
    database: Database
    is_member: Callable[[str], Awaitable[bool | None]]
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> None:
        if await self.database.write(channel_queues.make_missing):
            self.wake.set()
        held = await self.database.read(partial(held_queues.held_channels, limit=CHANNELS_PER_RUN // 2))
        closed = await self.database.read(partial(subscriptions.closed_channels, limit=CHANNELS_PER_RUN // 2))
        # The admins' channel has a channel queue and no subscription.
        for channel_id in dict.fromkeys([*held, *closed]):
            if await self.is_member(channel_id):
                await self.database.write(partial(self.reopening.try_again, channel_id=channel_id, now=self.clock()))
                self.wake.set()
