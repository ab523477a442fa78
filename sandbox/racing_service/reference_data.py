"""The data of /countries, /courses and /reference."""

from collections import Counter, defaultdict
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
        country._asdict() | {"races": _archived(country.country_code, 2_000, 90_000) + seen[country.country_code]}
        for country in COUNTRIES
    ]


def course_records(racing: Racing) -> list[Record]:
    """Interface, Course."""
    days: dict[str, list[str]] = defaultdict(list)
    for race in racing.races():
        days[race.course.course_id].append(race.race_date.isoformat())
    courses = (course for region in REGIONS for course in courses_of(region.code))
    return [_course_record(course, days[course.course_id]) for course in courses]


def _course_record(course: Course, days: list[str]) -> Record:
    """`days`: of each race that the stand-in has, beside a made-up archive."""
    archived = _archived(course.course_id, 20, 300)
    return course._asdict() | {
        "races": 7 * archived + len(days),
        "meetings": archived + len(set(days)),
        "first_meeting": f"2017-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}",
        "last_meeting": max(days, default=f"2024-{archived % 12 + 1:02d}-{archived % 28 + 1:02d}"),
    }


def reference_data(racing: Racing, switches: Switches) -> Record:
    """Every value that a race can have. Spec gap G6: beyond the categories the shape is switched."""
    races = racing.races()
    categories: dict[str, set[str]] = {
        "goings": {*(race.going for race in races), *(going for region in REGIONS for going in region.goings)},
        "classes": {race.race_class for race in races if race.race_class},
        "run_types": {race.run_type for race in races},
        "surfaces": {race.surface for race in races},
        "regions": set(REGION_CODES),
        "casualty_reasons": set(CASUALTY_REASONS),
    }
    if switches.reference == "names":
        return {name: sorted(values) for name, values in categories.items()}
    return {
        name: [
            {"value": value, ("runners" if name == "casualty_reasons" else "races"): _archived(value, 50, 9_000)}
            for value in sorted(values)
        ]
        for name, values in categories.items()
    }


def _archived(name: str, low: int, high: int) -> int:
    """A made-up count, always the same for a name."""
    return Random(f"archive:{name}").randint(low, high)
