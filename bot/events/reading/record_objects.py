"""The objects of a record, told apart by what they are about, so that a course's `id` is never a race's (Spec gap G2).

The walk goes into objects and never into lists: what stands in a list is one of many, and names nothing above it.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import islice
from typing import Any, NamedTuple

from bot.events.event import EventKind
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, fold

MOST_PARTS, DEEPEST = 32, 5
"""Bounds of the walk: no plausible record comes near them."""


class About(Enum):
    """What an object is about. `DATA` may be anything about the event, `DELIVERY` only about its transport."""

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
"""By what an object says of itself: {"type": "race", "id": …}."""

SAME_SUBJECT = frozenset({"data", "object", "attributes", "details", "info"})
"""Wrappers that are about what holds them: race.data is the race."""

DATA_NAMES = SAME_SUBJECT | {
    *("payload", "body", "content", "record", "resource", "item", "message", "detail", "event", "entry"),
    *("result", "results", "racecard", "card", "declarations", "abandonment", "settlement", "notification", "webhook"),
}
CLOSED = frozenset(
    {
        *("region", "country", "jurisdiction", "going", "surface", "weather", "distance", "off", "offtime", "reason"),
        *("winner", "horse", "runner", "runners", "jockey", "trainer", "owner", "favourite", "sp", "odds", "prize"),
        *("links", "tote", "pools", "dividends"),
    }
)
ANOTHER_RACE = ("next", "previous", "prev", "last", "first", "related", "original", "replaced", "before", "old")
"""A name that begins so is about another race or another version."""

RACING_FIELDS = frozenset(
    {
        *("course", "courseid", "coursename", "venue", "racecourse", "track", "raceid", "racedate", "racename"),
        *("off", "offtime", "offat", "scheduledoff", "posttime", "racetime", "meetingid", "meetingdate", "races"),
        *("runners", "placings", "finishingorder", "finishers", "winner"),
    }
)
KINDS = {fold(kind): kind for kind in EventKind}


class Part(NamedTuple):
    """One object of a record: its name, how deep it stands, and its fields (see `Fields`)."""

    about: About
    name: str
    depth: int
    fields: Fields

    @property
    def is_racing(self) -> bool:
        """Whether it has fields that only racing has."""
        return not RACING_FIELDS.isdisjoint(self.fields)


def parts_of(record: Mapping[str, Any], about: About = About.DATA) -> list[Part]:
    """The record and the objects in it, the shallower first. `about` says what the record itself is."""
    parts = [Part(about, "", 0, _with_attributes(record))]
    for part in parts:  # It grows under the loop, which so goes breadth first.
        parts.extend(islice(_children(part), MOST_PARTS - len(parts)))
    return parts


def kind_of(name: Any) -> EventKind | None:
    """The event of that name, however it is spelled ("RESULT_RECEIVED", "result:received"), or None."""
    return KINDS.get(fold(name)) if isinstance(name, str) and len(name) <= LONGEST_NAME else None


def _children(part: Part) -> Iterator[Part]:
    if part.depth >= DEEPEST or part.about is About.COURSE:
        return
    for name, value in part.fields.items():
        if isinstance(value, dict) and name not in CLOSED and not name.startswith(ANOTHER_RACE):
            fields = _with_attributes(value)
            yield Part(_about(name, fields, part), name, part.depth + 1, fields)


def _with_attributes(record: Mapping[str, Any]) -> Fields:
    """The fields, with those that JSON:API keeps apart under `attributes`."""
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
