"""Shared by the parts' tests."""

import pytest

from tests.databases import current, empty
from tests.sim.ports import Inline
from tests.unit.commands.town import Channel, Town, make_desk


@pytest.fixture(scope="session")
def shared_database(tmp_path_factory):
    with current(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'bot.db'}", Inline()) as opened:
        yield opened


@pytest.fixture
async def database(shared_database):
    """An empty SQLite database."""
    empty(shared_database)
    return shared_database


@pytest.fixture
async def town(database):
    return Town(await make_desk(database))


@pytest.fixture
async def channel(database):
    return Channel(await make_desk(database))
