"""A race read from any plausible shape, because the interface does not show a race's fields (Spec gap G2).

Flat or nested, in any case of names. An unknown value stays None: nothing is guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from bot.events.races import Course, OffTime, Race
from bot.events.reading.aliases import (
    COURSE,
    MEETING_ID,
    OFF,
    OFF_OWN,
    PLAIN_ID,
    RACE,
    RACE_DATE,
    RACE_ID,
    Field,
)
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, find, fold, identifier, text
from bot.events.reading.off_times import read_dated_clock, read_off, read_plain_date, spread_off
from bot.events.reading.record_objects import About, Part, parts_of
from bot.events.reading.runner_list import read_runners

T = TypeVar("T")

RACE_ID_SHAPE = re.compile("(?=.*[0-9])[A-Za-z]{1,8}_[A-Za-z0-9]{4,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The shape of an id in a text under `race`. A title or a number on the card would be another race's key."""


@dataclass(frozen=True)
class Sources:
    """The objects of a record, in the order in which a race's fields are looked for. The delivery's own are left out.

    `own`: the race's objects, or the meeting's of a meeting's event. `data`: other objects about the event. `others`:
    all but the own. `said`: the names of all fields.
    """

    own: list[Fields]
    data: list[Fields]
    meetings: list[Fields]
    courses: list[Fields]
    others: list[Fields]
    said: frozenset[str]

    def look(self, field: Field[T]) -> T | None:
        """The field's value: of the race's own objects by any name, else of the others by the names for anywhere."""
        if self.said.isdisjoint(field.names) and self.said.isdisjoint(field.own):
            return None
        for objects, names in ((self.own, field.names), (self.own, field.own), (self.others, field.names)):
            value = find(objects, names, field.read)
            if value is not None:
                return value
        return None


def read_race(record: Mapping[str, Any]) -> Race:
    """The race of a record of the service, in any shape."""
    holds_race = isinstance(fields_of(record).get("race"), dict)
    parts = parts_of(record, About.DATA if holds_race else About.RACE)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    read = {name: sources.look(field) for name, field in RACE.items()}
    read["abandoned"] = _says_abandoned(read["status"]) or read["abandoned"]
    return Race(
        race_id=text(race_id),
        meeting_id=text(meeting_id),
        course=course_of(sources),
        race_date=race_date_of(sources),
        off=off_of(sources),
        runners=read_runners(sources.own + sources.data),
        **read,
    )


def sources_of(parts: Sequence[Part], subject: About = About.RACE) -> Sources:
    """The parts in order for a race, or for a meeting as the subject.

    The record's top is the subject's own object only where no other object is: beside a race, the top's "status" or
    "time" may be the delivery's.
    """
    subjects = _of(parts, subject)
    racing = [part.fields for part in parts if part.about is About.DATA and part.is_racing]
    own = subjects + [fields for fields in racing if not subjects or fields is not parts[0].fields]
    own = own or _of(parts, About.DATA)
    held = {id(fields) for fields in own}
    data = [fields for fields in _of(parts, About.DATA) + _of(parts, About.OTHER) if id(fields) not in held]
    meetings, races = ([] if about is subject else _of(parts, about) for about in (About.MEETING, About.RACE))
    courses = _of(parts, About.COURSE)
    others = [*data, *meetings, *courses, *races]
    return Sources(own, data, meetings, courses, others, frozenset(chain.from_iterable(chain(own, others))))


def race_id_of(parts: Sequence[Part]) -> str | None:
    """The race's id: by a name of its own, as the plain id of a race's object, or as the whole value of `race`."""
    everywhere = [part.fields for part in parts]
    return (
        find(everywhere, RACE_ID, identifier)
        or find(_of(parts, About.RACE), PLAIN_ID, identifier)
        or find(everywhere, ("race",), _id_by_shape)
    )


def meeting_id_of(parts: Sequence[Part]) -> str | None:
    """The meeting's id: by a name of its own, or as the plain id of a meeting's object."""
    everywhere = [part.fields for part in parts if part.about is not About.DELIVERY]
    return find(everywhere, MEETING_ID, identifier) or find(_of(parts, About.MEETING), PLAIN_ID, identifier)


def region_of(sources: Sources) -> str | None:
    region: str | None = sources.look(RACE["region"])
    return region


def course_of(sources: Sources) -> Course:
    """The course, from an object, a name, or an id alone. A course's own country comes before any other country."""
    read = {name: next(filter(None, map(sources.look, ways)), None) for name, ways in COURSE.items()}
    (country,) = COURSE["country"]
    return Course(**{**read, "country": find(sources.courses, country.names, text) or read["country"]})


def race_date_of(sources: Sources) -> str | None:
    """The published date: the race's, the meeting's, the off time's, else a bare date elsewhere."""
    return (
        sources.look(RACE_DATE)
        or find(sources.meetings, RACE_DATE.own, RACE_DATE.read)
        or next(filter(None, map(read_dated_clock, _off_values(sources))), None)
        or find(sources.data, RACE_DATE.own, read_plain_date)
    )


def off_of(sources: Sources) -> OffTime:
    """The off time of the race's own objects, else of other objects; never of a meeting or a course."""
    return read_off(_off_values(sources))


def _off_values(sources: Sources) -> Iterator[Any]:
    for objects, names in ((sources.own, OFF + OFF_OWN), (sources.data, OFF)):
        for fields in objects:
            for name in names:
                if name in fields:
                    yield from spread_off(fields[name])


def _of(parts: Sequence[Part], about: About) -> list[Fields]:
    return [part.fields for part in parts if part.about is about]


def _id_by_shape(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and RACE_ID_SHAPE.fullmatch(value.strip()) else None


def _says_abandoned(status: str | None) -> bool:
    return fold((status or "")[:LONGEST_NAME]).startswith(("abandoned", "calledoff"))
