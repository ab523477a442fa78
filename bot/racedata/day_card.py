"""A day's cards as the book has them, and what is known of their being whole."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from bot.errors import ServiceError
from bot.events.event import RacingEvent
from bot.events.races import Course, OffTime, Race, is_same_course, may_be_same_course


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


STOPPED = frozenset({Coverage.QUOTA, Coverage.FAILED})
"""The reading ended for a reason that people are told."""


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


class Outcome(StrEnum):
    """What is known of a race."""

    SETTLED = "settled"
    ABANDONED = "abandoned"
    BOTH = "both"
    """A result and an abandonment were published: they contradict each other."""
    VOID = "void"
    """A result came, and says that the race was declared void."""
    OPEN = "open"


@dataclass(frozen=True)
class Outcomes:
    """A day's meetings with all races that are known of, and the meetings that were lost as a whole.

    `of` is by a race's place in `meetings`: a race of a delivery may have no id.
    """

    meetings: tuple[Meeting, ...] = ()
    of: dict[tuple[int, int], Outcome] = field(default_factory=dict)
    lost: tuple[RacingEvent, ...] = ()

    def count(self, *which: Outcome) -> int:
        """How many races have one of these outcomes."""
        return sum(outcome in which for outcome in self.of.values())

    def of_meeting(self, place: int) -> list[tuple[Race, Outcome]]:
        """The races of a meeting, each with what is known of it."""
        return [(race, self.of[place, number]) for number, race in enumerate(self.meetings[place].races)]


@dataclass(frozen=True)
class Card:
    """A day of one region or of all (None), at one course or at all, and what has become of its races.

    `reached` is the day that the walk had come to, where the day asked for was not proven. `read_at` is when it was
    last read, `data_as_of` and `window` are as published.
    """

    day: date
    region: str | None
    course: Course | None
    outcomes: Outcomes
    coverage: Coverage
    failure: ServiceError | None = field(default=None, compare=False)
    read_at: datetime | None = None
    reached: str | None = None
    data_as_of: str | None = None
    window: str | None = None

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """The meetings that have races."""
        return self.outcomes.meetings

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known of the day, no abandoned meeting either."""
        return not self.meetings and not self.outcomes.lost


def none_hidden(races: Iterable[Race], course: Course | None) -> bool:
    """Whether every race that is not at the course (None: all) is known to be elsewhere."""
    if course is None:
        return True
    return all(is_same_course(race.course, course) or not may_be_same_course(race.course, course) for race in races)


def by_meeting(races: Sequence[Race]) -> tuple[Meeting, ...]:
    """The races by course, each course's in order of their off times, the courses by their names."""
    groups: dict[tuple[str, str], list[Race]] = {}
    for race in races:
        place = race.course.course_id or race.course.name or race.meeting_id or ""
        groups.setdefault((race.region or "", place), []).append(race)
    meetings = [
        Meeting(_fullest(group), group[0].region, tuple(sorted(group, key=_order_of(group))))
        for group in groups.values()
    ]
    return tuple(sorted(meetings, key=lambda meeting: (meeting.course.name or "\uffff", meeting.region or "")))


def _fullest(races: Sequence[Race]) -> Course:
    """The course of the first race that names it."""
    return next((race.course for race in races if race.course.name), races[0].course)


def _order_of(races: Sequence[Race]) -> Callable[[Race], tuple[str, int]]:
    """By moment where all have one, else by the published time: the two can't be compared."""
    if all(race.off.off_at for race in races):
        return lambda race: (race.off.off_at.isoformat() if race.off.off_at else "", _number(race))
    return lambda race: (_clock(race.off), _number(race))


def _clock(off: OffTime) -> str:
    """The published time so that "9:30" comes before "14:30"; of a moment alone, that in UTC."""
    return (off.text or (f"{off.off_at:%H:%M}" if off.off_at else "")).rjust(5)


def _number(race: Race) -> int:
    return int(race.number[:6]) if race.number and race.number.isdecimal() and race.number.isascii() else 0
