"""Databases that are not migrated yet."""

import asyncio

import pytest_asyncio

from bot.db.engine import Database
from tests.postgres import new_postgres_database


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
