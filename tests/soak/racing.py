"""The racing of a soak, with the message of each delivery; and the weather of Slack: a share of all calls fails."""

import hashlib
import hmac
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from bot.events.event import EventKind, Topic
from sandbox.slack import failures
from sandbox.slack.calls import Arguments
from sandbox.slack.failures import Failure
from sandbox.slack.workspace import SlackWorkspace
from tests.clock import now
from tests.soak.life import CALL_S

SECRET = "whsec-soak-1"
REGIONS = tuple(f"R{number}" for number in range(40))
"""Many, so that a short life finds queues without a message in doubt of the life before."""
HORSES = "ABCD"

BOTH = frozenset({Topic.RESULTS, Topic.ABANDONMENTS})


@dataclass(eq=False)
class Delivery:
    """A body, told in each channel of the region and topic. `begins` and `says`: the message's text.

    `where`: course and off time, for example "Park00001 14:30"; the course alone of a meeting. `first_says`: in
    place of `says` where the channel was not told of the version before.
    `edits`: changes the message of the version before, without a message of its own.
    """

    kind: EventKind
    region: str
    race: str
    """The race, for the order: deliveries of a race are posted as delivered."""
    key: str
    version: int
    body: bytes
    where: str
    begins: str
    says: str
    edits: bool = False
    first_says: str = ""
    sent_at: datetime | None = None
    answered_at: datetime | None = None

    @property
    def is_abandonment(self) -> bool:
        return self.kind is not EventKind.RESULT_RECEIVED

    @property
    def course(self) -> str:
        return self.where.partition(" ")[0]

    @property
    def winner(self) -> str:
        """The winner of a result with an own message."""
        return self.first_says.split(" ")[1].removesuffix(",")

    @property
    def topic(self) -> Topic:
        return Topic.ABANDONMENTS if self.is_abandonment else Topic.RESULTS

    @property
    def name(self) -> str:
        return f"{self.key}#{self.version}"

    @property
    def signature(self) -> str:
        return hmac.new(SECRET.encode(), self.body, hashlib.sha256).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True)
class SoakChannel:
    """A channel, with regions ("*" for all) and topics."""

    channel_id: str
    regions: tuple[str, ...]
    topics: frozenset[Topic] = BOTH
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further fields of the filter."""

    def takes(self, delivery: Delivery) -> bool:
        """By the soak's own reading of a filter, not the bot's."""
        return delivery.topic in self.topics and ("*" in self.regions or delivery.region in self.regions)


CHANNELS = (
    *(SoakChannel(f"C{region}", (region,)) for region in REGIONS),
    SoakChannel("CTWO", REGIONS[:2]),
    SoakChannel("CLOST", ("*",), frozenset({Topic.ABANDONMENTS})),
)


@dataclass
class Races:
    """Races without end. Each race is a story: the deliveries in order.

    `races_a_meeting`: so many races in a row are at one course, a minute after each other; 29 at most.
    """

    random: Random
    now: datetime = field(default_factory=now)
    regions: tuple[str, ...] = REGIONS
    races_a_meeting: int = 1
    count: int = 0
    _region: str = ""

    def stories(self) -> Iterator[list[Delivery]]:
        kinds = (self.result, self.corrected, self.mended, self.abandoned, self.meeting, self.contradicted)
        while True:
            yield self.random.choices(kinds, weights=(25, 20, 15, 20, 10, 10))[0]()

    def result(self) -> list[Delivery]:
        return self._results(1)

    def corrected(self) -> list[Delivery]:
        return self._results(self.random.choice((2, 3)))

    def mended(self) -> list[Delivery]:
        """A result, and then the going alone: worth an edit."""
        (result,) = self._results(1)
        return [result, self._mended(result)]

    def corrected_and_mended(self) -> list[Delivery]:
        results = self._results(2)
        return [*results, self._mended(results[-1])]

    def _mended(self, result: Delivery) -> Delivery:
        body = result.body.replace(b'"good', b'"soft')
        version = result.version + 1
        return replace(result, version=version, body=body, says=f"soft{self.count:05}", first_says="", edits=True)

    def abandoned(self) -> list[Delivery]:
        number, region = self._next()
        return [self._abandoned(number, region)]

    def contradicted(self) -> list[Delivery]:
        """A result, and then the abandonment of the race: the abandonment may not overtake the result."""
        results = self._results(1)
        return [*results, self._abandoned(self.count, results[0].region)]

    def meeting(self) -> list[Delivery]:
        number, region = self._next()
        where = f"Moor{number:05}"
        meeting = {"meeting_id": f"mt_{number:05}", "course": where, "region": region, "date": self._date}
        body = self._body(EventKind.MEETING_ABANDONED, {"meeting": meeting, "reason": "Waterlogged"}, 1)
        key = f"meeting.abandoned:meeting=mt_{number:05}"
        begins = f"ABANDONED: {where}, whole meeting"
        return [Delivery(EventKind.MEETING_ABANDONED, region, key, key, 1, body, where, begins, "Waterlogged")]

    def _results(self, versions: int) -> list[Delivery]:
        number, region = self._next()
        return [self._result(number, region, version) for version in range(1, versions + 1)]

    def _result(self, number: int, region: str, version: int) -> Delivery:
        names = [f"Horse{number:05}{letter}" for letter in HORSES]
        order = names[version - 1 :] + names[: version - 1]
        runners = [{"position": place, "horse": name} for place, name in enumerate(order, start=1)]
        race = self._race(number, region) | {"runners": runners, "going": f"good{number:05}"}
        body = self._body(EventKind.RESULT_RECEIVED, {"race": race}, version)
        where = self._where(number)
        says = f"1 {order[0]}, 2 "
        begins = f"{'CORRECTION' if version > 1 else 'Result'}: {where} ({region})"
        race_id = f"rc_{number:05}"
        key = f"result.received:{race_id}"
        kind = EventKind.RESULT_RECEIVED
        return Delivery(kind, region, race_id, key, version, body, where, begins, says, first_says=says)

    def _abandoned(self, number: int, region: str) -> Delivery:
        race_id = f"rc_{number:05}"
        body = self._body(EventKind.RACE_ABANDONED, {"race": self._race(number, region), "reason": "Frozen track"}, 1)
        where = self._where(number)
        begins = f"ABANDONED: {where} ({region})"
        key = f"race.abandoned:{race_id}"
        return Delivery(EventKind.RACE_ABANDONED, region, race_id, key, 1, body, where, begins, "Frozen track")

    def _next(self) -> tuple[int, str]:
        self.count += 1
        if self._place(self.count) == 0:
            self._region = self.random.choice(self.regions)
        return self.count, self._region

    def _race(self, number: int, region: str) -> dict[str, Any]:
        return {
            "race_id": f"rc_{number:05}",
            "course": self._course(number),
            "region": region,
            "date": self._date,
            "off_time": self._off(number),
        }

    def _where(self, number: int) -> str:
        return f"{self._course(number)} {self._off(number)}"

    def _course(self, number: int) -> str:
        return f"Park{number - self._place(number):05}"

    def _off(self, number: int) -> str:
        return f"14:{30 + self._place(number)}"

    def _place(self, number: int) -> int:
        return (number - 1) % self.races_a_meeting

    @property
    def _date(self) -> str:
        return self.now.date().isoformat()

    def _body(self, kind: EventKind, data: dict[str, Any], version: int) -> bytes:
        occurred_at = (self.now + timedelta(milliseconds=self.count * 10 + version)).isoformat()
        return json.dumps({"event": kind, "occurred_at": occurred_at, "data": data}).encode()


# Slack in a soak: some messages are refused for good, some can't be edited, and some channels are archived


METHODS = {"chat.postMessage": 0.4, "chat.update": 0.6, "conversations.history": 0.15, "auth.test": 0.15}
"""The share of a method's calls with a failure. Only messages with blocks can have blocks refused.

