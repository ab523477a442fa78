"""A race read from any plausible shape, because the interface does not show a race's fields (Spec gap G2).

An unknown value stays None: nothing is guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from bot.events.races import Course, OffTime, Race
from bot.events.reading import aliases
from bot.events.reading.aliases import Field
from bot.events.reading.json_values import LONGEST_NAME, Fields, fields_of, find, fold, identifier, text
from bot.events.reading.off_times import read_dated_clock, read_off, read_plain_date, spread_off
from bot.events.reading.record_objects import About, Part, parts_of
from bot.events.reading.runner_list import read_runners

T = TypeVar("T")

RACE_ID_SHAPE = re.compile("(?=.*[0-9])[A-Za-z]{1,8}_[A-Za-z0-9]{4,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Of a text under `race`. A title or a number on the card would be another race's key."""


@dataclass(frozen=True)
class Sources:
    """The objects of a record in the order of the search for a race's fields, without the delivery's.

    `own`: the race's, or the meeting's of a meeting's event. `data`: other objects about the event. `said`: the names
    of all fields.
    """

    own: list[Fields]
    data: list[Fields]
    meetings: list[Fields]
    courses: list[Fields]
    others: list[Fields]
    said: frozenset[str]

    def look(self, field: Field[T]) -> T | None:
        """Of the race's own objects by any name, else of the others by `names`."""
        if self.said.isdisjoint(field.names) and self.said.isdisjoint(field.own):
            return None
        for objects, names in ((self.own, field.names), (self.own, field.own), (self.others, field.names)):
            value = find(objects, names, field.read)
            if value is not None:
                return value
        return None


def read_race(record: Mapping[str, Any]) -> Race:
    holds_race = isinstance(fields_of(record).get("race"), dict)
    parts = parts_of(record, About.DATA if holds_race else About.RACE)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    read = {name: sources.look(field) for name, field in aliases.RACE_FIELDS.items()}
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
    """The record's top is the subject's own object only as the last resort: its "time" may be the delivery's."""
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
    """By a name of its own, as the plain id of a race's object, or as the whole value of `race`."""
    everywhere = [part.fields for part in parts]
    return (
        find(everywhere, aliases.RACE_ID, identifier)
        or find(_of(parts, About.RACE), aliases.PLAIN_ID, identifier)
        or find(everywhere, ("race",), _id_by_shape)
    )


def meeting_id_of(parts: Sequence[Part]) -> str | None:
    everywhere = [part.fields for part in parts if part.about is not About.DELIVERY]
    return find(everywhere, aliases.MEETING_ID, identifier) or find(
        _of(parts, About.MEETING), aliases.PLAIN_ID, identifier
    )


def region_of(sources: Sources) -> str | None:
    region: str | None = sources.look(aliases.RACE_FIELDS["region"])
    return region


def course_of(sources: Sources) -> Course:
    """A course's own country comes before any other country."""
    read = {name: next(filter(None, map(sources.look, ways)), None) for name, ways in aliases.COURSE_FIELDS.items()}
    (country,) = aliases.COURSE_FIELDS["country"]
    return Course(**{**read, "country": find(sources.courses, country.names, text) or read["country"]})


def race_date_of(sources: Sources) -> str | None:
    return (
        sources.look(aliases.RACE_DATE)
        or find(sources.meetings, aliases.RACE_DATE.own, aliases.RACE_DATE.read)
        or next(filter(None, map(read_dated_clock, _off_values(sources))), None)
        or find(sources.data, aliases.RACE_DATE.own, read_plain_date)
    )


def off_of(sources: Sources) -> OffTime:
    return read_off(_off_values(sources))


def _off_values(sources: Sources) -> Iterator[Any]:
    for objects, names in ((sources.own, aliases.OFF + aliases.OFF_OWN), (sources.data, aliases.OFF)):
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
