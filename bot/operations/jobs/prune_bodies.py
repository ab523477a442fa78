"""Forgets the bodies of old deliveries. Their keys and hashes stay for ever: they are what a replay is known by."""

from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.domain.clock import Clock
from bot.logs import get_logger
from bot.storage import inbox, state
from bot.storage.engine import Database

log = get_logger(__name__)

TOGETHER = 200
"""Rows of one transaction: ingest waits while it runs."""

PRUNED_TO = "bodies_pruned_to"
"""Under this name stands the number of the last delivery that was looked at."""


async def prune_bodies(database: Database, keep_days: int, clock: Clock) -> int:
    """How many bodies were forgotten: of deliveries that were received more than `keep_days` days ago, and are done."""
    pruned = 0
    while (count := await database.write(partial(_prune, keep_days=keep_days, clock=clock))) is not None:
        pruned += count
    if pruned:
        log.info("bodies_pruned", count=pruned)
    return pruned


def _prune(session: Session, keep_days: int, clock: Clock) -> int | None:
    """How many bodies of the next deliveries were forgotten; None where no more are old enough."""
    kept = state.get(session, PRUNED_TO)
    before = clock() - timedelta(days=keep_days)
    ids = inbox.received_before(session, before, after_id=kept[0] if kept else 0, limit=TOGETHER)
    if not ids:
        return None
    state.put(session, PRUNED_TO, ids[-1], clock())
    return inbox.forget_bodies(session, ids)
