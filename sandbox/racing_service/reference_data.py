"""The data of /countries, /courses and /reference."""

from collections import Counter
from random import Random
from typing import Any

from sandbox.racing_day import CASUALTY_REASONS
from sandbox.racing_places import COUNTRIES, REGION_CODES, REGIONS, Course, courses_of
from sandbox.racing_service.racing import Racing
from sandbox.racing_service.switches import Switches

Record = dict[str, Any]


def country_records(racing: Racing) -> list[Record]:
    """Interface, Country."""
    seen = Counter(race.course.region for race in racing.races())
    return [
        {
            "country_code": country.country_code,
            "name": country.name,
            "races": _archived(country.country_code, 2_000, 90_000) + seen[country.country_code],
            "full_result_order": country.full_result_order,
            "position_pct": country.position_pct,
            "official_rating": country.official_rating,
            "race_class": country.race_class,
            "winning_times": country.winning_times,
            "note": country.note,
        }
        for country in COUNTRIES
    ]


def course_records(racing: Racing) -> list[Record]:
    """Interface, Course."""
    meetings: dict[str, list[str]] = {}
    races: Counter[str] = Counter()
    for race in racing.races():
        meetings.setdefault(race.course.course_id, []).append(race.race_date.isoformat())
        races[race.course.course_id] += 1
    return [
        _course_record(course, sorted(set(meetings.get(course.course_id, []))), races[course.course_id])
        for region in REGIONS
        for course in courses_of(region.code)
    ]


def _course_record(course: Course, days: list[str], races: int) -> Record:
    archived = _archived(course.course_id, 20, 300)
    return {
        "course_id": course.course_id,
        "name": course.name,
        "shortcode": course.shortcode,
        "country": course.country,
        "region": course.region,
        "races": 7 * archived + races,
        "meetings": archived + len(days),
        "first_meeting": f"2017-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}",
        "last_meeting": days[-1] if days else f"2024-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}",
    }


def reference_data(racing: Racing, switches: Switches) -> Any:
    """Spec gap G6: beyond the categories the shape is switched."""
    counts = _counts(racing)
    if switches.reference == "names":
        return {category: list(values) for category, values in counts.items()}
    return {category: [_row(category, value, n) for value, n in values.items()] for category, values in counts.items()}


def _row(category: str, value: str, count: int) -> Record:
    return {"value": value, ("runners" if category == "casualty_reasons" else "races"): count}


def _counts(racing: Racing) -> dict[str, dict[str, int]]:
    """Every value that a race can have, with a made-up count."""
    races = racing.races()
    categories = {
        "goings": {*(race.going for race in races), *(going for region in REGIONS for going in region.goings)},
        "classes": {race.race_class for race in races if race.race_class},
        "run_types": {race.run_type for race in races},
        "surfaces": {race.surface for race in races},
        "regions": set(REGION_CODES),
        "casualty_reasons": set(CASUALTY_REASONS),
    }
    return {name: {value: _archived(value, 50, 9_000) for value in sorted(found)} for name, found in categories.items()}


def _archived(name: str, low: int, high: int) -> int:
    """A made-up count, always the same for a name."""
    return Random(f"archive:{name}").randint(low, high)
