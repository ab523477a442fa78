"""Whatever happens, each subscribed channel is told of each event once, in order, and soon after all is well."""

from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.outbox.pace import Pace
from sandbox.slack import failures
from sandbox.slack.limits import SlackLimits
from tests.clock import START
from tests.sim.days import ALWAYS, CALL, EDIT, EDIT_REFUSED, KINDS, POST, VERY_LATE, Day
from tests.sim.world import KILLED, World
from tests.soak.oracle import Verdict
from tests.soak.racing import Races, SoakChannel

SLACK, PEOPLE, CHOICES = KINDS
AT_ONCE_S = 0.2

AWAY_H = 0.2
"""Longer than the interval of the job that looks at closed channels."""

DAYS: dict[str, tuple[str, list[Any]]] = {
    "a correction in a message of its own, and an edit that the first message says no more": (
        SLACK,
        [("slack_stumbles", EDIT, [EDIT_REFUSED] * 6), ("story", "corrected_and_mended", 3.0)],
    ),
    "an edit that was made without an answer, and is refused when made again": (
        SLACK,
        [("slack_stumbles", EDIT, [failures.drop_after(), EDIT_REFUSED]), ("story", "mended", 20.0)],
    ),
    "a message that Slack takes after the first look, and others after it": (
        SLACK,
        [("slack_stumbles", POST, [VERY_LATE]), ("story", "result", 0.5), ("stories_at_once", ["mended", "result"])],
    ),
    "a channel that is open again, and nobody says so": (
        SLACK,
        [
            ("channel_is_archived", "CR0", True, False),
            ("stories_at_once", ["corrected"] * 4),
            ("channel_is_archived", "CR0", False, False),
            ("bot_is_away", AWAY_H),
            ("time_passes", 7.0),
            ("stories_at_once", ["result"] * 4),
        ],
    ),
    "a pause, and what waited": (
        PEOPLE,
        [("people_choose", "pause"), ("story", "corrected", 31.0), ("people_choose", "resume"), ("time_passes", 7.0)],
    ),
    "a pause of hours, and its summary": (
        PEOPLE,
        [("people_choose", "pause"), ("stories_at_once", ["mended", "abandoned"]), ("bot_is_away", 4.0)],
    ),
    "removed and invited again": (
        PEOPLE,
        [
            ("bot_is_removed", "CR0", True),
            ("bot_is_removed", "CPEOPLE", False),
            ("stories_at_once", ["corrected", "result", "result"]),
            ("bot_is_invited", "CR0"),
            ("bot_is_invited", "CPEOPLE"),
            ("story", "result", 3.0),
        ],
    ),
    "another region, quiet hours, and an end": (
        PEOPLE,
        [
            ("people_choose", "subscribe RB"),
            ("stories_at_once", ["result", "abandoned", "mended"]),
            ("time_passes", 31.0),
            ("people_choose", "quiet"),
            ("stories_at_once", ["result", "abandoned", "mended"]),
            ("time_passes", 7.0),
            ("people_choose", "unsubscribe RA"),
            ("time_passes", 7.0),
            ("stories_at_once", ["result", "abandoned", "mended"]),
        ],
    ),
    "a live meeting, a digest, and abandonments of which somebody has one": (
        CHOICES,
        [
            ("story", "corrected", 3.0),
            ("story", "abandoned", 3.0),
            ("somebody_presses",),
            ("story", "contradicted", 3.0),
            ("will_die", 3),
            ("story", "result", 3.0),
        ],
    ),
}


def lived(make_world, kind, happenings):
    world = make_world(1, KINDS[kind].channels)
    return world.loop.run_until_complete(Day(world).pass_by(happenings))


@pytest.mark.parametrize("day", DAYS)
def test_a_day_that_was_hard_once_is_told_once(day, make_world):
    kind, happenings = DAYS[day]
    assert lived(make_world, kind, happenings) == []


