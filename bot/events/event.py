"""The four events of the data service (Interface, Events) and what the bot made of one delivery's payload."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from bot.events.drill_mark import Drill
from bot.events.races import Race, Value


class EventKind(StrEnum):
    """The events, by the service's own names."""

    RESULT_RECEIVED = "result.received"
    RACE_ABANDONED = "race.abandoned"
    MEETING_ABANDONED = "meeting.abandoned"
    RACECARD_PUBLISHED = "racecard.published"


class Topic(StrEnum):
    """What a channel asks for, by the words people type."""

    RESULTS = "results"
    ABANDONMENTS = "abandonments"
    RACECARDS = "racecards"


TOPIC_OF: dict[EventKind, Topic] = {
    EventKind.RESULT_RECEIVED: Topic.RESULTS,
    EventKind.RACE_ABANDONED: Topic.ABANDONMENTS,
    EventKind.MEETING_ABANDONED: Topic.ABANDONMENTS,
    EventKind.RACECARD_PUBLISHED: Topic.RACECARDS,
}

DEFAULT_TOPICS = frozenset({Topic.RESULTS, Topic.ABANDONMENTS})
"""What `subscribe` means where no topic is typed."""


_ORDER = ("sequence", "occurred_at", "first_attempt_at")
"""Fields that tell which of two versions is the newer, the surest first."""


class RacingEvent(Value):
    """One delivery's payload, read.

    `key` identifies the event: "result.received:rc_1" (see bot.deliveries.payload for what stands in for a race id).
    `kind` is None for a payload that could not be read: such a one is posted as a plain line rather than dropped.
    `race` is the race, or what is known of the meeting; `races` are the races a meeting or card names.
    `data_as_of` is how current the service's data was, as published. `occurred_at` and `sequence` are there only where
    the payload says when it was made, or which version it is; `first_attempt_at` only where it says when the service
    first tried to deliver it. `races_from_book`: the delivery named no races, and `races` come from the race book or
    other deliveries. `in_parts`: the `races` of a card came in deliveries of which none named all. `drill`: a test of
    the bot's own, and no event of the data service.
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
        """The event as delivered, without the fields that the race book filled in."""
        races = () if self.races_from_book else tuple(race.as_delivered() for race in self.races)
        return self.model_copy(update={"race": self.race.as_delivered(), "races": races, "races_from_book": False})

    @property
    def topic(self) -> Topic | None:
        """The topic that channels subscribe to, or None where the payload could not be read."""
        return TOPIC_OF[self.kind] if self.kind else None

    @property
    def place(self) -> tuple[str | None, str | None, str | None]:
        """The region, and the course's id and name: by these channels choose, beside the topic."""
        return self.race.region, self.race.course.course_id, self.race.course.name

    @property
    def contradicting_key(self) -> str | None:
        """The key of the event of the same race that can't be true together with this one; None for other kinds.

        Of a race without an id as well: what stands after the event's name is the same for all events of a race.
        """
        other = CONTRADICTIONS.get(self.kind) if self.kind else None
        return f"{other}:{self.key.removeprefix(f'{self.kind}:')}" if other else None

    @property
    def is_abandonment(self) -> bool:
        """Whether somebody loses money by reading this late."""
        return self.topic is Topic.ABANDONMENTS

    def is_newer_than(self, other: "RacingEvent") -> bool | None:
        """Whether the payloads themselves say that this version was made after the other; None where they don't."""
        both = ((getattr(self, name), getattr(other, name)) for name in _ORDER)
        return next((now > before for now, before in both if None not in {now, before} and now != before), None)

    def latest_order(self, other: "RacingEvent") -> dict[str, Any]:
        """What is known of the order of both together: the highest value of each field."""
        both = {name: (getattr(self, name), getattr(other, name)) for name in _ORDER}
        return {name: max((one for one in values if one is not None), default=None) for name, values in both.items()}


CONTRADICTIONS = {
    EventKind.RESULT_RECEIVED: EventKind.RACE_ABANDONED,
    EventKind.RACE_ABANDONED: EventKind.RESULT_RECEIVED,
}
"""A race is not both settled and called off."""
