"""The event in the bytes of a delivery, in any shape (Spec gap G1). A stranger's bytes raise nothing.

Receivers deduplicate on the race's identifier (Interface, Events, Delivery rule 3), so the race's id makes the key:

    result.received:rc_1                                    the race's id
    meeting.abandoned:meeting=m_1                           a meeting's id, with the off time for the card of one race
    race.abandoned:region=gb|course=ascot|date=…|off=14:30  a race without an id
    race.abandoned:id=1                                     an id that may be the delivery's own
    race.abandoned:sha256:…                                 the body alone
    unreadable:…                                            no known event: the SHA-256 of the body
    drill:…                                                 a drill of the bot, byte for byte (bot.events.drill_mark)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import DECLARATIONS, Subject, Topic
from bot.events.races import Race
from bot.events.reading import aliases
from bot.events.reading.json_object import NotAnObject, read_object
from bot.events.reading.json_values import LONGEST_NAME, find, identifier, text
from bot.events.reading.off_times import read_instant
from bot.events.reading.race_list import lists_races, read_races
from bot.events.reading.race_record import (
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
"""Characters. A longer or unprintable id stands in a key by its SHA-256."""

DEEPEST_EVENT_NAME = 2

LARGEST_SEQUENCE = 2**63 - 1


class EventIdentity(NamedTuple):
    key: str
    name: str | None


class _Named(NamedTuple):
    kind: EventKind | None
    name: str | None
    bearer: Part | None

    @property
    def subject(self) -> Subject | None:
        return DECLARATIONS[self.kind].subject if self.kind else None


@dataclass(frozen=True)
class _Found:
    named: _Named
    parts: list[Part]
    race_id: str | None
    meeting_id: str | None

    @cached_property
    def sources(self) -> Sources:
        """Lazy: a key of an id needs no sources."""
        return sources_of(self.parts, About.MEETING if self.named.subject is Subject.MEETING else About.RACE)

    @property
    def carried(self) -> Iterator[Part]:
        return (part for part in self.parts if part.about not in {About.DELIVERY, About.COURSE})

    @property
    def lists_races(self) -> bool:
        return any(lists_races(part.fields) for part in self.parts)


class Payload:
    def __init__(self, body: bytes) -> None:
        self._body = body

    @cached_property
    def identity(self) -> EventIdentity:
        if self._drill_id is not None:
            return EventIdentity(drill_mark.key_of(self._drill_id), drill_mark.DRILL_EVENT)
        found = self._found
        if isinstance(found, NotAnObject):
            return EventIdentity(_unreadable(self._body), None)
        return EventIdentity(_key(found, self._body), found.named.name)

    def read(self) -> RacingEvent:
        """Of an unreadable payload `kind` is None, and `unreadable_because` gives the reason."""
        if self._drill_id is not None:
            return RacingEvent(key=self.identity.key, name=drill_mark.DRILL_EVENT, drill=Drill(drill_id=self._drill_id))
        found = self._found
        if isinstance(found, NotAnObject):
            return RacingEvent(key=self.identity.key, unreadable_because=str(found))
        race = _race(found)
        return RacingEvent(
            key=self.identity.key,
            kind=found.named.kind,
            name=found.named.name,
            # The reason of another event is not why the race was lost.
            race=race if race.abandoned else race.model_copy(update={"reason": None}),
            races=_races(found, race),
            reason=race.reason,
            occurred_at=_occurred_at(found),
            first_attempt_at=find((part.fields for part in found.parts), aliases.FIRST_ATTEMPT_AT, read_instant),
            sequence=find([part.fields for part in found.carried], aliases.SEQUENCE, _read_sequence),
            data_as_of=find((part.fields for part in found.parts), aliases.DATA_AS_OF, text),
            unreadable_because=_why_unread(found.named),
        )

    @cached_property
    def _drill_id(self) -> str | None:
        return drill_mark.read_body(self._body)

    @cached_property
    def _found(self) -> _Found | NotAnObject:
        try:
            parts = parts_of(read_object(self._body))
        except NotAnObject as reason:
            return reason
        named = _named(parts)
        return _Found(named, parts, *_ids(named, parts))


def identify(body: bytes) -> EventIdentity:
    return Payload(body).identity


def read_payload(body: bytes) -> RacingEvent:
    return Payload(body).read()


def _named(parts: list[Part]) -> _Named:
    """The shallowest known event, else the first value that is surely an event's name."""
    shallow = [part for part in parts if part.depth <= DEEPEST_EVENT_NAME]
    for part in shallow:
        for name in aliases.EVENT_NAME:
            kind = kind_of(part.fields.get(name))
            if kind:
                return _Named(kind, kind.value, part)
    for part in shallow:
        names = aliases.TOP_EVENT_NAME if not part.depth else aliases.SURE_EVENT_NAME
        unknown = find(
            [part.fields], aliases.EVENT_NAME if part.name in aliases.SURE_EVENT_NAME else names, aliases.string
        )
        if unknown:
            return _Named(None, unknown[:LONGEST_NAME], part)
    return _Named(None, None, None)


