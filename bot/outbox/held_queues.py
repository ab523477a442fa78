"""Held queues: closed, on trial or paused. Reads and moves their states."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, union
from sqlmodel import Session, col

from bot.channels import pauses
from bot.channels.subscriptions import CLOSED_STATES
from bot.db.engine import is_one_of
from bot.db.tables import ChannelQueue, ChannelSubscriptionRow, QueueState
from bot.outbox.message_store import make_queues
from bot.outbox.states import QueueEvent, move

PAUSED = "paused"
"""As `Held.because`. Notices and answers still go out."""

UNDELIVERED = "undelivered"
"""As `Held.because` of a summary: the data service gave up deliveries. The queue was open."""


QUIET = "quiet"
DIGEST = "digest"
CARDS = "cards"
CHOICE_ENDED = "choice_ended"
"""As `Held.because` of a summary, after the wait that the channel chose: hours are over, or the choice was ended."""

KEPT = frozenset({QUIET, DIGEST, CARDS, CHOICE_ENDED})
"""The queue was open, and the channel chose to be told later."""


@dataclass(frozen=True)
class Held:
    because: str
    since: datetime
    on_trial: bool = False


def pause(session: Session, channel_id: str, now: datetime) -> None:
    """A closed queue stays closed; the pause of its subscriptions outlasts the closing."""
    make_queues(session, [channel_id])
    move(session, QueueEvent.PAUSE, _is(channel_id), state_reason=None, state_since=now)


def close(session: Session, channel_id: str, reason: str, now: datetime) -> datetime:
    """Returns the start of the closing. A failed trial continues the closing."""
    make_queues(session, [channel_id])
    if not move(session, QueueEvent.CLOSE_AGAIN, _is(channel_id), state_reason=reason):
        move(session, QueueEvent.CLOSE, _is(channel_id), state_reason=reason, state_since=now)
    found = held_of(session, channel_id)
    return found.since if found else now


def resume(session: Session, channel_id: str) -> Held | None:
    return _go_on(session, channel_id, QueueEvent.RESUME, state_reason=None, state_since=None)


def try_again(session: Session, channel_id: str) -> Held | None:
    """Put a closed queue on trial."""
    return _go_on(session, channel_id, QueueEvent.TRY)


def _go_on(session: Session, channel_id: str, event: QueueEvent, **written: None) -> Held | None:
    """How the queue was held; None for a queue in another state."""
    found = held_of(session, channel_id, lock=True)
    return found if found and move(session, event, _is(channel_id), **written) else None


def end_trial(session: Session, channel_id: str) -> bool:
    return move(session, QueueEvent.TAKEN, _is(channel_id), state_reason=None, state_since=None) > 0


def held_of(session: Session, channel_id: str, *, lock: bool = False) -> Held | None:
    queue = select(ChannelQueue).where(_is(channel_id), col(ChannelQueue.state) != QueueState.OPEN)
    row = session.execute(queue.with_for_update() if lock else queue).scalar_one_or_none()
    return held(row) if row else None


def held(row: ChannelQueue) -> Held:
    assert row.state_since
    because = PAUSED if row.state == QueueState.PAUSED else row.state_reason or ""
    return Held(because, row.state_since, on_trial=row.state == QueueState.ON_TRIAL)


def _is(channel_id: str) -> ColumnElement[bool]:
    return col(ChannelQueue.channel_id) == channel_id


def closing_of(session: Session, channel_id: str) -> Held | None:
    """None if Slack takes posts there, as far as known."""
    found = held_of(session, channel_id)
    return found if found and found.because != PAUSED else None


def closed_channels(session: Session, limit: int) -> list[str]:
    """Channels with a closed queue or a closed subscription, drawn anew at each call."""
    # The admins' channel has a channel queue and no subscription.
    closed = union(
        select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state) == QueueState.CLOSED),
        select(col(ChannelSubscriptionRow.channel_id)).where(is_one_of(ChannelSubscriptionRow.state, CLOSED_STATES)),
    ).subquery()
    return list(session.execute(select(closed.c.channel_id).order_by(func.random()).limit(limit)).scalars())


def pauses_over(session: Session, now: datetime, limit: int) -> list[str]:
    """Paused channels without a paused subscription or watch."""
    goes_on = pauses.is_paused(col(ChannelQueue.channel_id), now)
    statement = (
        select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state) == QueueState.PAUSED, ~goes_on).limit(limit)
    )
    return list(session.execute(statement).scalars())
