"""By the bot's own pace and within Slack's limits: Slack refuses no call, and no abandonment is late."""

from itertools import pairwise

import pytest

from bot.outbox.pace import Pace
from sandbox.slack.limits import SlackLimits
from tests.clock import START
from tests.soak.racing import Races, SoakChannel

AT_ONCE_S = 0.2
CHANNELS = [SoakChannel(f"C{number:02}", ("GB",)) for number in range(12)]
A_MINUTE = 60
"""Posts of the workspace: few, so that the limit counts for few messages."""


@pytest.fixture
def limited(make_world):
    """Makes a world in which the limits count, with stories of GB."""

    def make(channels):
        world = make_world(1, channels)
        world.slack.limits = SlackLimits(workspace_per_minute=A_MINUTE)
        world.pace = Pace(workspace_per_minute=A_MINUTE - 20)
        return world, Races(world.random, now=START, regions=("GB",))

    return make


async def lived(world, *stories):
    """Deliver the stories at once, and let the bot finish. Judges all but the times."""
    for delivery in (delivery for story in stories for delivery in story):
        await world.deliver(delivery)
    verdict = await world.finish()
    assert verdict.problems == []
    assert [call.error for call in world.slack.calls if call.error] == []


def test_burst_in_one_channel_is_a_post_a_second(limited):
    world, races = limited(CHANNELS[:1])
    world.loop.run_until_complete(lived(world, *(races.result() for _ in range(8))))
    at = [message.received_at for message in world.slack.messages("C00")]
    apart_s = [(later - one).total_seconds() for one, later in pairwise(at)]
    assert len(apart_s) == 7
    assert apart_s == [pytest.approx(world.pace.channel_s, abs=AT_ONCE_S)] * 7


def test_abandonment_passes_all_that_waits_in_every_channel(limited):
    world, races = limited(CHANNELS)
    results, abandoned = [races.result() for _ in range(6)], races.abandoned()
    world.loop.run_until_complete(lived(world, *results, abandoned))
    (abandonment,) = abandoned
    posts = sorted(
        (message.received_at, message.text) for one in CHANNELS for message in world.slack.messages(one.channel_id)
    )
    told = [at for at, text in posts if text.startswith(abandonment.begins)]
    assert len(told) == len(CHANNELS)
    # The first results took the calls that were free at once; of the next calls the abandonment gets each.
    late_s = (told[-1] - abandonment.answered_at).total_seconds()
    assert late_s < len(CHANNELS) * 60 / world.pace.workspace_per_minute + AT_ONCE_S
    assert sum(at > told[-1] for at, _ in posts) > len(CHANNELS) * 3
