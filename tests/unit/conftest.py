"""What the parts' tests share."""

import asyncio
import shutil

import pytest

from bot.db.engine import Database
from bot.db.migrate import upgrade


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """The file of a database with all tables, to be copied: to make them takes longer than most tests."""
    file = tmp_path_factory.mktemp("database") / "empty.db"
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    asyncio.run(database.close())
    return file


@pytest.fixture
async def database(tmp_path, empty_database):
    """An empty SQLite database of the test's own."""
    opened = Database(f"sqlite:///{shutil.copy(empty_database, tmp_path / 'bot.db')}")
    yield opened
    await opened.close()
