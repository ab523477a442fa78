"""Posts the events that a channel has missed while its filter was wrong: to this channel alone, each event once."""

from datetime import datetime

from sqlmodel import Session

from bot.alerts.meetings import KnownMeetings
from bot.alerts.plan import Plan
from bot.alerts.versions import News
from bot.domain.filters import ChannelFilter
from bot.outbox import posts
from bot.storage import events, mutes


def post_missed(session: Session, channel_id: str, chosen: ChannelFilter, *, since: datetime, now: datetime) -> int:
    """How many posts were made: for events received since `since`, taken by the filter, and not posted here before.

    An event is matched by its newest version, and told by the first version missed by the channel.
    """
    rows = events.received_since(session, since)
    first = {row.event_key: row for row in reversed(rows)}
    newest = {key: events.known(row)[0] for key, row in events.latest(session, first).items()}
    missed = {key: event for key, event in newest.items() if chosen.matches(event)}
    for key in posts.keys_known(session, channel_id, missed):
        del missed[key]
    muted = mutes.active(session, now)
    meetings = KnownMeetings(session, now)
    meetings.read(missed.values())
    plan = Plan(session, meetings)
    for key in sorted(missed, key=lambda key: first[key].id or 0):
        version = first[key]
        event, remarks = events.known(version)
        version.posts += 1
        holding = {channel: by for channel, by in mutes.muting(muted, missed[key]).items() if channel == channel_id}
        news = News(version, event, remarks, rings=True, moves=False)
        plan.add(news, [channel_id], {} if remarks.contradicts else holding)
    plan.link()
    plan.carry_out()
    posts.hurry_races(session, [event.race.race_id for event in missed.values() if event.is_abandonment])
    return len(missed)
