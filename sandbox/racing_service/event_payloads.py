"""Payloads of the four events (Spec gap G1) in two shapes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.racing_day import Meeting, Race, in_utc
from sandbox.racing_service.race_shapes import Record, race_record
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import RecordShape

RESULT, RACE_OFF, MEETING_OFF, CARD = "result.received", "race.abandoned", "meeting.abandoned", "racecard.published"


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of racing, with its payload."""

    event: str
    region: str
    race_id: str | None
    meeting_id: str
    payload: Record

    @property
    def subject(self) -> Record:
        """The race or the meeting of a nested payload."""
        subject: Record = self.payload.get("race") or self.payload["meeting"]
        return subject


def race_happening(event: str, race: Race, racing: Racing, shape: RecordShape, now: datetime) -> Happening:
    record = race_record(race, racing.state(race), shape)
    payload = _enveloped(event, "race", record, shape, now)
    return Happening(event, race.course.region, race.race_id, race.meeting_id, payload)


def meeting_happening(
    event: str, meeting: Meeting, racing: Racing, shape: RecordShape, now: datetime, *, reason: str | None
) -> Happening:
    races = [race_record(race, racing.state(race), shape) for race in meeting.races]
    record = _meeting_record(meeting, reason, races, shape)
    payload = _enveloped(event, "meeting", record, shape, now)
    return Happening(event, meeting.course.region, None, meeting.meeting_id, payload)


def _enveloped(event: str, subject: str, record: Record, shape: RecordShape, now: datetime) -> Record:
    if shape == "nested":
        return {"event": event, "occurred_at": in_utc(now), subject: record}
    return {"type": event, "createdAt": in_utc(now), "payload": record}


def _meeting_record(meeting: Meeting, reason: str | None, races: list[Record], shape: RecordShape) -> Record:
    course, day = meeting.course, meeting.race_date.isoformat()
    record: dict[str, Any]
    if shape == "nested":
        place = {"course_id": course.course_id, "name": course.name, "country": course.country}
        record = {"meeting_id": meeting.meeting_id, "region": course.region, "course": place, "date": day}
        return record | {"reason": reason, "races": races}
    record = {"meetingUid": meeting.meeting_id, "jurisdiction": course.region, "meetingDate": day}
    record |= {"venue": {"uid": course.course_id, "title": course.name}}
    return record | ({"abandonReason": reason} if reason else {}) | {"card": races}
