"""Until when new messages wait, by the hours that their channel chose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.channels.filters import ChannelFilter
from bot.channels.hours import kept_until
from bot.events.event import RacingEvent


@dataclass(frozen=True)
class Hours:
    """`filters`: all filters of the channels that let events wait. False without any."""

    now: datetime
    filters: Mapping[str, Sequence[ChannelFilter]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.filters)

    @property
    def channels(self) -> frozenset[str]:
        return frozenset(self.filters)

    def until(self, channel_id: str, event: RacingEvent, received_at: datetime) -> datetime | None:
        filters = self.filters.get(channel_id)
        return kept_until(filters, event, received_at, self.now) if filters else None
