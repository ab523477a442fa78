"""Lanes: one a channel, leased by whoever posts to it, so that order, pace and exclusion come from one row.

`claim` takes the lane and marks its first post "sending" in one transaction. Everything that is written afterwards goes
through `_release`, which names the lease: a worker whose lease another has taken over changes nothing.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    Function,
    ScalarSelect,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from bot.storage import subscriptions
from bot.storage.engine import affected, insert_here
from bot.storage.posts import IS_UNSENT
from bot.storage.tables import EventVersion, Lane, MethodHold, Post, PostState, SubscriptionState

POST_METHOD = "chat.postMessage"
EVERY_METHOD = "*"
"""Held when Slack no longer takes our token: then nothing is sent at all."""


@dataclass(frozen=True)
class Claim:
    """A leased lane and its first post, which is marked "sending". `doubtful`: it was so before, and nobody knows."""

    channel_id: str
    token: str
    post: Post
    event: EventVersion | None
    doubtful: bool
    claimed_at: datetime
    """By the clock that leases are measured by."""
    previous_ts: str | None = None
    """Where an earlier version of the same event stands in this channel."""


def claim(session: Session, now: datetime, *, limit: int, lease_s: float, call_s: float) -> list[Claim]:
    """Up to `limit` free lanes that have something to post, abandonments first, leased for `lease_s` seconds."""
    if limit <= 0 or _held_until(session, now) is not None:
        return []
    claims = []
    for post, event in _heads(session, _lock_lanes(session, now, limit)):
        token = secrets.token_hex(8)
        session.execute(
            update(Lane)
            .where(col(Lane.channel_id) == post.channel_id)
            .values(lease_token=token, leased_until=now + timedelta(seconds=lease_s))
        )
        doubtful = post.state == PostState.SENDING
        if not doubtful:
            post.state = PostState.SENDING
            post.sending_at = now
            post.deadline_at = now + timedelta(seconds=call_s)
            post.attempts += 1
            session.add(post)
        claims.append(Claim(post.channel_id, token, post, event, doubtful, now, _previous_ts(session, post, event)))
    session.flush()
    return claims


def _of_head(column: Mapped[int] | Mapped[int | None]) -> Function[int]:
    """A column of a lane's first post. A doubtful one is settled before anything follows it."""

    def first(state: PostState) -> ScalarSelect[int]:
        return (
            select(column)
            .where(col(Post.channel_id) == col(Lane.channel_id), IS_UNSENT, col(Post.state) == state)
            .order_by(col(Post.priority), col(Post.id))
            .limit(1)
            .correlate(Lane)
            .scalar_subquery()
        )

    return func.coalesce(first(PostState.SENDING), first(PostState.QUEUED))


def _lock_lanes(session: Session, now: datetime, limit: int) -> list[str]:
    """Free lanes that have something to post, the most urgent first. Nothing but the lanes is looked through."""
    head = _of_head(col(Post.id))
    statement = (
        select(col(Lane.channel_id))
        .where(
            col(Lane.held_because).is_(None),
            col(Lane.next_free_at) <= now,
            or_(col(Lane.leased_until).is_(None), col(Lane.leased_until) <= now),
            head.is_not(None),
        )
        .order_by(_of_head(col(Post.priority)), head)
        .limit(limit)
        .with_for_update(of=Lane, skip_locked=True)
    )
    return list(session.execute(statement).scalars())


