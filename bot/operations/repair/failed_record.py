"""Reads records of failed deliveries: the body to be stored in place of the delivery (Spec gap G4).

A record's fields are undocumented. Two shapes are read, as services of this kind publish: the event, the payload and
the last answer beside the ids, or payload and event under `sent` and the answers in a list of attempts. The payload is
an object, or a text of JSON, or `sent` itself. Without a payload the body gets the record's event, ids and place. Our
own answer may stand under a payload's name, so a reading that says which race comes first. Admins are told of a record
without an event or a race, and the log has the record.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import DECLARATIONS, Subject
from bot.events.races import Course, Race
from bot.events.reading.fields import fields_of, find
from bot.events.reading.json_object import NotAnObject, read_object
from bot.events.reading.json_values import identifier, text
from bot.events.reading.off_times import read_instant
from bot.events.reading.race_record import race_from
from bot.events.reading.record_objects import About, kind_of, parts_of
from bot.events.reading.sources import meeting_id_of, race_id_of, sources_of

ReadPayload = Callable[[bytes], RacingEvent]

_EVENT = ("event", "eventtype", "eventname", "type")
_SENT = ("sent", "request")
_PAYLOAD = ("payload", "body", "data")
_DELIVERY_ID = ("deliveryid", "id", "uid")
NO_ID = "without an id"
_TRIED = ("createdat", "created", "firstattemptat", "at", "sentat")
_STATUS = ("responsestatus", "statuscode", "status")
_WORDS = ("error", "responsebody", "body")
_ABOUT_EVENT = (
    *("raceid", "meetingid", "region", "courseid", "course", "coursename", "racedate", "offtime", "offat"),
    *("racenumber", "racename", "race", "meeting"),
)
"""Fields of a record without a payload. A delivery and a race share names such as `id`, `date` and `status`."""

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

    `event`: read from the body. `has_payload`: the body is the record's payload. `sha256`: the record is stored once
    under this digest. `digests`: SHA-256 of all forms that the service may have sent. `tried_at`: when the service
    first had the event. `is_later`: than all that the bot has of the race's event.
    """

    body: bytes
    event: RacingEvent
    has_payload: bool
    sha256: str
    digests: frozenset[str]
    tried_at: datetime | None
    answered: EndpointAnswer = field(default_factory=EndpointAnswer)
    is_later: bool = False

    def telling(self, race: Race, read: ReadPayload) -> "Failed":
        """The delivery with the race, or the meeting, as known since the first attempt."""
        said = json.loads(self.body)
        subject = Subject.MEETING if Subject.MEETING in said else Subject.RACE
        body = _bytes({"occurred_at": said["first_attempt_at"], **said, subject: _fields_of(race)})
        return replace(self, body=body, event=read(body))

    @property
    def says_where(self) -> bool:
        """Whether the event is of a known race, meeting or course."""
        race = self.event.race
        return bool(self.event.races or race.race_id or race.meeting_id) or race.course != Course()


def read_record(record: Mapping[str, Any], read: ReadPayload, now: datetime) -> Failed | None:
    """The first reading that says which race; else the first reading. None without an event's name."""
    top = fields_of(record)
    objects = [top, *(fields_of(inner) for name in _SENT if isinstance(inner := top.get(name), Mapping))]
    attempts = top.get("attempts")
    tries = [fields_of(one) for one in attempts if isinstance(one, Mapping)] if isinstance(attempts, list) else []
    kind = find(objects, _EVENT, kind_of)
    tried_at = find([*objects, *tries[:1]], _TRIED, read_instant)
    tried_at = tried_at.astimezone(UTC) if tried_at and tried_at <= now else None
    latest = [*tries[-1:], top]
    answered = EndpointAnswer(find(latest, _STATUS, _http_status), find(latest, _WORDS, _words))
    found: list[Failed] = []
    sent = [fields[name] for fields in objects for name in _PAYLOAD if name in fields]
    sent += [top[name] for name in _SENT if name in top]
    for payload in filter(None, map(_payload, sent)):
        body, event = _timed(payload, kind, read, tried_at)
        if event.kind is not None:
            digest, *others = (sha256(form).hexdigest() for form in (body, *_forms(payload)))
            found.append(Failed(body, event, True, digest, frozenset({digest, *others}), tried_at, answered))
    if kind is not None:
        body = _bytes(_as_said(kind, record, tried_at))
        digest = sha256(body).hexdigest()
        found.append(Failed(body, read(body), False, digest, frozenset({digest}), tried_at, answered))
    return next((one for one in found if one.says_where), found[0] if found else None)


