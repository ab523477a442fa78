"""`racing-bot unlatch`: resets circuit breakers. A running bot notices at once."""

from collections.abc import Mapping

from bot.clock import utc_now
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.named_value_store import DatabaseStateStore
from bot.db.schema import Schema
from bot.errors import StorageUnavailable
from bot.racedata.client.circuit_breakers import PLAN, QUOTA, UNAUTHORIZED, CircuitBreakers, OpenBreaker
from bot.settings import Settings

CODES_BY_WORD: Mapping[str, str] = {"quota": QUOTA, "key": UNAUTHORIZED, "plan": PLAN}
"""The command's words → refusals."""


async def run_unlatch(settings: Settings, which: str | None) -> str:
    """Raises StorageError. The service is not asked."""
    database = Database(settings.database_url.get_secret_value(), busy_s=TOOL_BUSY_S)
    breakers = CircuitBreakers(DatabaseStateStore(database, utc_now), utc_now, settings.racing_api_key)
    try:
        if not await Schema(database).prepare():
            raise StorageUnavailable("the database is not ready; see `racing-bot migrate`.")
        return await unlatch(breakers, [which] if which else list(CODES_BY_WORD))
    finally:
        await database.close()


async def unlatch(breakers: CircuitBreakers, words: list[str]) -> str:
    """Each reset circuit breaker has a line in the answer."""
    breakers_open = {record.code: record for record in await breakers.open_now()}
    found = [(word, breakers_open[CODES_BY_WORD[word]]) for word in words if CODES_BY_WORD[word] in breakers_open]
    for _, record in found:
        await breakers.reset(record.code)
    return "\n".join(_reset(word, record) for word, record in found) or (
        f"No circuit breaker is open ({', '.join(words)}): the data service is asked as usual."
    )


def _reset(word: str, record: OpenBreaker) -> str:
    request = f" (request {record.request_id})" if record.request_id else ""
    return (
        f"{word}: closed again; the circuit breaker was opened by {record.code} on "
        f"{record.since:%Y-%m-%d %H:%M} UTC{request}. "
        "If the data service refuses once more, the circuit breaker opens once more."
    )
