"""Keeps lists of regions, courses and countries at hand.

The job runs every ten minutes and asks once a day. While a filter waits for its check (bot.fanout.unchecked_filters), a
second job asks an absent service again: a few seconds later at first, then once a minute.
"""

import asyncio
from functools import partial

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.errors import RacingBotError
from bot.fanout.unchecked_filters import check_filters
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.outbox.notices import Notices
from bot.racedata.reference_book import ReferenceBook

log = get_logger(__name__)

CHECK_EVERY_S = 15
"""Seconds between looks, and the shortest wait between requests."""

LONGEST_WAIT_S = 60
"""The wait doubles with each failure, up to this time."""

ANOTHER_TRY_S = 0.05
"""Seconds between tries while another replica fans out."""


def refresh_reference(reference: ReferenceBook, database: Database, notices: Notices, clock: Clock) -> Job:
    """Refresh lists older than a day, and check stored regions. After a failed reading the kept lists stay."""

    async def run() -> None:
        try:
            await reference.keep_fresh()
        except RacingBotError as error:
            log.warning("reference_not_refreshed", reason=str(error))
        await _check_filters(database, notices, clock)

    return Job("refresh_reference", "Regions and courses read", 600, run)


def refresh_for_filters(
    reference: ReferenceBook, database: Database, notices: Notices, clock: Clock, wake: asyncio.Event
) -> Job:
    async def run() -> None:
        failed = await database.read(partial(named_values.get, name=Mark.FAILED_TRIES))
        tries, at = failed or (0, clock())
        # A slot may begin a little early.
        if not tries or (clock() - at).total_seconds() >= _wait_s(tries) - CHECK_EVERY_S / 2:
            await _refresh(reference, database, clock, tries)
        await _check_filters(database, notices, clock)
        wake.set()

    return Job("check_filters", "Unchecked subscriptions checked", CHECK_EVERY_S, run, subscriptions.has_unchecked)


async def _refresh(reference: ReferenceBook, database: Database, clock: Clock, tries: int) -> None:
    """All replicas count failed tries together."""
    failed = 0
    try:
        await reference.refresh()
    except RacingBotError as error:
        failed = tries + 1
        log.debug("filters_not_checked", reason=str(error), failed_tries=failed)
    if failed != tries:
        await database.write(partial(named_values.put, name=Mark.FAILED_TRIES, value=failed, now=clock()))


def _wait_s(tries: int) -> float:
    doubled: float = CHECK_EVERY_S * 2.0 ** min(tries - 1, 10)
    return min(LONGEST_WAIT_S, doubled)


async def _check_filters(database: Database, notices: Notices, clock: Clock) -> None:
    is_checked = False
    while not is_checked:
        check = partial(check_filters, notices=notices, now=clock())
        is_checked = await database.write(check)
        await asyncio.sleep(0 if is_checked else ANOTHER_TRY_S)
