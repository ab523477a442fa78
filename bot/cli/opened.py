"""The database as the commands of the shell open it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.db import migrate
from bot.db.engine import TOOL_BUSY_S, Database
from bot.db.schema import Schema, check_is_there
from bot.errors import StorageUnavailable


@asynccontextmanager
async def opened(url: str, *, reads_only: bool = False) -> AsyncIterator[Database]:
    """Brings SQLite up to date, except for a command that reads. Raises StorageUnavailable."""
    database = Database(url, busy_s=TOOL_BUSY_S)
    try:
        if reads_only:
            check_is_there(database)
            is_ready = await _is_current(database)
        else:
            is_ready = await Schema(database).prepare()
        if not is_ready:
            raise StorageUnavailable("the database is not ready; see `racing-bot migrate`.")
        yield database
    finally:
        await database.close()


async def _is_current(database: Database) -> bool:
    try:
        return await database.read(lambda session: migrate.is_current(session.connection()))
    except StorageUnavailable as error:
        raise StorageUnavailable(f"the database does not answer: {error}") from error
