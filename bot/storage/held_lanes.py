"""Lanes that are held, because their channel is closed to us or asked for a pause: their queues wait."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, exists, func, literal, or_, select, update
from sqlmodel import Session, col

from bot.storage.engine import affected, insert_here, table_of
from bot.storage.posts import ALWAYS
from bot.storage.tables import ChannelSubscriptionRow, Lane

PAUSED = "paused"
"""Why a lane is held whose channel asked for a pause: its events wait, and notices for it still go out."""

TRIED = "tried again"
"""In the place of a reason, for a channel that was closed, and in which the next post is a trial."""


@dataclass(frozen=True)
class Held:
    """Why a lane was held, and since when."""

    because: str
    since: datetime


def hold_lane(session: Session, channel_id: str, reason: str, now: datetime) -> datetime:
    """Since when the lane is held: its queue waits. One that is held stays so, but for a paused one that is closed.

    One that was freed and is closed again before Slack took a post there was held all the time.
    """
    lane = insert_here(session, Lane).values(channel_id=channel_id, next_free_at=ALWAYS)
    session.execute(lane.on_conflict_do_nothing(index_elements=["channel_id"]))
    held, held_at = col(Lane.held_because), col(Lane.held_at)
    is_new = held.is_(None) if reason == PAUSED else or_(held.is_(None), held == PAUSED)
    from_now = literal(now, table_of(Lane).c.held_at.type)
    since = from_now if reason == PAUSED else case((held == PAUSED, from_now), else_=func.coalesce(held_at, from_now))
    statement = update(Lane).where(col(Lane.channel_id) == channel_id, is_new)
    session.execute(statement.values(held_because=reason, held_at=since))
    found: datetime | None = session.execute(select(held_at).where(col(Lane.channel_id) == channel_id)).scalar_one()
    return found or now


def free_lane(session: Session, channel_id: str, now: datetime, *, only: str | None = None) -> Held | None:
    """What the lane was held for, and since when; None where it was open. Its queue goes on.

    Of one that was closed the latter is kept: only a post that Slack takes there ends that (`end_holding`). `only`:
    leave it held where it is for another reason than that.
    """
    statement = select(Lane).where(col(Lane.channel_id) == channel_id, col(Lane.held_because).is_not(None))
    if only is not None:
        statement = statement.where(col(Lane.held_because) == only)
    lane = session.execute(statement.with_for_update()).scalar_one_or_none()
    if lane is None:
        return None
    held = Held(lane.held_because or "", lane.held_at or now)
    lane.held_because, lane.held_at = None, None if held.because == PAUSED else held.since
    session.flush()
    return held


def end_holding(session: Session, channel_id: str) -> bool:
    """Whether the lane was closed, and freed to be tried: Slack has taken a post there, so that this is over."""
    tried = update(Lane).where(
        col(Lane.channel_id) == channel_id, col(Lane.held_because).is_(None), col(Lane.held_at).is_not(None)
    )
    return affected(session, tried.values(held_at=None)) > 0


def closing_of(session: Session, channel_id: str) -> Held | None:
    """Why Slack takes no post in a channel, and since when; None where it does, or the channel was never tried.

    Of a channel that is tried again (`free_lane`) the reason is TRIED.
    """
    statement = select(col(Lane.held_because), col(Lane.held_at)).where(col(Lane.channel_id) == channel_id)
    found = session.execute(statement).first()
    because, since = found or (None, None)
    return None if because == PAUSED or since is None else Held(because or TRIED, since)


def held_channels(session: Session, limit: int) -> list[str]:
    """Some of the channels that are closed to us, other ones each time; the paused ones left out."""
    statement = (
        select(col(Lane.channel_id))
        .where(col(Lane.held_because).is_not(None), col(Lane.held_because) != PAUSED)
        .order_by(func.random())
        .limit(limit)
    )
    return list(session.execute(statement).scalars())


def pauses_over(session: Session, now: datetime, limit: int) -> list[str]:
    """Paused channels whose pause has ended, or that have no subscription left that is paused."""
    goes_on = exists().where(
        col(ChannelSubscriptionRow.channel_id) == col(Lane.channel_id), col(ChannelSubscriptionRow.paused_until) > now
    )
    statement = select(col(Lane.channel_id)).where(col(Lane.held_because) == PAUSED, ~goes_on).limit(limit)
    return list(session.execute(statement).scalars())
