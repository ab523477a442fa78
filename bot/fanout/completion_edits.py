"""Told events are filled in again: their messages are edited, and channels that match only now get a message."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.channels import mutes
from bot.db.engine import is_unavailable
from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.meeting_parts import shows_the_same
from bot.fanout.known_meetings import KnownMeetings
from bot.fanout.plan import Plan
from bot.logs import get_logger
from bot.outbox.memory import Known
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)

TOLD_LATELY = timedelta(hours=1)
"""Within an hour of receipt an event's messages are edited. Later news reach only messages still to be sent."""

Changed = tuple[RacingEvent, RacingEvent, EventVersion]
"""An event as stored, the event filled in again, and the newest version."""


def fill(elsewhere: KnownElsewhere, meetings: KnownMeetings, delivered: Sequence[RacingEvent]) -> list[RacingEvent]:
    """The delivered events, filled in; the events around them are read into `meetings`.

    A stored event can tell a meeting's day and course. Then the events of that day and course are read as well.
    """
    elsewhere.listen(delivered)
    filled = [elsewhere.filled(event) for event in delivered]
    if elsewhere.read(filled):
        filled = [elsewhere.filled(event) for event in delivered]
    while found := meetings.read(filled):
        elsewhere.listen(found)
        again = [elsewhere.filled(event) for event in delivered]
        if again == filled:
            break
        filled = again
    return filled


def tell_again(
    session: Session,
    plan: Plan,
    elsewhere: KnownElsewhere,
    meetings: KnownMeetings,
    known: Known,
    *,
    now: datetime,
) -> None:
    """Fill in the events of the last hour again, and tell the differences. The version stays the same.

    Has a savepoint of its own: no delivery is held up by an error here.
    """
    lately = meetings.told_lately()
    # Each field comes from the same source as before, where nothing has changed there.
    elsewhere.read([stored for stored, _ in lately])
    again = [(stored, elsewhere.filled(stored.as_delivered(), stored), row) for stored, row in lately]
    changed = [(stored, event, row) for stored, event, row in again if event != stored]
    if not changed:
        return
    plan.carry_out()
    try:
        with session.begin_nested():
            _tell(plan, meetings, known, changed, now=now)
    except Exception as error:
        if is_unavailable(error):
            raise
        log.exception("not_told_again", events=[event.key for _, event, _ in changed])


def _tell(
    plan: Plan,
    meetings: KnownMeetings,
    known: Known,
    changed: Sequence[Changed],
    *,
    now: datetime,
) -> None:
    muted = known.mutes(now)
    for _, event, row in changed:
        event_store.amend(row, event)
        meetings.learn(event, row)
    for stored, event, row in changed:
        matching = {channel_id for channel_id, chosen in known.listening if chosen.matches(event)}
        moved = matching if event.place != stored.place else set[str]()
        seen_at = None if shows_the_same(event, stored) else now
        plan.amend(event, row, moved, mutes.muting(muted, event), seen_at=seen_at)
    plan.link()
    plan.carry_out()
