"""Shared by the parts' tests."""

import pytest

from tests.databases import current, empty
from tests.sim.ports import Inline


@pytest.fixture(scope="session")
def shared_database(tmp_path_factory):
    with current(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'bot.db'}", Inline()) as opened:
        yield opened


@pytest.fixture
async def database(shared_database):
    """An empty SQLite database."""
    empty(shared_database)
    return shared_database
