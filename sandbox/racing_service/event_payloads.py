"""Race records (Spec gap G2) and payloads of the four events (G1), with the interface's names or with other names."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.racing_day import Meeting, Race, Runner, in_utc, made_up_id
from sandbox.racing_service.racing import RaceState, Racing
from sandbox.racing_service.switches import RecordShape

Record = dict[str, Any]
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


def happening(
    event: str, of: Race | Meeting, racing: Racing, shape: RecordShape, now: datetime, *, reason: str | None
) -> Happening:
    """`reason` is of a meeting; a race has its own."""
    if isinstance(of, Race):
        kind, record = "race", race_record(of, racing.state(of), shape)
    else:
        kind, record = "meeting", _meeting_record(of, reason, racing, shape)
    payload = {"event": event, "occurred_at": in_utc(now), kind: record}
    if shape == "renamed":
        payload = {"type": event, "createdAt": in_utc(now), "payload": record}
    return Happening(event, of.course.region, of.race_id if isinstance(of, Race) else None, of.meeting_id, payload)


def _meeting_record(meeting: Meeting, reason: str | None, racing: Racing, shape: RecordShape) -> Record:
    course, day = meeting.course, meeting.race_date.isoformat()
    races = [race_record(race, racing.state(race), shape) for race in meeting.races]
    record: Record
    if shape == "nested":
        place = {"course_id": course.course_id, "name": course.name, "country": course.country}
        record = {"meeting_id": meeting.meeting_id, "region": course.region, "course": place, "date": day}
        return record | {"reason": reason, "races": races}
    record = {"meetingUid": meeting.meeting_id, "jurisdiction": course.region, "meetingDate": day}
    record |= {"venue": {"uid": course.course_id, "title": course.name}}
    return record | ({"abandonReason": reason} if reason else {}) | {"card": races}


def race_record(race: Race, state: RaceState, shape: RecordShape) -> Record:
    """Positions and prices come only with a result, a reason only with an abandonment."""
    return _nested_race(race, state) if shape == "nested" else _renamed_race(race, state)


def _nested_race(race: Race, state: RaceState) -> Record:
    course = race.course
    return {
        "race_id": race.race_id,
        "meeting_id": race.meeting_id,
        "region": course.region,
        "course": {"course_id": course.course_id, "name": course.name, "country": course.country},
        "date": race.race_date.isoformat(),
        "off_time": race.off_time,
        "off_at": race.off_at.isoformat(),
        "race_number": race.number,
        "title": race.title,
        "class": race.race_class,
        "run_type": race.run_type,
        "distance": race.distance,
        "going": race.going,
        "surface": race.surface,
        "status": state.status,
        "reason": state.reason,
        "field_size": len(race.runners),
        "runners": [_nested_runner(runner, state) for runner in race.runners],
    }


def _nested_runner(runner: Runner, state: RaceState) -> Record:
    position = state.position_of(runner) if state.status == "result" else None
    return runner._asdict() | {
        "horse": {"horse_id": made_up_id("hs_", runner.horse), "name": runner.horse},
        "jockey": {"name": runner.jockey},
        "trainer": {"name": runner.trainer},
        "position": int(position) if position and position.isdigit() else position,
        "starting_price": runner.starting_price if position else None,
    }


def _renamed_race(race: Race, state: RaceState) -> Record:
    return {
        "uid": race.race_id,
        "meetingUid": race.meeting_id,
        "jurisdiction": race.course.region,
        "venue": {"uid": race.course.course_id, "title": race.course.name},
        "scheduledOff": race.off_at.isoformat(),
        "raceTitle": race.title,
        "raceClass": race.race_class,
        "type": race.run_type,
        "raceDistance": race.distance,
        "goingDescription": race.going,
        "raceStatus": {"declared": "OPEN", "result": "RESULTED", "abandoned": "ABANDONED"}[state.status],
        **({"abandonReason": state.reason} if state.reason else {}),
        "finishers" if state.status == "result" else "entries": [_renamed_runner(r, state) for r in race.runners],
    }


def _renamed_runner(runner: Runner, state: RaceState) -> Record:
    card: Record = {
        "clothNumber": runner.number,
        "stall": runner.draw,
        "horseName": runner.horse,
        "jockeyName": runner.jockey,
        "trainerName": runner.trainer,
        "officialRating": runner.official_rating,
    }
    result = {"finishPosition": state.position_of(runner), "startingPrice": runner.starting_price}
    return card | result if state.status == "result" else card
