"""What tests of typed lines share."""

import pytest

from tests.unit.commands.town import make_town


@pytest.fixture
async def town(database):
    return await make_town(database)
