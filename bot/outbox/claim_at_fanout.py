"""New messages that are sent at once: where a queue is free, its message is made "sending" in fan-out's transaction.

Nobody has to look for such a message. Whatever can't be sent at once is queued, and found by `lanes.claim`.
"""

import secrets
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
from bot.outbox import message_store
from bot.outbox import message_view as showing
from bot.outbox.channel_queues import POST_METHOD, Claim, is_free, waits_for_a_call
from bot.outbox.memory import Known
from bot.outbox.message_store import IS_UNSENT, NewPost, Sending
from bot.outbox.message_view import Anew
from bot.outbox.method_holds import is_free as is_method_free
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
        is_method_free(POST_METHOD, _NOW, _FAR),
        ~exists().where(col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id), IS_UNSENT),
        # Who waits for one of few calls is claimed by the poster, the most urgent first.
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
"""Leases those of some queues that are free and have nothing to send."""

_UNLEASE = (
    update(_QUEUE)
    .where(_QUEUE.c.channel_id.in_(bindparam("channels", expanding=True)), _QUEUE.c.lease_token == bindparam("token"))
    .values(lease_token=None, leased_until=None)
)


@dataclass(frozen=True)
class Tells:
    """What new messages tell: by the number of a version the version, and its event with all that is known of that.

    `around`: the stored events of the same races and meetings.
    """

    versions: Mapping[int, EventVersion] = field(default_factory=dict)
    events: Mapping[int, RacingEvent] = field(default_factory=dict)
    around: Sequence[RacingEvent] = ()


@dataclass(frozen=True)
class Times:
    """How long a call of Slack may take, and for how long a queue is leased for the call, in seconds."""

    call_s: float
    lease_s: float


@dataclass(frozen=True)
class Added:
    """What became of new messages. `waiting`: how many are queued. `queues`: channels that have a queue for certain.

    `begun_at_s`: when the claims were begun, by this process's monotonic clock.
    """

    claims: Sequence[Claim] = ()
    waiting: int = 0
    queues: frozenset[str] = frozenset()
    begun_at_s: float = 0.0


class QueuedOnly:
    """An outbox without a sender: every new message is queued, for a running `serve` to send."""

    def add(
        self, session: Session, new: Sequence[NewPost], tells: Tells, known: Known, *, now: datetime, began_s: float
    ) -> Added:
        """Queue new messages, each once."""
        # Only an outbox with a sender needs these.
        del tells, known, now, began_s
        return Added(waiting=message_store.add(session, new))

    def begin(self, added: Added) -> None:
        """Send nothing: `add` claims nothing."""
        assert not added.claims


def add(
    session: Session,
    new: Sequence[NewPost],
    tells: Tells,
    known: Known,
    *,
    now: datetime,
    room: int,
    buckets: Buckets,
    times: Times,
) -> Added:
    """Make new messages, each once, and claim those that can be sent at once: at most `room`."""
    new = list({post.idempotency_key: post for post in new}.values())
    if not new:
        return Added()
    channels = frozenset(post.channel_id for post in new)
    message_store.make_queues(session, channels - known.queues)
    token = secrets.token_hex(8)
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
            doubtful=False,
            claimed_at=now,
        )
        for post in begun
    ]
    waiting = len(_unsent(new)) - len(claims)
    heads = [(claim.post, claim.event) for claim in claims if claim.event]
    said = showing.shown_anew(session, heads, Anew(tells.events, tells.around, known))
    return Added([replace(claim, shown=said[claim.post.id or 0]) for claim in claims], waiting, channels)


def _first(new: Sequence[NewPost]) -> list[str]:
    """The channels whose only new message is an event's own, the most urgent first."""
    unsent = _unsent(new)
    count = Counter(post.channel_id for post in unsent)
    first = [post for post in unsent if count[post.channel_id] == 1 and post.kind is MessageKind.EVENT]
    return [post.channel_id for post in sorted(first, key=lambda post: post.priority)]


def _unsent(new: Sequence[NewPost]) -> list[NewPost]:
    return [post for post in new if not (post.folded or post.muted_by)]


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
    """The channels whose queues are ours now, with a call of Slack for each."""
    if room < 1 or not channels:
        return frozenset()
    calls = buckets.calls(session, POST_METHOD, now)
    wanted = channels[: room if calls is None else min(room, calls)]
    if not wanted:
        return frozenset()
    values = {"now": now, "far": now + FAR, "token": token, "until": now + timedelta(seconds=times.lease_s)}
    values["calls_are_few"] = calls is not None
    leased = frozenset(session.connection().execute(_LEASE, {"channels": wanted, **values}).scalars())
    if buckets.spend(session, POST_METHOD, len(leased), now):
        return leased
    session.connection().execute(_UNLEASE, {"channels": sorted(leased), "token": token})
    return frozenset()
