"""The messages of an older copy of the database: each may have been posted after the copy was made."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlmodel import Session, col

from bot.db.tables import ChannelQueue, MessageKind, MessageState, OutboxMessage
from bot.outbox.message_store import IS_UNSENT
from bot.outbox.states import POSTING, SENT_WHILE_PAUSED, Happened, move

_POSTING_CHANNELS = select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state).in_(POSTING))
_MEANT = (
    col(OutboxMessage.kind) != MessageKind.EDIT,
    or_(
        col(OutboxMessage.state) != MessageState.QUEUED,
        col(OutboxMessage.kind).in_(SENT_WHILE_PAUSED),
        col(OutboxMessage.channel_id).in_(_POSTING_CHANNELS),
    ),
)


@dataclass(frozen=True)
class Doubted:
    """How many messages are looked for before the bot posts them, and the receipt of the oldest."""

    messages: int
    oldest: datetime | None


def doubt_unsent(session: Session, now: datetime) -> Doubted:
    """Have each unsent message looked for in its channel, from its receipt until now, before the message is posted.

    Edits stay queued, because an edit made twice changes nothing. Messages of paused and closed channels stay queued,
    because a summary says them, and the channel's history has no key of a message in a summary. Doing this twice
    changes nothing.
    """
    oldest = session.execute(select(func.min(col(OutboxMessage.received_at))).where(IS_UNSENT, *_MEANT)).scalar_one()
    moved = move(
        session,
        Happened.RESTORED,
        *_MEANT,
        # The first call for a message is no earlier than the message.
        sending_at=col(OutboxMessage.received_at),
        deadline_at=now,
        detail="the database is an older copy: the message may have been posted since",
        looks=0,
        failed_looks=0,
    )
    return Doubted(moved, oldest)
