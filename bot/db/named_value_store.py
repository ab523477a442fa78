"""Keeps the client's circuit breakers in the database."""

from functools import partial
from typing import Any

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database


class DatabaseStateStore:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(self, name: str) -> dict[str, Any] | None:
        kept = await self._database.read(partial(named_values.get, name=name))
        return kept[0] if kept and isinstance(kept[0], dict) else None

    async def set(self, name: str, value: dict[str, Any]) -> None:
        await self._database.write(partial(named_values.put, name=name, value=value, now=self._clock()))
