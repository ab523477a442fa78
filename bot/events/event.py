"""An event: what the bot made of one delivery's payload (Interface, Events)."""

from datetime import datetime
from typing import Any

from bot.events.drill_mark import Drill
from bot.events.kinds import DECLARATIONS, DEFAULT_TOPICS, EventKind, Topic
from bot.events.races import Race, Value

__all__ = ["CONTRADICTIONS", "DEFAULT_TOPICS", "TOPIC_OF", "EventKind", "RacingEvent", "Topic"]

TOPIC_OF: dict[EventKind, Topic] = {kind: DECLARATIONS[kind].topic for kind in EventKind}

CONTRADICTIONS = {kind: DECLARATIONS[kind].contradicts for kind in EventKind if DECLARATIONS[kind].contradicts}
"""Kinds of event of a race that can't both be true: a race is settled or abandoned."""

_ORDER = ("sequence", "occurred_at", "first_attempt_at")
"""Fields that tell which of two versions is the newer, the surest first."""


class RacingEvent(Value):
    """`key` identifies the event: "result.received:rc_1" (bot.deliveries.payload has the keys without a race's id).

    `kind` is None for an unreadable payload, which is posted as a plain line. `race`: the race, or the fields of the
    meeting. `races`: the races of a meeting or a card. `data_as_of`: the date of the service's data, as published.
    `occurred_at`, `sequence` and `first_attempt_at` (to deliver) come from the payload alone. `races_from_book`: the
    delivery named no races, and `races` come from the race book or other deliveries. `in_parts`: the `races` of a card
    came in several deliveries. `drill`: a test by the bot, and no event of the data service.
    """

    key: str
    kind: EventKind | None = None
    name: str | None = None
    race: Race = Race()
    races: tuple[Race, ...] = ()
    reason: str | None = None
    occurred_at: datetime | None = None
    first_attempt_at: datetime | None = None
    sequence: int | None = None
    data_as_of: str | None = None
    unreadable_because: str | None = None
    races_from_book: bool = False
    in_parts: bool = False
    drill: Drill | None = None

    def as_delivered(self) -> "RacingEvent":
        """The event without the fields from the race book."""
        races = () if self.races_from_book else tuple(race.as_delivered() for race in self.races)
        return self.model_copy(update={"race": self.race.as_delivered(), "races": races, "races_from_book": False})

    @property
    def topic(self) -> Topic | None:
        return TOPIC_OF[self.kind] if self.kind else None

    @property
    def place(self) -> tuple[str | None, str | None, str | None]:
        """The region, and the course's id and name: with the topic, what filters choose by."""
        return self.race.region, self.race.course.course_id, self.race.course.name

    @property
    def contradicting_key(self) -> str | None:
        """The key of the race's event that can't be true together with this event; None for other kinds.

        All events of a race have the same key after the event's name, even without a race's id.
        """
        other = CONTRADICTIONS.get(self.kind) if self.kind else None
        return f"{other}:{self.key.removeprefix(f'{self.kind}:')}" if other else None

    @property
    def is_abandonment(self) -> bool:
        """True for an event whose late reader loses money."""
        return self.topic is Topic.ABANDONMENTS

    def is_newer_than(self, other: "RacingEvent") -> bool | None:
        """By the payloads alone; None if the payloads don't tell."""
        both = ((getattr(self, name), getattr(other, name)) for name in _ORDER)
        return next((now > before for now, before in both if None not in {now, before} and now != before), None)

    def latest_order(self, other: "RacingEvent") -> dict[str, Any]:
        """The highest value of each order field of both."""
        both = {name: (getattr(self, name), getattr(other, name)) for name in _ORDER}
        return {name: max((one for one in values if one is not None), default=None) for name, values in both.items()}
