"""The region of a filter: a published code, or ALL_REGIONS."""

from collections.abc import Collection, Sequence
from typing import Any

from bot.channels.conditions.condition import ALL_REGIONS, Condition, FileData, FilterFields, word_of
from bot.events.event import RacingEvent

EVERY_REGION = "all"
"""ALL_REGIONS in a file."""


class RegionCondition(Condition):
    """The region. A channel has one subscription a region, so regions are never merged.

    An abandonment of unknown region is taken everywhere. Other events of unknown region are taken where all regions, or
    the delivery's own words, were chosen.
    """

    field = file_key = file_noun = "region"
    is_needed = True

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        region = event.race.region
        if chosen.region in {ALL_REGIONS, region} or event.race.said_region == chosen.region:
            return True
        if region is None:
            return event.reports_loss
        return chosen.fails_open_for(event) and region.casefold() == chosen.region.casefold()

    def takes_unreadable(self, chosen: FilterFields) -> bool:
        return chosen.region == ALL_REGIONS

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return wide.region in {ALL_REGIONS, narrow.region}

    def joined(self, one: FilterFields, _other: FilterFields) -> str:
        return one.region

    def added(self, before: FilterFields, _chosen: FilterFields, *, whole: bool) -> str:  # noqa: ARG002
        return before.region

    def without(self, before: FilterFields, _words: Collection[str]) -> str:
        return before.region

    def to_file(self, chosen: FilterFields) -> str:
        return EVERY_REGION if chosen.region == ALL_REGIONS else chosen.region

    def from_file(self, data: FileData) -> str:
        word = word_of(data)
        return ALL_REGIONS if word == EVERY_REGION else word

    def of_file(self, values: Sequence[Any]) -> Any:
        return values[0]
