"""Stores messages for channels, each once by its idempotency key."""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, case, func, literal_column, or_, select
from sqlmodel import Session, col

from bot.channels.filters import AckRequest
from bot.db.engine import insert_once, is_one_of, table_of
from bot.db.tables import (
    Acknowledgement,
    ChannelQueue,
    EventVersion,
    MessageKind,
    MessageState,
    OutboxMessage,
    QueueState,
    Reason,
)
from bot.deliveries.inbox import Depth
from bot.outbox import told_once
from bot.outbox.message import Message
from bot.outbox.states import PASSES_A_PAUSE, UNSENT, Happened, move, write


def _is(state: MessageState) -> ColumnElement[bool]:
    """A literal, in the words of the indices: SQLite needs the same words for a partial index."""
    return col(OutboxMessage.state) == literal_column(f"'{state}'")


IS_UNSENT = is_one_of(OutboxMessage.state, UNSENT)
IS_QUEUED, IS_WAITING = and_(IS_UNSENT, _is(MessageState.QUEUED)), and_(IS_UNSENT, ~_is(MessageState.SENDING))
IS_SENT, IS_DEAD = _is(MessageState.SENT), _is(MessageState.DEAD_LETTER)

IS_TO_EDIT = and_(
    IS_SENT,
    col(OutboxMessage.wanted_rev) > col(OutboxMessage.sent_rev),
    col(OutboxMessage.gone_since).is_(None),
)
"""An edit is due. In the words of the index."""

IS_DUE = col(OutboxMessage.not_before).is_(None)

_WAITS_UNTIL = case((col(OutboxMessage.not_before) > col(OutboxMessage.received_at), col(OutboxMessage.not_before)))

COUNTS_FROM = func.coalesce(_WAITS_UNTIL, col(OutboxMessage.due_at), col(OutboxMessage.received_at))
"""The later of the receipt and of the moment that the channel chose. A message is late, and old, from here on."""

OVERRAN = "its rendering took too long"
"""The beginning of a message's `detail`: the message is sent in plain form from now on, also after a restart."""

POSTS_FOR_CLOCK = 20
ANSWERED_WITHIN = timedelta(seconds=10)
"""A post answered within this time tells how far Slack's clock is ahead."""


def has_overrun(post: OutboxMessage) -> bool:
    return (post.detail or "").startswith(OVERRAN)


ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""A new queue is free at once. Leases go by the database's clock."""


class Priority(IntEnum):
    """Within a queue and between queues. Equal priorities go by receipt."""

    BACKLOG_SUMMARY = -1
    ABANDONMENT = 0
    ADMIN = 1
    OTHER = 2


class NewPost(NamedTuple):
    """A message to be made, unless its `idempotency_key` exists. The fields are columns, but for `asked`.

    `muted_by`: who muted the meeting. `not_before`: the message waits. `due_at`: a message that waited was due then.
    `content`: as JSON, of a message without an event. `thread_of`: a live message. `asked`: the message is to
    be acknowledged. `follows_id`: of an escalation, the message that asks. `sending_at` and `deadline_at`: of the call,
    where the queue is leased for the message.
    """

    channel_id: str
    idempotency_key: str
    kind: MessageKind
    priority: Priority
    received_at: datetime
    event_id: int | None = None
    content: str | None = None
    muted_by: str | None = None
    not_before: datetime | None = None
    due_at: datetime | None = None
    thread_of: int | None = None
    asked: AckRequest | None = None
    follows_id: int | None = None
    sending_at: datetime | None = None
    deadline_at: datetime | None = None

    @property
    def is_unsent(self) -> bool:
        return not (self.muted_by or self.not_before)


def add(session: Session, posts: Iterable[NewPost]) -> dict[str, int]:
    """New key → id."""
    rows = {post.idempotency_key: post for post in posts}
    if rows:
        make_queues(session, {post.channel_id for post in rows.values()})
    return insert(session, list(rows.values()))


