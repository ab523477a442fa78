"""`racing-bot unlatch`: resets circuit breakers. A running bot notices at once."""

from collections.abc import Collection

from bot.cli.parts import opened
from bot.clock import utc_now
from bot.db.named_values import DatabaseStateStore
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_errors import BREAKER_WORDS
from bot.settings import Settings


async def run_unlatch(settings: Settings, which: str | None) -> str:
    """Raises StorageError. The service is not asked."""
    async with opened(settings.database_url.get_secret_value()) as database:
        breakers = CircuitBreakers(DatabaseStateStore(database, utc_now), utc_now, settings.racing_api_key)
        return await unlatch(breakers, [which] if which else BREAKER_WORDS.values())


async def unlatch(breakers: CircuitBreakers, words: Collection[str]) -> str:
    found = [one for one in await breakers.open_now() if BREAKER_WORDS[one.code] in words]
    for one in found:
        await breakers.reset(one.code)
    lines = [
        f"{BREAKER_WORDS[one.code]}: closed again, after {one.code} on {one.since:%Y-%m-%d %H:%M} UTC (request "
        f"{one.request_id or 'unknown'}). After another refusal the circuit breaker opens once more."
        for one in found
    ]
    return "\n".join(lines) or f"No circuit breaker is open ({', '.join(words)}): the data service is asked as usual."
