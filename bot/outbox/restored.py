"""Messages of an older copy of the database: each may have been posted after the copy was made."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.outbox.posts import IS_UNSENT
from bot.outbox.states import Happened, move
from bot.storage.tables import MessageKind, OutboxMessage


@dataclass(frozen=True)
class Doubted:
    """How many messages are looked for before they are posted, and the receipt of the oldest of them."""

    messages: int
    oldest: datetime | None


def doubt_unsent(session: Session, now: datetime) -> Doubted:
    """Have every unsent message looked for in its channel, from its receipt until now, before it is posted.

    An edit stays as it is: an edit made twice changes nothing. To do this twice changes nothing either.
    """
    meant = (IS_UNSENT, col(OutboxMessage.kind) != MessageKind.EDIT)
    oldest = session.execute(select(func.min(col(OutboxMessage.received_at))).where(*meant)).scalar_one()
    moved = move(
        session,
        Happened.RESTORED,
        col(OutboxMessage.kind) != MessageKind.EDIT,
        # The first call for a message is no earlier than the message itself.
        sending_at=col(OutboxMessage.received_at),
        deadline_at=now,
        detail="the database is an older copy: the message may have been posted since",
        looks=0,
        failed_looks=0,
    )
    return Doubted(moved, oldest)
