"""Lanes that are held, because their channel is closed to us or asked for a pause: their queues wait."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, select
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import ChannelQueue, ChannelSubscriptionRow, QueueState
from bot.outbox.message_store import ALWAYS
from bot.outbox.states import QueueEvent, move

PAUSED = "paused"
"""Why a lane is held whose channel asked for a pause: its events wait, and notices for it still go out."""

UNDELIVERED = "undelivered"
"""The reason of a summary in a lane that was not held: the data service gave up the deliveries."""


@dataclass(frozen=True)
class Held:
    """Why a lane was held, and since when."""

    because: str
    since: datetime
    on_trial: bool = False
    """The next message is a trial: Slack may take it."""


def pause(session: Session, channel_id: str, now: datetime) -> None:
    """The channel's events wait. A closed queue stays closed: the pause of its subscriptions outlasts the closing."""
    _make(session, channel_id)
    move(session, QueueEvent.PAUSE, _is(channel_id), state_reason=None, state_since=now)


def close(session: Session, channel_id: str, reason: str, now: datetime) -> datetime:
    """Since when the channel is closed: its queue waits. A queue on trial was closed all the time."""
    _make(session, channel_id)
    if not move(session, QueueEvent.CLOSE_AGAIN, _is(channel_id), state_reason=reason):
        move(session, QueueEvent.CLOSE, _is(channel_id), state_reason=reason, state_since=now)
    found = held_of(session, channel_id)
    return found.since if found else now


def resume(session: Session, channel_id: str) -> Held | None:
    """Why the queue waited, where it was paused; its events go on."""
    found = _lock(session, channel_id, (QueueState.PAUSED,))
    if found is not None:
        move(session, QueueEvent.RESUME, _is(channel_id), state_reason=None, state_since=None)
    return found


def try_again(session: Session, channel_id: str) -> Held | None:
    """Why the queue waited, where it was closed; its messages go on, on trial, until Slack takes one of them."""
    found = _lock(session, channel_id, (QueueState.CLOSED,))
    if found is not None:
        move(session, QueueEvent.TRY, _is(channel_id))
    return found


def end_trial(session: Session, channel_id: str) -> bool:
    """Whether the queue was on trial: Slack has taken a message there, so the closing is over."""
    return move(session, QueueEvent.TAKEN, _is(channel_id), state_reason=None, state_since=None) > 0


def held_of(session: Session, channel_id: str) -> Held | None:
    """Why a channel's queue is closed, on trial or paused, and since when; None of an open queue."""
    statement = select(ChannelQueue).where(_is(channel_id), col(ChannelQueue.state) != QueueState.OPEN)
    row = session.execute(statement).scalar_one_or_none()
    return held(row) if row else None


def _lock(session: Session, channel_id: str, states: Collection[QueueState]) -> Held | None:
    statement = select(ChannelQueue).where(_is(channel_id), col(ChannelQueue.state).in_(states)).with_for_update()
    row = session.execute(statement).scalar_one_or_none()
    return held(row) if row else None


def held(row: ChannelQueue) -> Held:
    """Why a queue that is not open waits, and since when."""
    assert row.state_since
    because = PAUSED if row.state == QueueState.PAUSED else row.state_reason or ""
    return Held(because, row.state_since, on_trial=row.state == QueueState.ON_TRIAL)


def _is(channel_id: str) -> ColumnElement[bool]:
    return col(ChannelQueue.channel_id) == channel_id


def _make(session: Session, channel_id: str) -> None:
    queue = insert_here(session, ChannelQueue).values(channel_id=channel_id, state=QueueState.OPEN, next_free_at=ALWAYS)
    session.execute(queue.on_conflict_do_nothing(index_elements=["channel_id"]))


def closing_of(session: Session, channel_id: str) -> Held | None:
    """Why Slack takes no post in a channel, and since when; None where it does, or the channel was never tried."""
    found = held_of(session, channel_id)
    return found if found and found.because != PAUSED else None


def held_channels(session: Session, limit: int) -> list[str]:
    """Some of the channels that are closed to us, other ones each time; the paused ones left out."""
    statement = (
        select(col(ChannelQueue.channel_id))
        .where(col(ChannelQueue.state) == QueueState.CLOSED)
        .order_by(func.random())
        .limit(limit)
    )
    return list(session.execute(statement).scalars())


def pauses_over(session: Session, now: datetime, limit: int) -> list[str]:
    """Paused channels whose pause has ended, or that have no subscription left that is paused."""
    goes_on = exists().where(
        col(ChannelSubscriptionRow.channel_id) == col(ChannelQueue.channel_id),
        col(ChannelSubscriptionRow.paused_until) > now,
    )
    statement = (
        select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state) == QueueState.PAUSED, ~goes_on).limit(limit)
    )
    return list(session.execute(statement).scalars())
