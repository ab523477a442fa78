"""How long a channel's filters let an event wait. Abandonments and void results never wait."""

from collections.abc import Iterable
from datetime import datetime

from bot.channels.conditions.digest_condition import told_at
from bot.channels.conditions.quiet_condition import quiet_until
from bot.channels.filters import QUIETED, ChannelFilter
from bot.events.event import RacingEvent


def has_hours(chosen: ChannelFilter) -> bool:
    return bool(chosen.quiet or chosen.digest or chosen.cards)


def kept_until(filters: Iterable[ChannelFilter], event: RacingEvent, now: datetime) -> datetime | None:
    """The earliest moment of the filters that take the event; None for an event that is told at once."""
    if event.topic not in QUIETED or event.reports_loss:
        return None
    moments = [_told_at(chosen, event, now) for chosen in filters if chosen.matches(event)]
    first = min(moments, default=now)
    return first if first > now else None


def _told_at(chosen: ChannelFilter, event: RacingEvent, now: datetime) -> datetime:
    """A moment within quiet hours waits for the end."""
    at = told_at(chosen, event, now)
    return quiet_until(chosen, at) or at
