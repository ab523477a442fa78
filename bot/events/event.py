"""An event, read from one delivery's payload (Interface, Events)."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bot.events.drill_mark import Drill
from bot.events.kinds import DECLARATIONS, DEFAULT_TOPICS, EventKind, Subject, Topic
from bot.events.race_state import is_reinstated
from bot.events.races import OffTime, Race, Value, by_letters

__all__ = ["CONTRADICTIONS", "DEFAULT_TOPICS", "TOPIC_OF", "EventKind", "RacingEvent", "Topic"]

TOPIC_OF: dict[EventKind, Topic] = {kind: DECLARATIONS[kind].topic for kind in EventKind}

CONTRADICTIONS = {kind: other for kind in EventKind if (other := DECLARATIONS[kind].contradicts)}

_MOMENTS = ("occurred_at", "updated_at", "first_attempt_at")
_ORDER = ("sequence", *_MOMENTS)
"""The fields that order versions, the surest first."""


class RacingEvent(Value):
    """`key` identifies the event: "result.received:rc_1" (see bot.deliveries.event_keys).

    `kind` is None for an unreadable payload, which is posted as a plain line. `race`: the race, or the fields of the
    meeting. `races`: of a meeting or a card. Of an abandoned meeting `races_run`, 0 for an untold number, `first_lost`,
    the number of the first lost race, `lost_from`, the first lost time, and `last_lost`, the number of lost races at
    the end. `of_some`: a session, a kind of races or an untold part is lost. `spared`: the named races that may be to
    come. `updated_at`: the moment of the record's data. `received_at`: of abandonments alone. `races_from_book`: from
    the race book or other deliveries. `in_parts`: the `races` came in several deliveries.
    `in_doubt`: one version reports a loss, another takes the loss back, and nothing tells the newer version.
    """

    key: str
    kind: EventKind | None = None
    name: str | None = None
    race: Race = Race()
    races: tuple[Race, ...] = ()
    reason: str | None = None
    occurred_at: datetime | None = None
    updated_at: datetime | None = None
    first_attempt_at: datetime | None = None
    received_at: datetime | None = None
    sequence: int | None = None
    data_as_of: str | None = None
    races_run: int | None = None
    first_lost: int | None = None
    lost_from: str | None = None
    last_lost: int | None = None
    of_some: bool = False
    spared: tuple[Race, ...] = ()
    unreadable_because: str | None = None
    races_from_book: bool = False
    in_parts: bool = False
    in_doubt: bool = False
    drill: Drill | None = None

    def as_delivered(self) -> "RacingEvent":
        if not (self.races_from_book or any(race.from_book for race in (self.race, *self.races))):
            return self
        races = () if self.races_from_book else tuple(race.as_delivered() for race in self.races)
        return self.model_copy(update={"race": self.race.as_delivered(), "races": races, "races_from_book": False})

    @property
    def named_race_ids(self) -> set[str]:
        """The ids of the races that the delivery names."""
        own = {self.race.race_id} if self.race.race_id else set[str]()
        return own if self.races_from_book else self.race_ids

    @property
    def race_ids(self) -> set[str]:
        return {race.race_id for race in (self.race, *self.races) if race.race_id}

    @property
    def topic(self) -> Topic | None:
        return TOPIC_OF[self.kind] if self.kind else None

    @property
    def place(self) -> tuple[str | None, str | None, str | None]:
        return self.race.region, self.race.course.course_id, by_letters(self.race.course.name)

    @property
    def reports_loss(self) -> bool:
        """True for an abandonment, a void race, and a result or racecard with a race marked abandoned or postponed."""
        return self.is_abandonment or self.race.is_void or any(race.abandoned for race in (self.race, *self.races))

    @property
    def says_partly_run(self) -> bool:
        """True for an abandoned meeting that names a race as run."""
        return self.races_run is not None or any(race.says_run for race in self.races)

    @property
    def loses_named_races_alone(self) -> bool:
        """True for an abandoned meeting that was partly run, and whose delivery names lost races."""
        return self.says_partly_run and not self.races_from_book and any(not race.says_run for race in self.races)

    @property
    def loses_the_rest(self) -> bool:
        """True for an abandoned meeting that is lost up to the last race, as far as the delivery says.

        False where the end is left open, or where a race after a lost race was run.
        """
        run, lost = ([race for race in self.races if race.says_run is is_run] for is_run in (True, False))
        tells_end = self.races_run != 0 or self.first_lost or self.last_lost or self.lost_from or run
        return bool(tells_end) and not any(one.comes_after(other) for one in run for other in lost)

    @property
    def is_of_meeting(self) -> bool:
        """True for a meeting, and for a card of a meeting."""
        subject = DECLARATIONS[self.kind].subject if self.kind else None
        is_whole = self.race.race_id is None and self.race.off == OffTime()
        return subject is Subject.MEETING or (subject is Subject.CARD and is_whole)

    @property
    def is_reinstated(self) -> bool:
        """True for a status that takes the loss of the race, or of the meeting, back."""
        return is_reinstated(self.race.status or "", self.race.course.name, of_meeting=self.is_of_meeting)

    @property
    def is_taken_back(self) -> bool:
        """True for an abandonment that was taken back for certain."""
        return self.is_abandonment and self.is_reinstated and not self.in_doubt

    @property
    def contradicting_key(self) -> str | None:
        """The key of the contradicting event of the same race."""
        other = CONTRADICTIONS.get(self.kind) if self.kind else None
        return f"{other}:{self.key.removeprefix(f'{self.kind}:')}" if other else None

    @property
    def is_abandonment(self) -> bool:
        """True for an abandoned race or meeting: readers who hear of the loss too late lose money."""
        return self.topic is Topic.ABANDONMENTS

    def is_newer_than(self, other: "RacingEvent") -> bool | None:
        """Whether this version of the event is the newer version. None if the payloads don't tell."""
        return self._comes_after(other, _ORDER)

    def is_later_than(self, other: "RacingEvent") -> bool | None:
        """Whether another event came before: by the service's moments, else by the receipt of two abandonments.

        None if unknown.
        """
        return self._comes_after(other, (*_MOMENTS, "received_at"))

    def _comes_after(self, other: "RacingEvent", names: Iterable[str]) -> bool | None:
        both = ((getattr(self, name), getattr(other, name)) for name in names)
        return next((now > before for now, before in both if None not in {now, before} and now != before), None)

    def latest_order(self, other: "RacingEvent") -> dict[str, Any]:
        both = {name: (getattr(self, name), getattr(other, name)) for name in _ORDER}
        return {name: max((one for one in values if one is not None), default=None) for name, values in both.items()}
