"""Fills in events: before the news, and again later. Later values edit messages, and may bring in further channels."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from sqlmodel import Session

from bot.channels import mutes
from bot.clock import Clock
from bot.db.engine import is_unavailable
from bot.db.tables import EventVersion
from bot.deliveries import inbox
from bot.events import event_bounds, event_store, named_races
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.meeting_parts import shows_the_same
from bot.events.watched import WatchedIn, WatchedRunner
from bot.fanout.known_meetings import KnownMeetings
from bot.fanout.plan import Heard, Plan
from bot.fanout.version_news import Repeat, VersionNews
from bot.fanout.watchers import noted_with, watched_in
from bot.logs import get_logger
from bot.outbox import fanout_knowledge
from bot.outbox.claim_at_fanout import Added
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.racedata import race_book_store
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)

EDITED_WITHIN = timedelta(hours=1)
"""After receipt, sent messages are edited for so long; later only unsent messages."""


RACES_AGAIN_MAX = 300
"""The newest events of the last hour, with the races of the events."""

NOTHING: Mapping[str, Repeat] = MappingProxyType({})


class _Amended(NamedTuple):
    """An event with later values. `row`: the newest version. `stored`: the event before.

    `watched`: of channels that watch a newly known runner. `received_at`: of the last delivery. `is_recent`: filters
    are asked too. `is_seen`: all messages show a difference.
    """

    stored: RacingEvent
    event: RacingEvent
    row: EventVersion
    watched: WatchedIn
    received_at: datetime
    is_recent: bool
    is_seen: bool

    @property
    def news(self) -> VersionNews:
        return VersionNews(
            self.event,
            VersionRemarks(),
            rings=False,
            is_first=False,
            is_late=True,
            is_seen=self.is_seen,
            version=self.row,
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


def tell_again(
    plan: Plan,
    elsewhere: KnownElsewhere,
    *,
    now: datetime,
    repeats: Mapping[str, Repeat] = NOTHING,
    careful: bool = True,
) -> None:
    """Fill in the last hour's events again, and edit their messages. A savepoint keeps errors away if `careful`.

    `repeats`: deliveries without news, of events of any age. Watches are asked about a repeat as about any delivery.
    """
    meetings, known = plan.meetings, plan.known
    recent = {stored.key: (stored, row) for stored, row in meetings.told_lately()}
    some = event_bounds.first_of((stored for stored, _ in recent.values()), RACES_AGAIN_MAX)
    lately = {stored.key: recent[stored.key] for stored in some}
    # An unchanged source gives each field the same value as before.
    elsewhere.read([stored for stored, _ in lately.values()])
    older = {key: meetings.told(key) for key in repeats if key not in lately}
    told = [*lately.values(), *(one for one in older.values() if one[0].unreadable_because is None)]
    again = [_again(known, elsewhere, one, repeats.get(one[0].key), is_recent=one[0].key in lately) for one in told]
    changed = [one for one in again if one.watched or one.event != one.stored]
    if not changed:
        return
    plan.carry_out()
    try:
        with plan.session.begin_nested() if careful else nullcontext():
            _tell(plan, changed, now)
    except Exception as error:
        if is_unavailable(error) or not careful:
            raise
        plan.drop()
        log.exception("not_told_again", events=[one.event.key for one in changed])


def edit_for_race_book(session: Session, *, clock: Clock, race_ids: Sequence[str]) -> Added | None:
    """Edit messages about races with news in the race book; None in another replica's turn."""
    now = inbox.take_turn(session, clock)
    if now is None:
        return None
    plan: Plan | None = None
    try:
        with session.begin_nested():
            plan = _fill_in_again(session, race_ids, clock())
    except Exception as error:
        if is_unavailable(error):
            raise
        log.exception("learnt_not_told", races=list(race_ids))
    race_book_store.looked_at(session, race_ids)
    if plan is not None:
        plan.finish()
    return Added(waiting=len(race_ids))


def _fill_in_again(session: Session, race_ids: Sequence[str], now: datetime) -> Plan:
    known = fanout_knowledge.read(session, now)
    elsewhere = KnownElsewhere(session, known.lists, known.filters)
    races = race_book_store.find(session, race_ids, ())
    elsewhere.learn(races)
    meetings = KnownMeetings(session, now - EDITED_WITHIN)
    plan = Plan(session, meetings, known, now)
    for race in races.values():
        plan.live.refresh(race, now)
    elsewhere.listen(meetings.read_around(races.values()))
    tell_again(plan, elsewhere, now=now)
    plan.carry_out()
    return plan


def _again(
    known: FanoutKnowledge,
    elsewhere: KnownElsewhere,
    told: tuple[RacingEvent, EventVersion],
    repeat: Repeat | None,
    *,
    is_recent: bool,
) -> _Amended:
    """Only channels that watch a newly known runner see the values that a repeat adds silently."""
    stored, row = told
    event = elsewhere.filled(stored.as_delivered(), stored) if is_recent else stored
    is_seen = is_recent and not shows_the_same(event, stored)
    asked, received_at = repeat or Repeat(event, row.received_at)
    watched = _watched_now(known, elsewhere, asked, row, received_at)
    return _Amended(stored, asked if watched else event, row, watched, received_at, is_recent, is_seen)


def _watched_now(
    known: FanoutKnowledge, elsewhere: KnownElsewhere, event: RacingEvent, row: EventVersion, received_at: datetime
) -> WatchedIn:
    watched = watched_in(known.watches, elsewhere, event, received_at)
    noted = event_store.known(row)[1].watched if watched else {}
    now = noted_with(elsewhere, event, noted, watched)
    return {name: now[name] for name in watched if _count(now[name]) > _count(noted.get(name, ()))}


def _count(runners: Sequence[WatchedRunner]) -> int:
    return sum(not one.is_lost for one in runners)


def _tell(plan: Plan, changed: Sequence[_Amended], now: datetime) -> None:
    known, muted = plan.known, plan.known.mutes(now)
    for one in changed:
        event_store.amend(one.row, one.event)
        if one.event.kind is EventKind.MEETING_ABANDONED:
            stored = {race.race_id for race in one.stored.races}
            named_races.add(plan.session, one.event.key, {race.race_id for race in one.event.races} - stored)
        if one.watched:
            event_store.note_watched(one.row, one.watched)
        plan.meetings.learn(one.event, one.row)
    for one in changed:
        matching = {channel_id for channel_id, chosen in known.listening if chosen.matches(one.event)}
        moved = matching if one.is_recent and one.event.place != one.stored.place else set[str]()
        noted = event_store.known(one.row)[1].watched
        heard = Heard(moved, known.listeners, set(one.watched), noted, muted=mutes.muting(muted, one.event))
        plan.amend(one.news, heard, one.received_at, now=now)
    plan.carry_out()
