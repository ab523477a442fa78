"""A copy of SQLite's file, consistent while the bot serves."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from bot.errors import StorageUnavailable


def copy_file(database: Path, to: Path) -> None:
    """For this user alone, and whole or not at all. Raises StorageUnavailable."""
    part = to.with_name(f"{to.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
        part.replace(to)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise StorageUnavailable(f"no copy of the database was made at {to}: {error}") from error
