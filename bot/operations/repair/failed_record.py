"""Reads records of failed deliveries: the body to be stored in place of the delivery (Spec gap G4).

A record's fields are undocumented, so reading is tolerant. The payload is an object with an event's name and a race.
Without a payload the body gets the record's event, ids and place.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import DECLARATIONS, Subject
from bot.events.races import Race
from bot.events.reading.fields import Fields, fields_of, find, fold
from bot.events.reading.json_object import NotAnObject, read_object
from bot.events.reading.json_values import identifier, text
from bot.events.reading.off_times import read_instant
from bot.events.reading.race_record import id_by_shape, meeting_id_of, race_from, race_id_of, sources_of
from bot.events.reading.record_objects import About, kind_of, parts_of

ReadPayload = Callable[[bytes], RacingEvent]

RECORD_DEPTH_MAX = 4
PAYLOADS = ("payload", "body", "requestbody", "sentbody", "rawbody", "content", "data", "message", "event", "sent")
"""Names of a payload without an event's name, or as JSON in a text."""

WRAPPERS = ("delivery", "meta", "metadata", "sent", "request")
CAME_BACK = ("response", "answer", "reply", "attempt", "tries", "receiver", "error", "failure")
"""Name prefixes of our endpoint's answers."""

OF_DELIVERY = frozenset(
    {
        *("id", "uid", "uuid", "guid", "identifier", "date", "day", "time", "datetime", "start", "status", "state"),
        *("reason", "cause", "name", "title", "number", "type", "class", "url", "endpoint"),
    }
)
"""A delivery's own fields at the top of a record. A race uses the same names."""

DELIVERY_ID = ("deliveryid", "deliveryuid", "id", "uid", "uuid", "guid", "identifier")
NO_ID = "without an id"
SUBJECT_ID = ("resourceid", "subjectid", "objectid", "entityid")
"""Names for the id of a race, or of a meeting."""

SUBJECT = ("subject", "resource", "object", "entity")
"""The same, if the value looks like an id."""

FIRST_TRIED = (
    *("occurredat", "eventtime", "eventat", "firstattemptat", "firstattemptedat", "firstattempt", "firstsentat"),
    *(
        "firsttriedat",
        "createdat",
        "created",
        "queuedat",
        "enqueuedat",
        "firedat",
        "triggeredat",
        "timestamp",
        "sentat",
    ),
)
"""Names for when the service had the event, the surest first."""

LAST_TRIED = ("lastattemptat", "lastattemptedat", "lasttriedat", "updatedat", "failedat")
TRIES = ("attempts", "tries", "attemptlog", "history")
TRY_AT = ("at", "attemptedat", "sentat", "startedat", "createdat", "timestamp", "time", "ts")

ANSWER_STATUS = ("responsestatus", "responsestatuscode", "responsecode", "statuscode", "httpstatus", "status", "code")
ANSWER_WORDS = ("error", "lasterror", "errormessage", "failurereason", "failure", "responsebody", "answer", "response")
TRIED_WORDS = (*ANSWER_WORDS, "body", "message")
RECORD_WORDS_MAX = 100


class EndpointAnswer(NamedTuple):
    """Our endpoint's last answer by the record."""

    status: int | None = None
    words: str | None = None

    @property
    def told(self) -> str:
        """For example "503 (not stored; send it again)"."""
        if self.status is None:
            return f"no answer ({self.words})" if self.words else "no answer that the record shows"
        return f"{self.status} ({self.words})" if self.words else str(self.status)


@dataclass(frozen=True)
class Failed:
    """A failed delivery, and the body to be stored.

    `event`: read from the body. `has_payload`: the body is the record's payload. `digests`: SHA-256 of all forms that
    the service may have sent. `tried_at`: when the service first had the event.
    """

    body: bytes
    event: RacingEvent
    has_payload: bool
    digests: frozenset[str]
    tried_at: datetime | None
    answered: EndpointAnswer = field(default_factory=EndpointAnswer)

    @property
    def sha256(self) -> str:
        return sha256(self.body).hexdigest()


class _Sent(NamedTuple):
    name: str
    fields: Mapping[str, Any]
    raw: bytes | None = None


def read_record(record: Mapping[str, Any], read: ReadPayload, now: datetime) -> Failed | None:
    """None without a payload and without an event's name.

    The first reading with a race or meeting counts. Headers and subscriptions name events too, equal for all
    deliveries.
    """
    payloads = list(_payloads(record, read, now))
    if whole := next((one for one in payloads if _tells_place(one.event)), None):
        return whole
    said = _said(record, read, now)
    if said is not None and _tells_place(said.event):
        return said
    return next((one for one in payloads if one.event.kind), None) or said


