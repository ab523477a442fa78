"""Races as published. A field that did not come is None or empty."""

import re
from datetime import datetime
from operator import itemgetter

from pydantic import BaseModel, ConfigDict

SETTLED_STATUSES = frozenset(
    {"result", "results", "resulted", "settled", "official", "finished", "final", "complete", "completed", "weighedin"}
)
"""In letters alone, as all words below."""

VOID_STATUSES = frozenset({"void", "voided", "racevoid", "racevoided", "declaredvoid", "racedeclaredvoid", "norace"})
"""A void race has no winner: earlier places no longer count."""

WALKOVER_STATUSES = frozenset({"walkover", "walkedover", "wo"})

NON_RUNNER_POSITIONS = frozenset({"nr", "nonrunner", "withdrawn", "scratched"})

_PLACE = re.compile(r"((?:=|tied|t|joint|dead[ -]?heat|dh)[ .-]*)?([0-9]{1,6})", re.IGNORECASE)
"""A place, shared or not: "2", "=2", "T2", "dh 2"."""

_SHARED_AFTER = re.compile(r"=|tied|joint|dead|dh", re.IGNORECASE)
"""Behind a shared place: "2=", "2nd (dead heat)"."""

_COUNTRY = re.compile(r" *\([A-Za-z]{2,3}\)$")

APOSTROPHES = str.maketrans("", "", "'\u2019\u2018\u201b\u02bc\u02bb\u2032\uff07`\u00b4")
"""As feeds and phones write an apostrophe, with modifier letters and the prime."""

FEW_MINUTES = 5
"""Larger moves of a race of today are a new message."""

_CLOCK = re.compile(r"([0-9]{1,2})[:.]([0-9]{2})(?::[0-9]{2})? ?([ap])?\.?(?:m\.?)?", re.IGNORECASE | re.ASCII)

OF_COURSE = "course."


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Course(Value):
    """`country` is the course's label, which can differ from the region's code."""

    course_id: str | None = None
    name: str | None = None
    country: str | None = None


class OffTime(Value):
    """`text`: as published. `off_at` (aware, UTC): only with an offset, because the zone is unknown (Spec gap G16)."""

    text: str | None = None
    off_at: datetime | None = None

    @property
    def minute_of_day(self) -> int | None:
        return _minute_of_day(self.text)

    def minutes_from(self, other: "OffTime") -> float | None:
        """None if the two can't be compared."""
        if self.off_at and other.off_at:
            return abs((self.off_at - other.off_at).total_seconds()) / 60
        first, second = _minute_of_day(self.text), _minute_of_day(other.text)
        return abs(first - second) if first is not None and second is not None else None

    def is_same_time(self, other: "OffTime") -> bool:
        """True for "14:30" and "2:30 pm"."""
        first, second = _minute_of_day(self.text), _minute_of_day(other.text)
        if first is not None and second is not None and first != second:
            return False
        return self.minutes_from(other) == 0


class Runner(Value):
    """`position` is text: "1", "2=", "PU". `position_reason`: "Weighed in light". `beaten`: a distance."""

    horse: str | None = None
    position: str | None = None
    position_reason: str | None = None
    number: str | None = None
    draw: str | None = None
    jockey: str | None = None
    trainer: str | None = None
    starting_price: str | None = None
    official_rating: str | None = None
    beaten: str | None = None

    @property
    def is_out(self) -> bool:
        return letters(self.position) in NON_RUNNER_POSITIONS

    @property
    def finishing_position(self) -> int | None:
        """The place of "2=" and "=2" is 2, of "PU" None."""
        return finishing_position(self.position)


class Race(Value):
    """A race, or the fields in common to a meeting's races.

    `race_date` is the published date, "YYYY-MM-DD" (Spec gap G16). `said_region`: the delivery's words for the region;
    `region` is then their code, or None. `off_told`: the off time of the last new message, after moves of a few
    minutes. `from_book`: fields from the race book or another delivery ("title", "course.name").
    """

    race_id: str | None = None
    meeting_id: str | None = None
    region: str | None = None
    said_region: str | None = None
    course: Course = Course()
    race_date: str | None = None
    off: OffTime = OffTime()
    off_told: OffTime | None = None
    title: str | None = None
    number: str | None = None
    race_class: str | None = None
    race_type: str | None = None
    distance: str | None = None
    going: str | None = None
    surface: str | None = None
    status: str | None = None
    abandoned: bool | None = None
    reason: str | None = None
    field_size: int | None = None
    winning_time: str | None = None
    runners: tuple[Runner, ...] = ()
    from_book: tuple[str, ...] = ()

    def as_delivered(self) -> "Race":
        if not self.from_book:
            return self
        names = {name.removeprefix(OF_COURSE) for name in self.from_book if name.startswith(OF_COURSE)}
        course = self.course.model_copy(update=dict.fromkeys(names))
        left_out = {name: Race.model_fields[name].default for name in self.from_book if not name.startswith(OF_COURSE)}
        return self.model_copy(update={**left_out, "course": course, "from_book": ()})

    @property
    def is_settled(self) -> bool:
        return is_settled_status(self.status) or self.has_places

    @property
    def is_void(self) -> bool:
        return letters(self.status) in VOID_STATUSES

    @property
    def is_lost(self) -> bool:
        """True for a race that is marked abandoned and has no placed runner."""
        return bool(self.abandoned) and not self.has_places

    @property
    def has_places(self) -> bool:
        return any(runner.finishing_position for runner in self.runners)

    def placed(self) -> tuple[Runner, ...]:
        places = ((runner.finishing_position, runner) for runner in self.runners)
        finished = sorted(((place, runner) for place, runner in places if place is not None), key=itemgetter(0))
        return tuple(runner for _, runner in finished)


def finishing_position(position: str | None) -> int | None:
    found = _PLACE.match((position or "").strip())
    return int(found[2]) if found else None


def is_shared(position: str | None) -> bool:
    """True for "1=" and "T2"."""
    said = (position or "").strip()
    found = _PLACE.match(said)
    return bool(found and (found[1] or _SHARED_AFTER.search(said, found.end())))


def letters(status: str | None) -> str:
    """The letters alone: "weighedin" of "Weighed In" and "weighed_in"."""
    return "".join(filter(str.isalpha, status or "")).casefold()


def is_settled_status(status: str | None) -> bool:
    return letters(status) in SETTLED_STATUSES


def plain_name(horse: str) -> str:
    """Without the country of birth and apostrophes, because not every delivery has these."""
    return _COUNTRY.sub("", " ".join(horse.translate(APOSTROPHES).split())) or horse


def _minute_of_day(text: str | None) -> int | None:
    found = _CLOCK.fullmatch((text or "").strip())
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").casefold()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour * 60 + minute


def is_same_course(one: Course, other: Course) -> bool:
    """By id if both have an id, else by exact name."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and one.name == other.name


def may_be_same_course(one: Course, other: Course) -> bool:
    """True unless an id or a name of both differs."""
    comparable = (one.course_id and other.course_id) or (one.name and other.name)
    return is_same_course(one, other) or not comparable
