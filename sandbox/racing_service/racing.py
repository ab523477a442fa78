"""The service's racing: published races, and the state of each race."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from sandbox.racing_day import REGION_CODES, SYNTHETIC, Course, Meeting, Race, Runner, made_up_id, meetings_on

RaceStatus = Literal["declared", "result", "abandoned"]
_REASONS = ("High winds", "Frozen track", "Waterlogged", "Unsafe ground after a heavy shower")
_OF_ANY_TRACK = 2


def reasons_at(course: Course) -> tuple[str, ...]:
    """No all-weather track is waterlogged."""
    return _REASONS[:_OF_ANY_TRACK] if SYNTHETIC in course.name else _REASONS


@dataclass(slots=True)
class RaceState:
    """`positions` overrules the first result, by runner number."""

    status: RaceStatus = "declared"
    reason: str | None = None
    positions: dict[int, str] = field(default_factory=dict)

    def position_of(self, runner: Runner) -> str:
        return self.positions.get(runner.number, runner.position)


class Racing:
    """Declarations are out up to tomorrow.

    Later races appear when published, so a nearer race can appear after a farther race.
    """

    def __init__(self, today: date, seed: int, *, days_back: int, days_ahead: int) -> None:
        self.today = today
        self.first_day, self.last_day = today - timedelta(days=days_back), today + timedelta(days=days_ahead)
        self._seed = seed
        self._declared_until = today + timedelta(days=1)
        self._published: set[tuple[date, str]] = set()
        self._states: dict[str, RaceState] = {}

    def meetings(self, day: date | None = None, region: str | None = None) -> list[Meeting]:
        """Published or not."""
        length = (self.last_day - self.first_day).days + 1
        days = [self.first_day + timedelta(days=number) for number in range(length)] if day is None else [day]
        return [
            meeting
            for each in days
            for meeting in meetings_on(self._seed, self.today, (each - self.today).days)
            if region in (None, meeting.course.region)
        ]

    def races(self, day: date | None = None, region: str | None = None) -> list[Race]:
        return [race for meeting in self.meetings(day, region) if self.is_published(meeting) for race in meeting.races]

    def race(self, race_id: str) -> Race:
        """Raises LookupError."""
        found = next((race for one in self.meetings() for race in one.races if race.race_id == race_id), None)
        if found is None:
            raise LookupError(f"no such race: {race_id}")
        return found

    def meeting(self, meeting_id: str) -> Meeting:
        """Raises LookupError."""
        found = next((one for one in self.meetings() if one.meeting_id == meeting_id), None)
        if found is None:
            raise LookupError(f"no such meeting: {meeting_id}")
        return found

    def state(self, race: Race) -> RaceState:
        """Races before today are settled, and a few are abandoned."""
        if race.race_id not in self._states:
            self._states[race.race_id] = self._first_state(race)
        return self._states[race.race_id]

    def is_published(self, meeting: Meeting) -> bool:
        published = (meeting.race_date, meeting.course.region) in self._published
        return published or meeting.race_date <= self._declared_until

    def publish(self, day: date, region: str | None) -> list[Meeting]:
        self._published.update((day, code) for code in REGION_CODES if region in (None, code))
        return self.meetings(day, region)

    def settle(self, race: Race) -> None:
        self.state(race).status = "result"

    def abandon(self, race: Race, reason: str) -> None:
        state = self.state(race)
        state.status, state.reason = "abandoned", reason

    def swap_first_two(self, race: Race) -> None:
        """A corrected result: winner and second change places."""
        state = self.state(race)
        first, second = sorted(
            (runner for runner in race.runners if state.position_of(runner).rstrip("=").isdigit()),
            key=lambda runner: int(state.position_of(runner).rstrip("=")),
        )[:2]
        places = state.position_of(second), state.position_of(first)
        state.positions |= {first.number: places[0], second.number: places[1]}

    def _first_state(self, race: Race) -> RaceState:
        if race.race_date >= self.today:
            return RaceState()
        ahead = (race.race_date - self.today).days
        draw = int(made_up_id("", self._seed, ahead, race.course.course_id, race.number), 16)
        reasons = reasons_at(race.course)
        return RaceState("result") if draw % 60 else RaceState("abandoned", reasons[draw % len(reasons)])
