"""The event in the bytes of a delivery, whatever their shape (Spec gap G1): nothing here raises on a stranger's bytes.

`identify` gives the key before the delivery is stored, `read_payload` the whole event after; both find the key by the
same code. The service has receivers deduplicate on the race's identifier (Interface, Events, Delivery rule 3), so
that is what a key is made of. What changes from one attempt to the next is a part of it only as a last resort:

    result.received:rc_1                                    the race's id
    meeting.abandoned:meeting=m_1                           a meeting's id, and for one race's card its off time
    race.abandoned:region=gb|course=ascot|date=…|off=14:30  what names a race without an id
    race.abandoned:id=1                                     an id that may be the delivery's own, for want of a better
    race.abandoned:sha256:…                                 nothing but the body
    unreadable:…                                            not one of the four events: the SHA-256 of the body
    drill:…                                                 a drill of our own, byte for byte (bot.events.drill_mark)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import TOPIC_OF, EventKind, RacingEvent, Topic
from bot.events.races import Race
from bot.events.reading.json_object import NotAnObject, read_object
from bot.events.reading.json_values import LONGEST_NAME, Fields, find, identifier, text
from bot.events.reading.off_times import read_instant
from bot.events.reading.race_list import lists_races, read_races
from bot.events.reading.race_record import (
    PLAIN_ID,
    Sources,
    course_of,
    meeting_id_of,
    off_of,
    race_date_of,
    race_from,
    race_id_of,
    region_of,
    sources_of,
)
from bot.events.reading.record_objects import About, Part, kind_of, parts_of

LONGEST_ID = 200
"""A longer id, or one with unprintable characters, stands in a key by its SHA-256."""

DEEPEST_NAME = 2
"""Levels below the top at which an event's name may stand."""

NAMES = ("event", "eventtype", "eventname", "type", "topic", "kind", "action", "name")
SURE_NAMES = ("event", "eventtype", "eventname")
TOP_NAMES = (*SURE_NAMES, "type", "topic", "kind")
"""What stands under these, or at the top, is meant for an event's name even where it is none of the four."""

ONE_RACE = frozenset({EventKind.RESULT_RECEIVED, EventKind.RACE_ABANDONED})
SEQUENCE = ("sequence", "seq", "revision", "version")
LARGEST_SEQUENCE = 2**63 - 1
"""What a database's integer holds."""

DATA_AS_OF = ("dataasof",)
"""The envelope's field (Interface, Response envelope); a delivery may have it too."""

TIMES = ("occurredat", "eventtime", "eventat")
TIMES_OF: dict[Topic, tuple[str, ...]] = {
    Topic.RESULTS: ("settledat", "resultat", "resultedat"),
    Topic.ABANDONMENTS: ("abandonedat", "calledoffat"),
    Topic.RACECARDS: ("publishedat",),
}
TOP_TIMES = ("publishedat", "createdat", "timestamp")
"""Times of the event only beside its name: in a race's own object, `created_at` is when the record was made."""

FIRST_ATTEMPT = ("firstattemptat", "firstattemptedat", "firstattempt", "firstsentat", "firsttriedat", "firstdeliveryat")
"""When the service first tried to deliver: of a repeated delivery an earlier time than receipt."""

ENVELOPE_TIMES = ("time", "ts")
"""Times of the event only in an object without racing fields: beside those, `time` is the off time."""


class Identity(NamedTuple):
    """What a delivery is told apart by, and the event's name, if one came."""

    key: str
    name: str | None


class _Named(NamedTuple):
    """The event's name, and the object it stood in (None where there is no name)."""

    kind: EventKind | None
    name: str | None
    bearer: Part | None


@dataclass(frozen=True)
class _Found:
    """What key and event are made from."""

    named: _Named
    parts: list[Part]
    race_id: str | None
    meeting_id: str | None

    @cached_property
    def sources(self) -> Sources:
        """Where a race's fields are looked for. A key that is made of an id needs none of them."""
        return sources_of(self.parts, About.MEETING if self.named.kind is EventKind.MEETING_ABANDONED else About.RACE)


