"""A day's cards as the book has them, and what is known of their being whole."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from bot.domain.filters import is_same_course, may_be_same_course
from bot.domain.races import Course, Race
from bot.errors import ServiceError


class Coverage(StrEnum):
    """What is known of a card's being whole."""

    COMPLETE = "complete"
    """Everything that the service lists of the day was read, and lately enough. Without races: there are none."""
    PARTIAL = "partial"
    """Some races of the day are known; the list was not read past the day."""
    UNREAD = "unread"
    """Nothing of the day is known, and the list was not read past it."""
    OUTSIDE_WINDOW = "outside_window"
    QUOTA = "quota"
    """Reading was stopped by the month's quota, or by the share of it that commands may spend."""
    FAILED = "failed"
    """The service refused or failed: `Card.failure`."""


@dataclass(frozen=True)
class Meeting:
    """A course's races of one day, in order. `going` is what they share of it, as published."""

    course: Course
    region: str | None
    races: tuple[Race, ...]

    @property
    def going(self) -> str | None:
        """The going, or several, each once."""
        return " / ".join(dict.fromkeys(race.going for race in self.races if race.going)) or None


@dataclass(frozen=True)
class Card:
    """The meetings of a day, of one region or of all (None), at one course or at all.

    `reached` is the day that the walk had come to, where the day asked for was not proven. `read_at` is when it was
    last read, `data_as_of` and `window` are as published.
    """

    day: date
    region: str | None
    course: Course | None
    meetings: tuple[Meeting, ...]
    coverage: Coverage
    failure: ServiceError | None = field(default=None, compare=False)
    read_at: datetime | None = None
    reached: str | None = None
    data_as_of: str | None = None
    window: str | None = None


def at_course(races: Iterable[Race], course: Course | None) -> tuple[list[Race], bool]:
    """The races at a course (None: all), and whether every other race is known to be elsewhere."""
    everything = list(races)
    if course is None:
        return everything, True
    here = [race for race in everything if is_same_course(race.course, course)]
    others = [race for race in everything if not is_same_course(race.course, course)]
    return here, not any(may_be_same_course(race.course, course) for race in others)


def by_meeting(races: Sequence[Race]) -> tuple[Meeting, ...]:
    """The races by course, each course's in order of their off times, the courses by their names."""
    groups: dict[tuple[str, str], list[Race]] = {}
    for race in races:
        place = race.course.course_id or race.course.name or race.meeting_id or ""
        groups.setdefault((race.region or "", place), []).append(race)
    meetings = [
        Meeting(_fullest(group), group[0].region, tuple(sorted(group, key=_off_order))) for group in groups.values()
    ]
    return tuple(sorted(meetings, key=lambda meeting: (meeting.course.name or "\uffff", meeting.region or "")))


def _fullest(races: Sequence[Race]) -> Course:
    """The course of the first race that names it."""
    return next((race.course for race in races if race.course.name), races[0].course)


def _off_order(race: Race) -> tuple[str, int, str]:
    """By moment where it is known, else by the published time: "9:30" before "14:30"."""
    text = (race.off.text or "").rjust(5)
    moment = race.off.off_at.isoformat() if race.off.off_at else ""
    number = int(race.number[:6]) if race.number and race.number.isdecimal() and race.number.isascii() else 0
    return moment or text, number, text
