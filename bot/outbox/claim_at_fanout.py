"""Claims new messages and edits in fan-out's transaction, where the queue is free. All others are queued."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Boolean, and_, bindparam, exists, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import Session, col

from bot.db.engine import FAR, as_read, table_of
from bot.db.tables import ChannelQueue, EventVersion, MessageKind, OutboxMessage, QueueState
from bot.outbox import message_store, telling_store
from bot.outbox.channel_queues import LEASE, Claim, deadline_of, is_free, lease_end, waits_for_a_call, with_views
from bot.outbox.message import Call
from bot.outbox.message_store import IS_DUE, IS_TO_EDIT, IS_UNSENT, NewPost
from bot.outbox.message_view import Tells
from bot.outbox.pace import Buckets, is_call_free

_QUEUE = table_of(ChannelQueue)
_NOW = bindparam("now", type_=_QUEUE.c.next_free_at.type)
_FAR = bindparam("far", type_=_QUEUE.c.next_free_at.type)


def _leasing(call: Call) -> ReturningUpdate[str]:
    """Leases the channels with a free queue and nothing else to send."""
    to_send = or_(and_(IS_UNSENT, IS_DUE), IS_TO_EDIT) if call is Call.EDIT else and_(IS_UNSENT, IS_DUE)
    free = (
        select(col(ChannelQueue.channel_id))
        .where(
            col(ChannelQueue.channel_id).in_(bindparam("channels", expanding=True)),
            col(ChannelQueue.state) == QueueState.OPEN,
            is_free(_NOW, _FAR),
            is_call_free(call, _NOW, _FAR),
            ~exists().where(col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id), to_send),
            # The poster chooses the most urgent message.
            or_(~bindparam("calls_are_few", type_=Boolean()), ~waits_for_a_call(call, _NOW, _FAR)),
        )
        .with_for_update(skip_locked=True)
    )
    return LEASE.where(_QUEUE.c.channel_id.in_(free)).returning(_QUEUE.c.channel_id)


_LEASE = {call: _leasing(call) for call in (Call.POST, Call.EDIT)}

_UNLEASE = (
    update(_QUEUE)
    .where(_QUEUE.c.channel_id.in_(bindparam("channels", expanding=True)), _QUEUE.c.lease_token == bindparam("token"))
    .values(lease_token=None, leased_until=None)
)


@dataclass(frozen=True)
class Claiming:
    """The claims that one process may make in a transaction. `room`: the most claims.

    `now`: the transaction's moment. `at_s`: a moment before `now`, by the monotonic clock.
    """

    token: str
    room: int
    buckets: Buckets
    now: datetime
    at_s: float


@dataclass(frozen=True)
class Added:
    """`ids`: of the new messages by key. `waiting`: queued messages. `queues`: channels with a queue."""

    claims: Sequence[Claim] = ()
    waiting: int = 0
    ids: Mapping[str, int] = field(default_factory=dict)
    queues: frozenset[str] = frozenset()


class QueuedOnly:
    """An outbox without claims: the poster of a running `serve` sends the messages."""

    def claiming(self, now: datetime, at_s: float = 0.0) -> Claiming:
        return Claiming("", 0, Buckets({}), now, at_s)

    def begin(self, added: Added) -> None:
        assert not added.claims


def add(session: Session, new: Sequence[NewPost], tells: Tells, claiming: Claiming, *, but: Collection[str]) -> Added:
    """Make new messages, and claim some of the messages. `but`: channels without a claim."""
    now, new = claiming.now, list({post.idempotency_key: post for post in new}.values())
    if not new:
        return Added()
    channels = frozenset(post.channel_id for post in new)
    message_store.make_queues(session, channels - tells.known.queues)
    first = _first(new, but)
    leased = _lease(session, Call.POST, list(first), claiming)
    begun = {channel: first[channel]._replace(sending_at=now, deadline_at=deadline_of(now)) for channel in leased}
    new = [begun.get(post.channel_id, post) if post.is_unsent else post for post in new]
    made = message_store.insert(session, new)
    claims = [
        _claim(
            claiming,
            as_read(OutboxMessage, id=made[post.idempotency_key], **message_store.row_of(post)),
            tells.versions[post.event_id or 0],
        )
        for post in begun.values()
        if post.idempotency_key in made
    ]
    _unlease(session, leased - {claim.channel_id for claim in claims}, claiming)
    waiting = sum(post.is_unsent for post in new) - len(claims)
    return Added(with_views(session, claims, tells), waiting, made, channels)


def lease_for_edits(session: Session, edits: Mapping[str, int], claiming: Claiming) -> dict[str, int]:
    """`edits`: channel → a sent message. Returns the edits with a leased queue."""
    leased = _lease(session, Call.EDIT, sorted(edits), claiming)
    return {channel: edits[channel] for channel in sorted(leased)}


def claim_edits(session: Session, begun: Mapping[str, int], tells: Tells, claiming: Claiming) -> list[Claim]:
    """The claims of leased edits, once the edits are noted."""
    if not begun:
        return []
    shown = telling_store.shown_beside(session, begun.values())
    claims = [_claim(claiming, some[0].message, some[0].own) for some in shown.values()]
    _unlease(session, begun.keys() - {claim.channel_id for claim in claims}, claiming)
    return with_views(session, claims, replace(tells, shown=shown))


def _claim(claiming: Claiming, post: OutboxMessage, own: EventVersion) -> Claim:
    return Claim(
        post.channel_id,
        claiming.token,
        post,
        own,
        in_doubt=False,
        claimed_at=claiming.now,
        begun_at_s=claiming.at_s,
    )


def _first(new: Sequence[NewPost], but: Collection[str]) -> dict[str, NewPost]:
    """Channel → its single new message, if an event's own. The most urgent come first."""
    unsent = [post for post in new if post.is_unsent]
    count = Counter(post.channel_id for post in unsent)
    first = [post for post in unsent if count[post.channel_id] == 1 and post.kind is MessageKind.EVENT]
    by_urgency = sorted(first, key=lambda post: post.priority)
    return {post.channel_id: post for post in by_urgency if post.channel_id not in but}


def _lease(session: Session, call: Call, channels: Sequence[str], claiming: Claiming) -> frozenset[str]:
    if claiming.room < 1 or not channels:
        return frozenset()
    now = claiming.now
    calls = claiming.buckets.calls(session, call, now)
    wanted = channels[: claiming.room if calls is None else min(claiming.room, calls)]
    if not wanted:
        return frozenset()
    values = {"now": now, "far": now + FAR, "token": claiming.token, "until": lease_end(now)}
    values |= {"channels": wanted, "calls_are_few": calls is not None}
    leased = frozenset(session.connection().execute(_LEASE[call], values).scalars())
    if claiming.buckets.spend(session, call, len(leased), now):
        return leased
    _unlease(session, leased, claiming)
    return frozenset()


def _unlease(session: Session, channels: Collection[str], claiming: Claiming) -> None:
    if channels:
        session.connection().execute(_UNLEASE, {"channels": sorted(channels), "token": claiming.token})