class Payload:
    """A delivery's bytes, parsed once: `identity` before they are stored, the event after."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    @cached_property
    def identity(self) -> Identity:
        """The event's key and name, found without reading the rest."""
        if self._drill_id is not None:
            return Identity(drill_mark.key_of(self._drill_id), drill_mark.NAME)
        found = self._found
        if isinstance(found, NotAnObject):
            return Identity(_unreadable(self._body), None)
        return Identity(_key(found, self._body), found.named.name)

    def read(self) -> RacingEvent:
        """The event. Where the bytes can't be read, `kind` is None and `unreadable_because` says why."""
        if self._drill_id is not None:
            return RacingEvent(key=self.identity.key, name=drill_mark.NAME, drill=Drill(drill_id=self._drill_id))
        found = self._found
        if isinstance(found, NotAnObject):
            return RacingEvent(key=self.identity.key, unreadable_because=str(found))
        race = _race(found)
        return RacingEvent(
            key=self.identity.key,
            kind=found.named.kind,
            name=found.named.name,
            race=race,
            races=_races(found, race),
            reason=race.reason,
            occurred_at=_occurred_at(found),
            first_attempt_at=find((part.fields for part in found.parts), FIRST_ATTEMPT, read_instant),
            sequence=find([part.fields for part in _carried(found)], SEQUENCE, _read_sequence),
            data_as_of=find((part.fields for part in found.parts), DATA_AS_OF, text),
            unreadable_because=_why_unread(found.named),
        )

    @cached_property
    def _drill_id(self) -> str | None:
        return drill_mark.read_body(self._body)

    @cached_property
    def _found(self) -> _Found | NotAnObject:
        try:
            return _find(self._body)
        except NotAnObject as reason:
            return reason


def identify(body: bytes) -> Identity:
    """The key and name of the event in the bytes."""
    return Payload(body).identity


def read_payload(body: bytes) -> RacingEvent:
    """The event in the bytes. Where they can't be read, `kind` is None and `unreadable_because` says why."""
    return Payload(body).read()


def _find(body: bytes) -> _Found:
    parts = parts_of(read_object(body))
    named = _named(parts)
    return _Found(named, parts, *_ids(named, parts))


def _named(parts: list[Part]) -> _Named:
    """The first name that is one of the four, the shallowest first; else the first that was meant for a name."""
    for part in parts:
        for name in NAMES if part.depth <= DEEPEST_NAME else ():
            kind = kind_of(part.fields.get(name))
            if kind:
                return _Named(kind, kind.value, part)
    for part in parts:
        names = NAMES if part.name in SURE_NAMES else SURE_NAMES if part.depth else TOP_NAMES
        unknown = find([part.fields], names, _plain_text) if part.depth <= DEEPEST_NAME else None
        if unknown:
            return _Named(None, unknown[:LONGEST_NAME], part)
    return _Named(None, None, None)


def _ids(named: _Named, parts: list[Part]) -> tuple[str | None, str | None]:
    """The race's id and the meeting's.

    A plain `id` is the race's in an object named so. In another object with racing fields it is too, or the meeting's
    where the event is a meeting's; but not beside the event's name, where it may be the delivery's own.
    """
    racing = (part for part in parts if part.about is About.DATA and part.is_racing and part.depth)
    plain_id = find((part.fields for part in racing if part is not named.bearer), PLAIN_ID, identifier)
    of_one_race = named.kind in ONE_RACE or (
        named.kind is not EventKind.MEETING_ABANDONED and not any(lists_races(part.fields) for part in parts)
    )
    race_id, meeting_id = race_id_of(parts), meeting_id_of(parts)
    return race_id or (plain_id if of_one_race else None), meeting_id or (None if of_one_race else plain_id)


def _key(found: _Found, body: bytes) -> str:
    kind = found.named.kind
    if not kind:
        return _unreadable(body)
    if found.race_id:
        return f"{kind}:{_bounded(found.race_id)}"
    return f"{kind}:{_natural(kind, found) or _loose(found) or f'sha256:{sha256(body).hexdigest()}'}"


