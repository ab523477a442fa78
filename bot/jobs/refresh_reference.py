"""Keeps regions, courses and countries at hand: commands, deliveries and messages need not wait for the service.

It runs every ten minutes and asks once a day: a service that was away is asked again soon. What was subscribed to
meanwhile, unchecked, is looked at then (bot.alerts.wrong_regions).
"""

from functools import partial

from bot.alerts.notices import Notices
from bot.alerts.wrong_regions import look_at_regions
from bot.book.reference import ReferenceBook
from bot.domain.clock import Clock
from bot.errors import RacingBotError
from bot.logs import get_logger
from bot.storage.engine import Database

log = get_logger(__name__)


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
    await database.write(partial(look_at_regions, notices=notices, now=clock()))
