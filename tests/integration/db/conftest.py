"""Databases that are not migrated yet."""

import asyncio

import pytest_asyncio

from bot.db.engine import Database
from tests.databases import make_older_database, new_postgres_database


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def empty_database(request, tmp_path):
    """A database with nothing in it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'empty.db'}"
    else:
        url = await asyncio.to_thread(new_postgres_database, request.getfixturevalue("postgres_server"))
    opened = Database(url)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def old_database(empty_database):
    """A database with the tables of commit b7b2c51, and without rows."""
    await asyncio.to_thread(make_older_database, empty_database.url.render_as_string(hide_password=False))
    return empty_database
