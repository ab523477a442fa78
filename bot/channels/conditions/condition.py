"""A kind of condition: the rule about events, and the words by which people type, read and choose the values."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race, Value
from bot.events.sentences import listed

ALL_REGIONS = "*"
"""Every region of today and of later."""

EVERY_VALUE = ""
"""In `without`: all values of the kind."""


class FilterFields(Value):
    """The stored field of each kind of condition, and two of the check of typed words.

    A field has an empty default: filters are stored as JSON.
    `mentions` are ids of people and user groups, or HERE. `digest` and `cards` are times of day as "18:00", `quiet`
    hours as "22:00-07:00", all by the clock of `zone` (a single zone at most). `ack` is a time as "10m". `escalate` are
    ids of people, user groups and channels, or HERE.
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


class Condition(ABC):
    """A kind of condition. The values stand in `field` of a filter, and under `file_key` in a file of subscriptions.

    `file_noun`: what a refusal calls a value.
    """

    # The rule

    field: str
    file_key: str
    file_noun: str
    is_needed = False
    """A filter without a value takes nothing."""
    is_narrowing = False
    """A filter without a value takes everything. The last value ends with the subscription."""
    topic: Topic | None = None
    """The only topic of the values. Without the topic the values have no effect."""
    ends_too: tuple[str, ...] = ()
    """Fields of other conditions, which end where all values of this condition end."""
    race_fields: tuple[str, ...] = ()
    """The fields of a race that the rule reads, to be filled in from the race book."""

    # The words

    typed_as = ""
    """The words before a typed value, if people type values."""
    example = "1"
    """A typed value."""
    called: Mapping[str, str] = {}
    """Words that mean a value by themselves, such as "over jumps"."""
    begins: Collection[str] = ()
    """First words of other words that mean a value by themselves, such as "group" of "group 1"."""
    before: tuple[str, ...] = ()
    """Words that stand before a value in place of the name, such as "no messages"."""
    plural = ""
    """The noun for several values of a narrowing kind."""

    # The form's field: ticks by `labels`, else menus of people by `menus`, else a text with commas

    label = ""
    hint: str | None = None
    labels: Mapping[str, str] = {}
    """The label of each value to tick."""
    menus: Mapping[str, tuple[str, int]] = {}
    """By block, of people, user groups and perhaps channels: the label, and the most to choose."""
    text_max = 200

    def of(self, chosen: FilterFields) -> Any:
        return getattr(chosen, self.field)

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
        if self.is_narrowing and not (self.of(one) and self.of(other)):
            return ()
        return self.of_file([*self.of(one), *self.of(other)])

    def added(self, before: FilterFields, chosen: FilterFields) -> Any:
        """The value after `subscribe` with further words than a region."""
        return self.joined(before, chosen) if self.of(chosen) else self.of(before)

    def without(self, before: FilterFields, words: Collection[str]) -> Any:
        """The value after `unsubscribe` with these words."""
        ended = set(map(self.key, words))
        return self.of_file([one for one in self.of(before) if EVERY_VALUE not in words and self.key(one) not in ended])

    def to_file(self, chosen: FilterFields) -> Any:
        """The value for YAML and JSON; empty for no condition."""
        return list(self.of(chosen))

    @abstractmethod
    def stored(self, typed: str) -> Any:
        """The stored form of a typed value. Raises ValueError with the words for people."""

    def key(self, value: Any) -> Any:
        """The key by which two values count as equal."""
        return value

    def of_file(self, values: Sequence[Any]) -> Any:
        """The choice of a file's values. Of equal values the first counts."""
        each: dict[Any, Any] = {}
        for value in values:
            each.setdefault(self.key(value), value)
        return tuple(each.values())

    @property
    def noun(self) -> str:
        return self.file_noun.removeprefix("a ")

    @property
    def name(self) -> str:
        """The typed name, without the colon."""
        return self.typed_as.removesuffix(":")

    @property
    def usage(self) -> str:
        """The words in the usage of `subscribe`, for a condition with values of its own."""
        return f"[{self.typed_as}{self.example}]"

    def meant_by(self, typed: str) -> Sequence[str]:
        """The values of words without the name of the kind; empty for other words."""
        said = self.called.get(typed.casefold())
        return [said] if said else []

    def is_part(self, _typed: str) -> bool:
        """Whether words mean a part of a value, such as "hurdles" of jumps."""
        return False

    def values_of(self, typed: str, _before: str = "") -> Sequence[Any]:
        """The values of words after the name, and after the value `_before`; empty for other words."""
        try:
            return self.meant_by(typed) or [self.stored(typed)]
        except ValueError:
            return []

    def guesses(self, _typed: str) -> tuple[str, ...]:
        """The values that may be meant by a wrong value, or by no value."""
        return ()

    def typed(self, chosen: FilterFields) -> list[str]:
        """The words of a command line that ask for the condition. The name alone stands for every value."""
        return [f"{self.typed_as}{one}".rstrip(":") for one in self.of(chosen)]

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        """The condition after a comma, for a sentence. `names_max`: characters of a list of names, else cut off."""
        return f", {self.said(chosen)}" if self.of(chosen) else ""

    def said(self, _chosen: FilterFields) -> str:
        """The values in words, for example "mentioning here"."""
        return ""

    def named(self, _chosen: FilterFields) -> str:
        """The values of a narrowing kind; empty for no condition."""
        return ""


class NarrowingCondition(Condition):
    """Takes a race by a word of the race, and a card for any of the races.

    In a sentence: "class 1 races only".
    """

    is_narrowing = True
    opposites: Mapping[str, str] = {}
    """A value that takes no race of a value: what may be wanted by "no flat"."""

    def keys_of(self, published: str) -> Collection[str]:
        """The keys of the values that take a published value."""
        return {self.key(published)}

    def unlisted(self, _values: Sequence[str], _published: Sequence[str]) -> Sequence[str]:
        """The values that match no published value. Empty for kinds that the data service does not list."""
        return ()

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
        keys, values = set(map(self.key, self.of(wide))), self.of(narrow)
        return not keys or (bool(values) and not any(keys.isdisjoint(self.keys_of(one)) for one in values))

    @property
    def usage(self) -> str:
        return f"[{'|'.join(self.labels)}]" if self.labels else super().usage

    def said(self, chosen: FilterFields) -> str:
        return f"{self.named(chosen)} races only"

    def named(self, chosen: FilterFields) -> str:
        return listed([self.in_words(one) for one in self.of(chosen)])

    def in_words(self, value: str) -> str:
        """For example "class 1", or "jumps"."""
        return self.labels[value].lower() if value in self.labels else value
