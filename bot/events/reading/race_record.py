"""A race read from any plausible shape, because the fields of a race are not shown (Spec gap G2).

Flat or nested, whatever the case of the names. What is not recognised stays None: nothing is guessed. Some names are
read only in the race's own object ("status", "time"), because elsewhere they speak of something else.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from bot.events.races import Course, OffTime, Race
from bot.events.reading.json_values import LONGEST_NAME, Fields, count, fields_of, find, flag, fold, identifier, text
from bot.events.reading.off_times import read_date, read_dated_clock, read_off, read_plain_date, spread_off
from bot.events.reading.record_objects import About, Part, kind_of, parts_of
from bot.events.reading.runner_list import read_runners

T = TypeVar("T")


class Names(NamedTuple):
    """The names of a field: those that are plain anywhere, and those that are plain only in the race's own object."""

    anywhere: tuple[str, ...]
    own: tuple[str, ...] = ()


PLAIN_ID = ("id", "uid", "uuid", "guid", "identifier")
RACE_ID = ("raceid", "raceuid", "raceuuid", "raceguid", "raceidentifier", "racekey", "raceref", "racereference")
MEETING_ID = ("meetingid", "meetinguid", "meetinguuid", "meetingkey", "fixtureid")

REGION = Names(("regioncode", "region", "jurisdictioncode", "jurisdiction"))
COURSE = Names(("course", "coursename", "venue", "venuename", "racecourse", "racecoursename"))
TRACK = Names(("track", "trackname"))
"""A course too, but looked for last: some say by it what the track is made of."""
COURSE_ID = Names(("courseid", "courseuid", "coursekey", "venueid", "racecourseid", "trackid"))
COURSE_NAME = ("name", "coursename", "venuename", "trackname", "displayname", "title", "label")
COUNTRY = Names(("coursecountry", "country"))
RACE_DATE = Names(("racedate", "meetingdate", "raceday"), ("date", "day"))
OFF = (
    *("off", "offtime", "offat", "offdatetime", "offdt", "scheduledoff", "scheduledofftime", "starttime", "startsat"),
    *("startat", "scheduledstart", "scheduledtime", "posttime", "racetime", "racedatetime"),
)
OFF_OWN = ("time", "start", "datetime")
STATUS = Names(("racestatus",), ("status", "state"))
ABANDONED = Names(("raceabandoned", "isabandoned"), ("abandoned",))
REASON = Names(("abandonmentreason", "abandonedreason", "abandonreason", "reasonabandoned", "reason"), ("cause",))
FIELD_SIZE = Names(("fieldsize", "runnercount", "runnerscount", "numrunners", "numberofrunners"), ("runners",))
TEXTS = {
    "title": Names(("racename", "racetitle"), ("title", "name")),
    "number": Names(("racenumber", "raceno", "racenum"), ("number", "no")),
    "race_class": Names(("raceclass",), ("class",)),
    "race_type": Names(("racetype", "runtype"), ("type",)),
    "distance": Names(("distance", "racedistance", "distancetext"), ("dist",)),
    "going": Names(("going", "goingdescription", "trackcondition")),
    "surface": Names(("surface", "tracksurface")),
    "winning_time": Names(("winningtime", "racewinningtime", "winnertime", "wintime")),
}
COURSE_ID_SHAPE = re.compile("cr_[A-Za-z0-9]+")
"""Interface, Course."""

