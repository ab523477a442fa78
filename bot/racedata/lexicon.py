"""The stored lists of the data service, looked up as people type: region codes, names of countries, courses.

An exact spelling comes first, then the only spelling that differs in letter case. Names of countries match in any case,
and stand for a published code or for nothing.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter
from sqlmodel import Session

from bot.db import named_values
from bot.db.named_values import Mark
from bot.events.races import Course, name_and_country, place_named
from bot.events.typed_text import folded
from bot.events.word_rows import word_rows
from bot.racedata.client.records import KnownCountry, KnownCourse

K = TypeVar("K")
T = TypeVar("T")

_ROWS = word_rows("bot.racedata", "countries.ini")

_COMMON = tuple((frozenset(codes.upper().split()), frozenset(names)) for codes, names in _ROWS["countries"].items())
"""The codes in use for a country, with its common names."""

_PARTS = {name: code.upper() for code, names in _ROWS["parts"].items() for name in names}


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
        return self.region_called(said) or (None if self._is_nearly_code(said) else _only(self.parts_of(said)))

    def region_called(self, typed: str) -> str | None:
        """The published code of a code, a name, or another code of the country, in any case; None if ambiguous."""
        if typed in self._codes:
            return typed
        if same := self._folded_codes.get(typed.casefold()):
            return _only(same)
        return self.region_named(typed) or self.region_named(typed.upper())

    def in_any_case(self, typed: str) -> str | None:
        """The only region's code, course's name, id or shortcode with this spelling in any letter case."""
        return _only(self._spellings.get(folded(typed)) or self._plain_spellings.get(bare(typed)) or ())

    def course_in_any_case(self, typed: str) -> str | None:
        found = self.in_any_case(typed)
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
        return folded(typed) in self._spelling

    def parts_of(self, typed: str) -> tuple[str, ...]:
        """The regions of courses with this country label ("Scotland")."""
        name = _plain(typed)
        whole = self._published(codes_of(name)) if name in _PARTS else None
        return tuple(dict.fromkeys(self._labels.get(name, ()))) or ((whole,) if whole else ())

    def is_country(self, typed: str) -> bool:
        """Whether the text names a country, with or without a region.

        The service's code of a country without a region counts. A code in use elsewhere does not.
        """
        if self._is_nearly_code(typed):
            return False
        if any(typed == one.country_code for one in self.countries if typed):
            return True
        return _plain(typed) in self._country_names and not any(typed in codes for codes, _ in _COMMON)

    def spelled(self, course: Course, region: str | None = None) -> Course:
        """The course under its name in the list, as people may type the name: feeds say "YORK (GB)", "Saint Cloud".

        Of the region alone, unless the names differ only in letter case. A country in the name becomes the course's.
        Without an id, "York Racecourse" is York, and "Bangor" the only course of the region that begins so.
        """
        if not course.name or course.name in self._names:
            return course
        plain, suffix = name_and_country(course.name)
        name, meant = self.course_in_any_case(course.name), self.region_meant(suffix or "")
        if name is None and meant and region in {None, meant}:
            name = self.course_in_any_case(plain)
            # "Newcastle (AUS)" is not Newcastle, though the list may lack Australia.
            if region is None and name and meant not in self._regions_of(name):
                return course
            course = course.model_copy(update={"name": plain, "country": course.country or suffix})
        region = region or self.region_meant(course.country or "")
        if name and region not in {None, *self._regions_of(name)} and folded(name) != folded(plain):
            name = None
        if name is None and region and course.course_id is None:
            place, core = place_named(course.name or "")
            name = _only(self._places.get((region, core), ()) or self._begun.get((region, place), ()))
        return course.model_copy(update={"name": name}) if name and name != course.name else course

    def _regions_of(self, name: str) -> set[str | None]:
        return {one.region for one in self._called[name.casefold()]}

    def lists_course(self, course: Course) -> bool:
        return course.course_id in self._ids or course.name in self._names

    def region_of_course(self, course: Course) -> str | None:
        """The region of a listed course, by id, else by name and country; else the region of the country.

        None if the region is not certain: the list may have the name in other countries alone.
        """
        if (of_id := self._called.get(course.course_id or "")) or not (self.courses and course.as_typed):
            return _only({one.region for one in of_id or ()})
        course = self.spelled(course)
        named, country = self._called.get((course.name or "").casefold(), []), course.country or ""
        meant, label = self.region_meant(country), _plain(country)
        there = [one for one in named or self.courses if one.region == meant or _plain(one.country or "") == label]
        if country and there:
            return _only({one.region for one in there})
        if meant:
            # A name that is listed elsewhere contradicts the country.
            return None if named else meant
        return None if course.course_id else _only({one.region for one in named})

    @property
    def names(self) -> Mapping[str, str]:
        published = {one.name: one.country_code for one in self.countries if one.name and one.country_code}
        found = {name: code for name, code in published.items() if code in self._codes}
        return {name.title(): code for name, code in self._by_name.items()} | found

    @cached_property
    def _spelling(self) -> dict[str, list[str]]:
        """The published names by folded name."""
        return grouped((folded(name), name) for name in self._names)

    @cached_property
    def _called(self) -> dict[str, list[KnownCourse]]:
        """The courses by id, and by casefolded name."""
        named = ((word, one) for one in self.courses for word in (one.course_id, (one.name or "").casefold()))
        return grouped((word, one) for word, one in named if word)

    @cached_property
    def _first_words(self) -> frozenset[str]:
        names = (*self.regions, *self._names, *self._country_names, *self._labels, *_PARTS)
        return frozenset(_plain(name).partition(" ")[0] for name in names if " " in _plain(name))

    @cached_property
    def _codes(self) -> frozenset[str]:
        return frozenset(self.regions)

    @cached_property
    def _folded_codes(self) -> dict[str, list[str]]:
        return grouped((code.casefold(), code) for code in self.regions)

    def _is_nearly_code(self, typed: str) -> bool:
        return typed.casefold() in self._folded_codes

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        # "YORK" is the name of York too, where the course's shortcode is YORK.
        codes = (word for word in self._ids if folded(word) not in self._spelling)
        spelled = [(folded(name), name) for name in (*self.regions, *self._names, *codes)]
        # "wolverhampton" is Wolverhampton (AW), and beside Ascot (AUS) "ascot" is Ascot.
        return grouped((name.partition(" (")[0], spelling) for name, spelling in spelled) | grouped(spelled)

    @cached_property
    def _plain_spellings(self) -> dict[str, list[str]]:
        """Names by their form without accents, hyphens and brackets: "saint cloud", "Compiegne", "Lingfield AW"."""
        return grouped((bare(name), name) for name in self._names)

    @cached_property
    def _places(self) -> dict[tuple[str | None, str], list[str]]:
        return grouped(((one.region, place_named(one.name)[1]), one.name) for one in self.courses if one.name)

    @cached_property
    def _begun(self) -> dict[tuple[str | None, str], list[str]]:
        """The names by region and first words."""
        named = ((one.region, place_named(one.name)[0], one.name) for one in self.courses if one.name)
        return grouped(
            ((region, place[: end.start()]), name) for region, place, name in named for end in re.finditer(" ", place)
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(course.name for course in self.courses if course.name)

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(word for one in self.courses for word in (one.course_id, one.shortcode) if word)

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        labelled = ((one.country, one.region) for one in self.courses if one.country and one.region in self._codes)
        return grouped((_plain(label), region) for label, region in labelled if region and label != region)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The data service's names come before common names."""
        found = {name: code for codes, names in _COMMON if (code := self._published(codes)) for name in names}
        own = {_plain(one.name): one.country_code for one in self.countries if one.name}
        return found | {name: code for name, code in own.items() if code in self._codes and code is not None}

    @cached_property
    def _by_code(self) -> dict[str, str]:
        return {other: code for codes, _ in _COMMON if (code := self._published(codes)) for other in codes}

    @cached_property
    def _country_names(self) -> frozenset[str]:
        own = (_plain(one.name) for one in self.countries if one.name)
        return frozenset(own).union(*(names for _, names in _COMMON))

    def _published(self, codes: frozenset[str]) -> str | None:
        """The published code among these; None if several are published."""
        return _only(codes & self._codes)


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    found = defaultdict[K, list[T]](list)
    for key, value in pairs:
        found[key].append(value)
    return dict(found)


