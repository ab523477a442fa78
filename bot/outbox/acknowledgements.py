"""Abandonments that a channel wants acknowledged: who has taken each, and whom the bot tells while nobody has.

A row belongs to the message with the button, and is made in the message's transaction. Each step moves the row and
makes the step's message in one transaction, so that a kill repeats no step.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, literal_column, or_, select, update
from sqlmodel import Session, col

from bot.channels.ack_request import AckRequest
from bot.channels.conditions.mention_condition import is_person
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
from bot.outbox.states import UNSENT

log = get_logger(__name__)

OPEN = (AckState.ASKED, AckState.REMINDED)
"""Nobody has taken the abandonment, and a step is left. As in the index."""

NOT_TAKEN = (*OPEN, AckState.UNANSWERED)

REMINDER = "reminder"
BY_WHOM = "taken"
"""End the keys of messages that follow from an acknowledgement, after the key of the first message with the button."""

MINUTE = timedelta(minutes=1)

STEPS_PER_COMMIT = 50


class Asked(AckRequest):
    """What a row stores of the request.

    `first_key`: the key of the first message that asked, where the row's message took that message's place.
    `moved_to`: the message that took the place of the row's message, and asks on.
    """

    first_key: str | None = None
    moved_to: int | None = None


class Escalated(Value):
    """The content of an escalation's message. `people` are mentioned while nobody has taken the abandonment.

    `message_id`: the message that asks. `minutes`: nobody had taken the abandonment for so long.
    """

    message_id: int
    people: tuple[str, ...] = ()
    minutes: int | None = None


@dataclass(frozen=True)
class Escalation:
    """`post`: the escalation's message. `alert`: the message with the button, and its acknowledgement.

    `minutes`: from the message with the button to the escalation. `is_replaced`: a newer message of the channel asks.
    """

    post: OutboxMessage
    alert: MessageView
    people: tuple[str, ...]
    minutes: int
    is_replaced: bool


@dataclass(frozen=True)
class Press:
    """`is_news`: by this press. `by` None: a newer message of the channel asks instead."""

    channel_id: str
    by: str | None
    at: datetime | None
    is_news: bool


def take(session: Session, key: str, user_id: str, now: datetime) -> Press | None:
    """Somebody pressed the button of the message with this key. None for an unknown message.

    A press on an earlier message counts for the message that took its place.
    """
    statement = select(col(Acknowledgement.message_id)).join(
        OutboxMessage, col(OutboxMessage.id) == col(Acknowledgement.message_id)
    )
    number = session.execute(statement.where(col(OutboxMessage.idempotency_key) == key)).scalar_one_or_none()
    press: Press | None = None
    while number is not None:
        alert = session.get_one(OutboxMessage, number)
        is_news = _move(session, number, NOT_TAKEN, state=AckState.TAKEN, taken_by=user_id, taken_at=now)
        row = session.get_one(Acknowledgement, number, populate_existing=True)
        press = Press(alert.channel_id, row.taken_by, row.taken_at, is_news=is_news)
        if is_news:
            message_store.add(session, [_edit_of_alert(alert, now), *_edits_of_escalations(session, alert, row, now)])
        # Read after the move: another transaction may have moved the row on meanwhile.
        number = _asked(row).moved_to if row.state == AckState.REPLACED else None
    return press


def end(session: Session, message_ids: Collection[int]) -> None:
    """Newer messages of the channels ask instead of these."""
    open_rows = update(Acknowledgement).where(
        col(Acknowledgement.message_id).in_(sorted(message_ids)), _is_any(NOT_TAKEN)
    )
    session.execute(open_rows.values(state=AckState.REPLACED))


def ask_instead(session: Session, message_id: int, instead_of: int, now: datetime) -> None:
    """The message takes the place of an earlier message that Slack does not show or edit, and asks on.

    Whoever has the abandonment keeps it, and nobody is told a second time. Escalations show the new message.
    """
    row = session.get(Acknowledgement, instead_of, with_for_update=True, populate_existing=True)
    if row is None or row.state == AckState.REPLACED:
        return
    asked, earlier = _asked(row), session.get_one(OutboxMessage, instead_of)
    told = _escalations(session, earlier, row)
    asks_on = asked.model_copy(update={"first_key": asked.first_key or earlier.idempotency_key})
    session.add(
        Acknowledgement(
            message_id=message_id,
            asked=asks_on.model_dump_json(),
            state=row.state,
            stepped_at=row.stepped_at,
            taken_by=row.taken_by,
            taken_at=row.taken_at,
        )
    )
    row.state, row.taken_by, row.taken_at = AckState.REPLACED, None, None
    row.asked = asked.model_copy(update={"moved_to": message_id}).model_dump_json()
    session.flush()
    _show(session, told, message_id, now)


def _show(session: Session, escalations: Sequence[OutboxMessage], message_id: int, now: datetime) -> None:
    """The escalations, and their waiting edits, show this message from now on."""
    if not escalations:
        return
    numbers = [post.id for post in escalations]
    with_edits = or_(col(OutboxMessage.id).in_(numbers), col(OutboxMessage.edits_id).in_(numbers))
    for post in session.execute(select(OutboxMessage).where(with_edits)).scalars():
        said = Escalated.model_validate_json(post.content or "{}")
        post.content = said.model_copy(update={"message_id": message_id}).model_dump_json()
    session.flush()
    message_store.add(session, [_edit_of_escalation(post, f"instead:{message_id}", now) for post in escalations])


def follow(session: Session, edits: Sequence[NewPost]) -> list[NewPost]:
    """Edits of the escalations of all messages that get these edits."""
    rows = of_messages(session, {edit.edits_id for edit in edits if edit.edits_id is not None})
    if all(row.stepped_at is None for row in rows.values()):
        return []
    alerts = select(OutboxMessage).where(col(OutboxMessage.id).in_(sorted(rows)))
    told = {alert.id: _escalations(session, alert, rows[alert.id or 0]) for alert in session.execute(alerts).scalars()}
    return [
        _edit_of_escalation(post, edit.idempotency_key, edit.received_at)
        for edit in edits
        for post in told.get(edit.edits_id, ())
    ]


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
        is_closed = queue_state == QueueState.CLOSED
        since = row.stepped_at or _told_at(alert, is_closed=is_closed)
        if since is not None and since + _asked(row).minutes * MINUTE <= now:
            steps += _step(session, row, alert, now, is_closed=is_closed)
        if steps >= STEPS_PER_COMMIT:
            break
    return steps


def of_messages(session: Session, message_ids: Collection[int]) -> dict[int, Acknowledgement]:
    if not message_ids:
        return {}
    statement = select(Acknowledgement).where(col(Acknowledgement.message_id).in_(sorted(message_ids)))
    return {row.message_id: row for row in session.execute(statement).scalars()}


def count_untaken(session: Session, since: datetime, channel_id: str | None = None) -> int:
    """Abandonments posted since then, in all channels or in the given channel, that ask and that nobody has taken."""
    statement = (
        select(func.count())
        .select_from(Acknowledgement)
        .join(OutboxMessage, col(OutboxMessage.id) == col(Acknowledgement.message_id))
        .where(_is_any(NOT_TAKEN), col(OutboxMessage.sent_at) >= since)
    )
    if channel_id is not None:
        statement = statement.where(col(OutboxMessage.channel_id) == channel_id)
    return int(session.execute(statement).scalar_one())


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
            one.minutes or _minutes_asked(targets.get(post.edits_id, post), views[one.message_id].post),
            is_replaced=rows[one.message_id].state == AckState.REPLACED,
        )
        for post in posts
        if (one := said[post.id or 0]).message_id in views and one.message_id in rows
    }


def keys_of_escalations(alert: OutboxMessage, row: Acknowledgement) -> list[str]:
    asked = _asked(row)
    first_key = asked.first_key or alert.idempotency_key
    return [_key(first_key, one) for one in (REMINDER, *asked.channels, *filter(is_person, asked.people))]


def _asked(row: Acknowledgement) -> Asked:
    return Asked.model_validate_json(row.asked)


def _step(session: Session, row: Acknowledgement, alert: OutboxMessage, now: datetime, *, is_closed: bool) -> bool:
    """Mention people in the channel; where that is done, or nobody reads the channel, tell the other channels.

    Without another channel, people are told in direct messages. False if there is nobody to tell before a closed
    channel is back.
    """
    asked = _asked(row)
    is_unreachable = is_closed or alert.state == MessageState.DEAD_LETTER
    reminds = row.state == AckState.ASKED and bool(asked.people or not asked.channels) and not is_unreachable
    told = [alert.channel_id] if reminds else list(asked.channels or filter(is_person, asked.people))
    if is_closed and not told:
        return False
    after = AckState.REMINDED if reminds and asked.channels else AckState.UNANSWERED
    if not _move(session, row.message_id, OPEN, state=after, stepped_at=now):
        return False
    content = Escalated(
        message_id=row.message_id,
        people=asked.people if reminds else (),
        minutes=_minutes_untaken(row, alert, asked, now, is_closed=is_closed),
    )
    message_store.add(
        session,
        [
            NewPost(
                channel_id,
                _key(asked.first_key or alert.idempotency_key, REMINDER if reminds else channel_id),
                MessageKind.ESCALATION,
                Priority.ABANDONMENT,
                now,
                written=content.model_dump_json(),
            )
            for channel_id in told
        ],
    )
    log.info("escalated", post=alert.idempotency_key, state=after.value, channels=told)
    return True


def _told_at(alert: OutboxMessage, *, is_closed: bool) -> datetime | None:
    """Since when somebody could have taken the abandonment, or since when the channel could not be told."""
    if is_closed and alert.state in UNSENT:
        return alert.received_at
    return alert.sent_at or alert.given_up_at


def _minutes_untaken(
    row: Acknowledgement, alert: OutboxMessage, asked: Asked, now: datetime, *, is_closed: bool
) -> int:
    """Whole minutes. A message in the place of an earlier message may be younger than the last step."""
    since = _told_at(alert, is_closed=is_closed) or alert.received_at
    if row.stepped_at is not None:
        since = min(since, row.stepped_at - asked.minutes * MINUTE)
    return max(1, (now - since) // MINUTE)


def _minutes_asked(escalation: OutboxMessage, alert: OutboxMessage) -> int:
    """Whole minutes."""
    since = alert.sent_at or alert.given_up_at or alert.received_at
    return max(1, (escalation.received_at - since) // MINUTE)


def _is_moot(alert: OutboxMessage) -> bool:
    """A summary tells of the abandonment, it is of another day, or nobody in the channel wants it any more."""
    needless = (Reason.UNSUBSCRIBED, Reason.WAITED_TOO_LONG)
    return alert.state == MessageState.FOLDED or (alert.state == MessageState.DEAD_LETTER and alert.reason in needless)


def _edit_of_alert(alert: OutboxMessage, now: datetime) -> NewPost:
    return NewPost(
        alert.channel_id,
        _key(alert.idempotency_key, BY_WHOM),
        MessageKind.EDIT,
        Priority.ABANDONMENT,
        now,
        event_id=alert.event_id,
        edits_id=alert.id,
    )


def _edits_of_escalations(
    session: Session, alert: OutboxMessage, row: Acknowledgement, now: datetime
) -> Iterator[NewPost]:
    for post in _escalations(session, alert, row):
        yield _edit_of_escalation(post, BY_WHOM, now)


def _escalations(session: Session, alert: OutboxMessage, row: Acknowledgement) -> Sequence[OutboxMessage]:
    told = select(OutboxMessage).where(col(OutboxMessage.idempotency_key).in_(keys_of_escalations(alert, row)))
    return session.execute(told.order_by(col(OutboxMessage.id))).scalars().all()


def _edit_of_escalation(post: OutboxMessage, what: str, now: datetime) -> NewPost:
    return NewPost(
        post.channel_id,
        _key(post.idempotency_key, what),
        MessageKind.ESCALATION_EDIT,
        Priority.ABANDONMENT,
        now,
        edits_id=post.id,
        written=post.content,
    )


def _key(key: str, what: str) -> str:
    return f"{key}!{what}"


def _is_any(states: Collection[AckState]) -> ColumnElement[bool]:
    """Literals, in the words of the index."""
    return col(Acknowledgement.state).in_([literal_column(f"'{state}'") for state in states])


def _move(session: Session, message_id: int, origins: Collection[AckState], **written: Any) -> bool:
    """Of two writers at the same time one finds the row in another state."""
    moved = update(Acknowledgement).where(col(Acknowledgement.message_id) == message_id, _is_any(origins))
    return affected(session, moved.values(**written).execution_options(synchronize_session=False)) > 0
