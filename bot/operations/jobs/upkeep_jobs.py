"""The jobs of upkeep: old bodies are forgotten, and lists of regions, courses and countries are kept at hand."""

import asyncio
from datetime import timedelta
from functools import partial

from sqlmodel import Session

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.deliveries import inbox
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.fanout.unchecked_filters import check_filters
from bot.operations.jobs.job import HOUR_S, Job
from bot.outbox.notices import Notices
from bot.racedata.reference_book import ReferenceBook

REFRESH_EVERY_S, CHECK_EVERY_S = 300, 30

ANOTHER_TRY_S = 0.05
"""Seconds between tries while another replica fans out."""

BODIES_PER_COMMIT = 200
"""The number is small, because intake waits for the transaction."""

JOURNAL_DAYS = 7
"""How long the journal keeps letters that were read: an older copy of the database still gets its deliveries."""


def prune_bodies(database: Database, journal: Journal, keep_days: int, clock: Clock) -> Job:
    """Forgets bodies of old deliveries. The inbox's keys and hashes stay for ever, to recognise replays."""

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


def refresh_lists(
    reference: ReferenceBook, database: Database, notices: Notices, clock: Clock, wake: asyncio.Event
) -> tuple[Job, Job]:
    """Refresh lists older than a day, and check stored filters. After a failed reading the kept lists stay.

    In an outage the slots of the first job bound the requests, for all replicas together.
    """

    async def check() -> None:
        check_all = partial(check_filters, notices=notices)
        while not await database.write(partial(check_all, now=clock())):  # noqa: ASYNC110  another replica fans out
            await asyncio.sleep(ANOTHER_TRY_S)
        wake.set()

    async def refresh() -> None:
        try:
            await reference.keep_fresh()
        finally:
            await check()

    return (
        Job("refresh_reference", "Regions and courses read", REFRESH_EVERY_S, refresh),
        Job("check_filters", "Unchecked subscriptions checked", CHECK_EVERY_S, check, subscriptions.has_unchecked),
    )
