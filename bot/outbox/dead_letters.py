"""Alerts that were given up, and posting them after all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import ColumnElement, exists, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import EventVersion, MessageKind, OutboxMessage, Reason
from bot.events import event_store, named_races
from bot.events.event import EventKind, RacingEvent
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority

AGAIN = "#again"
"""Ends the key of an alert that is posted after all. One key: a second press posts nothing more."""

OFFERED_FOR = timedelta(days=2)
"""Afterwards an alert is no news."""

LOOKED_AT = 50

_LATER = aliased(OutboxMessage)


@dataclass(frozen=True)
class DeadLetter:
    message_id: int
    channel_id: str
    event: RacingEvent
    version: int
    reason: str
    given_up_at: datetime


def newest(session: Session, at_most: int, now: datetime) -> Sequence[DeadLetter]:
    """Alerts that were given up lately, not posted after all, and still the channel's last word on their event.

    Notices and edits have nothing to post again, nor has a channel that unsubscribed.
    """
    statement = (
        select(OutboxMessage, EventVersion)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        # As a literal, in the words of the index.
        .where(col(OutboxMessage.state) == literal_column("'dead_letter'"))
        .where(col(OutboxMessage.kind) == MessageKind.EVENT, ~_has_later())
        .where(col(OutboxMessage.reason) != Reason.UNSUBSCRIBED, col(OutboxMessage.given_up_at) > now - OFFERED_FOR)
        .order_by(col(OutboxMessage.given_up_at).desc(), col(OutboxMessage.id).desc())
        .limit(LOOKED_AT)
    )
    letters = (_dead_letter(post, version) for post, version in session.execute(statement).all())
    return list(islice((one for one in letters if _is_last_word(session, one)), at_most))


def post_again(session: Session, message_id: int) -> str | None:
    """Queue the alert as a new message. The channel's id; None where there is nothing to post again.

    The receipt stays that of the event, so that the message says its lateness.
    """
    post = session.get(OutboxMessage, message_id)
    if post is None or post.given_up_at is None or post.kind != MessageKind.EVENT:
        return None
    version = session.get(EventVersion, post.event_id)
    if version is None or not _is_last_word(session, _dead_letter(post, version)):
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


def _is_last_word(session: Session, letter: DeadLetter) -> bool:
    """False once the channel was told of a later version or of the contrary, or where a meeting's message names it."""
    event, here, number = letter.event, letter.channel_id, letter.message_id
    later = message_store.message_telling(session, here, event.key, since=letter.version + 1, but=number)
    if later is not None:
        return False
    contrary, race_id = event.contradicting_key, event.race.race_id
    meetings = named_races.naming(session, race_id) if event.kind is EventKind.RACE_ABANDONED and race_id else set()
    told = message_store.messages_of(session, {*meetings, *([contrary] if contrary else [])})
    return not any(here in told.get(key, {}) for key in meetings) and told.get(contrary or "", {}).get(here, 0) < number


def _key_again(key: str) -> str:
    return f"{key}{AGAIN}"


def _has_later() -> ColumnElement[bool]:
    return exists().where(col(_LATER.idempotency_key) == col(OutboxMessage.idempotency_key) + AGAIN)


def _dead_letter(post: OutboxMessage, version: EventVersion) -> DeadLetter:
    event, _ = event_store.read(version)
    assert post.given_up_at is not None, "a CHECK constraint of the table"
    return DeadLetter(
        post.id or 0, post.channel_id, event, version.version, post.detail or post.reason or "", post.given_up_at
    )
