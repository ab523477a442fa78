"""Forgets the bodies of old deliveries. Keys and hashes stay for ever, and tell a replay from a new delivery."""

from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.logs import get_logger

log = get_logger(__name__)

TOGETHER = 200
"""Rows of a transaction. Ingest waits for the transaction, so the number is small."""

PRUNED_TO = "bodies_pruned_to"
"""The name of a stored number: the id of the last delivery looked at."""


async def prune_bodies(database: Database, keep_days: int, clock: Clock) -> int:
    """How many bodies were forgotten: of finished deliveries received more than `keep_days` days ago."""
    pruned = 0
    while (count := await database.write(partial(_prune, keep_days=keep_days, clock=clock))) is not None:
        pruned += count
    if pruned:
        log.info("bodies_pruned", count=pruned)
    return pruned


def _prune(session: Session, keep_days: int, clock: Clock) -> int | None:
    """How many bodies of the next deliveries were forgotten; None where no other delivery is old enough."""
    kept = named_values.get(session, PRUNED_TO)
    before = clock() - timedelta(days=keep_days)
    ids = inbox.received_before(session, before, after_id=kept[0] if kept else 0, limit=TOGETHER)
    if not ids:
        return None
    named_values.put(session, PRUNED_TO, ids[-1], clock())
    return inbox.forget_bodies(session, ids)
