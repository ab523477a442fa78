"""Alerts that were given up, and posting them after all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, exists, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import EventVersion, MessageKind, OutboxMessage
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority

AGAIN = "#again"
"""Ends the key of an alert that is posted after all. One key: a second press posts nothing more."""

_LATER = aliased(OutboxMessage)


@dataclass(frozen=True)
class DeadLetter:
    message_id: int
    channel_id: str
    event: RacingEvent
    reason: str
    given_up_at: datetime


def newest(session: Session, at_most: int) -> Sequence[DeadLetter]:
    """Alerts that were given up and not posted after all. Notices and edits have nothing to post again."""
    statement = (
        select(OutboxMessage, EventVersion)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        # As a literal, in the words of the index.
        .where(col(OutboxMessage.state) == literal_column("'dead_letter'"))
        .where(col(OutboxMessage.kind) == MessageKind.EVENT, ~_has_later())
        .order_by(col(OutboxMessage.given_up_at).desc(), col(OutboxMessage.id).desc())
        .limit(at_most)
    )
    return [_dead_letter(post, version) for post, version in session.execute(statement)]


def post_again(session: Session, message_id: int) -> str | None:
    """Queue the alert as a new message. The channel's id; None where there is nothing to post again.

    The receipt stays that of the event, so that the message says its lateness.
    """
    post = session.get(OutboxMessage, message_id)
    if post is None or post.given_up_at is None or post.kind != MessageKind.EVENT:
        return None
    again = NewPost(
        post.channel_id,
        _key_again(post.idempotency_key),
        MessageKind.EVENT,
        Priority(post.priority),
        post.received_at,
        event_id=post.event_id,
    )
    return post.channel_id if message_store.add(session, [again]) else None


def _key_again(key: str) -> str:
    return f"{key}{AGAIN}"


def _has_later() -> ColumnElement[bool]:
    return exists().where(col(_LATER.idempotency_key) == col(OutboxMessage.idempotency_key) + AGAIN)


def _dead_letter(post: OutboxMessage, version: EventVersion) -> DeadLetter:
    event, _ = event_store.read(version)
    assert post.given_up_at is not None, "a CHECK constraint of the table"
    return DeadLetter(post.id or 0, post.channel_id, event, post.detail or post.reason or "", post.given_up_at)
