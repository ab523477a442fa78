"""A channel whose people change their minds: what they chose when, and whether the channel was told accordingly."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from sandbox.slack.values import PostedMessage
from tests.said import as_posted
from tests.soak.oracle import key_of, of_event, shows
from tests.soak.racing import Delivery

FANNED_OUT = timedelta(seconds=10)
"""After its answer, at the latest, the bot goes by what people have chosen."""

UNDER_WAY = timedelta(seconds=20)
"""So long after a pause Slack may still take a message that was sent before."""


@dataclass(frozen=True)
class Choice:
    """Between the two moments the bot may go by this choice or by the one before."""

    asked_at: datetime
    answered_at: datetime
    regions: frozenset[str]
    is_paused: bool


@dataclass
class PeoplesChannel:
    """`dropped` are deliveries that were not told yet when people ended what brought them."""

    channel_id: str
    choices: list[Choice]
    dropped: set[str] = field(default_factory=set)

    @property
    def now(self) -> Choice:
        return self.choices[-1]

    def ended(self, delivered: Sequence[Delivery], here: Sequence[PostedMessage]) -> None:
        """People end a subscription: nobody wants what is not told yet."""
        self.dropped |= {one.name for one in delivered if not any(tells(message, one) for message in here)}

    def is_wanted(self, delivery: Delivery) -> bool | None:
        """None where either is right."""
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
        """What is wrong at the end, in sentences."""
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
        """Of one race."""
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
    """The event whose own message it is; "" of a summary, a welcome or a line about a change."""
    key = of_event(key_of(message))
    return key.partition("#")[0] if "#" in key else ""
