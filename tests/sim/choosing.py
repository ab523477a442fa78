"""Channels that chose live meetings, acknowledgements and digests: everything is told once, in the right place."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sandbox.slack.values import Json, PostedMessage
from sandbox.slack.workspace import SlackWorkspace
from tests.soak.databases import SUBSCRIBER
from tests.soak.oracle import key_of
from tests.soak.racing import BOTH, Delivery, SoakChannel

LIVE, ACK, DIGEST, SECOND = "CLIVE", "CACK", "CDIGEST", "CSECOND"
DIGESTS = 15


def choosing_channels(now: datetime) -> tuple[SoakChannel, ...]:
    """A digest each minute: what comes after the last would wait for the next day."""
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
