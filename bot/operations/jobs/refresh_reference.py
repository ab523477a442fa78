"""Keeps lists of regions, courses and countries at hand.

The job runs every ten minutes and asks once a day. While a filter waits for its check (bot.fanout.unchecked_filters), a
second job asks an absent service twice a minute.
"""

import asyncio
from functools import partial

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import RacingBotError
from bot.fanout.unchecked_filters import check_filters
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.outbox.notices import Notices
from bot.racedata.reference_book import ReferenceBook

log = get_logger(__name__)

CHECK_EVERY_S = 30

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
        try:
            await reference.refresh()
        except RacingBotError as error:
            log.debug("filters_not_checked", reason=str(error))
        await _check_filters(database, notices, clock)
        wake.set()

    return Job("check_filters", "Unchecked subscriptions checked", CHECK_EVERY_S, run, subscriptions.has_unchecked)


async def _check_filters(database: Database, notices: Notices, clock: Clock) -> None:
    is_checked = False
    while not is_checked:
        check = partial(check_filters, notices=notices, now=clock())
        is_checked = await database.write(check)
        await asyncio.sleep(0 if is_checked else ANOTHER_TRY_S)
