"""Abandonments that a channel wants acknowledged: who has taken each, and whom the bot tells while nobody has.

A row belongs to the message with the button, and is made in the message's transaction. Each step moves the row and
makes the step's message in one transaction, so that a kill repeats no step.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, literal_column, select, update
from sqlmodel import Session, col

from bot.channels.ack_request import AckRequest
from bot.db.engine import affected
from bot.db.tables import (
    Acknowledgement,
    AckState,
    ChannelQueue,
    EventVersion,
    MessageKind,
    MessageState,
    OutboxMessage,
    QueueState,
    Reason,
)
from bot.events.races import Value
from bot.logs import get_logger
from bot.outbox import message_store, message_view
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.message_view import MessageView

log = get_logger(__name__)

OPEN = (AckState.ASKED, AckState.REMINDED)
"""Nobody has taken the abandonment, and a step is left. As in the index."""

NOT_TAKEN = (*OPEN, AckState.UNANSWERED)

REMINDER = "reminder"
BY_WHOM = "taken"
"""End the keys of messages that follow from an acknowledgement, after the key of the message with the button."""

MINUTE = timedelta(minutes=1)

STEPS_PER_COMMIT = 50


class Escalated(Value):
    """The content of an escalation's message. `people` are mentioned while nobody has taken the abandonment."""

    message_id: int
    people: tuple[str, ...] = ()


@dataclass(frozen=True)
class Escalation:
    """`post`: the escalation's message. `alert`: the message with the button, and its acknowledgement."""

    post: OutboxMessage
    alert: MessageView
    people: tuple[str, ...]
    minutes: int


@dataclass(frozen=True)
class Press:
    """`is_news`: by this press. `by` None: a newer message of the channel asks instead."""

    channel_id: str
    by: str | None
    at: datetime | None
    is_news: bool


def take(session: Session, key: str, user_id: str, now: datetime) -> Press | None:
    """Somebody pressed the button of the message with this key. None for an unknown message."""
    statement = select(Acknowledgement, OutboxMessage).join(
        OutboxMessage, col(OutboxMessage.id) == col(Acknowledgement.message_id)
    )
    found = session.execute(statement.where(col(OutboxMessage.idempotency_key) == key)).first()
    if found is None:
        return None
    row, alert = found
    is_news = _move(session, alert.id or 0, NOT_TAKEN, state=AckState.TAKEN, taken_by=user_id, taken_at=now)
    if not is_news:
        session.refresh(row)
        return Press(alert.channel_id, row.taken_by, row.taken_at, is_news=False)
    message_store.add(session, [_edit_of_alert(alert, now), *_edits_of_escalations(session, alert, row, now)])
    return Press(alert.channel_id, user_id, now, is_news=True)


def end(session: Session, message_ids: Collection[int]) -> None:
    """Newer messages of the channels ask instead of these."""
    open_rows = update(Acknowledgement).where(
        col(Acknowledgement.message_id).in_(sorted(message_ids)), _is_any(NOT_TAKEN)
    )
    session.execute(open_rows.values(state=AckState.REPLACED))


def escalate(session: Session, now: datetime) -> int:
    """Take the steps that are due. Returns how many; rows that another replica holds are left out."""
    statement = (
        select(Acknowledgement, OutboxMessage, col(ChannelQueue.state))
        .join(OutboxMessage, col(OutboxMessage.id) == col(Acknowledgement.message_id))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(_is_any(OPEN))
        .order_by(col(Acknowledgement.message_id))
        .with_for_update(of=Acknowledgement, skip_locked=True)
    )
    steps = 0
    for row, alert, queue_state in session.execute(statement).all():
        if _is_moot(alert):
            steps += _move(session, row.message_id, OPEN, state=AckState.REPLACED)
            continue
        is_unreachable = queue_state == QueueState.CLOSED or alert.state == MessageState.DEAD_LETTER
        since = row.stepped_at or _told_at(alert, is_closed=queue_state == QueueState.CLOSED)
        if since is not None and since + AckRequest.model_validate_json(row.asked).minutes * MINUTE <= now:
            _step(session, row, alert, now, is_unreachable=is_unreachable)
            steps += 1
        if steps >= STEPS_PER_COMMIT:
            break
    return steps


def of_messages(session: Session, message_ids: Collection[int]) -> dict[int, Acknowledgement]:
    if not message_ids:
        return {}
    statement = select(Acknowledgement).where(col(Acknowledgement.message_id).in_(sorted(message_ids)))
    return {row.message_id: row for row in session.execute(statement).scalars()}


