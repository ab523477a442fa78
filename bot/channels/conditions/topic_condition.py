"""The topics of a filter: results, abandonments, racecards."""

from collections.abc import Collection, Sequence
from typing import Any

from bot.channels.conditions.condition import Condition, FileData, FilterFields, word_of
from bot.events.event import RacingEvent, Topic


class TopicCondition(Condition):
    field = file_key = "topics"
    file_noun = "a topic"
    is_needed = True

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        """Whoever takes abandonments hears of a lost race whichever event says so."""
        return event.topic in chosen.topics or (Topic.ABANDONMENTS in chosen.topics and event.reports_loss)

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return wide.topics >= narrow.topics

    def joined(self, one: FilterFields, other: FilterFields) -> frozenset[Topic]:
        return one.topics | other.topics

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> frozenset[Topic]:  # noqa: ARG002
        return before.topics | chosen.topics

    def without(self, before: FilterFields, words: Collection[str]) -> frozenset[Topic]:
        return before.topics - frozenset(map(Topic, words))

    def to_file(self, chosen: FilterFields) -> list[str]:
        return [topic.value for topic in Topic if topic in chosen.topics]

    def from_file(self, data: FileData) -> Topic:
        word = word_of(data)
        if word not in set(Topic):
            raise ValueError(f"{word} is no topic; topics are {', '.join(Topic)}")
        return Topic(word)

    def of_file(self, values: Sequence[Any]) -> frozenset[Topic]:
        return frozenset(values)
