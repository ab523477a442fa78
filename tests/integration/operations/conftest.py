"""The data service in an outage, and a bot whose channels take everything."""

import pytest

from bot.events.event import Topic
from tests.integration.operations import lost_deliveries
from tests.integration.operations.lost_deliveries import TAKEN


@pytest.fixture
async def outage(pipeline):
    async with lost_deliveries.outage_at(pipeline.clock()) as outage:
        yield outage


@pytest.fixture
async def bot(pipeline):
    """A pipeline whose channels take everything of a region."""
    for channel_id, region in TAKEN.items():
        await pipeline.subscribe(channel_id, region, frozenset(Topic))
    return pipeline
