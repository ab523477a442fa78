"""Finds closed channels open to the bot again: Slack's event of the opening may be lost."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db.engine import Database
from bot.operations.jobs.job import Job
from bot.outbox import channel_queues, held_queues
from bot.outbox.resume import Reopening

CHANNELS_PER_RUN = 40
"""conversations.info allows about fifty calls a minute."""


def check_channels(
    database: Database,
    is_member: Callable[[str], Awaitable[bool | None]],
    reopening: Reopening,
    clock: Clock,
    wake: asyncio.Event,
) -> Job:
    async def run() -> None:
        if await database.write(channel_queues.make_missing):
            wake.set()
        held = await database.read(partial(held_queues.held_channels, limit=CHANNELS_PER_RUN // 2))
        closed = await database.read(partial(subscriptions.closed_channels, limit=CHANNELS_PER_RUN // 2))
        # The admins' channel has a channel queue and no subscription.
        for channel_id in dict.fromkeys([*held, *closed]):
            if await is_member(channel_id):
                await database.write(partial(reopening.try_again, channel_id=channel_id, now=clock()))
                wake.set()

    return Job("check_channels", "Closed channels tried", 600, run)
