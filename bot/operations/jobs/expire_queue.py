"""Gives up what has waited too long in lanes that are held: kept, never posted by itself, and admins told of it."""

from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.domain.clock import Clock
from bot.logs import get_logger
from bot.outbox import waited
from bot.outbox.notices import Notices
from bot.storage.clock import database_now
from bot.storage.engine import Database

log = get_logger(__name__)

TOGETHER = 200
"""Posts of one transaction: ingest waits while it runs."""


async def expire_queue(database: Database, notices: Notices, keep_hours: int, clock: Clock) -> int:
    """How many posts were given up: those of events that came more than `keep_hours` hours ago, in held lanes."""
    expired = 0
    while count := await database.write(partial(_expire, notices=notices, keep_hours=keep_hours, clock=clock)):
        expired += count
    if expired:
        log.warning("posts_given_up", count=expired)
    return expired


def _expire(session: Session, notices: Notices, keep_hours: int, clock: Clock) -> int:
    # By the clock that closings go by: the summary counts what was given up since the closing.
    now = database_now(session, clock)
    given_up = waited.give_up(session, clock() - timedelta(hours=keep_hours), TOGETHER, now)
    for channel_id, (held, _) in given_up.items():
        notices.given_up(session, channel_id, held, keep_hours)
    return sum(count for _, count in given_up.values())
