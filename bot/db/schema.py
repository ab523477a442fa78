"""Gets the database ready while the service runs: the database may be unreachable at the start."""

import asyncio
import os
import sys
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError

from bot.db import migrate
from bot.db.engine import Database, is_damage
from bot.errors import SchemaUnknown, StorageUnavailable, reason_of
from bot.logs import get_logger

log = get_logger(__name__)

TRY_AGAIN_S = 2.0


class Schema:
    """`problem` is None with a current schema. SQLite is migrated here, PostgreSQL by `racing-bot migrate`.

    `is_current` is set from the first look at a current schema.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.problem: str | None = "the database has not been looked at yet"
        self.is_current = asyncio.Event()

    async def prepare(self) -> bool:
        not_ready = await asyncio.to_thread(make_ready, self._database)
        self.problem = not_ready and not_ready.problem
        if not_ready:
            log.error("schema_not_ready", reason=not_ready.told)
        else:
            self.is_current.set()
        return not_ready is None

    async def run(self) -> None:
        while self.problem:
            await asyncio.sleep(TRY_AGAIN_S)
            await self.prepare()


class NotReady(NamedTuple):
    """`problem`: for strangers, who read `/readyz`. `reason`: further words, for operators."""

    problem: str
    reason: str = ""

    @property
    def told(self) -> str:
        return ": ".join(filter(None, self))


def make_ready(database: Database) -> NotReady | None:
    """Migrate SQLite. None with a current schema."""
    try:
        if database.is_sqlite:
            upgraded = migrate.upgrade(database)
            if upgraded.copy:
                log.warning("database_migrated", to=upgraded.after, copy_of_before=str(upgraded.copy))
            return None
        with database.writer.connect() as connection:
            is_current = migrate.is_current(connection)
        return None if is_current else NotReady("the schema is not current: run `racing-bot migrate`")
    except SchemaUnknown as error:
        return NotReady(str(error))
    except StorageUnavailable as error:
        problem = "the database is of an older version, and no copy could be made before the migration"
        return NotReady(problem, str(error))
    except DBAPIError as error:
        database.reopen()
        if is_damage(error):
            return NotReady("the file is damaged, or no database: put a copy in its place, or move it away")
        if not_writable := why_not_writable(database):
            return NotReady("the database's file or folder can't be written", not_writable)
        return NotReady("the database can't be opened", reason_of(error))


def is_there(database: Database) -> bool:
    """False if SQLite's file is missing or empty. The driver tells of any other problem."""
    if not database.is_sqlite or not database.url.database:
        return True
    try:
        return Path(database.url.database).stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


def check_is_there(database: Database) -> None:
    """Raise StorageUnavailable where a reading command would make an empty database."""
    if not is_there(database):
        where = Path(database.url.database or "").absolute()
        raise StorageUnavailable(
            f"there is no database at {where}. Type the command in the folder of the bot, or set DATABASE_URL; "
            "`racing-bot migrate` makes a new database."
        )


def why_not_writable(database: Database) -> str | None:
    """A sentence on the path that this process may not write; None where SQLite may write."""
    if not database.is_sqlite or database.url.database is None or sys.platform == "win32":
        return None
    file, uid = Path(database.url.database).absolute(), os.getuid()
    # The folder first: a closed folder hides the file.
    needed = ((file.parent, os.W_OK | os.X_OK), (file, os.W_OK))
    wrong = next((path for path, rights in needed if path.exists() and not os.access(path, rights)), None)
    if wrong is None:
        return None
    status = wrong.stat()
    return (
        f"uid {uid} can't write {wrong}, which belongs to uid {status.st_uid} (mode {status.st_mode & 0o7777:o}): "
        f"give uid {uid} the right to write there, and mount the folder without read-only"
    )
