"""The data service's lists in one value, as deliveries need them."""

from dataclasses import dataclass, field
from functools import cached_property

from sqlmodel import Session

from bot.events.races import Course
from bot.racedata import reference_store
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_store import KnownCountry, KnownCourse


@dataclass(frozen=True)
class Lists:
    """Regions (codes), courses and countries as last read. None: never read."""

    regions: frozenset[str] | None
    courses: tuple[KnownCourse, ...] | None
    countries: tuple[KnownCountry, ...] | None
    _regions_of_courses: dict[Course, str | None] = field(default_factory=dict)

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon(tuple(sorted(self.regions or ())), self.courses or (), self.countries or ())

    def region_of_course(self, course: Course) -> str | None:
        if course not in self._regions_of_courses:
            self._regions_of_courses[course] = reference_store.region_among(self.courses or (), course)
        return self._regions_of_courses[course]


def read_lists(session: Session) -> Lists:
    regions, courses, countries = (
        reference_store.regions(session),
        reference_store.courses(session),
        reference_store.countries(session),
    )
    return Lists(
        frozenset(regions[0]) if regions else None,
        courses[0] if courses else None,
        countries[0] if countries else None,
    )