def _payloads(record: Mapping[str, Any], read: ReadPayload, now: datetime) -> Iterator[Failed]:
    tried = _tried_at(record, now)
    for sent in _sent(record):
        try:
            body, event = _timed(sent, read, tried.at)
            digests = frozenset(sha256(one).hexdigest() for one in (body, *_forms(sent)))
        except (ValueError, RecursionError):
            # Not writable as JSON, such as numbers of thousands of digits.
            continue
        if sent.name in PAYLOADS or _tells_place(event):
            yield Failed(body, event, True, digests, tried.at, _answered(record))


def _said(record: Mapping[str, Any], read: ReadPayload, now: datetime) -> Failed | None:
    """The reading without a payload; None without an event's name."""
    kind = next((kind for value in _plain_values(record) if (kind := kind_of(value))), None)
    if kind is None:
        return None
    tried = _tried_at(record, now)
    body = _bytes(_as_said(kind, record, tried.at))
    if not tried.is_first and name_of(record) != NO_ID:
        # A later attempt changes the time, and is the same event.
        lasting = _bytes(_as_said(kind, record, None))
        body = body if read(body).key == read(lasting).key else lasting
    return Failed(body, read(body), False, frozenset({sha256(body).hexdigest()}), tried.at, _answered(record))


def _tells_place(event: RacingEvent) -> bool:
    race = event.race
    found = (race.race_id, race.meeting_id, race.course.course_id, race.course.name, event.races)
    return event.kind is not None and any(found)


def name_of(record: Mapping[str, Any]) -> str:
    return find([fields_of(record)], DELIVERY_ID, identifier) or NO_ID


def _sent(record: Mapping[str, Any]) -> Iterator[_Sent]:
    """Objects with an event's name, the deepest first; then objects under a payload's name, with the record's event."""
    inner = list(_inner(record))
    named = [sent for sent in reversed(inner) if _names_event(sent.fields)]
    yield from sorted(named, key=lambda sent: sent.name not in PAYLOADS)
    kind = next((kind for value in _plain_values(record) if (kind := kind_of(value))), None)
    for sent in inner:
        if sent.name in PAYLOADS and any(part.is_racing for part in parts_of(sent.fields)):
            whole = {"event": kind.value, "payload": dict(sent.fields)} if kind else sent.fields
            yield _Sent(sent.name, whole, sent.raw if kind is None else None)


def _names_event(fields: Mapping[str, Any], deepest: int = 2) -> bool:
    return any(
        kind_of(value) is not None or (isinstance(value, Mapping) and deepest > 0 and _names_event(value, deepest - 1))
        for value in fields.values()
    )


def _inner(record: Mapping[str, Any]) -> Iterator[_Sent]:
    """Objects and JSON texts in a record, the shallower first. Our answers are left out."""
    level = [_Sent("", record)]
    for _ in range(RECORD_DEPTH_MAX):
        level = [child for parent in level for child in _children(parent.fields)]
        yield from level


def _children(record: Mapping[str, Any]) -> Iterator[_Sent]:
    for name, found in record.items():
        folded = fold(str(name))
        if folded.startswith(CAME_BACK):
            continue
        value = found[0] if isinstance(found, list) and len(found) == 1 else found
        if isinstance(value, Mapping):
            yield _Sent(folded, value)
        elif isinstance(value, str) and value.lstrip().startswith(("{", "[")):
            raw = value.encode("utf-8", "surrogatepass")
            try:
                yield _Sent(folded, read_object(raw), raw)
            except NotAnObject:
                continue


def _plain_values(record: Mapping[str, Any]) -> Iterator[str]:
    for sent in (_Sent("", record), *_inner(record)):
        yield from (value for value in sent.fields.values() if isinstance(value, str))


def _timed(sent: _Sent, read: ReadPayload, tried_at: datetime | None) -> tuple[bytes, RacingEvent]:
    """Payload and event. Without a published time the first attempt is added, for the lateness."""
    body = sent.raw or _bytes(sent.fields)
    event = read(body)
    if tried_at is None or event.kind is None or event.occurred_at or event.first_attempt_at:
        return body, event
    timed = _bytes({"first_attempt_at": tried_at.isoformat(), **sent.fields})
    late = read(timed)
    return (timed, late) if late.key == event.key else (body, event)


def _forms(sent: _Sent) -> Iterator[bytes]:
    """All byte forms that the service may have sent."""
    if sent.raw is not None:
        yield sent.raw
    for separators in (None, (",", ":")):
        for ensure_ascii in (False, True):
            yield _bytes(sent.fields, separators=separators, ensure_ascii=ensure_ascii)


