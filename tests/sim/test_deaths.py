"""The bot dies at each failpoint of a short day, once at each: nothing is lost, doubled or out of order."""

from itertools import count
from random import Random

import pytest

from tests.clock import START
from tests.sim.world import KILLED, World
from tests.soak.oracle import Verdict
from tests.soak.racing import Races, SoakChannel

PARTS = 4
"""For as many workers."""

AT_LEAST = 60
"""Failpoints of the day."""

CHANNELS = (SoakChannel("CALL", ("*",)),)


async def live_a_day(world: World, die_at: int | None) -> Verdict:
    """A correction, a refreshed result, and a result that an abandonment contradicts, close to each other."""
    world.slack.history_lag_s = 0.4
    await world.begin(die_at)
    races = Races(Random(3), now=START, regions=("R0", "R1"))
    for story in (races.corrected(), races.mended(), races.contradicted()):
        for delivery in story:
            await world.deliver(delivery)
            await world.passes(0.7)
    await world.passes(5.0)
    return await world.finish()


def lived(world: World, die_at: int | None) -> Verdict:
    return world.loop.run_until_complete(live_a_day(world, die_at))


@pytest.mark.parametrize("die_at", range(5, AT_LEAST, 11))
def test_death_at_some_failpoint_loses_and_doubles_nothing(die_at, make_world):
    world = make_world(die_at, CHANNELS)
    assert lived(world, die_at).problems == []
    assert world.ends[0] != KILLED


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_death_at_each_failpoint_loses_and_doubles_nothing(part, make_world):
    places = []
    for die_at in count(part + 1, PARTS):
        world = make_world(die_at, CHANNELS)
        verdict = lived(world, die_at)
        assert verdict.problems == [], world.ends
        if world.ends[0] == KILLED:
            # Every place lies behind the first life.
            break
        places.append(world.ends[0])
    assert len(places) >= AT_LEAST // PARTS


def test_same_seed_is_the_same_day(make_world):
    """Or the k-th failpoint would not be the k-th of the next life."""
    days = []
    for _ in range(2):
        world = make_world(1, CHANNELS)
        lived(world, 40)
        days.append((world.ends, [(call.method, call.at, call.arguments) for call in world.slack.calls]))
    assert days[0] == days[1]
