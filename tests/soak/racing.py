"""The racing of a soak: the deliveries, and the message of each delivery in a channel."""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from bot.events.event import EventKind, Topic
from tests.clock import now

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
