"""The stored lists of the data service: courses, regions, countries."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from pydantic import TypeAdapter
from sqlmodel import Session

from bot.db import named_values
from bot.db.named_values import Mark
from bot.events.races import Course, Value


class KnownCourse(Value):
    course_id: str | None = None
    name: str | None = None
    shortcode: str | None = None
    country: str | None = None
    region: str | None = None
    races: int | None = None
    meetings: int | None = None
    first_meeting: str | None = None
    last_meeting: str | None = None


class KnownCountry(Value):
    """`position_pct` is a fraction from 0 to 1."""

    country_code: str | None = None
    name: str | None = None
    races: int | None = None
    full_result_order: bool | None = None
    position_pct: float | None = None
    official_rating: bool | None = None
    race_class: bool | None = None
    winning_times: bool | None = None
    note: str | None = None


# The lists change once a day, and are read with each event.
_read_countries = lru_cache(maxsize=2)(TypeAdapter(tuple[KnownCountry, ...]).validate_json)
_read_courses = lru_cache(maxsize=2)(TypeAdapter(tuple[KnownCourse, ...]).validate_json)
_read_words = lru_cache(maxsize=4)(TypeAdapter(tuple[str, ...]).validate_json)


def put_courses(session: Session, courses: Sequence[KnownCourse], now: datetime) -> None:
    named_values.put(session, Mark.COURSES, [course.model_dump(exclude_none=True) for course in courses], now)


def courses(session: Session) -> tuple[tuple[KnownCourse, ...], datetime] | None:
    kept = named_values.text(session, Mark.COURSES)
    return (_read_courses(kept[0]), kept[1]) if kept else None


def put_regions(session: Session, regions: Sequence[str], now: datetime) -> None:
    named_values.put(session, Mark.REGIONS, list(regions), now)


def regions(session: Session) -> tuple[tuple[str, ...], datetime] | None:
    kept = named_values.text(session, Mark.REGIONS)
    return (_read_words(kept[0]), kept[1]) if kept else None


def put_classes(session: Session, classes: Sequence[str], now: datetime) -> None:
    named_values.put(session, Mark.RACE_CLASSES, list(classes), now)


def classes(session: Session) -> tuple[str, ...]:
    """Race classes as published; empty where no list came."""
    kept = named_values.text(session, Mark.RACE_CLASSES)
    return _read_words(kept[0]) if kept else ()


def put_countries(session: Session, countries: Sequence[KnownCountry], now: datetime) -> None:
    named_values.put(session, Mark.COUNTRIES, [country.model_dump(exclude_none=True) for country in countries], now)


def countries(session: Session) -> tuple[tuple[KnownCountry, ...], datetime] | None:
    kept = named_values.text(session, Mark.COUNTRIES)
    return (_read_countries(kept[0]), kept[1]) if kept else None


def put_failed_tries(session: Session, tries: int, now: datetime) -> None:
    named_values.put(session, Mark.FAILED_TRIES, tries, now)


def failed_tries(session: Session) -> tuple[int, datetime] | None:
    """Failed refreshes in a row, and the time of the last."""
    return named_values.get(session, Mark.FAILED_TRIES)


def told_apart(session: Session, named: Sequence[Course]) -> tuple[Course, ...]:
    """The courses as shown: namesakes get their region, else country, else id: "Ascot (AUS)"."""
    kept = courses(session) if named else None
    names = {one.name for one in named if one.name}
    known = [one for one in (kept[0] if kept else ()) if one.name in names]
    return tuple(_told_apart(course, [one for one in known if one.name == course.name]) for course in named)


def _told_apart(course: Course, namesakes: Sequence[KnownCourse]) -> Course:
    chosen = next((one for one in namesakes if one.course_id and one.course_id == course.course_id), None)
    if chosen is None or len(namesakes) == 1:
        return course
    for field in ("region", "country", "course_id"):
        value = getattr(chosen, field)
        if value and sum(getattr(one, field) == value for one in namesakes) == 1:
            return course.model_copy(update={"name": f"{course.name} ({value})"})
    return course
