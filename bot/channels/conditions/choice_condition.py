"""Choices: when a channel is told of the events that the filter's other conditions take."""

import re
from abc import abstractmethod
from collections.abc import Collection
from datetime import UTC, date, datetime, time, tzinfo

from bot.channels.conditions.condition import EVERY_VALUE, Condition, FileData, FilterFields, word_of
from bot.events.event import RacingEvent
from bot.events.typed_off import hour_of_day

TIME = r"(2[0-4]|[01]?[0-9])(?:[:.]([0-5][0-9]))?(?: ?([AaPp])\.?[Mm]\.?)?"
"""An hour, with or without minutes, such as "18:00", "18" and "6pm"."""

_TIME = re.compile(TIME, re.ASCII)


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
    """None for no time. Midnight may be 24:00."""
    found = _TIME.fullmatch(typed.strip())
    if found is None:
        return None
    hour, minute = hour_of_day(int(found[1]), found[3]), int(found[2] or 0)
    if hour is None:
        return None
    if hour == 24:
        return None if minute else time()
    return time(hour, minute)


def moment_of(day: date, at: time, zone: tzinfo) -> datetime:
    """In UTC: moments on both sides of a change of the clock compare there alone."""
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
