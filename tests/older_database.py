"""A database as an earlier version of the bot left it."""

from bot.db import migrate
from bot.db.engine import Database

NEWEST = migrate.head()
"""The revision that this version of the bot migrates to."""


async def make_older_database(url: str, revision: str) -> None:
    """Make the tables of an empty database as they were at a revision."""
    database = Database(url)
    with database.writer.begin() as connection:
        migrate.apply_migrations(connection, to=revision)
    await database.close()