RACE_ID_SHAPE = re.compile("(?=.*[0-9])[A-Za-z]{1,8}_[A-Za-z0-9]{4,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What a text under `race` must look like to be an id: a title or a number on the card would be another race's key."""

NO_RACE_TYPE = frozenset({"race", "races", "meeting", "racecard", "result", "results", "event", "webhook"})
"""Words of envelopes, which say in `type` what an object is."""


class Sources(NamedTuple):
    """The objects of a record in the order in which a race's fields are looked for.

    `own`: the race's own. `data`: others about the event. `meetings`, `courses`: about those. `races`: those of a
    race where the meeting is the subject. Objects about the delivery are in none. `said` has the names of all fields
    in these objects.
    """

    own: list[Fields]
    data: list[Fields]
    meetings: list[Fields]
    courses: list[Fields]
    races: list[Fields]
    said: frozenset[str]

    @property
    def others(self) -> list[Fields]:
        """All but the race's own."""
        return self.data + self.meetings + self.courses + self.races


def read_race(record: Mapping[str, Any]) -> Race:
    """The race of a record of the service, whatever its shape."""
    holds_race = isinstance(fields_of(record).get("race"), dict)
    parts = parts_of(record, About.DATA if holds_race else About.RACE)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    """The race of the sources, under ids that the caller found."""
    status = look(sources, STATUS, text)
    return Race(
        race_id=text(race_id),
        meeting_id=text(meeting_id),
        region=region_of(sources),
        course=course_of(sources),
        race_date=race_date_of(sources),
        off=off_of(sources),
        status=status,
        abandoned=_says_abandoned(status) or look(sources, ABANDONED, flag),
        reason=look(sources, REASON, text),
        field_size=look(sources, FIELD_SIZE, count),
        runners=read_runners(sources.own + sources.data),
        **{name: look(sources, names, _plain_text) for name, names in TEXTS.items()},
    )


def sources_of(parts: Sequence[Part], subject: About = About.RACE) -> Sources:
    """The parts in order for a race, or for a meeting as the subject.

    A record's own top counts as the subject's object only where there is no other: beside a race, its "status" or
    "time" may be the delivery's.
    """
    subjects = of(parts, subject)
    racing = [part.fields for part in parts if part.about is About.DATA and part.is_racing]
    own = subjects + [fields for fields in racing if not subjects or fields is not parts[0].fields]
    own = own or of(parts, About.DATA)
    data = [fields for fields in of(parts, About.DATA) + of(parts, About.OTHER) if not _holds(own, fields)]
    meetings, races = ([] if about is subject else of(parts, about) for about in (About.MEETING, About.RACE))
    courses = of(parts, About.COURSE)
    said = frozenset(chain.from_iterable(chain(own, data, meetings, courses, races)))
    return Sources(own, data, meetings, courses, races, said)


def of(parts: Sequence[Part], about: About) -> list[Fields]:
    """The fields of the parts that are about that, the shallower first."""
    return [part.fields for part in parts if part.about is about]


def look(sources: Sources, names: Names, read: Callable[[Any], T | None]) -> T | None:
    """The field's value: from the race's own objects by any name, else from the others by the plain ones."""
    if sources.said.isdisjoint(names.anywhere) and sources.said.isdisjoint(names.own):
        return None
    value = find(sources.own, names.anywhere, read)
    if value is None and names.own:
        value = find(sources.own, names.own, read)
    return find(sources.others, names.anywhere, read) if value is None else value


def race_id_of(parts: Sequence[Part]) -> str | None:
    """The race's id: by its own name anywhere, as the plain id of a race's object, or as all that is said of `race`."""
    everywhere = [part.fields for part in parts]
    return (
        find(everywhere, RACE_ID, identifier)
        or find(of(parts, About.RACE), PLAIN_ID, identifier)
        or find(everywhere, ("race",), _id_by_shape)
    )


def meeting_id_of(parts: Sequence[Part]) -> str | None:
    """The meeting's id, by its own name anywhere or as the plain id of a meeting's object."""
    everywhere = [part.fields for part in parts if part.about is not About.DELIVERY]
    return find(everywhere, MEETING_ID, identifier) or find(of(parts, About.MEETING), PLAIN_ID, identifier)


def region_of(sources: Sources) -> str | None:
    """The region's code. A country, or a region's display name, is another thing and is not taken for it."""
    return look(sources, REGION, _read_region)


def course_of(sources: Sources) -> Course:
    """The course, from an object, a name, or an id alone."""
    course_id = look(sources, COURSE_ID, text) or look(sources, COURSE, _course_id) or look(sources, TRACK, _course_id)
    name = look(sources, COURSE, _course_name) or look(sources, TRACK, _course_name)
    country = find(sources.courses, COUNTRY.anywhere, text) or look(sources, COUNTRY, text)
    return Course(course_id=course_id, name=name, country=country)


def race_date_of(sources: Sources) -> str | None:
    """The published date: the race's, the meeting's, the date part of the off time, else a bare date near by."""
    return (
        look(sources, RACE_DATE, read_date)
        or find(sources.meetings, RACE_DATE.own, read_date)
        or next(filter(None, map(read_dated_clock, _off_values(sources))), None)
        or find(sources.data, RACE_DATE.own, read_plain_date)
    )


def off_of(sources: Sources) -> OffTime:
    """The off time, from the race's own objects before the others; never a meeting's or a course's."""
    return read_off(_off_values(sources))


def _off_values(sources: Sources) -> Iterator[Any]:
    for objects, names in ((sources.own, OFF + OFF_OWN), (sources.data, OFF)):
        for fields in objects:
            for name in names:
                if name in fields:
                    yield from spread_off(fields[name])


def _read_region(value: Any) -> str | None:
    """A code. Of an object its code, or an id that is no mere number: a wrong region would hide an abandonment."""
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, dict):
        return None
    code = find([fields_of(value)], ("regioncode", "code", "region", "id"), identifier)
    return text(code) if code and not code.isdigit() else None


def _id_by_shape(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and RACE_ID_SHAPE.fullmatch(value.strip()) else None


def _course_id(value: Any) -> str | None:
    """The id in a course's value: of an object its id, of a text the text if it has the shape of an id."""
    if isinstance(value, dict):
        return text(find([fields_of(value)], COURSE_ID.anywhere + PLAIN_ID, identifier))
    return value.strip() if isinstance(value, str) and COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def _course_name(value: Any) -> str | None:
    if isinstance(value, dict):
        return find([fields_of(value)], COURSE_NAME, _course_name)
    return text(value) if isinstance(value, str) and not COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def _plain_text(value: Any) -> str | None:
    """Text that is no word of an envelope: not an event's name, not "race"."""
    read = text(value)
    return None if read is None or kind_of(read) or read.casefold() in NO_RACE_TYPE else read


def _says_abandoned(status: str | None) -> bool:
    return fold((status or "")[:LONGEST_NAME]).startswith(("abandoned", "calledoff"))


def _holds(objects: list[Fields], fields: Fields) -> bool:
    return any(held is fields for held in objects)
