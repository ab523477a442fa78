"""Told events are filled in again: their messages are edited, and channels that match only now get a message."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.alerts.meetings import KnownMeetings
from bot.alerts.plan import Plan
from bot.domain.events import RacingEvent
from bot.domain.filters import ChannelFilter
from bot.domain.meetings import shows_the_same
from bot.storage import events, mutes
from bot.storage.elsewhere import KnownElsewhere
from bot.storage.tables import MutedMeetingRow

TOLD_LATELY = timedelta(hours=1)
"""Within an hour of receipt an event's messages are edited. Later news reach only messages still to be sent."""

Listening = Sequence[tuple[str, ChannelFilter]]


def fill(elsewhere: KnownElsewhere, meetings: KnownMeetings, delivered: Sequence[RacingEvent]) -> list[RacingEvent]:
    """The delivered events, filled in; the events around them are read into `meetings`.

    A stored event can tell a meeting's day. Then the events of that day are read as well.
    """
    elsewhere.listen(delivered)
    filled = [elsewhere.filled(event) for event in delivered]
    while found := meetings.read(filled):
        elsewhere.listen(found)
        again = [elsewhere.filled(event) for event in delivered]
        if again == filled:
            break
        filled = again
    return filled


def tell_again(
    plan: Plan,
    elsewhere: KnownElsewhere,
    meetings: KnownMeetings,
    listening: Listening,
    muted: Sequence[MutedMeetingRow],
    *,
    now: datetime,
) -> None:
    """Fill in the events of the last hour again, and tell the differences. The version stays the same."""
    changed = []
    for stored, row in meetings.told_lately():
        event = elsewhere.filled(stored.as_delivered(), stored)
        if event != stored:
            events.amend(row, event)
            meetings.learn(event, row)
            changed.append((stored, event, row))
    for stored, event, row in changed:
        matching = {channel_id for channel_id, chosen in listening if chosen.matches(event)}
        moved = matching if event.place != stored.place else set[str]()
        seen_at = None if shows_the_same(event, stored) else now
        plan.amend(event, row, moved, mutes.muting(muted, event), seen_at=seen_at)
