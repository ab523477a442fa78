"""`racing-bot unlatch`: resets circuit breakers. A running bot notices at once."""

from collections.abc import Mapping, Sequence

from bot.cli.opened import opened
from bot.clock import utc_now
from bot.db.named_value_store import DatabaseStateStore
from bot.racedata.client.circuit_breakers import PLAN, QUOTA, UNAUTHORIZED, CircuitBreakers
from bot.settings import Settings

CODES_BY_WORD: Mapping[str, str] = {"quota": QUOTA, "key": UNAUTHORIZED, "plan": PLAN}
"""The command's words → refusals."""


async def run_unlatch(settings: Settings, which: str | None) -> str:
    """Raises StorageError. The service is not asked."""
    async with opened(settings.database_url.get_secret_value()) as database:
        breakers = CircuitBreakers(DatabaseStateStore(database, utc_now), utc_now, settings.racing_api_key)
        return await unlatch(breakers, [which] if which else list(CODES_BY_WORD))


async def unlatch(breakers: CircuitBreakers, words: Sequence[str]) -> str:
    """Each reset circuit breaker has a line in the answer."""
    word_of = {CODES_BY_WORD[word]: word for word in words}
    found = [record for record in await breakers.open_now() if record.code in word_of]
    for record in found:
        await breakers.reset(record.code)
    return (
        "\n".join(
            f"{word_of[record.code]}: closed again; the circuit breaker was opened by {record.code} on "
            f"{record.since:%Y-%m-%d %H:%M} UTC{f' (request {record.request_id})' if record.request_id else ''}. "
            "If the data service refuses once more, the circuit breaker opens once more."
            for record in found
        )
        or f"No circuit breaker is open ({', '.join(words)}): the data service is asked as usual."
    )
