"""Race records (Spec gap G2) in two shapes: with the interface's names, and with other names."""

from typing import Any

from sandbox.racing_day import Race, Runner
from sandbox.racing_places import made_up_id
from sandbox.racing_service.racing import RaceState
from sandbox.racing_service.switches import RecordShape

Record = dict[str, Any]


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
