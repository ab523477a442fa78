"""What the parts' tests share."""

import pytest

from tests.databases import current, empty


@pytest.fixture(scope="session")
def shared_database(tmp_path_factory):
    with current(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'bot.db'}") as opened:
        yield opened


@pytest.fixture
async def database(shared_database):
    """An empty SQLite database."""
    empty(shared_database)
    yield shared_database
    # What the test has left in the queue is done before the next test begins.
    await shared_database.write(lambda _session: None)
