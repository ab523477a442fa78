"""Queues an edit of each live message that an off time, gone by, has put out of date."""

import asyncio
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.operations.jobs.job import Job
from bot.outbox import fanout_knowledge, live_meetings

FOLLOW_EVERY_S = 15


def follow_off_times(database: Database, clock: Clock, wake: asyncio.Event) -> Job:
    async def run() -> int:
        count = await database.write(partial(_follow, clock=clock))
        if count:
            wake.set()
        return count

    def look(session: Session) -> object:
        return live_meetings.first_out_of_date(session, database_now(session, clock))

    return Job("follow_off_times", "Live messages brought up to the off times", FOLLOW_EVERY_S, run, look)


def _follow(session: Session, clock: Clock) -> int:
    # The outbox notes the moments by the same clock.
    now = database_now(session, clock)
    return live_meetings.edit_what_is_out_of_date(
        session, lambda: fanout_knowledge.read(session, now).with_live_messages, now
    )