After six failed looks a post would be repeated blindly.
"""

BRINGS = frozenset({"not_edited", "parked", "channel_closed"})
"""Outcomes of calls in bad weather alone: a soak has to see each."""

NEVER_EDITED = 0.7
NEVER_POSTED = 0.12
"""The shares of messages that Slack never edits, and never posts."""

ARCHIVED = 8
"""Channels archived at the same time."""

CALLS = 20_000
LAG_S = 0.4


@dataclass
class Weather:
    """The weather over the channels `over`. `seed` settles which messages are refused.

    `refused`: keys of messages refused for good. `was_archived`: channels archived at some time.
    """

    slack: SlackWorkspace
    random: Random
    over: Sequence[str]
    seed: int
    refused: set[str] = field(default_factory=set)
    was_archived: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Have calls fail, by a script for the whole soak."""
        self.slack.history_lag_s = LAG_S
        self.slack.failure_of = self._failure_of
        for method, share in METHODS.items():
            self.slack.script(method, [*_calls(self.random, share)])

    def change(self) -> None:
        """Archive other channels. Earlier archived channels are open again, and nobody tells the bot."""
        self._open_all()
        for channel_id in self.random.sample(self.over, min(ARCHIVED, len(self.over) // 2)):
            self.slack.channels[channel_id].is_archived = True
            self.was_archived.add(channel_id)

    def clear(self) -> None:
        """Let every call pass again; history goes on lagging."""
        self._open_all()
        self.slack.failure_of = lambda _method, _args: None
        for method in METHODS:
            self.slack.script(method, [])

    def _open_all(self) -> None:
        for channel_id in self.over:
            self.slack.channels[channel_id].is_archived = False

    def _failure_of(self, method: str, args: Arguments) -> Failure | None:
        channel = self.slack.channels.get(args.text("channel") or "")
        key = key_of_call(args)
        if channel is None or channel.id not in self.over:
            return None
        if channel.is_archived:
            return None
        if method == "chat.postMessage" and self._is_meant(key, "posted", NEVER_POSTED):
            if not args.has_blocks:
                self.refused.add(key)
            return failures.slack_error("msg_too_long")
        if method == "chat.update" and self._is_meant(key, "edited", NEVER_EDITED):
            return failures.slack_error("edit_window_closed")
        return None

    def _is_meant(self, key: str, what: str, share: float) -> bool:
        return zlib.crc32(f"{self.seed} {what} {key}".encode()) < share * 2**32


def key_of_call(args: Arguments) -> str:
    """The post's key in the message's metadata; "" without metadata."""
    metadata = args.structure("metadata", "invalid_metadata_format") or {}
    return str((metadata.get("event_payload") or {}).get("post") or "")


def _calls(random: Random, share: float) -> Iterator[Failure]:
    kinds = _kinds()
    for _ in range(CALLS):
        yield random.choice(kinds) if random.random() < share else failures.passes()


def _kinds() -> list[Failure]:
    return [
        failures.drop_before(),
        failures.drop_after(),
        failures.delay_after(CALL_S + 0.2),
        # Accepted after the bot's deadline: an early look would miss the message.
        failures.delay_before(CALL_S + 0.2),
        *[failures.rate_limited(1)] * 8,
        failures.http_error(503),
        failures.http_error(500).accepted(),
        failures.html(502),
        failures.html(200).accepted(),
        failures.truncated(),
        failures.slack_error("internal_error").accepted(),
        # Often: a native table needs two refusals in a row, because the bot answers the first at once, in sections.
        *[failures.blocks_refused()] * 10,
    ]
