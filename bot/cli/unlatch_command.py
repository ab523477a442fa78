"""`racing-bot unlatch`: an admin's word that the data service is to be asked again. A running bot takes it at once."""

from collections.abc import Mapping

from bot.clock import utc_now
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.named_value_store import DatabaseStateStore
from bot.db.schema import Schema
from bot.errors import StorageUnavailable
from bot.racedata.client.latches import QUOTA, UNAUTHORIZED, Latches, LatchRecord
from bot.settings import Settings

CODES: Mapping[str, str] = {"quota": QUOTA, "key": UNAUTHORIZED}
"""The words of the command, and the refusals that they stand for."""


async def run_unlatch(settings: Settings, which: str | None) -> str:
    """What to tell whoever typed the command. Raises StorageError. The service itself is not asked."""
    database = Database(settings.database_url.get_secret_value(), busy_s=TOOL_BUSY_S)
    latches = Latches(DatabaseStateStore(database, utc_now), utc_now, settings.racing_api_key)
    try:
        if not await Schema(database).prepare():
            raise StorageUnavailable("the database is not ready; see `racing-bot migrate`.")
        return await unlatch(latches, [which] if which else list(CODES))
    finally:
        await database.close()


async def unlatch(latches: Latches, words: list[str]) -> str:
    """Open these latches; a line for each that was shut, or that none was."""
    shut = {record.code: record for record in await latches.shut()}
    found = [(word, shut[CODES[word]]) for word in words if CODES[word] in shut]
    for _, record in found:
        await latches.open(record.code)
    return "\n".join(_opened(word, record) for word, record in found) or (
        f"Nothing is latched ({', '.join(words)}): the data service is asked as usual."
    )


def _opened(word: str, record: LatchRecord) -> str:
    request = f" (request {record.request_id})" if record.request_id else ""
    return (
        f"{word}: open again; it was shut by {record.code} on {record.since:%Y-%m-%d %H:%M} UTC{request}. If the data "
        "service refuses once more, it shuts once more."
    )
