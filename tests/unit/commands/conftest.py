"""Shared by tests of typed lines."""

import pytest

from tests.unit.commands.town import Channel, Town, make_desk


@pytest.fixture
async def town(database):
    return Town(await make_desk(database))


@pytest.fixture
async def channel(database):
    return Channel(await make_desk(database))