def read(session: Session, posts: Sequence[OutboxMessage]) -> dict[int, Escalation]:
    """By message, for messages of escalations and their edits."""
    if not posts:
        return {}
    said = {post.id or 0: Escalated.model_validate_json(post.content or "{}") for post in posts}
    edited = select(OutboxMessage).where(col(OutboxMessage.id).in_(sorted(post.edits_id or 0 for post in posts)))
    targets = {post.id: post for post in session.execute(edited).scalars()}
    alerts = select(OutboxMessage, EventVersion).join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
    wanted = sorted({one.message_id for one in said.values()})
    heads = [(post, event) for post, event in session.execute(alerts.where(col(OutboxMessage.id).in_(wanted)))]
    views = message_view.views_of(session, heads)
    rows = of_messages(session, wanted)
    return {
        post.id or 0: Escalation(
            targets.get(post.edits_id, post),
            views[one.message_id],
            one.people,
            AckRequest.model_validate_json(rows[one.message_id].asked).minutes,
        )
        for post in posts
        if (one := said[post.id or 0]).message_id in views and one.message_id in rows
    }


def keys_of_escalations(alert: OutboxMessage, row: Acknowledgement) -> list[str]:
    told = (REMINDER, *AckRequest.model_validate_json(row.asked).channels)
    return [_key(alert, one) for one in told]


def _step(session: Session, row: Acknowledgement, alert: OutboxMessage, now: datetime, *, is_unreachable: bool) -> None:
    """Mention people in the channel; where that is done, or nobody reads the channel, tell the other channels."""
    asked = AckRequest.model_validate_json(row.asked)
    reminds = row.state == AckState.ASKED and bool(asked.people or not asked.channels) and not is_unreachable
    told = [alert.channel_id] if reminds else list(asked.channels)
    after = AckState.REMINDED if reminds and asked.channels else AckState.UNANSWERED
    if not _move(session, row.message_id, OPEN, state=after, stepped_at=now):
        return
    content = Escalated(message_id=row.message_id, people=asked.people if reminds else ())
    message_store.add(
        session,
        [
            NewPost(
                channel_id,
                _key(alert, REMINDER if reminds else channel_id),
                MessageKind.ESCALATION,
                Priority.ABANDONMENT,
                now,
                written=content.model_dump_json(),
            )
            for channel_id in told
        ],
    )
    log.info("escalated", post=alert.idempotency_key, state=after.value, channels=told)


def _told_at(alert: OutboxMessage, *, is_closed: bool) -> datetime | None:
    """Since when somebody could have taken the abandonment, or since when the channel could not be told."""
    if alert.state == MessageState.QUEUED and is_closed:
        return alert.received_at
    return alert.sent_at or alert.given_up_at


def _is_moot(alert: OutboxMessage) -> bool:
    """A summary tells of the abandonment, or nobody in the channel wants the abandonment any more."""
    is_unwanted = alert.state == MessageState.DEAD_LETTER and alert.reason == Reason.UNSUBSCRIBED
    return alert.state == MessageState.FOLDED or is_unwanted


def _edit_of_alert(alert: OutboxMessage, now: datetime) -> NewPost:
    return NewPost(
        alert.channel_id,
        _key(alert, BY_WHOM),
        MessageKind.EDIT,
        Priority.ABANDONMENT,
        now,
        event_id=alert.event_id,
        edits_id=alert.id,
    )


def _edits_of_escalations(
    session: Session, alert: OutboxMessage, row: Acknowledgement, now: datetime
) -> Iterator[NewPost]:
    told = select(OutboxMessage).where(col(OutboxMessage.idempotency_key).in_(keys_of_escalations(alert, row)))
    for post in session.execute(told).scalars():
        yield NewPost(
            post.channel_id,
            _key(post, BY_WHOM),
            MessageKind.ESCALATION_EDIT,
            Priority.ABANDONMENT,
            now,
            edits_id=post.id,
            written=post.content,
        )


def _key(message: OutboxMessage, what: str) -> str:
    return f"{message.idempotency_key}!{what}"


def _is_any(states: Collection[AckState]) -> ColumnElement[bool]:
    """Literals, in the words of the index."""
    return col(Acknowledgement.state).in_([literal_column(f"'{state}'") for state in states])


def _move(session: Session, message_id: int, origins: Collection[AckState], **written: Any) -> bool:
    """Of two writers at the same time one finds the row in another state."""
    moved = update(Acknowledgement).where(col(Acknowledgement.message_id) == message_id, _is_any(origins))
    return affected(session, moved.values(**written).execution_options(synchronize_session=False)) > 0
