"""Pipelines without sockets, and on SQLite without threads and waits: units of work and Slack are calls on the loop."""

import asyncio
from collections.abc import Iterator

import pytest
import pytest_asyncio

from bot.db.engine import Database
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import SkippingLoop
from tests.databases import current
from tests.integration.conftest import make_workspace
from tests.integration.pipeline.stories import ask
from tests.sim.ports import Inline, SlackSession, Wire


def pytest_asyncio_loop_factories() -> dict[str, type[SkippingLoop]]:
    return {"skipping": SkippingLoop}


@pytest.fixture(scope="session")
def sqlite_database(tmp_path_factory) -> Iterator[Database]:
    with current(f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'bot.db'}", Inline()) as database:
        yield database


@pytest_asyncio.fixture
async def slack() -> SlackWorkspace:
    workspace = make_workspace()
    workspace.address = "http://slack"
    return workspace


@pytest_asyncio.fixture
async def slack_session(database, slack) -> SlackSession:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skips = database.is_sqlite
    return SlackSession(Wire(slack.app, lambda: None, loop.create_task))


@pytest_asyncio.fixture
async def desk(pipeline):
    """The channel CGB asks for acknowledgements, and tells a person, a group and the channel CALL otherwise."""
    return await ask(pipeline, "U1", "SDESK", "CALL")
