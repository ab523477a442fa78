"""Gives up messages held too long. The messages are kept, and admins are told."""

from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database
from bot.operations.jobs.job import HOUR_S, Job, write_all
from bot.outbox import backlog
from bot.outbox.notices import Notices

MEETING_FOR = timedelta(days=1)
"""A live message or an escalation that could not be sent for so long is needless."""

EXPIRED_PER_COMMIT = 200
"""The number is small, because intake waits for the transaction."""


def expire_queue(database: Database, notices: Notices, keep_hours: int, clock: Clock) -> Job:
    run = partial(write_all, database, partial(_expire, notices=notices, keep_hours=keep_hours, clock=clock))
    return Job("expire_queue", "Messages that waited too long given up", HOUR_S, run)


def _expire(session: Session, notices: Notices, keep_hours: int, clock: Clock) -> int:
    # The closing has the database's time, and the summary counts from the closing.
    now = database_now(session, clock)
    backlog.drop_of_past_meetings(session, clock() - MEETING_FOR, now)
    given_up = backlog.give_up(session, clock() - timedelta(hours=keep_hours), EXPIRED_PER_COMMIT, now)
    for channel_id, lost in given_up.items():
        notices.given_up(session, channel_id, lost.held, keep_hours, has_abandonment=lost.has_abandonment)
    return sum(lost.count for lost in given_up.values())