def ids_of(session: Session, idempotency_keys: Collection[str]) -> dict[str, int]:
    """Key → id, of those that exist."""
    found = session.connection().execute(_IDS, {"keys": sorted(idempotency_keys)})
    return {key: number for key, number in found}  # noqa: C416  rows are no pairs to mypy


def insert(session: Session, posts: Sequence[NewPost]) -> dict[str, int]:
    """New key → id, in existing queues."""
    if not posts:
        return {}
    rows = [row_of(post) for post in posts]
    found = session.connection().execute(insert_once(session, OutboxMessage, "id", "idempotency_key"), rows)
    made = {name: number for number, name in found}
    asking = [(made[post.idempotency_key], post.asked) for post in posts if post.asked and post.idempotency_key in made]
    if asking:
        session.add_all([Acknowledgement(message_id=number, asked=asked.model_dump_json()) for number, asked in asking])
        session.flush()
    return made


def make_queues(session: Session, channel_ids: Iterable[str]) -> None:
    """For channels without a queue. An INSERT would wait for whoever has the queue, so the statement asks before."""
    wanted = set(channel_ids)
    if not wanted:
        return
    missing = wanted.difference(session.connection().execute(_QUEUES, {"channels": sorted(wanted)}).scalars())
    rows = [{"channel_id": one, "state": QueueState.OPEN, "next_free_at": ALWAYS} for one in sorted(missing)]
    if rows:
        session.connection().execute(insert_once(session, ChannelQueue), rows)


_ROW, _QUEUE = table_of(OutboxMessage).c, table_of(ChannelQueue).c
_IDS = select(_ROW.idempotency_key, _ROW.id).where(_ROW.idempotency_key.in_(bindparam("keys", expanding=True)))
_QUEUES = select(_QUEUE.channel_id).where(_QUEUE.channel_id.in_(bindparam("channels", expanding=True)))


def row_of(post: NewPost) -> dict[str, Any]:
    begun = MessageState.SENDING if post.sending_at else MessageState.QUEUED
    row = {
        **post._asdict(),
        "priority": int(post.priority),
        "state": MessageState.MUTED if post.muted_by else begun,
        "attempts": 1 if post.sending_at else 0,
    }
    del row["asked"]
    return row


def waiting_in(session: Session, channel_id: str) -> list[datetime]:
    """The ends of the waits of events held until the channel's chosen hour, earliest first."""
    statement = (
        select(func.max(col(OutboxMessage.not_before)))
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(col(OutboxMessage.channel_id) == channel_id, col(OutboxMessage.not_before).is_not(None), IS_UNSENT)
        .group_by(col(EventVersion.event_key))
    )
    return sorted(session.execute(statement).scalars())


def release(session: Session, *where: ColumnElement[bool], due_at: datetime | None = None) -> None:
    """The messages wait no longer. `due_at`: now, for messages whose moment has not come."""
    ended = COUNTS_FROM if due_at is None else due_at
    write(session, ~IS_DUE, *where, due_at=ended, not_before=None)


def slack_ahead(session: Session, in_doubt: OutboxMessage, now: datetime) -> timedelta | None:
    """How far Slack's clock is ahead, by the ts of the channel's posts before the message. None if unknown.

    An earlier post with a later moment, or a deadline after `now`, was written before somebody set the clock back.
    """
    statement = (
        select(col(OutboxMessage.message_ts), col(OutboxMessage.sending_at), col(OutboxMessage.sent_at))
        .where(col(OutboxMessage.channel_id) == in_doubt.channel_id, IS_SENT)
        .where(col(OutboxMessage.kind) == MessageKind.EVENT)
        .order_by(col(OutboxMessage.id).desc())
        .limit(POSTS_FOR_CLOCK)
    )
    for message_ts, sending_at, sent_at in session.execute(statement):
        # A message found later is recorded long after its ts.
        if sending_at and sent_at and timedelta(0) <= sent_at - sending_at < ANSWERED_WITHIN:
            ahead: timedelta = datetime.fromtimestamp(float(message_ts), UTC) - sending_at
            return ahead if sending_at <= (in_doubt.deadline_at or now) <= now else None
    return None