def _ids(named: _Named, parts: list[Part]) -> tuple[str | None, str | None]:
    """A plain `id` in an object with racing fields is the race's, or the meeting's for a meeting's event.

    Beside the event's name, `id` may be the delivery's own.
    """
    racing = (part for part in parts if part.about is About.DATA and part.is_racing and part.depth)
    plain_id = find((part.fields for part in racing if part is not named.bearer), aliases.PLAIN_ID, identifier)
    of_one_race = named.subject is Subject.RACE or (
        named.subject is not Subject.MEETING and not any(lists_races(part.fields) for part in parts)
    )
    race_id, meeting_id = race_id_of(parts), meeting_id_of(parts)
    return race_id or (plain_id if of_one_race else None), meeting_id or (None if of_one_race else plain_id)


def _key(found: _Found, body: bytes) -> str:
    kind = found.named.kind
    if not kind:
        return _unreadable(body)
    if found.race_id:
        return f"{kind}:{_bounded(found.race_id)}"
    return f"{kind}:{_natural(found) or _loose(found) or f'sha256:{sha256(body).hexdigest()}'}"


def _natural(found: _Found) -> str | None:
    """None where a needed part did not come.

    The key of one race's card has the off time: the cards of a meeting's races are several events.
    """
    subject, meeting_id = found.named.subject, found.meeting_id
    off = None if subject is Subject.MEETING or (subject is Subject.CARD and found.lists_races) else _off(found.sources)
    if subject is Subject.RACE and not off:
        return None
    place = {"meeting": meeting_id} if meeting_id and subject is not Subject.RACE else _place(found.sources)
    named = place and {**place, "off": off}
    return _bounded("|".join(f"{name}={value}" for name, value in named.items() if value)) if named else None


def _place(sources: Sources) -> dict[str, str | None] | None:
    course, race_date, region = course_of(sources), race_date_of(sources), region_of(sources)
    name = course.course_id or (course.name and course.name.casefold())
    return {"region": region and region.casefold(), "course": name, "date": race_date} if name and race_date else None


def _off(sources: Sources) -> str | None:
    off = off_of(sources)
    return off.text or (off.off_at.isoformat() if off.off_at else None)


def _loose(found: _Found) -> str | None:
    """An id that may be the race's. A body may count attempts."""
    data = [part for part in found.parts if part.about is About.DATA]
    inner = [part.fields for part in data if part.depth and part is not found.named.bearer]
    every = [part.fields for part in data]
    loose = find(inner, aliases.PLAIN_ID, identifier) or find(every, ("eventid", *aliases.PLAIN_ID), identifier)
    return f"id={_bounded(loose)}" if loose else None


def _bounded(part: str) -> str:
    if len(part) <= LONGEST_ID and part.isprintable():
        return part
    return sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def _unreadable(body: bytes) -> str:
    return f"unreadable:{sha256(body).hexdigest()}"


def _race(found: _Found) -> Race:
    race = race_from(found.sources, race_id=found.race_id, meeting_id=found.meeting_id)
    kind = found.named.kind
    is_abandonment = kind is not None and DECLARATIONS[kind].topic is Topic.ABANDONMENTS
    return race.model_copy(update={"abandoned": True}) if is_abandonment else race


def _races(found: _Found, race: Race) -> tuple[Race, ...]:
    """The races beside a race's event are only neighbours on the card."""
    if found.named.subject is Subject.RACE and (race.race_id or race.off.text or race.off.off_at):
        return ()
    return read_races((part.fields for part in found.parts if part.about is not About.DELIVERY), race)


def _occurred_at(found: _Found) -> datetime | None:
    kind = found.named.kind
    names = aliases.OCCURRED_AT + (aliases.OCCURRED_AT_OF[DECLARATIONS[kind].topic] if kind else ())
    top = [part for part in found.carried if part.depth == 0 or part is found.named.bearer]
    return (
        find((part.fields for part in found.carried), names, read_instant)
        or find((part.fields for part in top), aliases.OCCURRED_AT_TOP, read_instant)
        or find((part.fields for part in top if not part.is_racing), aliases.OCCURRED_AT_ENVELOPE, read_instant)
    )


def _read_sequence(value: Any) -> int | None:
    digits = identifier(value) or ""
    is_whole = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LARGEST_SEQUENCE))
    return int(digits) if is_whole and int(digits) <= LARGEST_SEQUENCE else None


def _why_unread(named: _Named) -> str | None:
    if named.kind:
        return None
    return f"The event {named.name} is unknown." if named.name else "The payload names no event."