def _natural(kind: EventKind, found: _Found) -> str | None:
    """What names a race, or a meeting, without a race's id; None where a part of it did not come.

    The card of one race has the off time in it, so that the cards of a meeting's races are not one event.
    """
    off = None if _is_of_meeting(kind, found) else _off(found.sources)
    if kind in ONE_RACE and not off:
        return None
    place = {"meeting": found.meeting_id} if found.meeting_id and kind not in ONE_RACE else _place(found.sources)
    named = place and {**place, "off": off}
    return _bounded("|".join(f"{name}={value}" for name, value in named.items() if value)) if named else None


def _place(sources: Sources) -> dict[str, str | None] | None:
    """Region, course and date; None without the last two."""
    course, race_date, region = course_of(sources), race_date_of(sources), region_of(sources)
    name = course.course_id or (course.name and course.name.casefold())
    return {"region": region and region.casefold(), "course": name, "date": race_date} if name and race_date else None


def _off(sources: Sources) -> str | None:
    off = off_of(sources)
    return off.text or (off.off_at.isoformat() if off.off_at else None)


def _is_of_meeting(kind: EventKind, found: _Found) -> bool:
    """Whether the event is a meeting's: then an off time is no part of what names it."""
    is_card = kind is EventKind.RACECARD_PUBLISHED and any(lists_races(part.fields) for part in found.parts)
    return is_card or kind is EventKind.MEETING_ABANDONED


def _loose(found: _Found) -> str | None:
    """An id that may be the race's: better than the body, which may count attempts."""
    data = [part for part in found.parts if part.about is About.DATA]
    inner = [part.fields for part in data if part.depth and part is not found.named.bearer]
    loose = find(inner, PLAIN_ID, identifier) or find(
        (part.fields for part in data), ("eventid", *PLAIN_ID), identifier
    )
    return f"id={_bounded(loose)}" if loose else None


def _bounded(part: str) -> str:
    if len(part) <= LONGEST_ID and part.isprintable():
        return part
    return sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def _unreadable(body: bytes) -> str:
    return f"unreadable:{sha256(body).hexdigest()}"


def _race(found: _Found) -> Race:
    race = race_from(found.sources, race_id=found.race_id, meeting_id=found.meeting_id)
    return race.model_copy(update={"abandoned": True}) if _is_abandonment(found) else race


def _is_abandonment(found: _Found) -> bool:
    return found.named.kind is not None and TOPIC_OF[found.named.kind] is Topic.ABANDONMENTS


def _races(found: _Found, race: Race) -> tuple[Race, ...]:
    """The races that a meeting or a card names. Those beside a race's own event are only its neighbours on the card."""
    if found.named.kind in ONE_RACE and (race.race_id or race.off.text or race.off.off_at):
        return ()
    return read_races((part.fields for part in found.parts if part.about is not About.DELIVERY), race)


def _carried(found: _Found) -> Iterator[Part]:
    """The objects about what happened: not about its transport, nor about a course."""
    return (part for part in found.parts if part.about not in {About.DELIVERY, About.COURSE})


def _occurred_at(found: _Found) -> datetime | None:
    """When it happened, by the event's own word; None where no offset came."""
    names = TIMES + TIMES_OF.get(TOPIC_OF[found.named.kind], ()) if found.named.kind else TIMES
    top = [part for part in _carried(found) if part.depth == 0 or part is found.named.bearer]
    envelopes: list[Fields] = [part.fields for part in top if not part.is_racing]
    return (
        find((part.fields for part in _carried(found)), names, read_instant)
        or find((part.fields for part in top), TOP_TIMES, read_instant)
        or find(envelopes, ENVELOPE_TIMES, read_instant)
    )


def _read_sequence(value: Any) -> int | None:
    digits = identifier(value) or ""
    is_whole = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LARGEST_SEQUENCE))
    return int(digits) if is_whole and int(digits) <= LARGEST_SEQUENCE else None


def _plain_text(value: Any) -> str | None:
    return text(value) if isinstance(value, str) else None


def _why_unread(named: _Named) -> str | None:
    if named.kind:
        return None
    return f"The event {named.name} is unknown." if named.name else "The payload names no event."
