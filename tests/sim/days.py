"""Possible days: happenings to the bot, to Slack and among people, and the judgement at the end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from hypothesis import strategies as st

from sandbox.slack import failures
from sandbox.slack.calls import Arguments
from sandbox.slack.failures import Failure
from tests.clock import START
from tests.sim.people import ACK, Choice, ChoosingOracle, PeoplesChannel, button_in, choosing_channels
from tests.sim.world import BOT, World
from tests.soak.databases import SUBSCRIBER
from tests.soak.racing import BOTH, Delivery, Races, SoakChannel, key_of_call

QUIET_FOR = timedelta(minutes=2)
REGIONS = ("RA", "RB")
CR0, CR1, CALL = (SoakChannel("CR0", ("RA",)), SoakChannel("CR1", ("RB",)), SoakChannel("CALL", ("*",)))
PEOPLE = SoakChannel("CPEOPLE", ("RA",), BOTH)
POST, EDIT, LOOK = "chat.postMessage", "chat.update", "conversations.history"

VERY_LATE = failures.delay_before(17.0)
"""Taken after the first look."""

EDIT_REFUSED = failures.slack_error("edit_window_closed")
FAILURES = st.sampled_from(
    [
        failures.drop_before(),
        failures.drop_after(),
        failures.delay_after(15.0),
        # Accepted when the bot waits no longer: an early look would miss the message.
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
STORIES = st.sampled_from(
    ["result", "corrected", "mended", "corrected_and_mended", "abandoned", "meeting", "contradicted"]
)


def happening(name: str, *drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), *drawn)


ALWAYS = (
    happening("story", STORIES, st.sampled_from([0.0, 0.5, 3.0, 20.0])),
    happening("stories_at_once", st.lists(STORIES, min_size=2, max_size=4)),
    happening("delivered_again", st.integers(0, 9)),
    happening("time_passes", st.sampled_from([0.1, 1.0, 7.0, 31.0])),
    happening("will_die", st.integers(1, 12)),
    happening("is_killed"),
    happening("slack_stumbles", st.sampled_from([POST, POST, EDIT]), st.lists(FAILURES, min_size=1, max_size=4)),
)


AWAY = happening("bot_is_away", st.just(0.2))
"""Longer than the interval of the job `check_channels`. Not for digests: their minutes would be over."""


@dataclass(frozen=True)
class Kind:
    """The channels of a day, the share of channels that may be closed, and possible happenings beside ALWAYS."""

    channels: tuple[SoakChannel, ...]
    happenings: tuple[st.SearchStrategy[Any], ...]


SOME_CHANNEL = st.sampled_from(["CR0", "CR1", "CALL"])
KINDS = {
    "slack fails": Kind(
        (CR0, CR1, CALL),
        (
            AWAY,
            happening("message_is_in_doubt", st.one_of(FAILURES, st.just(VERY_LATE)), FAILURES),
            happening("slack_stumbles", st.just(EDIT), st.lists(st.just(EDIT_REFUSED), min_size=1, max_size=3)),
            happening("messages_are_refused", SOME_CHANNEL, st.booleans()),
            happening("channel_is_archived", SOME_CHANNEL, st.booleans(), st.just(value=False)),
        ),
    ),
    "people change their minds": Kind(
        (CR0, CR1, PEOPLE),
        (
            AWAY,
            happening("people_choose", st.sampled_from(["subscribe RA", "subscribe RB", "unsubscribe RA"])),
            happening("people_choose", st.sampled_from(["pause", "resume"])),
            happening("people_choose", st.sampled_from(["quiet", "unsubscribe quiet", "subscribe RB show:meetings"])),
            happening("bot_is_removed", st.sampled_from(["CR0", "CPEOPLE"]), st.booleans()),
            happening("bot_is_invited", st.sampled_from(["CR0", "CPEOPLE"])),
            happening("channel_is_archived", st.sampled_from(["CR0", "CPEOPLE"]), st.booleans(), st.booleans()),
        ),
    ),
    "channels choose how they are told": Kind(
        (CALL, *choosing_channels(START)),
        (happening("somebody_presses"), happening("slack_stumbles", st.just(LOOK), st.lists(FAILURES, max_size=1))),
    ),
}


@dataclass
class Day:
    """The happenings, a method each. `refusing`: channels where Slack refuses every message for good."""

    world: World
    races: Races = field(default_factory=lambda: Races(Random(1), now=START, regions=REGIONS, races_a_meeting=3))
    refusing: set[str] = field(default_factory=set)
    pressed: set[str] = field(default_factory=set)

    async def pass_by(self, happenings: Sequence[Any]) -> list[str]:
        world, slack = self.world, self.world.slack
        self.people = PeoplesChannel("CPEOPLE", [Choice(START, START, frozenset(PEOPLE.regions), is_paused=False)])
        chosen = [channel for channel in world.channels if channel not in (CR0, CR1, CALL)]
        world.elsewhere = {channel.channel_id for channel in chosen}
        slack.history_lag_s = 0.4
        slack.failure_of = self._refused
        await world.begin()
        for name, *drawn in happenings:
            await getattr(self, name)(*drawn)
        await self._all_is_well()
        verdict = await world.finish()
        found = verdict.problems
        if PEOPLE in chosen:
            found += self.people.problems(world.delivered, slack.messages("CPEOPLE"))
        elif chosen:
            found += ChoosingOracle(slack, world.delivered, self.pressed).problems()
        return found

    async def _all_is_well(self) -> None:
        """And Slack, or people, tell the bot."""
        self.refusing.clear()
        for method in (POST, EDIT, LOOK):
            self.world.slack.script(method, [])
        for channel_id in sorted(self.world.closed):
            await self.world.invite_bot(channel_id)
            await self.world.archive(channel_id, is_archived=False, is_told=True)
        if self.people.now.is_paused:
            await self.people_choose("resume")

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

    async def bot_is_away(self, hours: float) -> None:
        await self.world.end()
        await asyncio.sleep(hours * 3_600)

    async def slack_stumbles(self, method: str, met: list[Failure]) -> None:
        self.world.slack.script(method, met)

    async def message_is_in_doubt(self, met: Failure, looking: Failure) -> None:
        """A failed look, and no more: after six a message would be repeated blindly."""
        self.world.slack.script(POST, [met])
        self.world.slack.script(LOOK, [looking])

    async def messages_are_refused(self, channel_id: str, is_refusing: bool) -> None:
        (self.refusing.add if is_refusing else self.refusing.discard)(channel_id)

    async def channel_is_archived(self, channel_id: str, is_archived: bool, is_told: bool) -> None:
        if self.world.slack.channels[channel_id].is_archived != is_archived:
            await self.world.archive(channel_id, is_archived=is_archived, is_told=is_told)

    async def bot_is_removed(self, channel_id: str, is_told: bool) -> None:
        await self.world.remove_bot(channel_id, is_told=is_told)

    async def bot_is_invited(self, channel_id: str) -> None:
        await self.world.invite_bot(channel_id)

    async def people_choose(self, what: str) -> None:
        """Types a command, and notes the events due in the channel from now on."""
        before, asked_at = self.people.now, self.world.clock()
        verb, _, region = what.partition(" ")
        regions, is_paused = before.regions, before.is_paused
        line = what
        match verb:
            case "quiet":
                line = f"subscribe RA quiet:{asked_at:%H:%M}-{asked_at + QUIET_FOR:%H:%M}"
                regions |= {"RA"}
            case "subscribe":
                regions |= {region.split(" ")[0]}
            case "unsubscribe":
                regions -= {region}
            case "pause":
                is_paused = bool(regions)
            case "resume":
                is_paused = False
        await self.world.types("CPEOPLE", line)
        if regions < before.regions:
            self.people.ended(self.world.delivered, self.world.slack.messages("CPEOPLE"))
        self.people.choices.append(Choice(asked_at, self.world.clock(), regions, is_paused))

    async def somebody_presses(self) -> None:
        """*I have it*, on the newest abandonment with the button."""
        found = [(message, button) for message in self.world.slack.messages(ACK) if (button := button_in(message))]
        if found:
            message, button = found[-1]
            presses = self.world.slack.person(SUBSCRIBER, BOT).presses
            await self.world.asked(partial(presses, button["action_id"], button["value"], message))
            self.pressed.add(button["value"])
