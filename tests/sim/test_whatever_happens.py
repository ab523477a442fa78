"""Whatever happens to the bot and to Slack, each event is told once in each channel that asked, in order."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sandbox.slack import failures
from sandbox.slack.arguments import Arguments
from sandbox.slack.failures import Failure
from tests.clock import START
from tests.sim.world import World
from tests.soak.racing import Delivery, Races, SoakChannel
from tests.soak.weather import key_of_call

CHANNELS = (SoakChannel("CR0", ("R0",)), SoakChannel("CR1", ("R1",)), SoakChannel("CALL", ("*",)))
POST, EDIT, LOOK = "chat.postMessage", "chat.update", "conversations.history"

STORIES = st.sampled_from(
    ["result", "corrected", "mended", "corrected_and_mended", "abandoned", "meeting", "contradicted"]
)
CHANNEL = st.sampled_from([channel.channel_id for channel in CHANNELS])
FAILURES = st.sampled_from(
    [
        failures.drop_before(),
        failures.drop_after(),
        failures.delay_after(15.0),
        # Accepted when the bot waits no longer: what a look that comes too early would not find.
        failures.delay_before(7.0),
        failures.rate_limited(3),
        failures.rate_limited(40),
        failures.http_error(503),
        failures.http_error(500).accepted(),
        failures.html(502),
        failures.html(200).accepted(),
        failures.truncated(),
        failures.slack_error("internal_error").accepted(),
        failures.blocks_refused(),
    ]
)
VERY_LATE = failures.delay_before(17.0)
"""Taken after the first look."""

EDIT_REFUSED = failures.slack_error("edit_window_closed")


def happening(name: str, *drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), *drawn)


HAPPENINGS = st.one_of(
    happening("story", STORIES, st.sampled_from([0.0, 0.5, 3.0, 20.0])),
    happening("stories_at_once", st.lists(STORIES, min_size=2, max_size=4)),
    happening("delivered_again", st.integers(0, 9)),
    happening("time_passes", st.sampled_from([0.1, 1.0, 7.0, 31.0, 90.0])),
    happening("will_die", st.integers(1, 12)),
    happening("is_killed"),
    happening("slack_stumbles", st.sampled_from([POST, POST, EDIT]), st.lists(FAILURES, min_size=1, max_size=4)),
    happening("message_is_in_doubt", st.one_of(FAILURES, st.just(VERY_LATE)), FAILURES),
    happening("slack_stumbles", st.just(EDIT), st.lists(st.just(EDIT_REFUSED), min_size=1, max_size=3)),
    happening("messages_are_refused", CHANNEL, st.booleans()),
    happening("channel_is_archived", CHANNEL, st.booleans()),
)


@dataclass
class Day:
    """What happens, a method each; `refusing` are the channels that refuse every message for good."""

    world: World
    races: Races = field(default_factory=lambda: Races(Random(1), now=START, regions=("R0", "R1")))
    refusing: set[str] = field(default_factory=set)

    async def pass_by(self, happenings: list[Any]) -> list[str]:
        self.world.slack.history_lag_s = 0.4
        self.world.slack.failure_of = self._refused
        await self.world.begin()
        for name, *drawn in happenings:
            await getattr(self, name)(*drawn)
        self.refusing.clear()
        for method in (POST, EDIT, LOOK):
            self.world.slack.script(method, [])
        for channel in CHANNELS:
            self.world.archive(channel.channel_id, is_archived=False)
        return (await self.world.finish()).problems

    def _refused(self, method: str, args: Arguments) -> Failure | None:
        channel_id = args.text("channel") or ""
        if method != POST or channel_id not in self.refusing:
            return None
        if not args.has_blocks:
            self.world.refused.add(key_of_call(args))
        return failures.slack_error("msg_too_long")

    async def story(self, kind: str, apart_s: float) -> None:
        await self._tell(getattr(self.races, kind)(), apart_s)

    async def stories_at_once(self, kinds: list[str]) -> None:
        await asyncio.gather(*[self._tell(story, 0.0) for story in [getattr(self.races, kind)() for kind in kinds]])

    async def _tell(self, deliveries: list[Delivery], apart_s: float) -> None:
        for delivery in deliveries:
            await self.world.deliver(delivery)
            await self.world.passes(apart_s)

    async def delivered_again(self, index: int) -> None:
        if delivered := self.world.delivered:
            await self.world.deliver_again(delivered[-1 - index % len(delivered)])

    async def time_passes(self, seconds: float) -> None:
        await self.world.passes(seconds)

    async def will_die(self, failpoints: int) -> None:
        await self.world.die_after(failpoints)

    async def is_killed(self) -> None:
        await self.world.end()

    async def slack_stumbles(self, method: str, met: list[Failure]) -> None:
        self.world.slack.script(method, met)

    async def message_is_in_doubt(self, met: Failure, looking: Failure) -> None:
        """One failed look: after six a message would be repeated blindly."""
        self.world.slack.script(POST, [met])
        self.world.slack.script(LOOK, [looking])

    async def messages_are_refused(self, channel_id: str, is_refusing: bool) -> None:
        (self.refusing.add if is_refusing else self.refusing.discard)(channel_id)

    async def channel_is_archived(self, channel_id: str, is_archived: bool) -> None:
        self.world.archive(channel_id, is_archived=is_archived)


@pytest.mark.soak
@pytest.mark.timeout(900)
@settings(suppress_health_check=list(HealthCheck))
@given(happenings=st.lists(HAPPENINGS, min_size=12, max_size=16))
# The correction stands in a message of its own, and the message of the first version says the edit no more.
@example(happenings=[("slack_stumbles", EDIT, [EDIT_REFUSED] * 6), ("story", "corrected_and_mended", 3.0)])
# The edit was made without an answer, and is refused when made again.
@example(happenings=[("slack_stumbles", EDIT, [failures.drop_after(), EDIT_REFUSED]), ("story", "mended", 90.0)])
@example(happenings=[("slack_stumbles", POST, [VERY_LATE]), ("story", "result", 90.0)])
def test_each_event_is_told_once_in_order_whatever_happens(happenings, make_world):
    world = make_world(1, CHANNELS)
    assert world.loop.run_until_complete(Day(world).pass_by(happenings)) == []
