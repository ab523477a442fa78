"""Keeps regions, courses and countries at hand: commands, deliveries and messages need not wait for the service.

The job runs every ten minutes and asks once a day. While a filter waits to be checked (bot.fanout.unchecked_filters), a
second job asks an absent service again, a few seconds later at first and then once a minute.
"""

import asyncio
from functools import partial

from bot.channels import subscriptions
from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import RacingBotError
from bot.fanout.unchecked_filters import check_filters
from bot.logs import get_logger
from bot.outbox.notices import Notices
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import failed_tries, put_failed_tries

log = get_logger(__name__)

CHECK_EVERY_S = 15
"""How often unchecked filters are looked at, and the shortest wait between two requests for a list."""

LONGEST_WAIT_S = 60
"""The wait doubles with each failure, up to this time."""

TURN_S = 0.05
"""The wait between two looks for another replica's fan-out."""


async def refresh_reference(reference: ReferenceBook, database: Database, notices: Notices, clock: Clock) -> None:
    """Have lists not older than a day, and check the stored regions against the lists.

    A failure to read is logged, and the kept lists stay.
    """
    try:
        await reference.regions()
        await reference.courses()
        await reference.countries()
    except RacingBotError as error:
        log.warning("reference_not_refreshed", reason=str(error))
    await _check_filters(database, notices, clock)


async def refresh_for_filters(
    reference: ReferenceBook, database: Database, notices: Notices, clock: Clock, wake: asyncio.Event
) -> None:
    """Have the lists and check the unchecked filters. An absent service is asked again soon."""
    if not await database.read(subscriptions.has_unchecked):
        return
    failed = await database.read(failed_tries)
    tries, at = failed or (0, clock())
    # A slot of the job may begin a little earlier after the one before.
    if not tries or (clock() - at).total_seconds() >= _wait_s(tries) - CHECK_EVERY_S / 2:
        await _refresh(reference, database, clock, tries)
    await _check_filters(database, notices, clock)
    wake.set()


async def _refresh(reference: ReferenceBook, database: Database, clock: Clock, tries: int) -> None:
    """Ask for the lists, after so many failed tries in a row; all replicas count together."""
    try:
        await reference.refresh()
    except RacingBotError as error:
        log.debug("filters_not_checked", reason=str(error), failed_tries=tries + 1)
        await database.write(partial(put_failed_tries, tries=tries + 1, now=clock()))
        return
    if tries:
        await database.write(partial(put_failed_tries, tries=0, now=clock()))


def _wait_s(tries: int) -> float:
    doubled: float = CHECK_EVERY_S * 2.0 ** min(tries - 1, 10)
    return min(LONGEST_WAIT_S, doubled)


async def _check_filters(database: Database, notices: Notices, clock: Clock) -> None:
    is_checked = False
    while not is_checked:
        check = partial(check_filters, notices=notices, now=clock())
        is_checked = await database.write(check)
        await asyncio.sleep(0 if is_checked else TURN_S)
