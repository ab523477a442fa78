"""The data service's lists in one value, as deliveries need them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlmodel import Session

from bot.events.races import Course, Race
from bot.racedata import reference_store
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_store import KnownCountry, KnownCourse


@dataclass(frozen=True)
class Lists:
    """Regions (codes), courses and countries as last read. None: never read."""

    regions: frozenset[str] | None
    courses: tuple[KnownCourse, ...] | None
    countries: tuple[KnownCountry, ...] | None

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon(tuple(sorted(self.regions or ())), self.courses or (), self.countries or ())

    @cached_property
    def _spellings(self) -> dict[str, str | None]:
        """The published names by casefolded name. None for a name with two spellings in the list."""
        names = {course.name for course in self.courses or () if course.name}
        count = Counter(map(str.casefold, names))
        return {name.casefold(): name if count[name.casefold()] == 1 else None for name in names}

    def spelled(self, course: Course) -> Course:
        """The course with the list's spelling of the name: feeds shout "SARATOGA"."""
        name = self._spellings.get(course.name.casefold()) if course.name else None
        return course.model_copy(update={"name": name}) if name and name != course.name else course

    @cached_property
    def _regions(self) -> dict[str, set[str | None]]:
        """By a course's id, and by its casefolded name."""
        regions: dict[str, set[str | None]] = {}
        for course in self.courses or ():
            for word in filter(None, (course.course_id, (course.name or "").casefold())):
                regions.setdefault(word, set()).add(course.region)
        return regions

    def region_of_course(self, course: Course) -> str | None:
        """None if the list has several regions for the course's name."""
        found = self._regions.get(course.course_id or (course.name or "").casefold(), set())
        return next(iter(found)) if len(found) == 1 else None


def as_spelled(session: Session, races: Sequence[Race]) -> list[Race]:
    """The races, each with the list's spelling of the course's name."""
    lists = read_lists(session)
    return [race.model_copy(update={"course": lists.spelled(race.course)}) for race in races]


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
