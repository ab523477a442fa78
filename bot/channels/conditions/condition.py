"""The fields of a channel's filter, and the questions that each kind of condition answers about its field."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race, Value

ALL_REGIONS = "*"
"""Every region of today and of later."""

EVERY_VALUE = ""
"""In `without`: all values of the kind."""

FileData = str | Mapping[str, str]
"""A value in a file of subscriptions: a word, or words by name."""


class FilterFields(Value):
    """The stored fields of a filter: one for each kind of condition, and two of the check of typed words.

    `mentions` are ids of people and user groups, or HERE. `digest` and `cards` are times of day as "18:00", and `quiet`
    are hours as "22:00-07:00", by the clock of `zone`, of which there is one at most. `show` is empty or MEETINGS.
    `ack` is a time as "10m", and `escalate` ids of people, user groups and channels, or HERE.
    `unchecked_since` is set while typed words wait for a list to be checked by (bot.fanout.unchecked_filters).
    `typed_region` is the typed region, where the region was mended and the channel has not been told.
    """

    region: str
    topics: frozenset[Topic]
    courses: tuple[Course, ...] = ()
    not_courses: tuple[Course, ...] = ()
    classes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    digest: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    zone: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    ack: tuple[str, ...] = ()
    escalate: tuple[str, ...] = ()
    unchecked_since: datetime | None = None
    typed_region: str | None = None

    @property
    def has_hours(self) -> bool:
        return bool(self.quiet or self.digest or self.cards)

    def fails_open_for(self, event: RacingEvent) -> bool:
        return self.unchecked_since is not None and event.reports_loss


class Condition(ABC):
    """A kind of condition: `field` of a filter, `file_key` in a file of subscriptions.

    `file_noun` is one value in the file's problems. `file_parts` are the names in a value of several parts.
    """

    field: str
    file_key: str
    file_noun: str
    file_parts: tuple[str, ...] = ()
    is_needed = False
    """A filter without a value takes nothing."""
    is_narrowing = False
    """A filter without a value takes everything. The last value ends with the subscription."""
    topic: Topic | None = None
    """The only topic of the values. Without the topic the values have no effect."""
    ends_too: tuple[str, ...] = ()
    """Fields of other conditions, which end where all values of this condition end."""

    def of(self, chosen: FilterFields) -> Any:
        return getattr(chosen, self.field)

    def is_typed(self, chosen: FilterFields) -> bool:
        """Whether a typed filter says something of the condition's values."""
        return bool(self.of(chosen))

    def takes(self, _chosen: FilterFields, _event: RacingEvent) -> bool:
        """Whether the condition takes a readable event. An unknown field never hides an abandonment."""
        return True

    def takes_unreadable(self, _chosen: FilterFields) -> bool:
        return True

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        """Whether the first condition takes all that the second condition takes."""
        return set(self.of(wide)) >= set(self.of(narrow))

    def joined(self, one: FilterFields, other: FilterFields) -> Any:
        """The value that takes all that either filter takes."""
        return self.of_file([*self.of(one), *self.of(other)])

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> Any:  # noqa: ARG002
        """The value after `subscribe`. `whole`: nothing but the region was typed."""
        return self.joined(before, chosen)

    def without(self, before: FilterFields, words: Collection[str]) -> Any:
        """The value after `unsubscribe` with these words."""
        return self.of_file([one for one in self.of(before) if EVERY_VALUE not in words and one not in words])

    def to_file(self, chosen: FilterFields) -> Any:
        """The value for YAML and JSON; empty for no condition."""
        return list(self.of(chosen))

    @abstractmethod
    def stored(self, typed: str) -> Any:
        """The stored form of a typed value. Raises ValueError with the words for people."""

    def from_file(self, data: FileData) -> Any:
        """One value of the file's. Raises ValueError with the words for the operator."""
        if isinstance(data, str):
            return self.stored(data)
        raise ValueError("a word is expected")

    def of_file(self, values: Sequence[Any]) -> Any:
        return tuple(dict.fromkeys(values))


class NarrowingCondition(Condition):
    """The only races that a filter takes, by words of each race. A card is taken for any of its races."""

    is_narrowing = True

    def key(self, value: str) -> str:
        """What is equal of equal values."""
        return value

    @abstractmethod
    def takes_race(self, keys: Collection[str], race: Race, event: RacingEvent) -> bool:
        """Whether a race has one of the values, or does not say."""

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        """The abandonment of a whole meeting is taken."""
        keys = set(map(self.key, self.of(chosen)))
        if not keys or event.kind is EventKind.MEETING_ABANDONED:
            return True
        return any(self.takes_race(keys, race, event) for race in event.races or (event.race,))

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        narrower = set(map(self.key, self.of(narrow)))
        return not self.of(wide) or (bool(narrower) and narrower <= set(map(self.key, self.of(wide))))

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        both: tuple[str, ...] = self.of_file([*self.of(one), *self.of(other)])
        return both if self.of(one) and self.of(other) else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:
        both: tuple[str, ...] = self.of_file([*self.of(before), *self.of(chosen)])
        return both if self.of(before) and not whole else ()

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        ended = set(map(self.key, words))
        return tuple(one for one in self.of(before) if self.key(one) not in ended)

    def of_file(self, values: Sequence[Any]) -> tuple[str, ...]:
        """The first of equal values."""
        each: dict[str, str] = {}
        for value in values:
            each.setdefault(self.key(value), value)
        return tuple(each.values())