def test_calm_day_is_told_at_once_and_abandonments_first_and_nothing_twice(make_world):
    world, drawn = make_world(1, [CALL]), []
    world.slack.listeners.append(lambda message: drawn.append((message.ts, message.text, str(message.blocks))))
    burst = ("stories_at_once", ["result", "mended", "result"])
    happenings = [("story", "mended", 1.4), burst, ("story", "abandoned", 8.0)]
    assert world.loop.run_until_complete(Day(world).pass_by(happenings)) == []
    first, edit, *_ = world.delivered
    messages = world.slack.messages("CALL")
    assert float(messages[0].ts) - first.answered_at.timestamp() < AT_ONCE_S
    assert float(messages[0].edited) - edit.answered_at.timestamp() < AT_ONCE_S
    assert (messages[-1].received_at - messages[1].received_at).total_seconds() < 3 * world.pace.channel_s + AT_ONCE_S
    assert [message.text.split(":")[0] for message in messages] == ["Result", "Result", "ABANDONED", "Result", "Result"]
    assert len(drawn) == len(set(drawn))


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=settings().max_examples // 3, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_event_is_told_once_in_order_whatever_happens(kind, data, make_world):
    happenings = data.draw(st.lists(st.one_of(*ALWAYS, *KINDS[kind].happenings), min_size=12, max_size=16))
    assert lived(make_world, kind, happenings) == []


# The bot dies at each failpoint of a short day, once at each


PARTS = 4
"""For as many workers."""

AT_LEAST = 60
"""Failpoints of the day."""

CHANNELS = (SoakChannel("CALL", ("*",)), SoakChannel("CTWO", ("RA", "RB")))


async def live_a_day(world: World, die_at: int | None) -> Verdict:
    """A correction, a refreshed result, and a result that an abandonment contradicts, close to each other."""
    world.slack.history_lag_s = 0.4
    await world.begin(die_at)
    races = Races(Random(3), now=START, regions=("RA", "RB"))
    for story in (races.corrected(), races.mended(), races.contradicted()):
        for delivery in story:
            await world.deliver(delivery)
            await world.passes(0.7)
    await world.passes(5.0)
    return await world.finish()


def lived_until(world: World, die_at: int | None) -> Verdict:
    return world.loop.run_until_complete(live_a_day(world, die_at))


@pytest.mark.parametrize("die_at", range(5, AT_LEAST, 11))
def test_death_at_some_failpoint_loses_and_doubles_nothing(die_at, make_world):
    world = make_world(die_at, CHANNELS)
    assert lived_until(world, die_at).problems == []
    assert world.ends[0] != KILLED


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_death_at_each_failpoint_loses_and_doubles_nothing(part, make_world):
    places = []
    for die_at in count(part + 1, PARTS):
        world = make_world(die_at, CHANNELS)
        verdict = lived_until(world, die_at)
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
        lived_until(world, 40)
        days.append((world.ends, [(call.method, call.at, call.arguments) for call in world.slack.calls]))
    assert days[0] == days[1]


# Slack's limits: Slack refuses no call, and no abandonment is late


TWELVE = [SoakChannel(f"C{number:02}", ("GB",)) for number in range(12)]
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


async def lived_within(world, *stories):
    """Deliver the stories at once, and let the bot finish. Judges all but the times."""
    for delivery in (delivery for story in stories for delivery in story):
        await world.deliver(delivery)
    verdict = await world.finish()
    assert verdict.problems == []
    assert [call.error for call in world.slack.calls if call.error] == []


def test_abandonment_passes_all_that_waits_in_every_channel(limited):
    world, races = limited(TWELVE)
    results, abandoned = [races.result() for _ in range(6)], races.abandoned()
    world.loop.run_until_complete(lived_within(world, *results, abandoned))
    (abandonment,) = abandoned
    posts = sorted(
        (message.received_at, message.text) for one in TWELVE for message in world.slack.messages(one.channel_id)
    )
    told = [at for at, text in posts if text.startswith(abandonment.begins)]
    assert len(told) == len(TWELVE)
    # The first results took the calls that were free at once; of the next calls the abandonment gets each.
    late_s = (told[-1] - abandonment.answered_at).total_seconds()
    assert late_s < len(TWELVE) * 60 / world.pace.workspace_per_minute + AT_ONCE_S
    assert sum(at > told[-1] for at, _ in posts) > len(TWELVE) * 3
