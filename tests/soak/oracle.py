"""What has to be true at the end: each delivery stands in each of its channels once, in order, and nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from bot.sandbox.slack.values import PostedMessage
from tests.said import as_posted
from tests.soak.racing import Delivery, SoakChannel

Receipt = tuple[datetime, int]
"""Where a delivery stands in the inbox: received_at, id."""

CLOCK_S = 0.02
"""Between the moment that the stand-in notes and the one by which a lane is measured."""


@dataclass
class Verdict:
    """What is wrong, in sentences that name message and channel."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    too_fast: list[str] = field(default_factory=list)
    posts: int = 0

    @property
    def problems(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.out_of_order, *self.noise, *self.too_fast]


@dataclass(frozen=True)
class Oracle:
    """Knows what was delivered and who had asked. `precedes(one, other)`: it was certainly received first."""

    delivered: Sequence[Delivery]
    channels: Sequence[SoakChannel]
    precedes: Callable[[Delivery, Delivery], bool]
    channel_s: float

    def judge(self, messages: Mapping[str, Sequence[PostedMessage]]) -> Verdict:
        """What is wrong with the channels as they stand."""
        verdict = Verdict()
        for channel in self.channels:
            here = messages.get(channel.channel_id, ())
            verdict.posts += len(here)
            self._count(channel, here, verdict)
            self._compare_order(channel, here, verdict)
            self._measure(channel, here, verdict)
        known = {channel.channel_id for channel in self.channels}
        strange = (message for channel_id, here in messages.items() if channel_id not in known for message in here)
        verdict.noise += [f"{message.channel}: {message.text}" for message in strange]
        return verdict

    def _count(self, channel: SoakChannel, here: Sequence[PostedMessage], verdict: Verdict) -> None:
        keys = Counter(key_of(message) for message in here)
        wanted = {self._key(delivery, channel): delivery for delivery in self.delivered if channel.takes(delivery)}
        for key, delivery in wanted.items():
            counts = [sum(shows(message, delivery) for message in here), *([] if delivery.edits else [keys[key]])]
            if min(counts) == 0:
                verdict.lost.append(f"{key}: {counts} by text and key")
            elif max(counts) > 1:
                verdict.doubled.append(f"{key}: {counts} by text and key")
        verdict.noise += [message.text for message in here if self._is_noise(key_of(message), wanted)]

    @staticmethod
    def _is_noise(key: str, wanted: Mapping[str, Delivery]) -> bool:
        return key not in wanted or wanted[key].edits

    def _compare_order(self, channel: SoakChannel, here: Sequence[PostedMessage], verdict: Verdict) -> None:
        by_key = {self._key(delivery, channel): delivery for delivery in self.delivered}
        posted = [by_key[key] for message in here if (key := key_of(message)) in by_key]
        hurried = {delivery.race for delivery in posted if delivery.is_abandonment}
        for place, first in enumerate(posted):
            for second in posted[place + 1 :]:
                if self._should_be_first(second, first, hurried) and self.precedes(second, first):
                    verdict.out_of_order.append(f"{channel.channel_id}: {first.name} before {second.name}")

    @staticmethod
    def _should_be_first(one: Delivery, other: Delivery, hurried: set[str]) -> bool:
        """Whether `one`, received before `other`, has to stand before it."""
        if one.race == other.race:
            return True
        if one.is_abandonment == other.is_abandonment:
            # A race's waiting posts are hurried along when its abandonment comes, and so overtake others.
            return one.is_abandonment or other.race not in hurried
        return one.is_abandonment

    def _measure(self, channel: SoakChannel, here: Sequence[PostedMessage], verdict: Verdict) -> None:
        for before, after in pairwise(here):
            gap_s = (after.received_at - before.received_at).total_seconds()
            if gap_s < self.channel_s - CLOCK_S:
                verdict.too_fast.append(f"{channel.channel_id}: {gap_s:.3f} s before {key_of(after)}")

    @staticmethod
    def _key(delivery: Delivery, channel: SoakChannel) -> str:
        return f"{delivery.name}@{channel.channel_id}"


def key_of(message: PostedMessage) -> str:
    """The post's key in a message's metadata; "" where it has none."""
    return str(((message.metadata or {}).get("event_payload") or {}).get("post") or "")


def shows(message: PostedMessage, delivery: Delivery) -> bool:
    """Whether this is what people would take for the delivery's message."""
    return as_posted(message.text).startswith(delivery.begins) and delivery.says in message.text


def received_in_order(receipts: Mapping[tuple[str, str], Receipt], *, one_process: bool) -> Callable[..., bool]:
    """Whether a delivery was received before another, by the inbox.

    Where several processes receive at once, "before" is only what the sender saw too: the one was answered before the
    other was sent.
    """

    def precedes(one: Delivery, other: Delivery) -> bool:
        first, second = receipts[one.key, one.sha256], receipts[other.key, other.sha256]
        seen = one.answered_at is not None and other.sent_at is not None and one.answered_at < other.sent_at
        return first < second and (one_process or seen)

    return precedes


def missing(receipts: Mapping[tuple[str, str], Receipt], delivered: Iterable[Delivery]) -> list[str]:
    """Deliveries that were answered 2xx and that the inbox does not have."""
    return [f"{one.name} is not in the inbox" for one in delivered if (one.key, one.sha256) not in receipts]
