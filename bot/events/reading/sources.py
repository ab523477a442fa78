"""The objects of a record by subject, and the facts that are read without other facts, each with its reader."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from bot.events.days import days_in
from bot.events.races import Course, OffTime, plain_name
from bot.events.reading.fields import NAMES_OF, Fields, Lazy, fields_of, first_of, fold, values_of
from bot.events.reading.json_values import MOST_NOTES, count, flag, identifier, text
from bot.events.reading.off_times import (
    days_between,
    off_by_standing,
    published_date,
    read_clock,
    read_clock_of_date,
    read_date,
    read_dated_clock,
    read_instant,
    read_plain_date,
    spread_off,
)
from bot.events.reading.record_objects import About, Part, kind_of, read_bare_id

_OFF_STANDINGS = ("off.scheduled", "off.plain", "off.off", "off.jump")

_UTC = ("utc", "gmt")
"""Ends the name of a time that is no time of the course."""

_CLOCK = re.compile("[0-9]{1,2}[:.][0-9]{2}")
_MINUTES, _IN_THE_AFTERNOON = re.compile("[0-9][:.][0-9]{2}"), re.compile("(?:1[3-9]|2[0-3])[:.][0-9]{2}(?::[0-9]{2})?")


COURSE_ID_SHAPE = re.compile("cr_[A-Za-z0-9]+")
"""Interface, Course."""

ENVELOPE_WORDS = frozenset({"race", "races", "meeting", "racecard", "result", "results", "event", "webhook"})

LETTERS_OF_A_COURSE = 3
"""At least. "C+3" is a rail position, and no course."""

SURFACES = frozenset(NAMES_OF["course.surfaces"])


def read_region(value: Any) -> str | None:
    """A number, and a cloud's "eu-west-1", is no code: a wrong region would hide an abandonment."""
    said = text(first_of([fields_of(value)], "text.region", identifier) if isinstance(value, dict) else value)
    return said if said and not re.fullmatch("(?:.*-)?[0-9]+", said) else None


