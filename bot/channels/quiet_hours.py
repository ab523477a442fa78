"""How long a channel's filters let an event wait. Abandonments and void results never wait."""

from collections.abc import Iterable
from datetime import datetime

from bot.channels.conditions.quiet_condition import quiet_until
from bot.channels.filters import QUIETED, ChannelFilter
from bot.events.event import RacingEvent


def has_hours(chosen: ChannelFilter) -> bool:
    return bool(chosen.quiet)


def kept_until(filters: Iterable[ChannelFilter], event: RacingEvent, now: datetime) -> datetime | None:
    """The earliest moment of the filters that take the event; None where any of them, or none, tells at once."""
    if event.topic not in QUIETED or event.race.is_void:
        return None
    ends = [quiet_until(chosen, now) for chosen in filters if chosen.matches(event)]
    known = [end for end in ends if end is not None]
    return min(known) if known and len(known) == len(ends) else None
