"""The objects of a record, each with its subject, so that a course's `id` is never a race's (Spec gap G2).

The walk goes into objects, never into lists: an entry of a list does not name the object above.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import islice
from typing import Any, NamedTuple

from bot.events.event import EventKind
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, fold

MOST_PARTS, DEEPEST = 32, 5


class About(Enum):
    """`DATA` is about the event, `DELIVERY` about the transport."""

    RACE = auto()
    MEETING = auto()
    COURSE = auto()
    DATA = auto()
    OTHER = auto()
    DELIVERY = auto()


BY_NAME = {
    "race": About.RACE,
    **dict.fromkeys(("meeting", "fixture"), About.MEETING),
    **dict.fromkeys(("course", "venue", "track", "racecourse"), About.COURSE),
    **dict.fromkeys(
        ("delivery", "attempt", "retry", "meta", "metadata", "header", "headers", "subscription", "account", "request"),
        About.DELIVERY,
    ),
}
BY_TYPE = {"race": About.RACE, "meeting": About.MEETING}
"""By the object's own type: {"type": "race", "id": …}."""

SAME_SUBJECT = frozenset({"data", "object", "attributes", "details", "info"})
"""Wrappers with the subject of the object above: race.data is the race."""

DATA_NAMES = SAME_SUBJECT | {
    *("payload", "body", "content", "record", "resource", "item", "message", "detail", "event", "entry"),
    *("result", "results", "racecard", "card", "declarations", "abandonment", "settlement", "notification", "webhook"),
}
OPAQUE_NAMES = frozenset(
    {
        *("region", "country", "jurisdiction", "going", "surface", "weather", "distance", "off", "offtime", "reason"),
        *("winner", "horse", "runner", "runners", "jockey", "trainer", "owner", "favourite", "sp", "odds", "prize"),
        *("links", "tote", "pools", "dividends"),
    }
)
ANOTHER_RACE = ("next", "previous", "prev", "last", "first", "related", "original", "replaced", "before", "old")
"""How the name of another race, or of another version, begins."""

RACING_FIELDS = frozenset(
    {
        *("course", "courseid", "coursename", "venue", "racecourse", "track", "raceid", "racedate", "racename"),
        *("off", "offtime", "offat", "scheduledoff", "posttime", "racetime", "meetingid", "meetingdate", "races"),
        *("runners", "placings", "finishingorder", "finishers", "winner"),
    }
)
KINDS_BY_WORD = {fold(kind): kind for kind in EventKind}


class Part(NamedTuple):
    about: About
    name: str
    depth: int
    fields: Fields

    @property
    def is_racing(self) -> bool:
        return not RACING_FIELDS.isdisjoint(self.fields)


def parts_of(record: Mapping[str, Any], about: About = About.DATA) -> list[Part]:
    parts = [Part(about, "", 0, _with_attributes(record))]
    for part in parts:  # The list grows under the loop: breadth first.
        parts.extend(islice(_children(part), MOST_PARTS - len(parts)))
    return parts


def kind_of(name: Any) -> EventKind | None:
    """In any spelling: "RESULT_RECEIVED", "result:received"."""
    return KINDS_BY_WORD.get(fold(name)) if isinstance(name, str) and len(name) <= LONGEST_NAME else None


def _children(part: Part) -> Iterator[Part]:
    if part.depth >= DEEPEST or part.about is About.COURSE:
        return
    for name, value in part.fields.items():
        if isinstance(value, dict) and name not in OPAQUE_NAMES and not name.startswith(ANOTHER_RACE):
            fields = _with_attributes(value)
            yield Part(_about(name, fields, part), name, part.depth + 1, fields)


def _with_attributes(record: Mapping[str, Any]) -> Fields:
    fields = fields_of(record)
    attributes = fields.get("attributes")
    if isinstance(attributes, dict):
        del fields["attributes"]
        return {**fields_of(attributes), **fields}
    return fields


def _about(name: str, fields: Fields, parent: Part) -> About:
    if name in BY_NAME:
        return BY_NAME[name]
    kind = fields.get("type")
    if isinstance(kind, str) and kind.casefold() in BY_TYPE:
        return BY_TYPE[kind.casefold()]
    if name in SAME_SUBJECT and parent.about in {About.RACE, About.MEETING}:
        return parent.about
    if name in DATA_NAMES or not RACING_FIELDS.isdisjoint(fields):
        return About.DATA
    return About.OTHER
