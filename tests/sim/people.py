"""A channel whose people change their minds: the choices by time, and whether the channel was told accordingly."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from sandbox.slack.values import Json, PostedMessage
from sandbox.slack.workspace import SlackWorkspace
from tests.said import as_posted
from tests.soak.databases import SUBSCRIBER
from tests.soak.oracle import key_of, of_event, shows
from tests.soak.racing import BOTH, Delivery, SoakChannel

FANNED_OUT = timedelta(seconds=10)
"""The bot goes by a choice from its answer on, at the latest."""

UNDER_WAY = timedelta(seconds=20)
"""The time after a pause in which Slack may still take an earlier message."""


@dataclass(frozen=True)
class Choice:
    """Between the two moments the bot may go by the choice or by the earlier choice."""

    asked_at: datetime
    answered_at: datetime
    regions: frozenset[str]
    is_paused: bool


@dataclass
class PeoplesChannel:
    """`dropped`: deliveries not told yet when people ended their subscription."""

    channel_id: str
    choices: list[Choice]
    dropped: set[str] = field(default_factory=set)

    @property
    def now(self) -> Choice:
        return self.choices[-1]

    def ended(self, delivered: Sequence[Delivery], here: Sequence[PostedMessage]) -> None:
        """People end a subscription: nobody wants the untold deliveries."""
        self.dropped |= {one.name for one in delivered if not any(tells(message, one) for message in here)}

    def is_wanted(self, delivery: Delivery) -> bool | None:
        """None where telling and not telling are both right."""
        assert delivery.sent_at
        assert delivery.answered_at
        until = delivery.answered_at + FANNED_OUT
        replaced_at = [later.answered_at for later in self.choices[1:]] + [until]
        possible = {
            delivery.region in choice.regions
            for choice, ended_at in zip(self.choices, replaced_at, strict=True)
            if choice.asked_at <= until and ended_at >= delivery.sent_at
        }
        if possible == {True}:
            return None if delivery.name in self.dropped else True
        return None if True in possible else False

    def problems(self, delivered: Sequence[Delivery], here: Sequence[PostedMessage]) -> Iterator[str]:
        """The faults at the end, in sentences."""
        counts = Counter(key_of(message) for message in here)
        yield from (f"{key} stands {count} times" for key, count in counts.items() if key and count > 1)
        wanted = {one.name: self.is_wanted(one) for one in delivered}
        for key in {one.key for one in delivered}:
            versions = [one for one in delivered if one.key == key]
            newest = next((one for one in reversed(versions) if wanted[one.name]), None)
            if newest and not any(tells(message, newest) for message in here):
                yield f"{newest.name} is told by nothing in {self.channel_id}"
            if not any(wanted[one.name] in {True, None} for one in versions):
                yield from (f"nobody wanted {message.text}" for message in here if _event_of(message) == key)
        for one in delivered:
            if not one.edits and sum(shows(message, one) for message in here) > 1:
                yield f"{one.name} is told twice"
        yield from self._out_of_order(delivered, here)
        yield from self._told_in_a_pause(here)

    def _out_of_order(self, delivered: Sequence[Delivery], here: Sequence[PostedMessage]) -> Iterator[str]:
        """Deliveries of a race out of order, in sentences."""
        place = {f"{one.name}@{self.channel_id}": number for number, one in enumerate(delivered)}
        race = {f"{one.name}@{self.channel_id}": one.race for one in delivered}
        posted = [key for message in here if (key := key_of(message)) in place]
        for number, first in enumerate(posted):
            for second in posted[number + 1 :]:
                if race[first] == race[second] and place[first] > place[second]:
                    yield f"{first} before {second}"

    def _told_in_a_pause(self, here: Sequence[PostedMessage]) -> Iterator[str]:
        for paused, goes_on in pairwise(self.choices):
            if paused.is_paused:
                held = (paused.answered_at + UNDER_WAY, goes_on.asked_at)
                told = [one for one in here if _event_of(one) and held[0] < one.received_at < held[1]]
                yield from (f"told in a pause: {one.text}" for one in told)


def tells(message: PostedMessage, delivery: Delivery) -> bool:
    """Whether people read of the delivery here. A pause's summary counts results, other summaries name the race."""
    if key_of(message).startswith("waited:") and not delivery.is_abandonment:
        return True
    if delivery.where not in message.text and delivery.where not in str(message.blocks):
        return False
    if not _event_of(message):
        return "#" not in key_of(message)
    return any(said and said in as_posted(message.text) for said in (delivery.says, delivery.first_says))


def _event_of(message: PostedMessage) -> str:
    """The event of an event's own message; "" of a summary, a welcome or a line about a change."""
    key = of_event(key_of(message))
    return key.partition("#")[0] if "#" in key else ""


# Channels with live meetings, acknowledgements and digests


