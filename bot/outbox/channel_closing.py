"""Closes, reopens and pauses channels: queue, subscriptions and notices in one transaction.

A closed channel loses no message. A closing ends when Slack takes a message, and not with a trial.
"""

from datetime import datetime

from sqlmodel import Session

from bot.channels import subscriptions, watches
from bot.logs import get_logger
from bot.outbox import acknowledgements, backlog, held_queues
from bot.outbox.held_queues import Held
from bot.outbox.notices import Notices

log = get_logger(__name__)


def close_channel(session: Session, notices: Notices, channel_id: str, reason: str, now: datetime) -> None:
    """Admins and subscribers are told once a closing."""
    suspended = subscriptions.suspend(session, channel_id, reason, now)
    since = held_queues.close(session, channel_id, reason, now)
    backlog.unfold(session, channel_id)
    notices.divert(session, channel_id, reason, since)
    escalating = _escalating(session, channel_id)
    # After a failed trial the subscriptions are still suspended: nobody is told again.
    if suspended or (since == now and (escalating or watches.has_any(session, channel_id))):
        notices.channel_closed(session, channel_id, Held(reason, since), _creators(session, channel_id), escalating)
    log.warning("channel_closed", channel_id=channel_id, reason=reason, suspended=suspended)


def end_closing(session: Session, notices: Notices, channel_id: str, since: datetime, now: datetime) -> None:
    """Slack took a message on trial. Does nothing if the channel was closed again meanwhile."""
    if held_queues.end_trial(session, channel_id):
        started = subscriptions.reopen(session, channel_id, now)
        notices.channel_open(session, channel_id, since, _creators(session, channel_id))
        log.info("channel_takes_posts_again", channel_id=channel_id, subscriptions_started=started)


def pause_channel(session: Session, channel_id: str, until: datetime | None, now: datetime) -> int:
    """How many subscriptions and watches are paused (`until` None: until resumed). Their events wait."""
    paused = subscriptions.pause(session, channel_id, until, now)
    if paused:
        held_queues.pause(session, channel_id, now)
        backlog.unfold(session, channel_id)
    return paused


def is_used(session: Session, channel_id: str) -> bool:
    """True with subscriptions, watches, or escalations of other channels."""
    return bool(
        subscriptions.of_channel(session, channel_id)
        or watches.has_any(session, channel_id)
        or _escalating(session, channel_id)
    )


def _escalating(session: Session, channel_id: str) -> list[str]:
    """Channels whose escalations go here, or wait here although the subscription has ended."""
    naming = {row.channel_id for row in subscriptions.escalating_to(session, channel_id)}
    return sorted(naming.union(acknowledgements.waiting_in(session, channel_id)))


def _creators(session: Session, channel_id: str) -> list[str]:
    escalating = subscriptions.escalating_to(session, channel_id)
    created = {*subscriptions.creators(session, channel_id), *watches.creators(session, channel_id)}
    return sorted(created | {row.created_by for row in escalating})
