"""Looks whether closed channels are open to the bot again: Slack's event that said so may have been lost."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bot.domain.clock import Clock
from bot.outbox import held_lanes, lanes
from bot.outbox.reopening import Reopening
from bot.storage import subscriptions
from bot.storage.engine import Database

AT_MOST = 40
"""Channels that are asked about in one run: conversations.info allows about fifty calls a minute."""


@dataclass(frozen=True)
class ChannelCheck:
    """Reopens closed channels in which the bot is a member again. `is_member` asks Slack; None is "it didn't say"."""

    database: Database
    is_member: Callable[[str], Awaitable[bool | None]]
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def __call__(self) -> None:
        """Ask about the closed channels; where they are very many, about some of them, in the end about each."""
        if await self.database.write(lanes.make_missing):
            self.wake.set()
        held = await self.database.read(partial(held_lanes.held_channels, limit=AT_MOST // 2))
        closed = await self.database.read(partial(subscriptions.closed_channels, limit=AT_MOST // 2))
        # The admins' channel has a lane and no subscription; it must come back all the same.
        for channel_id in dict.fromkeys([*held, *closed]):
            if await self.is_member(channel_id):
                await self.database.write(partial(self.reopening.try_again, channel_id=channel_id, now=self.clock()))
                self.wake.set()