LIVE, ACK, DIGEST, SECOND = "CLIVE", "CACK", "CDIGEST", "CSECOND"
DIGESTS = 15


def choosing_channels(now: datetime) -> tuple[SoakChannel, ...]:
    """A digest each minute: an event after the last digest would wait for the next day."""
    minutes = tuple(f"{now + timedelta(minutes=minute):%H:%M}" for minute in range(1, DIGESTS))
    return (
        SoakChannel(LIVE, ("*",), BOTH, {"show": ("meetings",)}),
        SoakChannel(ACK, ("*",), BOTH, {"ack": ("1m",), "escalate": (SUBSCRIBER, SECOND)}),
        SoakChannel(DIGEST, ("*",), BOTH, {"digest": minutes}),
        SoakChannel(SECOND, ()),
    )


def button_in(message: PostedMessage) -> Json | None:
    elements = [element for block in message.blocks for element in block.get("elements", ())]
    return next((one for one in elements if str(one.get("action_id")).startswith("acknowledge:")), None)


@dataclass(frozen=True)
class ChoosingOracle:
    """`pressed`: the keys of presses that the bot took."""

    slack: SlackWorkspace
    delivered: Sequence[Delivery]
    pressed: Collection[str]

    def problems(self) -> Iterator[str]:
        for delivery in self.delivered:
            for channel_id in (LIVE, ACK, DIGEST):
                if not any(_tells(message, delivery) for message in self.slack.messages(channel_id)):
                    yield f"{delivery.name} is told by nothing in {channel_id}"
            if delivery.is_abandonment:
                yield from self._of_escalation(delivery)
        for channel_id in (LIVE, ACK, DIGEST, SECOND):
            counts = Counter(map(key_of, self.slack.messages(channel_id)))
            yield from (f"{key} stands {count} times in {channel_id}" for key, count in counts.items() if count > 1)
        taken = [key_of(one) for one in self.slack.messages(ACK) if "has it since" in one.text]
        yield from (f"{key} was pressed, and nobody has it" for key in self.pressed if key not in taken)
        yield from self._in_wrong_place()
        yield from self._of_live_messages()

    def _of_escalation(self, delivery: Delivery) -> Iterator[str]:
        """Taken, or told once more here and once in the second channel."""
        key = f"{delivery.name}@{ACK}"
        here = self.slack.messages(ACK)
        if any(key_of(one) == key and f"<@{SUBSCRIBER}> has it since" in one.text for one in here):
            return
        told = [sum(f"{key}!" in key_of(one) for one in self.slack.messages(place)) for place in (ACK, SECOND)]
        if told != [1, 1]:
            yield f"{key}, not taken, is escalated {told} times"

    def _in_wrong_place(self) -> Iterator[str]:
        """First results go into the thread of a live message; changed winners, abandonments, contradictions do not."""
        here = self.slack.messages(LIVE)
        live = {one.ts for one in here if key_of(one).startswith("live:")}
        abandoned = {one.race for one in self.delivered if one.is_abandonment}
        for one in here:
            kind, _, race = key_of(one).partition("@")[0].partition(":")
            is_first_result = kind == "result.received" and race.endswith("#1")
            is_contradicted = is_first_result and race.partition("#")[0] in abandoned
            if one.ts not in live and not is_contradicted and (one.thread_ts in live) != is_first_result:
                yield f"{key_of(one)} is in the wrong place"

    def _of_live_messages(self) -> Iterator[str]:
        """Each race has a line in the only live message of its course."""
        lives = [one for one in self.slack.messages(LIVE) if key_of(one).startswith("live:")]
        for race in dict.fromkeys(one.race for one in self.delivered if one.race.startswith("rc_")):
            of_race = [one for one in self.delivered if one.race == race]
            course, _, off = of_race[0].where.partition(" ")
            texts = [_text(live) for live in lives if live.text.startswith(course)]
            shown = [line for text in texts for line in text.split("\n") if line.startswith(f"{off}  ")]
            if [_wanted(of_race) in line for line in shown] != [True]:
                yield f"{race} is shown as {shown} in the live message of {course}"


def _text(message: PostedMessage) -> str:
    return "\n".join(block["text"]["text"] for block in message.blocks if "text" in block)


def _wanted(of_race: Iterable[Delivery]) -> str:
    """In the race's line of the live message."""
    of_race = list(of_race)
    results = [one for one in of_race if one.first_says]
    if any(one.is_abandonment for one in of_race):
        return "CONFLICT" if results else "ABANDONED*, Frozen track"
    return f"1 {results[-1].winner}"


def _tells(message: PostedMessage, delivery: Delivery) -> bool:
    """Live messages and escalations show the race once more."""
    key = key_of(message)
    shown = message.text + json.dumps(message.blocks)
    return not key.startswith("live:") and "!" not in key and delivery.where in shown
