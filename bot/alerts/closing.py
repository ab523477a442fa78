"""A channel's lane is held: the channel is gone or closed to us, or somebody asked for a pause. Nothing is deleted."""

from datetime import datetime

from sqlmodel import Session

from bot.alerts.notices import Notices
from bot.logs import get_logger
from bot.storage import lanes, subscriptions, waited

log = get_logger(__name__)


def close_channel(session: Session, notices: Notices, channel_id: str, reason: str, now: datetime) -> bool:
    """Whether it was told: whoever else noticed the same closing has told of it, and so has a trial that failed.

    A trial (`Reopening.try_again`) leaves the subscriptions suspended, so that nothing of them changes here.
    """
    suspended = subscriptions.suspend(session, channel_id, reason, now)
    lanes.hold_lane(session, channel_id, reason, now)
    waited.unfold(session, channel_id)
    if suspended:
        notices.channel_closed(session, channel_id, reason, now, subscriptions.creators(session, channel_id))
    log.warning("channel_closed", channel_id=channel_id, reason=reason, suspended=suspended)
    return suspended > 0


def pause_channel(session: Session, channel_id: str, until: datetime | None, now: datetime) -> int:
    """How many subscriptions are paused until then (None: until resumed); their events wait in the lane."""
    paused = subscriptions.pause(session, channel_id, until, now)
    if paused:
        lanes.hold_lane(session, channel_id, lanes.PAUSED, now)
        waited.unfold(session, channel_id)
    return paused
