"""A made-up day's racing, equal for equal seeds, whatever the date is today; its places are of `racing.toml`."""

import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo


class Region(NamedTuple):
    """`zone`: of most courses; `elsewhere` of the file has the others. `courses`: name, shortcode, country label."""

    code: str
    zone: str
    first_off: str
    meetings_a_day: list[int]
    jumps: bool
    goings: list[str]
    courses: list[list[str]]


class Course(NamedTuple):
    """`country` is a label, not the region's code (Interface, Course)."""

    course_id: str
    name: str
    shortcode: str | None
    country: str
    region: str


RACING = tomllib.loads((Path(__file__).parent / "racing.toml").read_text("utf-8"))
REGIONS = tuple(Region(**region) for region in RACING["regions"])
REGION_CODES = tuple(region.code for region in REGIONS)
_FIELDS = RACING["country_fields"]
COUNTRIES: list[dict[str, Any]] = [dict(zip_longest(_FIELDS, one)) for one in RACING["countries"]]


def zone_of(region: Region, course: Course) -> ZoneInfo:
    """By the course's name, or by its country label, or of the region."""
    elsewhere = RACING["elsewhere"]
    return ZoneInfo(elsewhere.get(course.name) or elsewhere.get(course.country) or region.zone)


def made_up_id(prefix: str, *parts: object) -> str:
    """Equal for equal parts: "cr_5f2a91c07e3b"."""
    return prefix + sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


@cache
def courses_of(code: str) -> tuple[Course, ...]:
    region = next(one for one in REGIONS if one.code == code)
    written = ([*course, "", ""][:3] for course in region.courses)
    return tuple(
        Course(made_up_id("cr_", code, name), name, shortcode or None, country or code, code)
        for name, shortcode, country in written
    )


SYNTHETIC = "(AW)"

_JOCKEYS = 24
_INITIALS = "ABCDEFGHJKLMPRSTW"
_WEAKEST = 0.15

CASUALTY_REASONS = ("PU", "F", "UR", "BD", "RR")
_DRAWN: dict[str, list[str]] = RACING["races"] | RACING["names"]
_JUMPS_ALONE, _FLAT_ALONE = RACING["jumps_alone"], RACING["flat_alone"]
_ODDS = [int(against) / int(stake) for against, stake in (price.split("/") for price in _DRAWN["prices"])]
_MARGIN = 1.1
"""A bookmaker's chances of all runners add up to more than 1."""
_JUVENILE, _JUVENILE_DISTANCE = "Juvenile", "2m"


class Runner(NamedTuple):
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
    race_class: str | None
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
    """The meetings of the day `ahead` days after today. Only ids, dates and summer time depend on `today`."""
    day = today + timedelta(days=ahead)
    rng = Random(f"{seed}:{ahead}")
    horses = iter(horse_names(rng))
    meetings: list[Meeting] = []
    for region in REGIONS:
        courses = courses_of(region.code)
        count = min(rng.randint(*region.meetings_a_day), len(courses))
        meetings += [
            _meeting(rng, region, course, day=day, seed=seed, horses=horses) for course in rng.sample(courses, count)
        ]
    return tuple(meetings)


class _Card(NamedTuple):
    meeting_id: str
    course: Course
    day: date
    going: str
    over_jumps: bool
    horses: Iterator[str]
    """No horse runs twice a day."""
    jockeys: tuple[str, ...]
    trainers: tuple[str, ...]


