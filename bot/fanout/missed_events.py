"""Posts events that channels have missed because of a wrong filter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from sqlmodel import Session

from bot.channels.filters import ChannelFilter
from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.fanout.known_meetings import KnownMeetings, VersionNews
from bot.fanout.plan import Heard, Plan
from bot.outbox import fanout_knowledge, telling_store
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.racedata.event_completion import KnownElsewhere, lacks


class Missed(NamedTuple):
    """A channel's missed events, by key: the first missed version, the newest version, and the event filled in anew."""

    channel_id: str
    first: Mapping[str, EventVersion]
    newest: Mapping[str, EventVersion]
    events: Mapping[str, RacingEvent]


def find(
    session: Session, channel_id: str, chosen: ChannelFilter, found: Sequence[Missed], *, since: datetime, now: datetime
) -> Missed:
    """The matching events received since `since`, without events `found` before."""
    first = {row.event_key: row for row in reversed(event_store.received_since(session, since))}
    newest = event_store.latest(session, first)
    anew = _anew(session, newest, fanout_knowledge.read(session, now))
    missed = {key: event for key, event in anew.items() if chosen.matches(event)}
    told = [one.event_key for one in telling_store.told(session, missed, channels=[channel_id])]
    for key in (*told, *(key for one in found if one.channel_id == channel_id for key in one.events)):
        missed.pop(key, None)
    return Missed(channel_id, first, newest, missed)


def post(session: Session, found: Sequence[Missed], now: datetime) -> None:
    """By the newest versions. Ends the transaction."""
    channels = {missed.channel_id for missed in found}
    known = fanout_knowledge.read(session, now)
    known = replace(known, listening=[one for one in known.listening if one[0] in channels])
    meetings = KnownMeetings(session, now)
    plan = Plan(session, meetings, known, now)
    for missed in found:
        meetings.read(missed.events.values())
        for key, event in sorted(missed.events.items(), key=lambda one: missed.first[one[0]].id or 0):
            for news in _told(missed.first[key], missed.newest[key], event):
                news.version.posts += 1
                plan.add(news, Heard([missed.channel_id], only=missed.channel_id))
    plan.write(QueuedOnly().claiming(now))


def _told(first: EventVersion, newest: EventVersion, event: RacingEvent) -> list[VersionNews]:
    """The first missed version, edited by the newest: so the heading does not say "correction".

    Of a contradiction, only the newest version.
    """

    def news(row: EventVersion, *, rings: bool, is_first: bool) -> VersionNews:
        at, remarks = row.received_at, event_store.remarks_of(row)
        return VersionNews(event, remarks, rings, is_first, version=row, received_at=at, at=at)

    if first.version == newest.version or event_store.remarks_of(newest).contradicts:
        return [news(newest, rings=True, is_first=False)]
    return [news(first, rings=True, is_first=True), news(newest, rings=False, is_first=False)]


def _anew(session: Session, newest: Mapping[str, EventVersion], known: FanoutKnowledge) -> dict[str, RacingEvent]:
    """The events, filled in anew: an event may be older than the list of regions."""
    elsewhere = KnownElsewhere(session, known.lists, known.filters)
    stored = {key: event_store.known(row)[0] for key, row in newest.items()}
    readable = {key: event for key, event in stored.items() if event.unreadable_because is None}
    coded = {key: elsewhere.coded(event) for key, event in readable.items()}
    lacking = {key: event for key, event in coded.items() if lacks(event)}
    elsewhere.listen(coded.values())
    elsewhere.read(list(lacking.values()))
    filled = {key: elsewhere.filled(event.as_delivered(), event) for key, event in lacking.items()}
    changed = {key: event for key, event in (coded | filled).items() if event != stored[key]}
    for key, event in changed.items():
        event_store.amend(newest[key], event)
    return stored | changed
