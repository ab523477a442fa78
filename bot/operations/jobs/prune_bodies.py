"""Forgets bodies of old deliveries. The inbox's keys and hashes stay for ever, to recognise replays."""

from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.deliveries import inbox
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.operations.jobs.job import HOUR_S, Job

BODIES_PER_COMMIT = 200
"""The number is small, because intake waits for the transaction."""

JOURNAL_DAYS = 7
"""How long the journal keeps letters that were read: an older copy of the database still gets its deliveries."""


def prune_bodies(database: Database, journal: Journal, keep_days: int, clock: Clock) -> Job:
    async def run() -> int:
        pruned = 0
        if place := await database.read(place_in):
            before = clock() - timedelta(days=min(keep_days, JOURNAL_DAYS))
            while forgotten := await database.read_beside(partial(journal.forget, before, place)):
                pruned += forgotten
        while (count := await database.write(partial(_prune, keep_days=keep_days, clock=clock))) is not None:
            pruned += count
        return pruned

    return Job("prune_bodies", "Bodies of old deliveries forgotten", HOUR_S, run)


def _prune(session: Session, keep_days: int, clock: Clock) -> int | None:
    """Pruned bodies in a batch; None at the end."""
    kept = named_values.get(session, Mark.BODIES_PRUNED_TO)
    before = clock() - timedelta(days=keep_days)
    ids = inbox.received_before(session, before, after_id=kept[0] if kept else 0, limit=BODIES_PER_COMMIT)
    if not ids:
        return None
    named_values.put(session, Mark.BODIES_PRUNED_TO, ids[-1], clock())
    return inbox.forget_bodies(session, ids)