def _meeting(rng: Random, region: Region, course: Course, *, day: date, seed: int, horses: Iterator[str]) -> Meeting:
    is_flat = SYNTHETIC in course.name or course.name in _FLAT_ALONE
    card = _Card(
        meeting_id=made_up_id("mt_", seed, course.course_id, day),
        course=course,
        day=day,
        going=_going(rng.choice(region.goings), course),
        over_jumps=course.name in _JUMPS_ALONE or (region.jumps and not is_flat and rng.random() < 0.5),
        horses=horses,
        jockeys=tuple({person_name(rng): None for _ in range(_JOCKEYS)}),
        trainers=tuple({person_name(rng): None for _ in range(_JOCKEYS)}),
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
    title = rng.choice(_DRAWN["jump_titles" if card.over_jumps else "titles"])
    return Race(
        race_id=made_up_id("rc_", card.meeting_id, number),
        meeting_id=card.meeting_id,
        course=card.course,
        race_date=card.day,
        off_time=off_at.strftime("%H:%M"),
        off_at=off_at,
        number=number,
        title=f"{rng.choice(_DRAWN['sponsors'])} {title}",
        race_class=f"Class {rng.randint(1, 6)}" if card.course.region in RACING["with_classes"] else None,
        run_type=title.rsplit(" ", 1)[-1] if card.over_jumps else "Flat",
        distance=_distance(rng, title, over_jumps=card.over_jumps),
        going=card.going,
        surface=_surface(card.course),
        runners=_runners(rng, card),
    )


def _distance(rng: Random, title: str, *, over_jumps: bool) -> str:
    drawn = rng.choice(_DRAWN["jump_distances" if over_jumps else "distances"])
    return _JUVENILE_DISTANCE if title.startswith(_JUVENILE) else drawn


def _surface(course: Course) -> str:
    if SYNTHETIC in course.name:
        return "All Weather"
    return "Dirt" if course.region == "USA" else "Turf"


def _runners(rng: Random, card: _Card) -> tuple[Runner, ...]:
    count = rng.randint(5, 12)
    strengths = [rng.expovariate(1) + _WEAKEST for _ in range(count)]
    positions = _positions(rng, strengths, over_jumps=card.over_jumps)
    draws = rng.sample(range(1, count + 1), count)
    riders, yards = rng.sample(card.jockeys, count), rng.choices(card.trainers, k=count)
    return tuple(
        Runner(
            number=index + 1,
            draw=None if card.over_jumps else draws[index],
            horse=horse,
            jockey=riders[index],
            trainer=yards[index],
            official_rating=rng.randint(45, 120) if rng.random() < 0.8 else None,
            starting_price=_price(strengths[index] / sum(strengths) * _MARGIN),
            position=positions[index],
        )
        for index, horse in enumerate(islice(card.horses, count))
    )


def _price(chance: float) -> str:
    """The longest price that is no longer than fair."""
    return _DRAWN["prices"][max(0, bisect_right(_ODDS, 1 / chance - 1) - 1)]


def _positions(rng: Random, strengths: Sequence[float], *, over_jumps: bool) -> list[str]:
    """The stronger, the likelier to be in front."""
    order = sorted(range(len(strengths)), key=lambda index: rng.expovariate(strengths[index]))
    fallen = rng.randint(0, 2) if over_jumps else 0
    places = [str(place) for place in range(1, len(order) - fallen + 1)]
    if rng.random() < 0.03:
        places[1:3] = ["2=", "2="]
    places += [rng.choice(CASUALTY_REASONS) for _ in range(fallen)]
    placed = dict(zip(order, places, strict=True))
    return [placed[index] for index in range(len(order))]


def horse_names(rng: Random) -> list[str]:
    """Every name once, in an order of its own; some 1,900, enough for a day."""
    made = [f"{first} {second}" for first in _DRAWN["first"] for second in _DRAWN["second"]]
    names = [f"{name}{rng.choice(_DRAWN['suffixes'])}" for name in made] + _DRAWN["awkward"]
    return rng.sample(names, len(names))


def person_name(rng: Random) -> str:
    """For example "P J O'Dowd"."""
    return f"{' '.join(rng.sample(_INITIALS, rng.randint(1, 2)))} {rng.choice(_DRAWN['surnames'])}"


def in_utc(moment: datetime) -> str:
    """ISO 8601 in UTC, as the service writes moments."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")
