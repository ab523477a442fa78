"""Which new messages wait for an hour that their channel chose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.channels.filters import ChannelFilter
from bot.channels.hours import kept_until
from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.facts import VersionRemarks


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

    def waiting(
        self, event: RacingEvent, version: EventVersion, remarks: VersionRemarks, channels: Sequence[str]
    ) -> Mapping[str, datetime]:
        """A watch stands beside the filters, and has no hours."""
        if not self.filters or is_urgent(event, remarks):
            return {}
        found = {
            one: kept_until(self.filters[one], event, version.received_at, self.now)
            for one in channels
            if one in self.filters
        }
        watched = event_store.known(version)[1].watched if any(found.values()) else {}
        return {channel: until for channel, until in found.items() if until is not None and channel not in watched}


def is_urgent(event: RacingEvent, remarks: VersionRemarks) -> bool:
    return event.reports_loss or remarks.contradicts is not None
