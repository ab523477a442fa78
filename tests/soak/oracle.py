"""The judgement at the end: each delivery stands once in each channel that asked, in order, and nothing else does.

A message refused for good by Slack is given up, and admins are told of the message. Admins and the subscriber are told
once of each closing of a channel, and once of the opening.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from sandbox.slack.values import PostedMessage
from tests.said import as_posted, without_level
from tests.soak.racing import Delivery, SoakChannel

Receipt = tuple[datetime, int]
"""Where a delivery stands in the inbox: received_at, id."""

ADMINS = "CADMIN"

_GIVEN_UP = re.compile(
    r"(?:A message|An abandonment's message) for channel \S+ was not posted: "
    r"chat\.postMessage: msg_too_long\b.* \((?P<key>\S+)\)\."
)
_CLOSED = re.compile(r"Slack no longer lets me post in channel <#(?P<channel>\w+)> \([^)]+\)\. ")
_OPEN = re.compile(r"Slack lets me post in channel <#(?P<channel>\w+)> again\. ")

_LOOK_ALIKES = str.maketrans({"\N{ONE DOT LEADER}": ".", "\N{TILDE OPERATOR}": "~"})
"""The signs of a notice in the place of signs by which Slack would link or format a key."""

CLOCK_S = 0.02
"""Between the moment noted by the stand-in and the moment by which a channel's pace is measured."""


@dataclass
class Verdict:
    """The faults, in sentences with message and channel."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    too_fast: list[str] = field(default_factory=list)
    posts: int = 0
    given_up: int = 0
    closings: int = 0

    @property
    def problems(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.out_of_order, *self.noise, *self.too_fast]


@dataclass(frozen=True)
class Oracle:
    """Knows the deliveries and the subscriptions. `precedes(one, other)`: `one` was certainly received first.

    `refused`: keys of messages refused for good. `closed`: channels where Slack took no post at some time. `welcomes`:
    keys of the bot's thanks for invitations. Others judge the channels `elsewhere`.
    """

    delivered: Sequence[Delivery]
    channels: Sequence[SoakChannel]
    precedes: Callable[[Delivery, Delivery], bool]
    channel_s: float
    refused: Collection[str] = ()
    closed: Collection[str] = ()
    welcomes: Collection[str] = ()
    elsewhere: Collection[str] = ()

    def judge(self, messages: Mapping[str, Sequence[PostedMessage]]) -> Verdict:
        """The faults of the channels as they stand."""
        told = Counter(given_up(messages.get(ADMINS, ())))
        verdict = Verdict(given_up=len(told))
        verdict.noise += [f"{key} was given up {count} times" for key, count in told.items() if count > 1]
        verdict.lost += [f"{key} was given up without a reason" for key in told if key not in self.refused]
        for channel in self.channels:
            here = messages.get(channel.channel_id, ())
            verdict.posts += len(here)
            self._count(channel, here, told, verdict)
            self._compare_order(channel, here, told, verdict)
            self._measure(channel, here, verdict)
        known = {*self.elsewhere, *(channel.channel_id for channel in self.channels)}
        for channel_id in messages.keys() - known:
            self._read_notices(channel_id, messages[channel_id], verdict)
        return verdict

    def _count(
        self, channel: SoakChannel, here: Sequence[PostedMessage], told: Collection[str], verdict: Verdict
    ) -> None:
        keys = Counter(key_of(message) for message in here)
        of_events = Counter(of_event(key_of(message)) for message in here)
        wanted = {self._key(delivery, channel): delivery for delivery in self.delivered if channel.takes(delivery)}
        # Slack may refuse a message, and then the message in place of the edit as well.
        told_of_events = {of_event(key) for key in told}
        for key, delivery in wanted.items():
            corrected = self._given_up_after(delivery, channel, told)
            of_text = sum(
                shows(message, delivery)
                or (key_of(message) == key and any(one.says in message.text for one in corrected))
                for message in here
            )
            counts = [of_text, *([] if delivery.edits else [of_events[key]])]
            if max(counts) > 1 or (key in told and keys[key]):
                verdict.doubled.append(f"{key}: {counts} by text and key")
            elif min(counts) == 0 and key not in (told_of_events if delivery.edits else told):
                verdict.lost.append(f"{key}: {counts} by text and key")
        welcomes = [key for key in self.welcomes if key.endswith(f"@{channel.channel_id}")]
        verdict.noise += [f"{key} stands {keys[key]} times" for key in welcomes if keys[key] != 1]
        expected = {*wanted, *welcomes}
        verdict.noise += [message.text for message in here if of_event(key_of(message)) not in expected]
        verdict.noise += [
            f"{key} was asked for by nobody, and given up" for key in told if _is_of(key, channel, wanted)
        ]

    def _given_up_after(self, delivery: Delivery, channel: SoakChannel, told: Collection[str]) -> Sequence[Delivery]:
        """Later versions whose own messages were given up: the earlier version's message is edited to show the news."""
        later = (one for one in self.delivered if one.key == delivery.key and one.version > delivery.version)
        return [one for one in later if self._key(one, channel) in told]

    def _read_notices(self, channel_id: str, here: Sequence[PostedMessage], verdict: Verdict) -> None:
        """Admins, or the subscriber, have each notice once, and each closing with its end."""
        if channel_id == ADMINS:
            keys = Counter(map(key_of, here))
            verdict.doubled += [f"{key} in {channel_id}" for key, count in keys.items() if count > 1]
        else:
            # The bot may not read direct messages with people: a doubtful message is repeated, as the operator chose.
            here = list({key_of(message): message for message in here}.values())
        closed: Counter[str] = Counter()
        for message in here:
            words = _plain(message.text)
            if found := _CLOSED.match(words):
                verdict.closings += channel_id == ADMINS
                closed[found["channel"]] += 1
            elif found := _OPEN.match(words):
                closed[found["channel"]] -= 1
            elif channel_id != ADMINS or not _GIVEN_UP.match(words):
                verdict.noise.append(f"{channel_id}: {message.text}")
        # A closing goes on until a post is taken. The last closing may have no message left to try.
        verdict.noise += [
            f"{channel_id}: {one} was closed {count} times more than opened"
            for one, count in closed.items()
            if count not in {0, 1} or one not in self.closed
        ]

    def _compare_order(
        self, channel: SoakChannel, here: Sequence[PostedMessage], told: Collection[str], verdict: Verdict
    ) -> None:
        by_key = {self._key(delivery, channel): delivery for delivery in self.delivered}
        posted = [by_key[key] for message in here if (key := key_of(message)) in by_key]
        # An abandonment that was given up in the end has hurried its meeting as well.
        dealt_with = [*posted, *(by_key[key] for key in told if key in by_key)]
        hurried = {delivery.course for delivery in dealt_with if delivery.is_abandonment}
        for place, first in enumerate(posted):
            for second in posted[place + 1 :]:
                if self._should_be_first(second, first, hurried) and self.precedes(second, first):
                    verdict.out_of_order.append(f"{channel.channel_id}: {first.name} before {second.name}")

    @staticmethod
    def _should_be_first(one: Delivery, other: Delivery, hurried: set[str]) -> bool:
        """Whether `one`, received before `other`, has to stand before `other`."""
        if one.race == other.race:
            return True
        if one.edits or other.edits:
            # A refused edit becomes a message as late as the refusal, and other channels' edits wait.
            return False
        if one.is_abandonment == other.is_abandonment:
            # An abandonment hurries the meeting's waiting messages along, past other messages. Regions take turns.
            return one.is_abandonment or (one.region == other.region and other.course not in hurried)
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
    """The post's key in a message's metadata; "" without metadata."""
    return str(((message.metadata or {}).get("event_payload") or {}).get("post") or "")


