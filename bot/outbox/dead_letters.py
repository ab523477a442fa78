"""Alerts given up, and posted after all by an admin."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import EventVersion, MessageKind, OutboxMessage, Reason
from bot.events import event_store, named_races
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.outbox import acknowledgements, message_store, telling_store
from bot.outbox.message_store import IS_DEAD, NewPost, Priority

AGAIN = "#again"
"""Ends the key of an alert posted after all. A second press finds the key taken."""

OFFERED_FOR = timedelta(days=2)
"""After the receipt: an older alert is no news."""

LOOKED_AT = 100
"""The newest dead letters."""

_LATER = aliased(EventVersion)
_AGAIN = aliased(OutboxMessage)


@dataclass(frozen=True)
class DeadLetter:
    message_id: int
    channel_id: str
    event: RacingEvent
    reason: str
    given_up_at: datetime


def newest(session: Session, at_most: int, now: datetime) -> Sequence[DeadLetter]:
    """Alerts in force, not posted after all yet. Notices and edits are left out."""
    statement = _offered(now).order_by(col(OutboxMessage.given_up_at).desc(), col(OutboxMessage.id).desc())
    offered = session.execute(statement.limit(LOOKED_AT)).all()
    in_force = (pair for pair in offered if not _is_said_by_meeting(session, *pair))
    return [_dead_letter(*pair) for pair in islice(in_force, at_most)]


def post_again(session: Session, message_id: int, now: datetime) -> str | None:
    """Queue the alert as a new message. The channel's id; None for an alert outside `newest`.

    The new message keeps the event's receipt and hour, and so says the lateness. An acknowledgement goes on with the
    new message.
    """
    found = session.execute(_offered(now).where(col(OutboxMessage.id) == message_id)).first()
    if found is None or _is_said_by_meeting(session, *found):
        return None
    post: OutboxMessage = found[0]
    again = NewPost(
        post.channel_id,
        f"{post.idempotency_key}{AGAIN}",
        MessageKind.EVENT,
        Priority(post.priority),
        post.received_at,
        event_id=post.event_id,
        due_at=post.due_at,
    )
    made = message_store.add(session, [again])
    for number in made.values():
        acknowledgements.ask_instead(session, number, message_id, now)
    return post.channel_id if made else None


def _offered(now: datetime) -> Select[OutboxMessage, EventVersion]:
    return (
        select(OutboxMessage, EventVersion)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(IS_DEAD)
        .where(col(OutboxMessage.kind) == MessageKind.EVENT, col(OutboxMessage.reason) != Reason.UNSUBSCRIBED)
        .where(col(OutboxMessage.received_at) > now - OFFERED_FOR)
        .where(~exists().where(col(_AGAIN.idempotency_key) == col(OutboxMessage.idempotency_key) + AGAIN))
        .where(~_is_replaced())
    )


def _is_replaced() -> ColumnElement[bool]:
    """True with a later version or a contradicting event, told there or not: the alert is wrong."""
    later_version = and_(
        col(_LATER.event_key) == col(EventVersion.event_key), col(_LATER.version) > col(EventVersion.version)
    )
    contradicted = [_is_contradicted(kind, by) for kind, by in CONTRADICTIONS.items()]
    return or_(exists().where(later_version), *contradicted)


def _is_contradicted(kind: EventKind, by: EventKind) -> ColumnElement[bool]:
    """The remarks decide, because a version of mere additions contradicts nothing."""
    key = literal(str(by)) + func.substr(col(EventVersion.event_key), len(kind) + 1)
    contradicting = and_(
        col(_LATER.kind) == by,
        or_(col(_LATER.event_key) == key, col(_LATER.race_id) == col(EventVersion.race_id)),
        col(_LATER.id) > col(EventVersion.id),
        col(_LATER.remarks).contains(f'"contradicts":"{kind}"', autoescape=True),
    )
    return and_(col(EventVersion.kind) == kind, exists().where(contradicting))


def _is_said_by_meeting(session: Session, post: OutboxMessage, version: EventVersion) -> bool:
    """True by a later message in the channel, or an edit. Messages that only link the meeting do not count."""
    if version.kind != EventKind.RACE_ABANDONED:
        return False
    meetings = event_store.latest(session, named_races.naming(session, [version.race_id]))
    told = telling_store.told(session, meetings, channels=[post.channel_id])
    return any(
        one.id > post.id or (meetings[one.event_key].id or 0) > (version.id or 0)
        for one in told
        if one.is_own and one.tells
    )


def _dead_letter(post: OutboxMessage, version: EventVersion) -> DeadLetter:
    event, _ = event_store.read(version)
    assert post.given_up_at is not None, "a CHECK constraint of the table"
    return DeadLetter(post.id, post.channel_id, event, post.detail or post.reason or "", post.given_up_at)
