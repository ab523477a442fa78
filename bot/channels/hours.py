"""How long a channel's filters let an event wait. Abandonments and void results never wait."""

from collections.abc import Iterable
from datetime import datetime
from operator import itemgetter

from bot.channels.conditions.choices import quiet_until, told_at
from bot.channels.filters import QUIETED, ChannelFilter
from bot.events.event import RacingEvent


def kept_until(
    filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime, now: datetime
) -> datetime | None:
    """The earliest moment of the filters that take the event; None for an event told at once.

    The moment follows from the receipt. A moment before `now` came while the delivery waited for fan-out.
    """
    if event.topic not in QUIETED or event.reports_loss:
        return None
    first = _first(filters, event, received_at, now)
    return first[0] if first and first[0] > received_at else None


def chosen_by(filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime) -> ChannelFilter | None:
    """The filter with the earliest moment; None if no filter takes the event."""
    first = _first(filters, event, received_at, received_at)
    return first[1] if first else None


def _first(
    filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime, now: datetime
) -> tuple[datetime, ChannelFilter] | None:
    moments = [(_told_at(chosen, event, received_at, now), chosen) for chosen in filters if chosen.matches(event)]
    return min(moments, key=itemgetter(0), default=None)


def _told_at(chosen: ChannelFilter, event: RacingEvent, received_at: datetime, now: datetime) -> datetime:
    """A moment within quiet hours waits for their end, and so does a past moment if `now` is within quiet hours."""
    at = told_at(chosen, event, received_at)
    at = quiet_until(chosen, at) or at
    return at if at > now else quiet_until(chosen, now) or at