def _as_said(kind: EventKind, record: Mapping[str, Any], tried_at: datetime | None) -> dict[str, Any]:
    """Equal for each reading of the record."""
    race = _race_of(kind, record)
    said: dict[str, Any] = {
        "race_id": race.race_id,
        "meeting_id": race.meeting_id,
        "region": race.region,
        "course_id": race.course.course_id,
        "course": race.course.name,
        "race_date": race.race_date,
        "off_time": race.off.text,
        "off_at": race.off.off_at.isoformat() if race.off.off_at else None,
        "race_number": race.number,
        "race_name": race.title,
    }
    is_of_a_race = race.race_id or DECLARATIONS[kind].subject is Subject.RACE
    subject = Subject.RACE if is_of_a_race else Subject.MEETING
    named = {name: value for name, value in said.items() if value is not None}
    first = {"first_attempt_at": tried_at.isoformat()} if tried_at else {}
    return {"event": kind.value, **first, subject: named, "delivery": {"delivery_id": name_of(record)}}


def _race_of(kind: EventKind, record: Mapping[str, Any]) -> Race:
    of_meeting = DECLARATIONS[kind].subject is Subject.MEETING
    parts = parts_of(_about_event(record))
    fields = [part.fields for part in parts]
    subject_id = find(fields, SUBJECT_ID, identifier) or find(fields, SUBJECT, id_by_shape)
    race_id, meeting_id = race_id_of(parts) or find(fields, ("raceids",), _only_id), meeting_id_of(parts)
    return race_from(
        sources_of(parts, About.MEETING if of_meeting else About.RACE),
        race_id=race_id or (None if of_meeting or meeting_id else subject_id),
        meeting_id=meeting_id or (subject_id if of_meeting else None),
    )


def _only_id(value: Any) -> str | None:
    return identifier(value[0]) if isinstance(value, list) and len(value) == 1 else None


def _about_event(record: Mapping[str, Any]) -> dict[str, Any]:
    folded = ((name, fold(str(name)), value) for name, value in record.items())
    return {name: value for name, key, value in folded if key not in OF_DELIVERY and not key.startswith(CAME_BACK)}


class _Tried(NamedTuple):
    """`is_first`: no later attempt changes the moment."""

    at: datetime | None = None
    is_first: bool = True


def _tried_at(record: Mapping[str, Any], now: datetime) -> _Tried:
    objects = [fields_of(record), *(fields_of(sent.fields) for sent in _inner(record) if sent.name in WRAPPERS)]
    tries = [moment for one in _tries(record) if (moment := find([one], TRY_AT, read_instant))]
    first = find(objects, FIRST_TRIED, read_instant) or min(tries, default=None)
    found = first or find(objects, LAST_TRIED, read_instant)
    return _Tried(found.astimezone(UTC), first is not None) if found and found <= now else _Tried()


def _tries(record: Mapping[str, Any]) -> list[Fields]:
    listed = find([fields_of(record)], TRIES, lambda value: value if isinstance(value, list) else None) or []
    return [fields_of(one) for one in listed if isinstance(one, Mapping)]


def _answered(record: Mapping[str, Any]) -> EndpointAnswer:
    top = fields_of(record)
    inner = [fields_of(value) for name, value in top.items() if isinstance(value, Mapping) and _is_answer(name)]
    tried = [*_tries(record)[-1:], *inner]
    status = find([*tried, top], ANSWER_STATUS, _http_status)
    return EndpointAnswer(status, find(tried, TRIED_WORDS, _words) or find([top], ANSWER_WORDS, _words))


def _is_answer(name: str) -> bool:
    return name.startswith(CAME_BACK)


def _http_status(value: Any) -> int | None:
    digits = identifier(value) or ""
    return int(digits) if digits.isascii() and digits.isdecimal() and 100 <= int(digits[:6]) <= 599 else None


def _words(value: Any) -> str | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = read_object(value.encode("utf-8", "surrogatepass"))
        except NotAnObject:
            return _cut(text(value))
    if isinstance(value, Mapping):
        return find([fields_of(value)], ("error", "message", "reason", "body"), lambda one: _cut(text(one)))
    return _cut(text(value)) if isinstance(value, str) else None


def _cut(words: str | None) -> str | None:
    return words if words is None or len(words) <= RECORD_WORDS_MAX else f"{words[:RECORD_WORDS_MAX]}…"


def _bytes(
    fields: Mapping[str, Any], *, separators: tuple[str, str] | None = None, ensure_ascii: bool = False
) -> bytes:
    return json.dumps(fields, separators=separators, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
