"""The racing the service holds: which races are published, and what has become of each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Literal

from bot.sandbox.racing_day import Meeting, Race, Runner, meetings_on
from bot.sandbox.racing_places import REGION_CODES, made_up_id

RaceStatus = Literal["declared", "result", "abandoned"]
REASONS = ("Waterlogged", "Frozen track", "High winds", "Unsafe ground after a heavy shower")


@dataclass(slots=True)
class RaceState:
    """What has become of a race. `positions` overrules the first result, by runner number."""

    status: RaceStatus = "declared"
    reason: str | None = None
    positions: dict[int, str] = field(default_factory=dict)

    def position_of(self, runner: Runner) -> str:
        """Where the runner finished, by the result as it stands."""
        return self.positions.get(runner.number, runner.position)


class Racing:
    """The races of a span of days around today.

    Declarations are out up to `declared_ahead` days from today; races of later days appear when their cards are
    published, so that a near one can appear after a farther one.
    """

    def __init__(self, today: date, seed: int, *, days_back: int, days_ahead: int, declared_ahead: int = 1) -> None:
        self.today = today
        self.first_day, self.last_day = today - timedelta(days=days_back), today + timedelta(days=days_ahead)
        self._seed = seed
        self._declared_until = today + timedelta(days=declared_ahead)
        self._published: set[tuple[date, str]] = set()
        self._states: dict[str, RaceState] = {}

    def meetings(self, day: date | None = None, region: str | None = None) -> list[Meeting]:
        """The meetings of a day or of all days, published or not."""
        days = self._days() if day is None else iter([day])
        return [
            meeting
            for each in days
            for meeting in meetings_on(self._seed, each)
            if region in (None, meeting.course.region)
        ]

    def races(self, day: date | None = None, region: str | None = None) -> list[Race]:
        """The published races of a day or of all days."""
        return [race for meeting in self.meetings(day, region) if self.is_published(meeting) for race in meeting.races]

    def race(self, race_id: str) -> Race:
        """The race of that id, published or not; LookupError where there is none."""
        for meeting in self.meetings():
            for race in meeting.races:
                if race.race_id == race_id:
                    return race
        raise LookupError(f"no such race: {race_id}")

    def meeting(self, meeting_id: str) -> Meeting:
        """The meeting of that id; LookupError where there is none."""
        for meeting in self.meetings():
            if meeting.meeting_id == meeting_id:
                return meeting
        raise LookupError(f"no such meeting: {meeting_id}")

    def state(self, race: Race) -> RaceState:
        """What has become of the race: days before today are settled, but for the odd one that was called off."""
        if race.race_id not in self._states:
            self._states[race.race_id] = self._first_state(race)
        return self._states[race.race_id]

    def is_published(self, meeting: Meeting) -> bool:
        """Whether the meeting's declarations are out."""
        published = (meeting.race_date, meeting.course.region) in self._published
        return published or meeting.race_date <= self._declared_until

    def publish(self, day: date, region: str | None) -> list[Meeting]:
        """Brings the declarations of a day out; the meetings they are of."""
        self._published.update((day, code) for code in REGION_CODES if region in (None, code))
        return self.meetings(day, region)

    def settle(self, race: Race) -> None:
        """The race has its result."""
        self.state(race).status = "result"

    def abandon(self, race: Race, reason: str) -> None:
        """The race is called off."""
        state = self.state(race)
        state.status, state.reason = "abandoned", reason

    def swap_first_two(self, race: Race) -> None:
        """The result is corrected: winner and second change places."""
        state = self.state(race)
        first, second = sorted(
            (runner for runner in race.runners if state.position_of(runner).rstrip("=").isdigit()),
            key=lambda runner: int(state.position_of(runner).rstrip("=")),
        )[:2]
        places = state.position_of(second), state.position_of(first)
        state.positions |= {first.number: places[0], second.number: places[1]}

    def catch_up(self, now: datetime) -> None:
        """Settles, without a word to anybody, what was off a quarter of an hour ago and more."""
        for race in self.races():
            if self.state(race).status == "declared" and race.off_at <= now - timedelta(minutes=15):
                self.settle(race)

    def _first_state(self, race: Race) -> RaceState:
        if race.race_date >= self.today:
            return RaceState()
        draw = int(made_up_id("", race.race_id), 16)
        return RaceState("result") if draw % 60 else RaceState("abandoned", REASONS[draw % len(REASONS)])

    def _days(self) -> Iterator[date]:
        for ahead in range((self.last_day - self.first_day).days + 1):
            yield self.first_day + timedelta(days=ahead)