def unfold(session: Session, summaries: Sequence[int]) -> None:
    move(session, Happened.UNFOLDED, col(OutboxMessage.folded_into).in_(summaries), folded_into=None)


def add_notice(session: Session, key: str, channel_ids: Sequence[str], message: Message, now: datetime) -> bool:
    """False if the key was told before.

    Without a channel only the log is told, under another key: the notice goes out once there is a channel.
    """
    if not told_once.note(session, [key if channel_ids else f"log:{key}"], now):
        return False
    # A key that was dropped may be told anew.
    name = f"notice:{key}:{now.isoformat()}"
    _add_notice(session, name, channel_ids, message.as_json(notice=name), now)
    return True


def _add_notice(session: Session, name: str, channel_ids: Sequence[str], content: str, now: datetime) -> None:
    """Add a notice, once for each channel."""
    posts = [
        NewPost(channel_id, f"{name}@{channel_id}", MessageKind.NOTICE, Priority.ADMIN, now, content=content)
        for channel_id in channel_ids
    ]
    add(session, posts)


def divert_notices(session: Session, channel_id: str, instead: Sequence[str]) -> int:
    """Send the channel's waiting notices to other channels instead. Returns the number of notices."""
    waiting = select(OutboxMessage).where(
        col(OutboxMessage.channel_id) == channel_id,
        IS_QUEUED,
        col(OutboxMessage.kind) == MessageKind.NOTICE,
    )
    found = session.execute(waiting.order_by(col(OutboxMessage.id)).with_for_update()).scalars().all()
    for post in found:
        resend_notice(session, post, instead)
        session.delete(post)
    session.flush()
    return len(found)


def resend_notice(session: Session, post: OutboxMessage, channel_ids: Sequence[str]) -> None:
    content = post.content or ""
    _add_notice(session, json.loads(content)["notice"], channel_ids, content, post.received_at)


_WAITS = or_(IS_UNSENT, IS_TO_EDIT)
_WAITING_STATE = case((IS_SENT, literal_column("'queued'")), else_=col(OutboxMessage.state))


HELD_STATE = "held"
"""In `depths`: a queued message in a closed, tried or paused channel, or for a later moment."""

_IS_HELD = and_(
    or_(IS_QUEUED, IS_SENT),
    or_(
        ~IS_DUE,
        and_(
            col(ChannelQueue.state) != QueueState.OPEN,
            or_(col(ChannelQueue.state) != QueueState.PAUSED, ~PASSES_A_PAUSE),
        ),
    ),
)


_SHOWN_STATE = case((_IS_HELD, literal_column(f"'{HELD_STATE}'")), else_=_WAITING_STATE).label("shown_state")
_DUE_AT = func.coalesce(col(OutboxMessage.due_at), col(OutboxMessage.received_at))
_UNSENT_DEPTHS = (
    select(_SHOWN_STATE, func.count(), func.min(case((IS_SENT, col(OutboxMessage.wanted_at)), else_=_DUE_AT)))
    .outerjoin(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
    .where(_WAITS)
    .group_by(_SHOWN_STATE)
)
_GIVEN_UP_DEPTH = select(func.count(), func.min(col(OutboxMessage.given_up_at))).where(
    IS_DEAD, col(OutboxMessage.reason) != Reason.UNSUBSCRIBED
)


def depths(session: Session) -> dict[str, Depth]:
    """The number and age of messages by state, without dead letters that nobody wanted.

    The age of a message that waited for an hour counts from the hour.
    """
    found = {name: Depth(count, oldest_at) for name, count, oldest_at in session.connection().execute(_UNSENT_DEPTHS)}
    count, oldest_at = session.connection().execute(_GIVEN_UP_DEPTH).one()
    return found | {MessageState.DEAD_LETTER.value: Depth(count, oldest_at)}
