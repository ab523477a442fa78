"""What becomes known of events that were told: their messages are edited, and channels that match only now are told."""

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
"""An event's messages are edited for so long. Whatever is learnt later, a message that is still to be sent has it."""

Listening = Sequence[tuple[str, ChannelFilter]]


def fill(elsewhere: KnownElsewhere, meetings: KnownMeetings, delivered: Sequence[RacingEvent]) -> list[RacingEvent]:
    """The delivered events with what is known of them elsewhere, and `meetings` with what belongs together with them.

    Another event can tell a meeting's day, by which further events are found: then these are read as well.
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
    """Tell what has become known of the events that were told lately. It is no version: no delivery said it."""
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
