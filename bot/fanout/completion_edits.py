"""Fills in events: before the news, and again later. Later values edit messages, and may bring in further channels.

Further, the channels that watch a runner of an event's races: a filled-in event may name more runners.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlmodel import Session

from bot.channels.watches import Watches
from bot.clock import Clock
from bot.db.tables import EventVersion
from bot.deliveries import inbox
from bot.events import event_bounds, event_store, touched
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.meeting_parts import shows_the_same
from bot.events.races import Race
from bot.events.touched import Name, What
from bot.events.watched import WatchedIn, WatchedRunner, renewed
from bot.fanout.known_meetings import KnownMeetings, VersionNews
from bot.fanout.plan import Heard, Plan
from bot.logs import get_logger
from bot.outbox import fanout_knowledge
from bot.outbox.claim_at_fanout import Added, QueuedOnly
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.racedata import race_book_store
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)

EDITED_WITHIN = timedelta(hours=1)
"""After receipt, sent messages are edited for so long; later only unsent messages."""


RACES_AGAIN_MAX = 300
"""The newest events of the last hour, with the races of the events."""


class _Amended(NamedTuple):
    """An event with later values. `row`: the newest version. `stored`: the event before.

    `watched`: the newly known runners, by channel. `received_at`: of the last delivery. `is_recent`: channels whose
    filters take the event only now get a message, and every message shows a difference.
    """

    stored: RacingEvent
    event: RacingEvent
    row: EventVersion
    watched: WatchedIn
    received_at: datetime
    is_recent: bool

    def news(self, now: datetime) -> VersionNews:
        return VersionNews(
            self.event,
            VersionRemarks(),
            rings=False,
            is_first=False,
            is_late=True,
            is_seen=self.is_recent and not shows_the_same(self.event, self.stored),
            version=self.row,
            received_at=self.received_at,
            at=now,
        )


def fill(elsewhere: KnownElsewhere, meetings: KnownMeetings, delivered: Sequence[RacingEvent]) -> list[RacingEvent]:
    """Fill in delivered events, and read the events around them into `meetings`, until no new value comes."""
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


def later_values(plan: Plan, elsewhere: KnownElsewhere) -> list[_Amended]:
    """The last hour's events that are filled in otherwise by now, or have newly known runners whom channels watch."""
    recent = {stored.key: (stored, row) for stored, row in plan.meetings.told_lately()}
    some = event_bounds.first_of((stored for stored, _ in recent.values()), RACES_AGAIN_MAX)
    lately = [recent[stored.key] for stored in some]
    # An unchanged source gives each field the same value as before.
    elsewhere.read([stored for stored, _ in lately])
    return [one for told in lately if (one := _filled_again(plan.known, elsewhere, *told)) is not None]


def look_again(session: Session, *, clock: Clock, names: Sequence[Name]) -> Added | None:
    """Edit messages about touched races and events; None in another replica's turn."""
    turn = inbox.take_turn(session, clock)
    if turn is None:
        return None
    now, taken = clock(), touched.take(session, names)
    races_of, keys = ([one.name for one in taken if one.what is what] for what in (What.RACE, What.EVENT))
    known = fanout_knowledge.read(session, now)
    elsewhere = KnownElsewhere(session, known.lists, known.filters)
    races = race_book_store.find(session, races_of, ())
    elsewhere.learn(races)
    plan = Plan(session, KnownMeetings(session, now - EDITED_WITHIN), known, now)
    for race in races.values():
        plan.live.refresh(race, now)
    around = [event_store.known(row)[0] for row in event_store.latest(session, keys).values()]
    elsewhere.listen(plan.meetings.read(around, races.values()))
    amend(plan, later_values(plan, elsewhere), now)
    return plan.write(QueuedOnly().claiming(turn))


def repeated(
    plan: Plan, elsewhere: KnownElsewhere, event: RacingEvent, received_at: datetime, *, now: datetime
) -> None:
    """Tell channels that watch a runner whom a delivery without news names for the first time."""
    stored, row = plan.meetings.told(event.key)
    watched = _watched_now(plan.known, elsewhere, event, row, received_at)
    if watched and stored.unreadable_because is None:
        amend(plan, [_Amended(stored, event, row, watched, received_at, is_recent=False)], now)


def _filled_again(
    known: FanoutKnowledge, elsewhere: KnownElsewhere, stored: RacingEvent, row: EventVersion
) -> _Amended | None:
    event = elsewhere.filled(stored.as_delivered(), stored)
    watched = _watched_now(known, elsewhere, event, row, row.received_at)
    if not watched and event == stored:
        return None
    return _Amended(stored, event, row, watched, row.received_at, is_recent=True)


def _watched_now(
    known: FanoutKnowledge, elsewhere: KnownElsewhere, event: RacingEvent, row: EventVersion, received_at: datetime
) -> WatchedIn:
    watched = watched_in(known.watches, elsewhere, event, received_at)
    noted = event_store.known(row)[1].watched if watched else {}
    now = noted_with(elsewhere, event, noted, watched)
    return {name: now[name] for name in watched if _count(now[name]) > _count(noted.get(name, ()))}


def _count(runners: Sequence[WatchedRunner]) -> int:
    return sum(not one.is_lost for one in runners)


def amend(plan: Plan, changed: Sequence[_Amended], now: datetime) -> None:
    for one in changed:
        event_store.amend(one.row, one.event)
        if one.watched:
            event_store.note_watched(one.row, one.watched)
        plan.meetings.learn(one.event)
    for one in changed:
        listening = plan.known.listening if one.is_recent and one.event.place != one.stored.place else ()
        moved = {channel_id for channel_id, chosen in listening if chosen.matches(one.event)}
        plan.add(one.news(now), Heard(moved, set(one.watched)))


def watched_in(watches: Watches, elsewhere: KnownElsewhere, event: RacingEvent, received_at: datetime) -> WatchedIn:
    """The watched runners by channel, also of the race book's declarations.

    Never raises: an error here would hold up every channel.
    """
    if not watches.channels or event.kind is None or event.drill is not None:
        return {}
    try:
        found = watches.in_races(_races_asked(elsewhere, event), received_at, name_off=bool(event.races))
    except Exception:
        log.exception("watches_not_asked", event_key=event.key)
        return {}
    return {channel_id: tuple(runners) for channel_id, runners in found.items()}


def noted_with(elsewhere: KnownElsewhere, event: RacingEvent, noted: WatchedIn, found: WatchedIn) -> WatchedIn:
    """The found runners by channel, with the runners `noted` for earlier versions of the event. Never raises."""
    if not noted:
        return found
    try:
        races = _races_asked(elsewhere, event)
        return {one: renewed(noted.get(one, ()), found.get(one, ()), races) for one in noted.keys() | found.keys()}
    except Exception:
        log.exception("watched_not_renewed", event_key=event.key)
        return found


def _races_asked(elsewhere: KnownElsewhere, event: RacingEvent) -> list[Race]:
    races = elsewhere.with_runners(event)
    return [race for race in races if not race.placed()] if event.kind is EventKind.MEETING_ABANDONED else races
