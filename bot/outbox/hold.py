"""A channel's lane is held: the channel is gone or closed to us, or somebody asked for a pause. Nothing is deleted.

A closing lasts until Slack takes a post there again. That a lane is freed in between is a trial, and ends nothing.
"""

from datetime import datetime

from sqlmodel import Session

from bot.channels import subscriptions
from bot.logs import get_logger
from bot.outbox import backlog, held_queues
from bot.outbox.notices import Notices

log = get_logger(__name__)


def close_channel(session: Session, notices: Notices, channel_id: str, reason: str, now: datetime) -> None:
    """Suspend a channel's subscriptions and hold its lane: told once a closing, by whoever notices it first.

    A trial (`Reopening.try_again`) leaves the subscriptions suspended until it has succeeded.
    """
    suspended = subscriptions.suspend(session, channel_id, reason, now)
    since = held_queues.close(session, channel_id, reason, now)
    backlog.unfold(session, channel_id)
    notices.divert(session, channel_id, reason, since)
    if suspended:
        notices.channel_closed(session, channel_id, reason, since, subscriptions.creators(session, channel_id))
    log.warning("channel_closed", channel_id=channel_id, reason=reason, suspended=suspended)


def end_closing(session: Session, notices: Notices, channel_id: str, since: datetime, now: datetime) -> None:
    """Slack has taken a post in a channel that was closed: it is told, and what was suspended starts.

    Nothing where the channel was closed again before that could be written down.
    """
    if held_queues.end_trial(session, channel_id):
        started = subscriptions.reopen(session, channel_id, now)
        notices.channel_open(session, channel_id, since, subscriptions.creators(session, channel_id))
        log.info("channel_takes_posts_again", channel_id=channel_id, subscriptions_started=started)


def pause_channel(session: Session, channel_id: str, until: datetime | None, now: datetime) -> int:
    """How many subscriptions are paused until then (None: until resumed); their events wait in the lane."""
    paused = subscriptions.pause(session, channel_id, until, now)
    if paused:
        held_queues.pause(session, channel_id, now)
        backlog.unfold(session, channel_id)
    return paused
