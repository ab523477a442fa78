"""Claims new messages in fan-out's transaction, where the queue is free. All others are queued."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Boolean, bindparam, exists, or_, select, update
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import table_of
from bot.db.tables import ChannelQueue, EventVersion, MessageKind, OutboxMessage, QueueState
from bot.events.event import RacingEvent
from bot.outbox import message_store, message_view
from bot.outbox.call_holds import is_call_free
from bot.outbox.channel_queues import Claim, is_free, waits_for_a_call, with_threads
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.message_store import IS_DUE, IS_UNSENT, NewPost, Sending
from bot.outbox.message_view import NewEvents
from bot.outbox.messenger import Call
from bot.outbox.pace import Buckets

_QUEUE = table_of(ChannelQueue)
_NOW = bindparam("now", type_=_QUEUE.c.next_free_at.type)
_FAR = bindparam("far", type_=_QUEUE.c.next_free_at.type)
_FREE = (
    select(col(ChannelQueue.channel_id))
    .where(
        col(ChannelQueue.channel_id).in_(bindparam("channels", expanding=True)),
        col(ChannelQueue.state) == QueueState.OPEN,
        is_free(_NOW, _FAR),
        is_call_free(Call.POST, _NOW, _FAR),
        ~exists().where(col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id), IS_UNSENT, IS_DUE),
        # The poster chooses the most urgent message.
        or_(~bindparam("calls_are_few", type_=Boolean()), ~waits_for_a_call(_NOW, _FAR)),
    )
    .with_for_update(skip_locked=True)
)
_LEASE = (
    update(_QUEUE)
    .where(_QUEUE.c.channel_id.in_(_FREE))
    .values(lease_token=bindparam("token"), leased_until=bindparam("until"))
    .returning(_QUEUE.c.channel_id)
)

_UNLEASE = (
    update(_QUEUE)
    .where(_QUEUE.c.channel_id.in_(bindparam("channels", expanding=True)), _QUEUE.c.lease_token == bindparam("token"))
    .values(lease_token=None, leased_until=None)
)


@dataclass(frozen=True)
class Tells:
    """By version id. `around`: the stored events of the same races and meetings."""

    versions: Mapping[int, EventVersion] = field(default_factory=dict)
    events: Mapping[int, RacingEvent] = field(default_factory=dict)
    around: Sequence[RacingEvent] = ()


@dataclass(frozen=True)
class Times:
    """Seconds."""

    call_s: float
    lease_s: float


@dataclass(frozen=True)
class Added:
    """`ids`: of the new messages by key. `waiting`: queued messages. `queues`: channels with a queue.

    `begun_at_s`: monotonic, before the claims.
    """

    claims: Sequence[Claim] = ()
    waiting: int = 0
    ids: Mapping[str, int] = field(default_factory=dict)
    queues: frozenset[str] = frozenset()
    begun_at_s: float = 0.0


class QueuedOnly:
    """An outbox for commands: a running `serve` sends the messages."""

    def add(
        self,
        session: Session,
        new: Sequence[NewPost],
        tells: Tells,
        known: FanoutKnowledge,
        *,
        now: datetime,
        began_s: float,
    ) -> Added:
        del tells, known, now, began_s
        ids = message_store.add_each(session, new)
        return Added(waiting=len(ids), ids=ids)

    def begin(self, added: Added) -> None:
        assert not added.claims


def add(
    session: Session,
    new: Sequence[NewPost],
    tells: Tells,
    known: FanoutKnowledge,
    *,
    now: datetime,
    token: str,
    room: int,
    buckets: Buckets,
    times: Times,
) -> Added:
    """Make new messages, and claim at most `room` of them."""
    new = list({post.idempotency_key: post for post in new}.values())
    if not new:
        return Added()
    channels = frozenset(post.channel_id for post in new)
    message_store.make_queues(session, channels - known.queues)
    leased = _lease(session, _first(new), token, now=now, room=room, buckets=buckets, times=times)
    sending = Sending(leased, now, now + timedelta(seconds=times.call_s))
    made = message_store.insert(session, new, sending)
    begun = [post for post in _unsent(new) if post.channel_id in leased and post.idempotency_key in made]
    if vain := leased - {post.channel_id for post in begun}:
        session.connection().execute(_UNLEASE, {"channels": sorted(vain), "token": token})
    claims = [
        Claim(
            post.channel_id,
            token,
            OutboxMessage(id=made[post.idempotency_key], **message_store.row_of(post, sending)),
            tells.versions[post.event_id or 0],
            in_doubt=False,
            claimed_at=now,
        )
        for post in begun
    ]
    waiting = len(_unsent(new)) - len(claims)
    heads = [(claim.post, claim.event) for claim in claims if claim.event]
    views = message_view.views_of_new(session, heads, NewEvents(tells.events, tells.around, known))
    shown = with_threads(session, [replace(claim, view=views[claim.post.id or 0]) for claim in claims])
    return Added(shown, waiting, made, channels)


def _first(new: Sequence[NewPost]) -> list[str]:
    """Channels whose single new message is an event's own, the most urgent first."""
    unsent = _unsent(new)
    count = Counter(post.channel_id for post in unsent)
    first = [post for post in unsent if count[post.channel_id] == 1 and post.kind is MessageKind.EVENT]
    return [post.channel_id for post in sorted(first, key=lambda post: post.priority)]


def _unsent(new: Sequence[NewPost]) -> list[NewPost]:
    return [post for post in new if not (post.muted_by or post.not_before)]


def _lease(
    session: Session,
    channels: Sequence[str],
    token: str,
    *,
    now: datetime,
    room: int,
    buckets: Buckets,
    times: Times,
) -> frozenset[str]:
    if room < 1 or not channels:
        return frozenset()
    calls = buckets.calls(session, Call.POST, now)
    wanted = channels[: room if calls is None else min(room, calls)]
    if not wanted:
        return frozenset()
    values = {"now": now, "far": now + FAR, "token": token, "until": now + timedelta(seconds=times.lease_s)}
    values["calls_are_few"] = calls is not None
    leased = frozenset(session.connection().execute(_LEASE, {"channels": wanted, **values}).scalars())
    if buckets.spend(session, Call.POST, len(leased), now):
        return leased
    session.connection().execute(_UNLEASE, {"channels": sorted(leased), "token": token})
    return frozenset()
