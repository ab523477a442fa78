"""The four events of the data service (Interface, Events) and what the bot made of one delivery's payload."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from bot.domain.races import Race, Value


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


class RacingEvent(Value):
    """One delivery's payload, read.

    `key` identifies the event: "result.received:rc_1" (see bot.webhooks.payload for what stands in for a race id).
    `kind` is None for a payload that could not be read: such a one is posted as a plain line rather than dropped.
    `race` is the race, or what is known of the meeting; `races` are the races a meeting or card names.
    `data_as_of` is how current the service's data was, as published. `occurred_at` and `sequence` are there only where
    the payload says when it was made, or which version it is. `races_from_book`: the delivery named no races, and
    `races` come from the race book or other deliveries.
    """

    key: str
    kind: EventKind | None = None
    name: str | None = None
    race: Race = Race()
    races: tuple[Race, ...] = ()
    reason: str | None = None
    occurred_at: datetime | None = None
    sequence: int | None = None
    data_as_of: str | None = None
    unreadable_because: str | None = None
    races_from_book: bool = False

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
        if self.sequence is not None and other.sequence is not None and self.sequence != other.sequence:
            return self.sequence > other.sequence
        if self.occurred_at is not None and other.occurred_at is not None and self.occurred_at != other.occurred_at:
            return self.occurred_at > other.occurred_at
        return None

    def facts(self) -> dict[str, str]:
        """The facts that a later version of the same event is compared by: what readers act on, normalised.

        Only what the delivery said is in it, so that an absent fact is never taken for a changed one.
        """
        race = self.race.as_delivered()
        facts = {
            STATUS: race.status,
            "reason": self.reason,
            "off": race.off.text or (race.off.off_at.isoformat() if race.off.off_at else None),
            "race_date": race.race_date,
            "region": race.region,
            "going": race.going,
            "course": race.course.name,
            "course id": race.course.course_id,
            "title": race.title,
        }
        for runner in race.runners if self.kind is EventKind.RESULT_RECEIVED else ():
            if runner.horse and runner.position:
                horse = " ".join(runner.horse.split()).casefold()
                facts[POSITION_OF + horse] = str(runner.finishing_position or runner.position)
        return {name: " ".join(value.split()).casefold() for name, value in facts.items() if value}


class VersionRemarks(Value):
    """What is to be said of a version of an event, beside the event itself.

    `changes` are the facts that it changed (see `changed_facts`). `order_unknown`: nothing in the payloads told which
    of the two is the newer. `contradicts` is the event of the same race that can't be true together with this one.
    `more_races` is how many races it names that no version before it did.
    """

    changes: dict[str, tuple[str | None, str]] = Field(default_factory=dict)
    order_unknown: bool = False
    contradicts: EventKind | None = None
    more_races: int = 0


CONTRADICTIONS = {
    EventKind.RESULT_RECEIVED: EventKind.RACE_ABANDONED,
    EventKind.RACE_ABANDONED: EventKind.RESULT_RECEIVED,
}
"""A race is not both settled and called off."""


STATUS = "status"
POSITION_OF = "position of "
"""How the facts of placings are named: "position of blue moon"."""


def changed_facts(old: dict[str, str], new: dict[str, str]) -> dict[str, tuple[str | None, str]]:
    """The facts that differ between two versions: name → (before, now).

    A fact that either version lacks is not a changed one, with one exception: a placing. Where both versions carry
    placings, a horse that takes a place which another had is a change, even if it was not named before. Only numbers
    are places: that one more horse pulled up takes nothing from another.
    """
    changes: dict[str, tuple[str | None, str]] = {
        name: (old[name], value) for name, value in new.items() if name in old and old[name] != value
    }
    places_before = {(value, name) for name, value in old.items() if name.startswith(POSITION_OF)}
    taken_before = {value for value, _ in places_before if value.isdecimal()}
    for name, value in new.items():
        if name.startswith(POSITION_OF) and value in taken_before and (value, name) not in places_before:
            changes.setdefault(name, (old.get(name), value))
    return changes


def is_lesser(changes: Iterable[str]) -> bool:
    """Whether these changed facts are worth no new message: neither a placing nor the race's status is among them."""
    return not any(name == STATUS or name.startswith(POSITION_OF) for name in changes)


def brings_placings(old: dict[str, str], new: dict[str, str]) -> bool:
    """Whether the new version is the first that carries placings: people wait for them."""
    return not _places(old) and bool(_places(new))


def united_facts(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """What is known by both versions, the newer one being right. Whoever had a place that another has now, has none."""
    places = set(_places(new).values())
    kept = {name: value for name, value in old.items() if name not in _places(old) or value not in places}
    return kept | new


def _places(facts: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if name.startswith(POSITION_OF)}
