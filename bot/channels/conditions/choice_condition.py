"""Choices: when a channel is told of the events that the filter's other conditions take."""

from abc import abstractmethod
from collections.abc import Collection
from datetime import UTC, date, datetime, time, tzinfo

from bot.channels.conditions.condition import EVERY_VALUE, Condition, FileData, FilterFields, word_of
from bot.events.event import RacingEvent
from bot.events.typed_times import read_clock


class ChoiceCondition(Condition):
    """A choice takes no event away. Newly typed values replace present values."""

    @abstractmethod
    def stored(self, typed: str) -> str:
        """The stored form of a typed value. Raises ValueError with the words for people."""

    def takes(self, _chosen: FilterFields, _event: RacingEvent) -> bool:
        return True

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not self.of(wide) or self.of(wide) == self.of(narrow)

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        values: tuple[str, ...] = self.of(one)
        return values if (values, one.zone) == (self.of(other), other.zone) else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002
        values: tuple[str, ...] = self.of(chosen) or self.of(before)
        return values

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        return () if EVERY_VALUE in words else tuple(one for one in self.of(before) if one not in words)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return list(self.of(chosen))

    def from_file(self, data: FileData) -> str:
        return self.stored(word_of(data))


def time_of_day(typed: str) -> time | None:
    return read_clock(typed, is_hour_enough=True)


def moment_of(day: date, at: time, zone: tzinfo) -> datetime:
    """In UTC: moments on both sides of a change of the clock compare there alone."""
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
