"""Races as the bot knows them: what was published, nothing added. A field that did not come is None or empty."""

import re
from datetime import datetime
from operator import itemgetter

from pydantic import BaseModel, ConfigDict

SETTLED_STATUSES = frozenset(
    {"result", "results", "resulted", "settled", "official", "finished", "final", "complete", "completed", "weighedin"}
)
"""What a settled race is plainly called, in letters alone."""

VOID_STATUSES = frozenset({"void", "voided", "racevoid", "racevoided", "declaredvoid", "racedeclaredvoid", "norace"})
"""What a race without a winner is called, in letters alone: whatever was placed before no longer counts."""

WALKOVER_STATUSES = frozenset({"walkover", "walkedover", "wo"})
"""What a race with a single runner is called, in letters alone."""

NON_RUNNER_POSITIONS = frozenset({"nr", "nonrunner", "withdrawn", "scratched"})
"""What stands in the place of a position for a horse that does not run, in letters alone."""

_PLACE = re.compile(r"((?:=|tied|t|joint|dead[ -]?heat|dh)[ .-]*)?([0-9]{1,6})", re.IGNORECASE)
"""A place, after what some write before it where it is shared: "2", "2=", "=2", "T2", "dh 2"."""

_SHARED_AFTER = re.compile(r"=|tied|joint|dead|dh", re.IGNORECASE)
"""How some write after a place that it is shared: "2=", "2nd (dead heat)"."""

_COUNTRY = re.compile(r" *\([A-Za-z]{2,3}\)$")
"""The country of birth after a horse's name: "Blue Moon (IRE)"."""

_APOSTROPHES = str.maketrans("", "", "'\u2019\u2018`\u00b4")

FEW_MINUTES = 5
"""A race of today that moves by more minutes than this is told by a new message."""

_CLOCK = re.compile(r"([0-9]{1,2})[:.]([0-9]{2})(?::[0-9]{2})? ?([ap])?\.?(?:m\.?)?", re.IGNORECASE | re.ASCII)

OF_COURSE = "course."
"""How the names of a course's fields begin in `Race.from_book`."""


class Value(BaseModel):
    """A frozen value that can be stored as JSON and read back unchanged."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Course(Value):
    """Where a race is run. `country` is the course's label; it can differ from the region's code."""

    course_id: str | None = None
    name: str | None = None
    country: str | None = None


class OffTime(Value):
    """When a race starts.

    `text` is the time as published and is what is shown; `off_at` (aware, UTC) is there only where an offset came with
    it, because the zone of the service's times is not specified (Spec gap G16).
    """

    text: str | None = None
    off_at: datetime | None = None

    @property
    def minute_of_day(self) -> int | None:
        """The minutes since midnight of the published time; None where the text is no plain time of day."""
        return _minute_of_day(self.text)

    def minutes_from(self, other: "OffTime") -> float | None:
        """How many minutes lie between the two times; None where nothing that both say can be compared."""
        if self.off_at and other.off_at:
            return abs((self.off_at - other.off_at).total_seconds()) / 60
        first, second = _minute_of_day(self.text), _minute_of_day(other.text)
        return abs(first - second) if first is not None and second is not None else None

    def is_same_time(self, other: "OffTime") -> bool:
        """Whether both are one time, however it is written: "14:30", "2:30 pm"."""
        first, second = _minute_of_day(self.text), _minute_of_day(other.text)
        if first is not None and second is not None and first != second:
            return False
        return self.minutes_from(other) == 0


class Runner(Value):
    """One runner of a race, as published. `position` is text: "1", "2=", "=2", "PU".

    `position_reason` is why the runner has this position ("Weighed in light"), `beaten` the distance by which the
    runner was beaten.
    """

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
        """Whether it was declared and does not run."""
        return letters(self.position) in NON_RUNNER_POSITIONS

    @property
    def finishing_position(self) -> int | None:
        """The position as a number where it says one ("2=" and "=2" are 2), else None ("PU")."""
        return finishing_position(self.position)


class Race(Value):
    """A race, or of a meeting what its races share. `race_date` is the published date, "YYYY-MM-DD" (Spec gap G16).

    `said_region` is the region in the delivery's words, where these are no code: `region` is then the code that the
    words mean, or None. `abandoned` is None where nothing was said of it. `off_told` is the off time that was last told
    by a new message, where later versions moved the race by a few minutes each. `from_book` names the fields that the
    race book, or another delivery, filled in. Fields of the course have names like "course.name".
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
        """The race as delivered, without the fields of `from_book`."""
        if not self.from_book:
            return self
        names = {name.removeprefix(OF_COURSE) for name in self.from_book if name.startswith(OF_COURSE)}
        course = self.course.model_copy(update=dict.fromkeys(names))
        left_out = {name: Race.model_fields[name].default for name in self.from_book if not name.startswith(OF_COURSE)}
        return self.model_copy(update={**left_out, "course": course, "from_book": ()})

    @property
    def is_settled(self) -> bool:
        """Whether it has a result: somebody is placed, or its status says so."""
        return is_settled_status(self.status) or any(runner.finishing_position for runner in self.runners)

    @property
    def is_void(self) -> bool:
        """Whether the race was declared void: then nobody has won, whoever is placed."""
        return letters(self.status) in VOID_STATUSES

    def placed(self) -> tuple[Runner, ...]:
        """The runners with a finishing position, best first; those without one left out."""
        places = ((runner.finishing_position, runner) for runner in self.runners)
        finished = sorted(((place, runner) for place, runner in places if place is not None), key=itemgetter(0))
        return tuple(runner for _, runner in finished)


def finishing_position(position: str | None) -> int | None:
    """A published position as a number where it says one."""
    found = _PLACE.match((position or "").strip())
    return int(found[2]) if found else None


def is_shared(position: str | None) -> bool:
    """Whether a published position says that others have the place too: "1=", "T2"."""
    said = (position or "").strip()
    found = _PLACE.match(said)
    return bool(found and (found[1] or _SHARED_AFTER.search(said, found.end())))


def letters(status: str | None) -> str:
    """A status in its letters alone: "Weighed In" and "weighed_in" are one status."""
    return "".join(filter(str.isalpha, status or "")).casefold()


def is_settled_status(status: str | None) -> bool:
    """Whether the status says no more than that the race is settled."""
    return letters(status) in SETTLED_STATUSES


def plain_name(horse: str) -> str:
    """A horse's name without the country of birth and without apostrophes, which not every delivery writes."""
    return _COUNTRY.sub("", " ".join(horse.translate(_APOSTROPHES).split())) or horse


def _minute_of_day(text: str | None) -> int | None:
    """The minutes since midnight of a published time of day, or None."""
    found = _CLOCK.fullmatch((text or "").strip())
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").casefold()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour * 60 + minute


def is_same_course(one: Course, other: Course) -> bool:
    """By id where both have one, else by exact name."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and one.name == other.name


def may_be_same_course(one: Course, other: Course) -> bool:
    """Whether they are the same course, or nothing that both have tells them apart."""
    comparable = (one.course_id and other.course_id) or (one.name and other.name)
    return is_same_course(one, other) or not comparable
