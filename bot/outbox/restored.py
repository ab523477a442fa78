"""The messages of a restored copy of the database: each may have been sent after the copy was made."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import ChannelQueue, MessageState, OutboxMessage
from bot.outbox.message_store import IS_DUE, IS_UNSENT
from bot.outbox.states import POSTING, SENT_WHILE_PAUSED, Happened, move

_POSTING_CHANNELS = select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state).in_(POSTING))
_IS_IN_QUESTION = (
    IS_DUE,
    or_(
        col(OutboxMessage.state) != MessageState.QUEUED,
        col(OutboxMessage.kind).in_(SENT_WHILE_PAUSED),
        col(OutboxMessage.channel_id).in_(_POSTING_CHANNELS),
    ),
)


@dataclass(frozen=True)
class PutInDoubt:
    messages: int
    oldest: datetime | None


def put_in_doubt(session: Session, now: datetime) -> PutInDoubt:
    """Unsent messages are looked for from their receipt until now, before they are sent.

    A summary is looked for from the receipt of its first message. A second edit changes nothing, so edits stay due.
    Messages of held queues, and messages that wait for a moment, stay queued: the history has no key of a message
    within a summary. A second run changes nothing.
    """
    first = aliased(OutboxMessage)
    of_first = (
        select(func.min(col(first.received_at)))
        .where(col(first.folded_into) == col(OutboxMessage.id))
        .correlate(OutboxMessage)
        .scalar_subquery()
    )
    oldest = session.execute(
        select(func.min(col(OutboxMessage.received_at))).where(IS_UNSENT, *_IS_IN_QUESTION)
    ).scalar_one()
    moved = move(
        session,
        Happened.RESTORED,
        *_IS_IN_QUESTION,
        sending_at=func.coalesce(of_first, col(OutboxMessage.received_at)),
        deadline_at=now,
        detail="the database is an older copy: the message may have been posted since",
        looks=0,
        failed_looks=0,
    )
    return PutInDoubt(moved, oldest)
