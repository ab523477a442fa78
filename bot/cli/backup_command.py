"""`racing-bot backup`: a copy of the database, consistent while the bot serves, and of any version's schema."""

from pathlib import Path

from bot.db.backup import copy_file
from bot.db.engine import Database
from bot.db.schema import check_is_there
from bot.errors import StorageUnavailable


def run_backup(url: str, to: Path) -> str:
    """Raises StorageUnavailable."""
    database = Database(url)
    if database.file is None:
        raise StorageUnavailable(f"{database.shown} is no file of SQLite. Make a copy of PostgreSQL with pg_dump.")
    check_is_there(database)
    if to.exists():
        raise StorageUnavailable(f"{to} exists already. Give another name.")
    copy_file(database.file, to)
    return f"{database.file} is copied to {to}. ENCRYPTION_KEYS is no part of the copy."
