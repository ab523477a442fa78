"""Reads region codes and courses anew, so that commands find them fresh."""

from bot.book.reference import ReferenceBook
from bot.errors import RacingBotError
from bot.logs import get_logger

log = get_logger(__name__)


async def refresh_reference(reference: ReferenceBook) -> None:
    """Read both lists once. A failure is logged: what was kept stays, and commands ask again by themselves."""
    try:
        await reference.refresh()
    except RacingBotError as error:
        log.warning("reference_not_refreshed", reason=str(error))
