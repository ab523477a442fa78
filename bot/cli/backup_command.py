"""`racing-bot backup`: a copy of database and journal, consistent while the bot serves, and of any version's schema."""

from pathlib import Path

from bot.db.engine import Database
from bot.db.schema import check_is_there
from bot.db.sqlite_file import copy_file
from bot.deliveries.journal import beside
from bot.errors import StorageUnavailable


def run_backup(url: str, to: Path) -> str:
    """Raises StorageUnavailable."""
    database = Database(url)
    if database.file is None:
        raise StorageUnavailable(f"{database.shown} is no file of SQLite. Make a copy of PostgreSQL with pg_dump.")
    check_is_there(database)
    if not to.parent.is_dir():
        raise StorageUnavailable(f"the folder {to.parent} does not exist. Make the folder, or give another name.")
    journal, journal_to = beside(database.file), beside(to)
    for copy in (to, journal_to):
        if copy.exists():
            raise StorageUnavailable(f"{copy} exists already. Give another name.")
    copy_file(database.file, to)
    if not journal.exists():
        return f"{database.file} is copied to {to}. ENCRYPTION_KEYS is no part of the copy."
    # After the database: the copy of the journal then has every delivery that the copy of the database lacks.
    copy_file(journal, journal_to)
    return (
        f"{database.file} is copied to {to}, and {journal} to {journal_to}. ENCRYPTION_KEYS is no part of the copies."
    )
