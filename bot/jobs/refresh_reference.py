"""Keeps regions, courses and countries at hand: commands, deliveries and messages need not wait for the service.

The job runs every ten minutes and asks once a day. While a filter waits to be checked (bot.alerts.unchecked), a second
job asks an absent service again every few seconds.
"""

import asyncio
from functools import partial

from bot.alerts.unchecked import check_filters
from bot.book.reference import ReferenceBook
from bot.domain.clock import Clock
from bot.errors import RacingBotError
from bot.logs import get_logger
from bot.outbox.notices import Notices
from bot.storage import subscriptions
from bot.storage.engine import Database

log = get_logger(__name__)

TURN_S = 0.05
"""Another replica's fan-out is waited for so long."""


async def refresh_reference(reference: ReferenceBook, database: Database, notices: Notices, clock: Clock) -> None:
    """Have the lists, not older than a day, and look at the stored regions by them.

    A failure to read is logged: what was kept stays.
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
    """Where a filter is unchecked, have the lists and check it. A service that is away is asked again soon."""
    if not await database.read(subscriptions.has_unchecked):
        return
    try:
        await reference.refresh()
    except RacingBotError as error:
        log.debug("filters_not_checked", reason=str(error))
    await _check_filters(database, notices, clock)
    wake.set()


async def _check_filters(database: Database, notices: Notices, clock: Clock) -> None:
    is_checked = False
    while not is_checked:
        is_checked = await database.write(partial(check_filters, notices=notices, now=clock()))
        await asyncio.sleep(0 if is_checked else TURN_S)
