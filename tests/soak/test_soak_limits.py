"""Under Slack's own limits and with the bot's real pace: no call is refused, and no urgent message is late."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

import pytest

from bot.outbox.pace import Pace
from sandbox.slack.limits import SlackLimits
from tests.soak.racing import BOTH, Delivery, Races, SoakChannel
from tests.soak.world import World, figures_of, run_world

WORKSPACE_PER_MINUTE = 300


@dataclass(frozen=True)
class Size:
    """`burst`: events at once in one channel. `waiting`: waiting results in each of `channels`."""

    burst: int
    channels: int
    waiting: int
    abandoned_within_s: float


SHORT = Size(burst=8, channels=30, waiting=2, abandoned_within_s=15)
LONG = Size(burst=30, channels=200, waiting=10, abandoned_within_s=60)

SIZES = [
    pytest.param(SHORT, marks=(pytest.mark.soak, pytest.mark.timeout(90)), id="short"),
    pytest.param(LONG, marks=(pytest.mark.long_soak, pytest.mark.timeout(900)), id="long"),
]


def world_under_limits(folder, channels):
    limits = SlackLimits(workspace_per_minute=WORKSPACE_PER_MINUTE)
    pace = Pace(workspace_per_minute=WORKSPACE_PER_MINUTE)
    url = f"sqlite:///{folder / 'soak.db'}"
    return run_world(folder, url, pace=pace, times=None, channels=channels, limits=limits)


async def deliver(world: World, deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        await world.sender.deliver(delivery)


def refused(world: World) -> int:
    return sum(1 for call in world.slack.calls if call.error is not None)


@pytest.mark.parametrize("size", SIZES)
async def test_soak_burst_in_one_channel_is_a_post_a_second(size, tmp_path, record_property):
    async with world_under_limits(tmp_path, [SoakChannel("CGB", ("GB",))]) as world:
        running = world.start(world.ports[0])
        races = Races(Random(1), regions=("GB",))
        await deliver(world, [races.result()[0] for _ in range(size.burst)])
        await world.slack.wait_for(lambda: world.posted() == size.burst, timeout_s=size.burst * 1.5 + 10)
        await running.live(0, running.stop)
        verdict = await world.judge(one_process=True)
        record_property("soak", figures_of(world, verdict))
        assert verdict.problems == []
        assert refused(world) == 0
        assert size.burst - 2 <= seconds_between(world, "CGB") <= size.burst * 1.15 + 2


@pytest.mark.parametrize("size", SIZES)
async def test_soak_abandonment_passes_all_that_waits_in_every_channel(size, tmp_path, record_property):
    channels = [SoakChannel(f"C{number:03}", ("GB",), BOTH) for number in range(size.channels)]
    async with world_under_limits(tmp_path, channels) as world:
        running = world.start(world.ports[0])
        races = Races(Random(1), regions=("GB",))
        await deliver(world, [races.result()[0] for _ in range(size.waiting)])
        (abandonment,) = races.abandoned()
        await deliver(world, [abandonment])
        assert abandonment.answered_at
        await world.slack.wait_for(lambda: all(told(world, channels, abandonment)), timeout_s=size.abandoned_within_s)
        late_s = max(at - abandonment.answered_at for at in told(world, channels, abandonment) if at).total_seconds()
        waited = world.expected() - world.posted()
        await world.slack.wait_for(lambda: world.posted() == world.expected(), timeout_s=waited / 4 + 60)
        await running.live(0, running.stop)
        verdict = await world.judge(one_process=True)
        summary = f"the last of {size.channels} channels was told after {late_s:.1f} s, while {waited} posts waited"
        record_property("soak", f"{figures_of(world, verdict)}\n{summary}")
        assert verdict.problems == []
        assert refused(world) == 0
        assert waited > 0


def told(world: World, channels: list[SoakChannel], delivery: Delivery) -> list[datetime | None]:
    """The time at which each channel was told; None for an untold channel."""
    return [
        next(
            (one.received_at for one in world.slack.messages(here.channel_id) if one.text.startswith(delivery.begins)),
            None,
        )
        for here in channels
    ]


def seconds_between(world: World, channel_id: str) -> float:
    """From the first message of a channel to its last."""
    messages = world.slack.messages(channel_id)
    return (messages[-1].received_at - messages[0].received_at).total_seconds()
