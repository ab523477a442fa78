"""Keeps regions, courses and countries at hand: commands, deliveries and messages need not wait for the service.

It runs every hour and asks once a day: a service that was away is asked again within the hour.
"""

from bot.book.reference import ReferenceBook
from bot.errors import RacingBotError
from bot.logs import get_logger

log = get_logger(__name__)


async def refresh_reference(reference: ReferenceBook) -> None:
    """Have the lists, not older than a day. A failure is logged: what was kept stays."""
    try:
        await reference.regions()
        await reference.courses()
        await reference.countries()
    except RacingBotError as error:
        log.warning("reference_not_refreshed", reason=str(error))