def given_up(admins: Iterable[PostedMessage]) -> list[str]:
    """The keys of given-up messages, as admins were told."""
    return [found["key"] for message in admins if (found := _GIVEN_UP.match(_plain(message.text)))]


def _plain(text: str) -> str:
    """The text without the notice's level, with the signs of before."""
    return without_level(text).translate(_LOOK_ALIKES)


def of_event(key: str) -> str:
    """The key of an event's message in a channel, from the key of an edit of another message about the event.

    The edit, when refused, becomes a message where the event's own message was given up.
    """
    return key.partition("~")[0]


def _is_of(key: str, channel: SoakChannel, wanted: Collection[str]) -> bool:
    return of_event(key).endswith(f"@{channel.channel_id}") and of_event(key) not in wanted


def shows(message: PostedMessage, delivery: Delivery) -> bool:
    """Whether people would take `message` for the delivery's. An edit is part of another message, or a new message."""
    if delivery.edits:
        return delivery.says in message.text
    return as_posted(message.text).startswith(delivery.begins) and delivery.says in message.text


def received_in_order(receipts: Mapping[tuple[str, str], Receipt], *, one_process: bool) -> Callable[..., bool]:
    """Whether a delivery was received before another, by the inbox.

    Where several processes receive at once, "before" counts only if the sender saw the same: the first delivery was
    answered before the second was sent.
    """

    def precedes(one: Delivery, other: Delivery) -> bool:
        first, second = receipts[one.key, one.sha256], receipts[other.key, other.sha256]
        seen = one.answered_at is not None and other.sent_at is not None and one.answered_at < other.sent_at
        return first < second and (one_process or seen)

    return precedes


def missing(receipts: Mapping[tuple[str, str], Receipt], delivered: Iterable[Delivery]) -> list[str]:
    """Deliveries answered 2xx and missing in the inbox."""
    return [f"{one.name} is not in the inbox" for one in delivered if (one.key, one.sha256) not in receipts]
