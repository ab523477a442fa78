"""The stored lists of the data service, looked up as people type: region codes, names of countries, courses.

An exact spelling comes first, then the only spelling that differs in letter case. Names of countries match in any case,
and stand for a published code or for nothing.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter
from sqlmodel import Session

from bot.db import named_values
from bot.db.named_values import Mark
from bot.events.races import Course, Race
from bot.events.typed_text import folded
from bot.racedata.client.records import KnownCountry, KnownCourse

T = TypeVar("T")

# The codes in use for a country, with its common names. English words (NO, IN, IT) are left out: "NO racecards" does
# not mean Norway.
_COMMON: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(codes.split()), frozenset(name.strip() for name in names.split(",")))
    for codes, names in (
        ("GB GBR", "great britain, britain, british, united kingdom, uk"),
        ("IRE IE IRL", "ireland, irish, republic of ireland, eire, éire"),
        ("FR FRA", "france, french"),
        ("AUS AU", "australia, australian, aussie, oz"),
        ("HK HKG", "hong kong, hongkong"),
        ("USA US", "united states, united states of america, america, american, usa"),
        ("JPN JP JAP", "japan, japanese"),
        ("GER DE DEU", "germany, german"),
        ("UAE AE ARE", "united arab emirates, emirates, dubai, uae"),
        ("SAF RSA ZA ZAF", "south africa, south african"),
        ("ITY ITA", "italy, italian"),
        ("NZ NZL", "new zealand"),
        ("SWE SE", "sweden"),
        ("NOR", "norway"),
        ("DEN DK DNK", "denmark"),
        ("SIN SG SGP SNG", "singapore"),
        ("KSA SAU", "saudi arabia"),
        ("QAT QA", "qatar"),
        ("BHR BRN", "bahrain"),
        ("CAN CA", "canada"),
        ("ARG AR", "argentina"),
        ("BRZ BRA BR", "brazil"),
        ("CHI CL CHL", "chile"),
        ("TUR TR", "turkey, türkiye"),
        ("SPA ESP ES", "spain"),
        ("BEL", "belgium"),
        ("SWI SUI CH CHE", "switzerland"),
        ("IND", "india"),
        ("KOR KR", "south korea, korea"),
    )
)
_PARTS = dict.fromkeys(("england", "english", "scotland", "scottish", "wales", "welsh"), "GB")
"""Names without a region of their own, with a code of the surrounding country."""


@dataclass(frozen=True)
class Lexicon:
    regions: Sequence[str] = ()
    courses: Sequence[KnownCourse] = ()
    countries: Sequence[KnownCountry] = ()
    classes: Sequence[str] = ()

    def is_region(self, typed: str) -> bool:
        return typed in self._codes

    def region_named(self, typed: str) -> str | None:
        """None for a code in another letter case: a near miss is no name."""
        if self._is_nearly_code(typed):
            return None
        return self._by_name.get(_plain(typed)) or self._by_code.get(typed)

    def region_meant(self, said: str) -> str | None:
        """The published code that a delivery's words mean for certain, as a region or part of one."""
        parts = self.parts_of(said)
        return self.region_called(said) or (parts[0] if len(parts) == 1 and not self._is_nearly_code(said) else None)

    def region_called(self, typed: str) -> str | None:
        """The published code of a code, a name, or another code of the country, in any case; None if ambiguous."""
        if typed in self._codes:
            return typed
        if same := self._folded_codes.get(typed.casefold()):
            return same[0] if len(same) == 1 else None
        return self.region_named(typed) or self.region_named(typed.upper())

    def region_in_any_case(self, typed: str) -> str | None:
        found = self._spelled_in_any_case(typed)
        return found if found in self._codes else None

    def course_in_any_case(self, typed: str) -> str | None:
        found = self._spelled_in_any_case(typed)
        return found if found in self._names else None

    def has_course(self, typed: str) -> bool:
        return typed in self._names

    def has_course_word(self, typed: str) -> bool:
        """Whether a course has this exact name, id or shortcode."""
        return typed in self._names or typed in self._ids

    def has_name_from(self, word: str) -> bool:
        """Whether a name of several words begins with this word."""
        return _plain(word).partition(" ")[0] in self._first_words

    def is_nearly_course(self, typed: str) -> bool:
        """Whether a course has this name in any letter case."""
        return folded(typed) in self._folded_names

    def parts_of(self, typed: str) -> tuple[str, ...]:
        """The regions of courses with this country label ("Scotland")."""
        name = _plain(typed)
        found = self._labels.get(name, ())
        whole = self._region_of_group(_PARTS.get(name, ""))
        return tuple(found) or ((whole,) if whole else ())

    def is_country(self, typed: str) -> bool:
        """Whether the text names a country, with or without a region.

        The service's code of a country without a region counts. A code in use elsewhere does not.
        """
        if self._is_nearly_code(typed):
            return False
        if any(typed == one.country_code for one in self.countries if typed):
            return True
        return _plain(typed) in self._country_names and not any(typed in codes for codes, _ in _COMMON)

    def spelled(self, course: Course) -> Course:
        """The course with the list's spelling of the name: feeds shout "SARATOGA"."""
        name = self._spelling.get(course.name.casefold()) if course.name else None
        return course.model_copy(update={"name": name}) if name and name != course.name else course

    def region_of_course(self, course: Course) -> str | None:
        """None if the list has several regions for the course's name."""
        found = self._regions_of.get(course.course_id or (course.name or "").casefold(), set())
        return next(iter(found)) if len(found) == 1 else None

    @property
    def names(self) -> Mapping[str, str]:
        published = {one.name: one.country_code for one in self.countries if one.name and one.country_code}
        found = {name: code for name, code in published.items() if code in self._codes}
        return {name.title(): code for name, code in self._by_name.items()} | found

    @cached_property
    def _spelling(self) -> dict[str, str | None]:
        """The published names by casefolded name. None for a name with two spellings in the list."""
        count = Counter(map(str.casefold, self._names))
        return {name.casefold(): name if count[name.casefold()] == 1 else None for name in self._names}

    @cached_property
    def _regions_of(self) -> dict[str, set[str | None]]:
        """By a course's id, and by its casefolded name."""
        regions: dict[str, set[str | None]] = {}
        for course in self.courses:
            for word in filter(None, (course.course_id, (course.name or "").casefold())):
                regions.setdefault(word, set()).add(course.region)
        return regions

    @cached_property
    def _first_words(self) -> frozenset[str]:
        names = (*self.regions, *self._names, *self._country_names, *self._labels, *_PARTS)
        return frozenset(_plain(name).partition(" ")[0] for name in names if " " in _plain(name))

    @cached_property
    def _codes(self) -> frozenset[str]:
        return frozenset(self.regions)

    @cached_property
    def _folded_codes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for code in self.regions:
            found.setdefault(code.casefold(), []).append(code)
        return found

    def _is_nearly_code(self, typed: str) -> bool:
        return typed.casefold() in self._folded_codes

    def _spelled_in_any_case(self, typed: str) -> str | None:
        spellings = self._spellings.get(folded(typed)) or self._plain_spellings.get(_bare(typed), frozenset())
        return next(iter(spellings)) if len(spellings) == 1 else None

    @cached_property
    def _spellings(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for spelling in (*self.regions, *self._names, *self._ids):
            found.setdefault(folded(spelling), set()).add(spelling)
        bare: dict[str, set[str]] = {}
        for spelled, names in found.items():
            bare.setdefault(spelled.partition(" (")[0], set()).update(names)
        # "wolverhampton" is Wolverhampton (AW), and beside Ascot (AUS) "ascot" is Ascot.
        found = bare | found
        return {spelled: frozenset(spellings) for spelled, spellings in found.items()}

    @cached_property
    def _plain_spellings(self) -> dict[str, frozenset[str]]:
        """By names without accents, hyphens and brackets: "saint cloud", "Compiegne", "Lingfield AW"."""
        found: dict[str, set[str]] = {}
        for name in self._names:
            found.setdefault(_bare(name), set()).add(name)
        return {bare: frozenset(names) for bare, names in found.items()}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(course.name for course in self.courses if course.name)

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(word for one in self.courses for word in (one.course_id, one.shortcode) if word)

    @cached_property
    def _folded_names(self) -> frozenset[str]:
        return frozenset(map(folded, self._names))

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for course in self.courses:
            if course.country and course.region in self._codes and course.country != course.region:
                regions = found.setdefault(_plain(course.country), [])
                regions += [course.region] if course.region and course.region not in regions else []
        return found

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The data service's names come before common names."""
        found = {}
        for codes, names in _COMMON:
            if code := self._region_of_group(next(iter(codes))):
                found.update(dict.fromkeys(names, code))
        own = {_plain(one.name): one.country_code for one in self.countries if one.name}
        return found | {name: code for name, code in own.items() if code in self._codes and code is not None}

    @cached_property
    def _by_code(self) -> dict[str, str]:
        groups = [(codes, self._region_of_group(next(iter(codes)))) for codes, _ in _COMMON]
        return {other: code for codes, code in groups if code for other in codes}

    @cached_property
    def _country_names(self) -> frozenset[str]:
        own = (_plain(one.name) for one in self.countries if one.name)
        return frozenset(own).union(*(names for _, names in _COMMON))

    def _region_of_group(self, code: str) -> str | None:
        """The only published code in a code's group, else None."""
        found = [one for codes, _ in _COMMON if code in codes for one in codes if one in self._codes]
        return found[0] if len(found) == 1 else None


def kept(session: Session) -> Lexicon:
    """The stored lists, but for the race classes. A list that was never read is empty."""
    return Lexicon(
        REGIONS.items(session),
        COURSES.items(session),
        COUNTRIES.items(session),
    )


def as_spelled(session: Session, races: Sequence[Race]) -> list[Race]:
    """The races, each with the list's spelling of the course's name."""
    lists = kept(session)
    return [race.model_copy(update={"course": lists.spelled(race.course)}) for race in races]


def codes_of(word: str) -> frozenset[str]:
    """The codes in use for the country of a code or common name, in any letter case."""
    plain = _plain(word)
    whole = _PARTS.get(plain, word.upper())
    return next((codes for codes, names in _COMMON if whole in codes or plain in names), frozenset())


def _bare(name: str) -> str:
    letters = unicodedata.normalize("NFKD", _plain(name))
    return "".join(one for one in letters if one.isalnum() or one == " ")


def _plain(name: str) -> str:
    return " ".join(folded(name).replace(".", "").replace("-", " ").replace("&", " and ").split())


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
