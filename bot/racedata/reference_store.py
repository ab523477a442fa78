"""The stored lists of the data service: courses, regions, countries."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter
from sqlmodel import Session

from bot.db import named_values
from bot.db.named_values import Mark
from bot.events.races import Course
from bot.racedata.client.records import KnownCountry, KnownCourse

T = TypeVar("T")


class StoredList(Generic[T]):
    """A published list, in the database with the moment of reading."""

    def __init__(self, mark: Mark, each: type[T]) -> None:
        self._mark = mark
        self._adapter: TypeAdapter[tuple[T, ...]] = TypeAdapter(tuple[each, ...])  # type: ignore[valid-type]  # a value
        # A list changes once a day, and is read with each event.
        self._read = lru_cache(maxsize=2)(self._adapter.validate_json)

    def put(self, session: Session, items: Iterable[T], now: datetime) -> None:
        values = self._adapter.dump_python(tuple(items), mode="json", exclude_none=True)
        named_values.put(session, self._mark, values, now)

    def kept(self, session: Session) -> tuple[tuple[T, ...], datetime] | None:
        found = named_values.text(session, self._mark)
        return (self._read(found[0]), found[1]) if found else None

    def items(self, session: Session) -> tuple[T, ...]:
        """Empty before the first reading."""
        found = self.kept(session)
        return found[0] if found else ()


COURSES = StoredList(Mark.COURSES, KnownCourse)
REGIONS = StoredList(Mark.REGIONS, str)
COUNTRIES = StoredList(Mark.COUNTRIES, KnownCountry)
CLASSES = StoredList(Mark.RACE_CLASSES, str)
"""Race classes as published."""


def told_apart(session: Session, named: Sequence[Course]) -> tuple[Course, ...]:
    """The courses as shown: namesakes get their region, else country, else id: "Ascot (AUS)"."""
    names = {one.name for one in named if one.name}
    known = [one for one in COURSES.items(session) if one.name in names] if names else []
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