def read_course_id(value: Any) -> str | None:
    if isinstance(value, dict):
        return text(first_of([fields_of(value)], "ids.in_course", identifier))
    return value.strip() if isinstance(value, str) and COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def read_course_name(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        return read_course_name(value[0])
    if isinstance(value, dict):
        return first_of([fields_of(value)], "text.course", read_course_name)
    said = text(value) if isinstance(value, str) else None
    if said is None or COURSE_ID_SHAPE.fullmatch(said) or fold(said) in SURFACES:
        return None
    return said if sum(map(str.isalpha, said)) >= LETTERS_OF_A_COURSE or not said.isascii() else None


def read_meetings_name(value: Any) -> str | None:
    """A list under `meeting` has meetings."""
    return None if isinstance(value, list) else read_course_name(value)


def read_words(value: Any) -> str | None:
    read = text(value)
    return None if read is None or kind_of(read) or read.casefold() in ENVELOPE_WORDS else read


def read_number(value: Any) -> str | None:
    """For example "5" for each of "R5", "5R" and "Race 5"."""
    read = read_words(value)
    return re.sub("^(?:race|r)? ?0*(?=[0-9])|(?<=[0-9])r$", "", read, flags=re.IGNORECASE) if read else None


def read_short_number(value: Any) -> str | None:
    """The number on the card in a whole value of the field `race`; None for a title."""
    found = re.match(r"(?:R|Race )?0?([0-9]{1,2})(?:$|\b ?[-:.](?![0-5][0-9]\b))", text(value) or "", re.IGNORECASE)
    return found[1] if found else None


def read_reason(value: Any) -> str | None:
    """None for "N/A" and "null"."""
    several = map(text, value[:MOST_NOTES]) if isinstance(value, list) else ()
    said = text(value) or ", ".join(filter(None, several))
    return said if flag(said) else None


FACT_READERS: Mapping[str, Callable[[Any], Any]] = {
    "race.region": read_region,
    "race.number": read_number,
    "race.reason": read_reason,
    "race.field_size": count,
    "race.date": read_date,
    "ids.course": text,
    "course.name": read_course_name,
    "course.track": read_course_name,
    "course.meeting": read_meetings_name,
    "course.country": text,
}
"""The readers of facts. Any other fact is read by `read_words`."""


@dataclass(frozen=True)
class Sources:
    """The objects of a record in the order of the search for a race's fields, without objects about the delivery.

    `own`: the race's, or the meeting's of a meeting's event. `data`: other objects about the event. `delivery` may
    tell the standing of a result, and nothing else of a race.
    """

    subject: About
    own: list[Fields]
    data: list[Fields]
    meetings: list[Fields]
    courses: list[Fields]
    others: list[Fields]
    delivery: list[Fields]

    def look(self, fact: str, read: Callable[[Any], Any] | None = None) -> Any:
        """The fact of the race's own objects by any name, else of the other objects."""
        read = read or FACT_READERS.get(fact, read_words)
        if (value := first_of(self.own, fact, read)) is None:
            value = first_of(self.own, f"{fact}.own", read)
        return first_of(self.others, fact, read) if value is None else value

    def values(self, fact: str) -> list[Any]:
        """Every value of a fact: of the race's own objects, by own names too, then of the event's other objects."""
        return [value for _, value in self._named(fact, self.own)]

    def _named(self, fact: str, by_own_name: list[Fields]) -> Iterator[tuple[str, Any]]:
        for objects, of in ((self.own, fact), (by_own_name, f"{fact}.own"), (self.data, fact)):
            yield from ((name, one[name]) for one in objects if of in one.facts for name in one.facts[of])

    @Lazy
    def course(self) -> Course:
        """A course's own country comes before any other country. A meeting without a course is called by its own name.

        Ids of another shape than the service's tell no two courses with names apart.
        """
        meetings = self.own if self.subject is About.MEETING else self.meetings
        # A track comes after a course, because the track may be "turf".
        names = filter(None, map(self.look, ("course.name", "course.track", "course.meeting")))
        name = next(names, None) or first_of(meetings, "text.meeting", read_course_name)
        in_names = (self.look(fact, read_course_id) for fact in ("course.name", "course.track"))
        course_id = self.look("ids.course") or next(filter(None, in_names), None)
        if name and course_id and not COURSE_ID_SHAPE.fullmatch(course_id):
            course_id = None
        country = first_of(self.courses, "course.country", text) or self.look("course.country")
        return Course(course_id=course_id, name=name, country=country)

    @Lazy
    def number(self) -> str | None:
        number: str | None = self.look("race.number")
        return number

    @Lazy
    def off(self) -> OffTime:
        """The date may hold the time too, where no other field has a time.

        Only the moment is kept where a UTC clock is of another day than the race: 00:30 UTC in America.
        """
        beside_dates = filter(None, map(read_clock_of_date, self.values("race.date")))
        called = (said for said in values_of(self.own, "objects.race") if _CLOCK.fullmatch(str(said)))
        off = off_by_standing([*self.off_values, [*beside_dates], [*called]])
        is_of_utc = off.off_at is not None and off.local_minute is None
        days = {self._day_of(off.off_at), f"{off.off_at:%Y-%m-%d}"} - {None} if is_of_utc else ()
        return OffTime(off_at=off.off_at) if len(days) > 1 else off

    @Lazy
    def off_values(self) -> list[list[Any]]:
        """The values by standing, local times first. Bare UTC times come last: races are called by the local time."""
        # Beside a race with a time, `time` is the winner's: {"race": {"off": "14:30"}, "result": {"time": "2:04"}}.
        timed = [one for one in self.own if "is.timed" in one.facts][:1]
        timed = [one for one in timed if "time" not in one or not _has_winners_time(one)]
        found = [
            [(name, value) for name, said in self._named(fact, timed) for value in spread_off(said)]
            for fact in _OFF_STANDINGS
        ]
        of_utc = [value for named in found for name, value in named if _is_clock_of_utc(name, value)]
        local = (sorted(named, key=lambda one: one[0].endswith(_UTC)) for named in found)
        return [*([value for name, value in named if not _is_clock_of_utc(name, value)] for named in local), of_utc]

    @Lazy
    def race_date(self) -> str | None:
        """An unreadable date stays as published: a race of an unread date is no race of today."""
        own = "race.date.own"
        return (
            self.look("race.date")
            or first_of(self.meetings, own, read_date)
            or next(filter(None, map(self._day_beside, chain.from_iterable(self.off_values))), None)
            or first_of(self.data, own, read_plain_date)
            or next((days[0] for one in (*self.own, *self.others) if len(days := days_between(one)) == 1), None)
            or self._day_of(self.off.off_at)
            or self.look("race.date", published_date)
            or first_of(self.meetings, own, published_date)
        )

    def _day_beside(self, off: Any) -> str | None:
        """The region's day of a text with day and time: in America 01:30 UTC is the day before. Midnight is no time."""
        return (read_clock_of_date(off) and self._day_of(read_instant(off))) or read_dated_clock(off)

    def _day_of(self, moment: datetime | None) -> str | None:
        """The day of a moment, if the day is the same in all zones of the region."""
        days = days_in(self.look("race.region") or self.course.country, moment) if moment else ()
        return next(iter(days)) if len(days) == 1 else None

    @Lazy
    def own_names(self) -> tuple[str, ...]:
        """The course or "", the meeting, the title and the date, by which a remark may call the race."""
        title, day = self.look("race.title"), read_plain_date(self.race_date)
        days = _spellings_of(day) if day else ()
        meetings = chain(self.values("course.meeting"), values_of(self.meetings, "text.meeting"))
        named = (plain_name(one) for one in map(read_meetings_name, meetings) if one)
        return (plain_name(self.course.name or ""), *filter(None, (*named, title, *days)))


@lru_cache(maxsize=64)
def _spellings_of(day: str) -> tuple[str, ...]:
    forms = [f"%d{end} {month}" for end in ("", "st", "nd", "rd", "th") for month in ("%B", "%b")]
    return tuple(f"{date.fromisoformat(day):{form}}".lstrip("0") for form in forms)


def _has_winners_time(fields: Fields) -> bool:
    """True for {"off": "14:30", "time": "1:32"}: the hours of the day have two digits."""
    offs = map(str, fields.of(*_OFF_STANDINGS))
    return _MINUTES.fullmatch(str(fields["time"])) is not None and any(map(_IN_THE_AFTERNOON.fullmatch, offs))


def _is_clock_of_utc(name: str, value: Any) -> bool:
    return name.endswith(_UTC) and read_clock(value) is not None


def sources_of(parts: Sequence[Part], subject: About = About.RACE) -> Sources:
    """The record's top is the subject's own object only as the last resort: its "time" may be the delivery's."""
    by_about = defaultdict[About, list[Fields]](list)
    for part in parts:
        by_about[part.about].append(part.fields)
    subjects, data = by_about.pop(subject, []), by_about[About.DATA]
    racing = (part for part in parts if part.about is About.DATA and part.is_racing)
    own = subjects + [part.fields for part in racing if not subjects or part.depth] or data
    held = {id(fields) for fields in own}
    data = [fields for fields in data + by_about[About.OTHER] if id(fields) not in held]
    meetings, courses = by_about[About.MEETING], by_about[About.COURSE]
    others = [*data, *meetings, *courses, *by_about[About.RACE]]
    return Sources(subject, own, data, meetings, courses, others, by_about[About.DELIVERY])


def race_id_of(parts: Sequence[Part]) -> str | None:
    """The id in a field for race ids, the plain id of a race's object, or an id that is the whole value of `race`."""
    everywhere = [part.fields for part in parts]
    return (
        first_of(everywhere, "ids.race", identifier)
        or first_of(_of(parts, About.RACE), "ids.plain", identifier)
        or first_of(everywhere, "objects.race", lambda value: None if read_clock(value) else read_bare_id(value))
    )


def meeting_id_of(parts: Sequence[Part]) -> str | None:
    everywhere = [part.fields for part in parts if part.about is not About.DELIVERY]
    return (
        first_of(everywhere, "ids.meeting", identifier)
        or first_of(_of(parts, About.MEETING), "ids.plain", identifier)
        or first_of(everywhere, "objects.meeting", read_bare_id)
    )


def _of(parts: Sequence[Part], about: About) -> list[Fields]:
    return [part.fields for part in parts if part.about is about]