def _only(found: Collection[T]) -> T | None:
    """The value if all values are equal, else None."""
    each = set(found)
    return each.pop() if len(each) == 1 else None


CourseNamed = tuple[str, str | None]
"""A course by name and region."""


def kept(session: Session, named: Iterable[CourseNamed] = ()) -> Lexicon:
    """The stored lists, but for the race classes. A list that was never read is empty.

    `named`: further courses for a list of courses that was read.
    """
    texts = REGIONS.text(session), COURSES.text(session), COUNTRIES.text(session)
    lists = _lexicon(*texts)
    unlisted: dict[str, CourseNamed] = {}
    for name, region in named if lists.courses else ():
        if not (lists.in_any_case(name) or lists.is_nearly_course(name)):
            unlisted.setdefault(folded(name), (name, region))
    return _lexicon(*texts, *unlisted.values()) if unlisted else lists


@lru_cache(maxsize=4)
def _lexicon(regions: str | None, courses: str | None, countries: str | None, *unlisted: CourseNamed) -> Lexicon:
    """One for the same lists: its tables are larger than the lists."""
    more = [KnownCourse(name=name, region=region) for name, region in unlisted]
    return Lexicon(REGIONS.read(regions), (*COURSES.read(courses), *more), COUNTRIES.read(countries))


def codes_of(word: str) -> frozenset[str]:
    """The codes in use for the country of a code or common name, in any letter case."""
    plain = _plain(word)
    whole = _PARTS.get(plain, word.upper())
    return next((codes for codes, names in _COMMON if whole in codes or plain in names), frozenset())


def bare(name: str) -> str:
    letters = unicodedata.normalize("NFKD", _plain(name))
    return "".join(one for one in letters if one.isalnum() or one == " ")


def _plain(name: str) -> str:
    if name.isascii() and name.isalnum():
        return name.casefold()
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

    def text(self, session: Session) -> str | None:
        """The list as stored; None before the first reading."""
        found = named_values.text(session, self._mark)
        return found[0] if found else None

    def read(self, text: str | None) -> tuple[T, ...]:
        return self._read(text) if text else ()

    def items(self, session: Session) -> tuple[T, ...]:
        """Empty before the first reading."""
        return self.read(self.text(session))


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
