"""A new event for many channels: some are told first, and the delivery is done with the others."""

import pytest

from bot.channels import subscriptions
from bot.deliveries import inbox
from bot.fanout import plan
from bot.outbox.channel_move import move_channel
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, result
from tests.integration.pipeline.steps import write

CHANNELS = [f"C{number}" for number in range(5)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    for name in ("CHANNELS_TOGETHER", "CHANNELS_AT_FIRST"):
        monkeypatch.setattr(plan, name, 2)


@pytest.fixture
async def many(pipeline):
    for channel_id in CHANNELS:
        pipeline.slack.add_channel(channel_id, channel_id.lower(), bot_is_member=True)
        await pipeline.subscribe(channel_id, "GB")
    pipeline.poster._is_running = True
    return pipeline


async def begin(pipeline, payload):
    """The first channels are told."""
    await pipeline.deliver(payload)
    assert await pipeline.fanout.run_once() == 0
    await pipeline.poster.finish()
    return [channel_id for channel_id in CHANNELS if pipeline.texts(channel_id)]


async def nothing(pipeline):
    return pipeline


async def correction(pipeline):
    await pipeline.deliver(result(placings=("Red Sky", "Blue Moon")))


async def void(pipeline):
    await pipeline.deliver(abandonment())


async def repeat(pipeline):
    await pipeline.deliver(result() | {"attempt": 2})


async def end_of_a_subscription(pipeline):
    await write(pipeline, subscriptions.remove, CHANNELS[-1])


async def move(pipeline):
    await write(pipeline, move_channel, CHANNELS[0], "CGB")


async def refused_twice(pipeline):
    """By our own code, of the delivery alone."""
    waiting = await pipeline.database.read(lambda session: inbox.waiting(session, pipeline.clock(), 9))
    for one in waiting:
        await write(pipeline, inbox.mark_failed, one, pipeline.clock(), "once")
    await pipeline.deliver(result(placings=("Red Sky", "Blue Moon")))
    await pipeline.post_all()
    pipeline.clock.forward(3_600)


TWO = "Two versions disagree"

BETWEEN = {
    "nothing": (nothing, [["Result"]] * 5),
    "a correction": (correction, [["Superseded", TWO]] * 5),
    "an abandonment": (void, [["Contradicted", "ABANDONED"]] * 5),
    "a repeat": (repeat, [["Result"]] * 5),
    "the end of a subscription": (end_of_a_subscription, [["Result"]] * 4 + [[]]),
    "a new id of a told channel": (move, [["Result"]] * 5),
    "a failure, and a correction": (refused_twice, [["Superseded", TWO]] * 2 + [[TWO]] * 3),
}


@pytest.mark.parametrize("what", BETWEEN)
@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
@on_both
async def test_rest_of_the_channels_is_told_once_whatever_comes_between(many, make_pipeline, what, dies):
    happens, told = BETWEEN[what]
    assert await begin(many, result()) == CHANNELS[:2]
    await happens(many)
    going_on = make_pipeline(clock=many.clock) if dies else many
    await going_on.post_all()
    for channel_id, beginnings in zip(CHANNELS, told, strict=True):
        texts = many.texts(channel_id)
        assert [text[: len(said)] for text, said in zip(texts, beginnings, strict=True)] == beginnings
    assert await going_on.waiting() == {}
