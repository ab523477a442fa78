"""One meeting's races and outcomes, out of all that is known of a day.

Races and events of other meetings are dropped before their JSON is parsed and before anything is merged. A claim reads
live messages while the database's writer waits.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from bot.events.event import RacingEvent
from bot.events.races import Course, Race
from bot.racedata.day_card import Outcomes, RaceOutcome, outcomes_of

_Stored = TypeVar("_Stored", Race, RacingEvent)


class DayRow(Generic[_Stored]):
    """A stored race or event, which is parsed once it is asked for. `read` gives None for an unreadable row."""

    def __init__(self, race_id: str | None, data: str, read: Callable[[], _Stored | None]) -> None:
        self.race_id = race_id
        self._data = data
        self._read: Callable[[], _Stored | None] = read

    @cached_property
    def folded(self) -> str:
        return self._data.casefold()

    @cached_property
    def value(self) -> _Stored | None:
        return self._read()

    @property
    def names_courses(self) -> bool:
        """Nothing but a course has a field of this name."""
        return '"name":' in self._data

    @property
    def has_course_ids(self) -> bool:
        return '"course_id":' in self._data


@dataclass(frozen=True)
class KnownDay:
    """All races of the race book and all stored events of a day, in all regions. `doubts`: of results, by event key."""

    races: Sequence[DayRow[Race]] = ()
    told: Sequence[DayRow[RacingEvent]] = ()
    doubts: Mapping[str, RaceOutcome] = field(default_factory=dict)


def folded_name(name: str | None) -> str:
    """For comparing names of courses: "ASCOT" and "Ascot" are one course."""
    return " ".join((name or "").split()).casefold()


def outcomes_at(day: KnownDay, course: Course, region: str | None) -> Outcomes:
    """The meeting at a course. A region of None becomes the only region that has the course on the day.

    A race of unknown region counts unless the course's name is known in another region on the day. An abandonment of
    unknown region or course always counts.
    """
    place = _Place(course)
    near = _near(day, place, region)
    regions = {race.region for race in _races_of(near) if race.region and place.has(race.course)}
    if region is None and len(regions) == 1:
        (region,) = regions
    chosen = _Chosen(place, region, is_only=regions <= {region})
    races = [chosen.put_here(race) for race in _values(near.races) if chosen.has(race)]
    chosen.ids = frozenset(race.race_id for race in races if race.race_id)
    chosen.ids_elsewhere = frozenset(row.race_id for row in day.races if row.race_id) - chosen.ids
    near_keys = set(map(id, near.told))
    by_id = [row for row in day.told if id(row) not in near_keys and row.race_id in chosen.ids]
    told = [chosen.event_here(event) for event in _values([*near.told, *by_id]) if chosen.has_event(event)]
    return outcomes_of(races, told, region, place.course, day.doubts)


def _near(day: KnownDay, place: "_Place", region: str | None) -> KnownDay:
    """The rows that name the course, or whose course may be the course. The place learns the course's other names."""
    while True:
        near = KnownDay(
            [row for row in day.races if place.is_named_in(row)],
            [row for row in day.told if place.is_named_in(row) or place.may_be_in(row)],
        )
        if not place.learn(race.course for race in _races_of(near) if region is None or race.region in {region, None}):
            return near


def _values(rows: Iterable[DayRow[_Stored]]) -> Iterator[_Stored]:
    return (row.value for row in rows if row.value is not None)


def _races_of(day: KnownDay) -> Iterator[Race]:
    yield from _values(day.races)
    for event in _values(day.told):
        yield event.race
        yield from event.races


class _Place:
    """A course with all ids and names that races give to the course."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._ids: set[str] = set()
        self._names: set[str] = set()
        self._add(course)

    def learn(self, courses: Iterable[Course]) -> bool:
        """Whether a course with an id and a name adds another id or name."""
        before = len(self._ids) + len(self._names)
        for one in {(one.course_id, one.name): one for one in courses}.values():
            if self.has(one):
                self._add(one)
        return len(self._ids) + len(self._names) > before

    def _add(self, course: Course) -> None:
        if course.course_id:
            self._ids.add(course.course_id)
        if name := folded_name(course.name):
            self._names.add(name)
        missing = {part: getattr(course, part) for part in ("course_id", "name") if not getattr(self.course, part)}
        self.course = self.course.model_copy(update=missing)

    def has(self, course: Course) -> bool:
        return course.course_id in self._ids or folded_name(course.name) in self._names

    def is_named_in(self, row: DayRow[Race] | DayRow[RacingEvent]) -> bool:
        return any(json.dumps(word, ensure_ascii=False)[1:-1].casefold() in row.folded for word in self._words)

    def may_be_in(self, row: DayRow[RacingEvent]) -> bool:
        return not ((row.names_courses and self._names) or (row.has_course_ids and self._ids))

    @property
    def _words(self) -> set[str]:
        return self._ids | self._names

    def may_have(self, course: Course) -> bool:
        comparable = (course.course_id and self._ids) or (course.name and self._names)
        return self.has(course) or not comparable


@dataclass
class _Chosen:
    """`is_only`: no other region has the course on the day. `ids`: of the meeting's races in the race book."""

    place: _Place
    region: str | None
    is_only: bool
    ids: frozenset[str] = field(default=frozenset())
    ids_elsewhere: frozenset[str] = field(default=frozenset())

    def has(self, race: Race) -> bool:
        is_of_region = race.region == self.region or (race.region is None and self.is_only)
        return is_of_region and self.place.has(race.course)

    def has_event(self, event: RacingEvent) -> bool:
        race = event.race
        if any(one.race_id in self.ids for one in (race, *event.races)) or self.has(race):
            return True
        if not event.is_abandonment or race.race_id in self.ids_elsewhere:
            return False
        return race.region in {None, self.region} and self.place.may_have(race.course)

    def put_here(self, race: Race) -> Race:
        """Under the meeting's own course and region, however the race is published."""
        return race.model_copy(update={"course": self.place.course, "region": self.region})

    def event_here(self, event: RacingEvent) -> RacingEvent:
        def put(race: Race) -> Race:
            return self.put_here(race) if race.race_id in self.ids or self.place.has(race.course) else race

        return event.model_copy(update={"race": put(event.race), "races": tuple(map(put, event.races))})
