"""Regions, countries and courses of the stand-in, from `racing.toml`."""

import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
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


class Country(NamedTuple):
    """A note is of any type (Interface, Country)."""

    country_code: str
    name: str
    full_result_order: bool
    position_pct: float
    official_rating: bool
    race_class: bool
    winning_times: bool
    note: object = None


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
COUNTRIES = tuple(Country(*country) for country in RACING["countries"])


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
