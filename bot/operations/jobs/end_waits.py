"""Ends pauses whose time has come, and tells what waited for an hour that its channel chose."""

import asyncio
from functools import partial

from bot.clock import Clock
from bot.db.engine import Database
from bot.operations.jobs.job import Job, write_all
from bot.outbox import backlog, held_queues
from bot.outbox.resume import Reopening


def end_pauses(database: Database, reopening: Reopening, clock: Clock, wake: asyncio.Event) -> Job:
    """Also the pauses of channels without a subscription."""

    async def run() -> int:
        return await write_all(database, lambda session: reopening.end_pauses(session, clock()), wake)

    return Job("end_pauses", "Pauses ended", 30, run, lambda session: held_queues.pauses_over(session, clock(), 1))


def tell_due(database: Database, reopening: Reopening, clock: Clock, wake: asyncio.Event) -> Job:
    run = partial(write_all, database, partial(reopening.tell_due, clock=clock), wake)
    words = "Digests and quiet hours told"
    return Job("tell_due", words, 30, run, lambda session: backlog.channels_due(session, clock(), 1))
