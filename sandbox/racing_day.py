"""A made-up day's racing, equal for equal seeds, whatever the date is today."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from random import Random
from typing import NamedTuple

from sandbox.racing_names import horse_names, person_name
from sandbox.racing_places import REGIONS, Course, Region, courses_of, made_up_id, zone_of

SYNTHETIC = "(AW)"

CASUALTY_REASONS = ("PU", "F", "UR", "BD", "RR")
_PRICES = ("4/6", "6/4", "2/1", "11/4", "7/2", "9/2", "6/1", "15/2", "10/1", "14/1", "20/1", "33/1", "66/1")
_TITLES = ("Maiden Stakes", "Handicap", "Novice Stakes", "Conditions Stakes", "Fillies' Stakes", "Cup & Plate Handicap")
_JUMP_TITLES = ("Novices' Hurdle", "Handicap Hurdle", "Handicap Chase", "Beginners' Chase", "Juvenile Hurdle")
_DISTANCES = ("5f", "6f", "7f", "1m", "1m2f", "1m4f")
_JUMP_DISTANCES = ("2m", "2m4f", "3m", "3m2f")
_SPONSORS = ("Corn Exchange", "Harbour Lights", "Brasserie Célestine", "Mott & Daughters", "Turf Club", "Old Mill")


@dataclass(frozen=True, slots=True)
class Runner:
    number: int
    draw: int | None
    horse: str
    jockey: str
    trainer: str
    official_rating: int | None
    starting_price: str
    position: str


@dataclass(frozen=True, slots=True)
class Race:
    """`off_time` is the course's own "HH:MM"; `off_at` is the same moment, aware, in the course's zone."""

    race_id: str
    meeting_id: str
    course: Course
    race_date: date
    off_time: str
    off_at: datetime
    number: int
    title: str
    race_class: str
    run_type: str
    distance: str
    going: str
    surface: str
    runners: tuple[Runner, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    meeting_id: str
    course: Course
    race_date: date
    races: tuple[Race, ...]


@lru_cache(maxsize=1024)
def meetings_on(seed: int, today: date, ahead: int) -> tuple[Meeting, ...]:
    """Of the day so many days after today. Only ids, dates and summer time depend on `today`."""
    day = today + timedelta(days=ahead)
    rng = Random(f"{seed}:{ahead}")
    meetings: list[Meeting] = []
    for region in REGIONS:
        courses = courses_of(region.code)
        count = min(rng.randint(*region.meetings_a_day), len(courses))
        meetings += [_meeting(rng, seed, region, course, day) for course in rng.sample(courses, count)]
    return tuple(meetings)


class _Card(NamedTuple):
    meeting_id: str
    course: Course
    day: date
    going: str
    over_jumps: bool


def _meeting(rng: Random, seed: int, region: Region, course: Course, day: date) -> Meeting:
    card = _Card(
        meeting_id=made_up_id("mt_", seed, course.course_id, day),
        course=course,
        day=day,
        going=_going(rng.choice(region.goings), course),
        over_jumps=region.jumps and SYNTHETIC not in course.name and rng.random() < 0.5,
    )
    first = datetime.combine(day, time.fromisoformat(region.first_off), zone_of(region, course))
    first += timedelta(minutes=rng.choice((0, 5, 10, 15, 20)))
    numbers = range(1, rng.randint(6, 8) + 1)
    races = tuple(_race(rng, card, number, first + timedelta(minutes=35 * (number - 1))) for number in numbers)
    return Meeting(card.meeting_id, course, day, races)


def _going(drawn: str, course: Course) -> str:
    """Synthetic tracks have a going of their own."""
    if SYNTHETIC in course.name:
        return drawn if drawn.startswith("Standard") else "Standard"
    return "Good to Soft" if drawn.startswith("Standard") and course.region == "GB" else drawn


def _race(rng: Random, card: _Card, number: int, off_at: datetime) -> Race:
    title = rng.choice(_JUMP_TITLES if card.over_jumps else _TITLES)
    return Race(
        race_id=made_up_id("rc_", card.meeting_id, number),
        meeting_id=card.meeting_id,
        course=card.course,
        race_date=card.day,
        off_time=off_at.strftime("%H:%M"),
        off_at=off_at,
        number=number,
        title=f"{rng.choice(_SPONSORS)} {title}",
        race_class=f"Class {rng.randint(1, 6)}",
        run_type=title.rsplit(" ", 1)[-1] if card.over_jumps else "Flat",
        distance=rng.choice(_JUMP_DISTANCES if card.over_jumps else _DISTANCES),
        going=card.going,
        surface=_surface(card.course),
        runners=_runners(rng, over_jumps=card.over_jumps),
    )


def _surface(course: Course) -> str:
    if SYNTHETIC in course.name:
        return "All Weather"
    return "Dirt" if course.region == "USA" else "Turf"


def _runners(rng: Random, *, over_jumps: bool) -> tuple[Runner, ...]:
    count = rng.randint(5, 12)
    positions = _positions(rng, count, over_jumps=over_jumps)
    draws = rng.sample(range(1, count + 1), count)
    return tuple(
        Runner(
            number=number,
            draw=None if over_jumps else draws[number - 1],
            horse=horse,
            jockey=person_name(rng),
            trainer=person_name(rng),
            official_rating=rng.randint(45, 120) if rng.random() < 0.8 else None,
            starting_price=rng.choice(_PRICES),
            position=positions[number - 1],
        )
        for number, horse in enumerate(horse_names(rng, count), start=1)
    )


def _positions(rng: Random, count: int, *, over_jumps: bool) -> list[str]:
    fallen = rng.randint(0, 2) if over_jumps else 0
    places = [str(place) for place in range(1, count - fallen + 1)]
    if rng.random() < 0.03:
        places[1:3] = ["2=", "2="]
    places += [rng.choice(CASUALTY_REASONS) for _ in range(fallen)]
    return rng.sample(places, count)


def in_utc(moment: datetime) -> str:
    """ISO 8601 in UTC, as the service writes moments."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")