def name_of(record: Mapping[str, Any]) -> str:
    return find([fields_of(record)], _DELIVERY_ID, identifier) or NO_ID


class _Payload(NamedTuple):
    fields: Mapping[str, Any]
    raw: bytes | None = None


def _payload(value: Any) -> _Payload | None:
    try:
        if isinstance(value, Mapping):
            # A number of thousands of digits can't be written.
            _bytes(value)
            return _Payload(value)
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""
        return _Payload(read_object(raw), raw)
    except (NotAnObject, ValueError, RecursionError):
        return None


def _timed(
    payload: _Payload, kind: EventKind | None, read: ReadPayload, tried_at: datetime | None
) -> tuple[bytes, RacingEvent]:
    """Body and event. A payload without an event gets the record's event, and without a time the first attempt."""
    fields, body = payload.fields, payload.raw or _bytes(payload.fields)
    event = read(body)
    if event.kind is None and kind is not None:
        fields = {"event": kind.value, "payload": dict(fields)}
        body = _bytes(fields)
        event = read(body)
    if tried_at is None or event.kind is None or event.occurred_at or event.first_attempt_at:
        return body, event
    timed = _bytes({"first_attempt_at": tried_at.isoformat(), **fields})
    late = read(timed)
    return (timed, late) if late.key == event.key else (body, event)


def _forms(payload: _Payload) -> Iterator[bytes]:
    """All byte forms that the service may have sent."""
    if payload.raw is not None:
        yield payload.raw
    for separators in (None, (",", ":")):
        for ensure_ascii in (False, True):
            yield _bytes(payload.fields, separators=separators, ensure_ascii=ensure_ascii)


def _as_said(kind: EventKind, record: Mapping[str, Any], tried_at: datetime | None) -> dict[str, Any]:
    """Equal for each reading of the record."""
    of_meeting = DECLARATIONS[kind].subject is Subject.MEETING
    top = fields_of(record)
    parts = parts_of({name: top[name] for name in _ABOUT_EVENT if name in top})
    race = race_from(
        sources_of(parts, About.MEETING if of_meeting else About.RACE),
        race_id=race_id_of(parts),
        meeting_id=meeting_id_of(parts),
    )
    subject = Subject.MEETING if of_meeting and not race.race_id else Subject.RACE
    first = {"first_attempt_at": tried_at.isoformat()} if tried_at else {}
    return {"event": kind.value, **first, subject: _fields_of(race), "delivery": {"delivery_id": name_of(record)}}


def _fields_of(race: Race) -> dict[str, Any]:
    said = race.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    off: dict[str, str] = said.pop("off", {})
    return said | {name: off[key] for name, key in (("off_time", "text"), ("off_at", "off_at")) if key in off}


def _http_status(value: Any) -> int | None:
    digits = identifier(value) or ""
    return int(digits) if digits.isascii() and digits.isdecimal() and 100 <= int(digits[:6]) <= 599 else None


def _words(value: Any) -> str | None:
    """The words of an answer; of our own answers without the JSON."""
    words = text(value) if isinstance(value, str) else None
    ours = _payload(value) if words else None
    words = text(ours.fields["error"]) if ours and isinstance(ours.fields.get("error"), str) else words
    return words if words is None or len(words) <= RECORD_WORDS_MAX else f"{words[:RECORD_WORDS_MAX]}…"


def _bytes(
    fields: Mapping[str, Any], *, separators: tuple[str, str] | None = None, ensure_ascii: bool = False
) -> bytes:
    return json.dumps(fields, separators=separators, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