def _heads(session: Session, channel_ids: list[str]) -> list[tuple[Post, EventVersion | None]]:
    """The lanes' first posts, read after the lanes were locked: before, another replica may have sent them."""
    statement = (
        select(Post, EventVersion)
        .select_from(Lane)
        .join(Post, col(Post.id) == _of_head(col(Post.id)))
        .outerjoin(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(col(Lane.channel_id).in_(channel_ids))
        .order_by(col(Post.priority), col(Post.id))
    )
    return [(post, event) for post, event in session.execute(statement)]


def _previous_ts(session: Session, post: Post, event: EventVersion | None) -> str | None:
    if event is None or event.version == 1:
        return None
    statement = (
        select(col(Post.message_ts))
        .join(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(
            col(EventVersion.event_key) == event.event_key,
            col(EventVersion.version) < event.version,
            col(Post.channel_id) == post.channel_id,
            col(Post.message_ts).is_not(None),
        )
        .order_by(col(EventVersion.version).desc())
        .limit(1)
    )
    message_ts: str | None = session.execute(statement).scalar_one_or_none()
    return message_ts


def next_due(session: Session, now: datetime) -> datetime | None:
    """The first moment at which a lane that has something to post is free; None if none has."""
    waiting = exists().where(
        col(Post.channel_id) == col(Lane.channel_id), IS_UNSENT, col(Post.state) != PostState.PARKED
    )
    free_at = case(
        (and_(col(Lane.leased_until).is_not(None), col(Lane.leased_until) > col(Lane.next_free_at)), Lane.leased_until),
        else_=col(Lane.next_free_at),
    )
    statement = select(func.min(free_at)).where(waiting, col(Lane.held_because).is_(None))
    first: datetime | None = session.execute(statement).scalar_one_or_none()
    held_until = _held_until(session, now)
    return max(first, held_until) if first and held_until else first


def record_sent(session: Session, claimed: Claim, message_ts: str, now: datetime, *, free_at: datetime) -> bool:
    """Whether the result was ours to write: the post is sent, and its lane free again at `free_at`."""
    return _release(session, claimed, free_at=free_at) and _set(
        session, claimed, state=PostState.SENT, message_ts=message_ts, sent_at=now, error=None
    )


def record_retry(
    session: Session,
    claimed: Claim,
    *,
    free_at: datetime,
    error: str,
    plain: bool | None = None,
    may_be_repeat: bool | None = None,
) -> bool:
    """Back into the queue, at its head: certainly not posted, or to be repeated knowingly."""
    return _release(session, claimed, free_at=free_at) and _set(
        session,
        claimed,
        state=PostState.QUEUED,
        error=error,
        looks=0,
        failed_looks=0,
        plain=claimed.post.plain if plain is None else plain,
        may_be_repeat=claimed.post.may_be_repeat if may_be_repeat is None else may_be_repeat,
    )


def record_doubtful(
    session: Session, claimed: Claim, *, free_at: datetime, error: str, looks: int, failed_looks: int
) -> bool:
    """It stays "sending": nobody knows whether it was posted. The lane is looked at again at `free_at`."""
    return _release(session, claimed, free_at=free_at) and _set(
        session, claimed, looks=looks, failed_looks=failed_looks, error=error
    )


def record_parked(session: Session, claimed: Claim, *, free_at: datetime, error: str) -> bool:
    """Not sent, and not tried again by itself; the lane goes on."""
    return _release(session, claimed, free_at=free_at) and _set(session, claimed, state=PostState.PARKED, error=error)


def hold_lane(session: Session, claimed: Claim, reason: str, now: datetime) -> bool:
    """The channel is gone or closed to us: its queue waits, its post back at the head."""
    return record_retry(session, claimed, free_at=now, error=reason) and bool(
        affected(
            session,
            update(Lane).where(col(Lane.channel_id) == claimed.channel_id).values(held_because=reason, held_at=now),
        )
    )


def free_lane(session: Session, channel_id: str, now: datetime) -> bool:
    """Whether the lane had been held: the channel is back, and its queue goes on."""
    statement = (
        update(Lane)
        .where(col(Lane.channel_id) == channel_id, col(Lane.held_because).is_not(None))
        .values(held_because=None, held_at=None, next_free_at=now)
    )
    return affected(session, statement) > 0


def reopen_channel(session: Session, channel_id: str, now: datetime) -> int:
    """How many subscriptions start: the bot is in the channel (again), so what waited for that goes on."""
    free_lane(session, channel_id, now)
    return subscriptions.set_state(session, channel_id, SubscriptionState.LIVE, now, only=subscriptions.CLOSED)


def held_channels(session: Session, limit: int) -> list[str]:
    """Channels whose lane is held, those that have been longest first."""
    statement = (
        select(col(Lane.channel_id)).where(col(Lane.held_because).is_not(None)).order_by(col(Lane.held_at)).limit(limit)
    )
    return list(session.execute(statement).scalars())


def hold_method(session: Session, method: str, until: datetime, reason: str) -> None:
    """Nothing is sent by this method (or by none, EVERY_METHOD) before `until`."""
    statement = insert_here(session, MethodHold).values(method=method, until=until, reason=reason)
    session.execute(statement.on_conflict_do_update(index_elements=["method"], set_={"until": until, "reason": reason}))


def method_holds(session: Session, now: datetime) -> dict[str, str]:
    """What is held just now: method → reason."""
    statement = select(MethodHold).where(col(MethodHold.until) > now)
    return {row.method: row.reason for row in session.execute(statement).scalars()}


def _held_until(session: Session, now: datetime) -> datetime | None:
    statement = select(func.max(col(MethodHold.until))).where(
        col(MethodHold.method).in_([POST_METHOD, EVERY_METHOD]), col(MethodHold.until) > now
    )
    until: datetime | None = session.execute(statement).scalar_one_or_none()
    return until


def _release(session: Session, claimed: Claim, *, free_at: datetime) -> bool:
    statement = (
        update(Lane)
        .where(col(Lane.channel_id) == claimed.channel_id, col(Lane.lease_token) == claimed.token)
        .values(lease_token=None, leased_until=None, next_free_at=free_at)
    )
    return affected(session, statement) > 0


def _set(session: Session, claimed: Claim, **values: object) -> bool:
    return affected(session, update(Post).where(col(Post.id) == claimed.post.id).values(**values)) > 0
