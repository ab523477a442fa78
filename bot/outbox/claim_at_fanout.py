"""Claims new messages and edits in fan-out's transaction, where the queue is free. All others are queued."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from sqlalchemy import Boolean, and_, bindparam, exists, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import table_of
from bot.db.tables import ChannelQueue, MessageKind, OutboxMessage, QueueState
from bot.outbox import message_store, message_view
from bot.outbox.call_holds import is_call_free
from bot.outbox.channel_queues import Claim, deadline_of, is_free, lease_end, waits_for_a_call, with_views
from bot.outbox.message_store import IS_DUE, IS_TO_EDIT, IS_UNSENT, NewPost, Sending
from bot.outbox.message_view import Tells
from bot.outbox.messenger import Call
from bot.outbox.pace import Buckets

_QUEUE = table_of(ChannelQueue)
_NOW = bindparam("now", type_=_QUEUE.c.next_free_at.type)
_FAR = bindparam("far", type_=_QUEUE.c.next_free_at.type)


def _leasing(call: Call) -> ReturningUpdate[str]:
    """Of these channels, with a free queue and nothing else to send."""
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
    leased = update(_QUEUE).where(_QUEUE.c.channel_id.in_(free))
    return leased.values(lease_token=bindparam("token"), leased_until=bindparam("until")).returning(_QUEUE.c.channel_id)


_LEASE = {call: _leasing(call) for call in (Call.POST, Call.EDIT)}

_UNLEASE = (
    update(_QUEUE)
    .where(_QUEUE.c.channel_id.in_(bindparam("channels", expanding=True)), _QUEUE.c.lease_token == bindparam("token"))
    .values(lease_token=None, leased_until=None)
)


class Edits(Protocol):
    """Of a transaction, which ends with `finish`."""

    def to_edit(self) -> Mapping[str, int]:
        """A sent message for each channel."""

    def finish(self, begun: Collection[int] = (), begun_at: datetime | None = None) -> int:
        """Note the edits. `begun`: messages whose edit is claimed. Returns how many others wait."""


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
    leased = _lease(session, Call.POST, _first(new, but), claiming)
    sending = Sending(leased, now, deadline_of(now))
    made = message_store.insert(session, new, sending)
    begun = [post for post in _unsent(new) if post.channel_id in leased and post.idempotency_key in made]
    if vain := leased - {post.channel_id for post in begun}:
        _unlease(session, vain, claiming)
    claims = [
        Claim(
            post.channel_id,
            claiming.token,
            OutboxMessage(id=made[post.idempotency_key], **message_store.row_of(post, sending)),
            tells.versions[post.event_id or 0],
            in_doubt=False,
            claimed_at=now,
            begun_at_s=claiming.at_s,
        )
        for post in begun
    ]
    waiting = len(_unsent(new)) - len(claims)
    return Added(with_views(session, claims, {}, tells), waiting, made, channels)


def edit(session: Session, edits: Edits, added: Added, tells: Tells, claiming: Claiming) -> Added:
    """Claim edits, then lock the messages. Comes last. Returns the claims of `added` too."""
    wanted, now = edits.to_edit(), claiming.now
    claiming = replace(claiming, room=claiming.room - len(added.claims))
    leased = _lease(session, Call.EDIT, sorted(wanted), claiming)
    begun = [wanted[channel] for channel in sorted(leased)]
    added = replace(added, waiting=added.waiting + edits.finish(begun, now))
    if not begun:
        return added
    shown = message_view.shown_beside(session, begun)
    posts = [(some[0].message, some[0].own) for some in shown.values()]
    if vain := leased - {post.channel_id for post, _ in posts}:
        _unlease(session, vain, claiming)
    claims = [
        Claim(
            post.channel_id,
            claiming.token,
            post,
            own,
            in_doubt=False,
            claimed_at=now,
            begun_at_s=claiming.at_s,
        )
        for post, own in posts
    ]
    return replace(added, claims=[*added.claims, *with_views(session, claims, shown, tells)])


def _first(new: Sequence[NewPost], but: Collection[str]) -> list[str]:
    """Channels whose single new message is an event's own, the most urgent first."""
    unsent = _unsent(new)
    count = Counter(post.channel_id for post in unsent)
    first = [post for post in unsent if count[post.channel_id] == 1 and post.kind is MessageKind.EVENT]
    return [post.channel_id for post in sorted(first, key=lambda post: post.priority) if post.channel_id not in but]


def _unsent(new: Sequence[NewPost]) -> list[NewPost]:
    return [post for post in new if not (post.muted_by or post.not_before)]


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
    session.connection().execute(_UNLEASE, {"channels": sorted(channels), "token": claiming.token})
