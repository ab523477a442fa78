"""Pauses of channels. The end of a pause is kept in each subscription and in each watch of the channel.

A channel with `paused_until` is paused in every state.
"""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, bindparam, func, or_, select, union_all, update
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from bot.channels import channel_lock
from bot.db.engine import affected
from bot.db.tables import ChannelSubscriptionRow, WatchRow

UNTIL_RESUMED = datetime(9999, 1, 1, tzinfo=UTC)
"""The end of a pause without an end."""

_TABLES: tuple[type[ChannelSubscriptionRow] | type[WatchRow], ...] = (ChannelSubscriptionRow, WatchRow)


def begin(session: Session, channel_id: str, until: datetime | None) -> int:
    """Returns how many subscriptions and watches are paused."""
    channel_lock.take(session, channel_id)
    statements = [update(table).where(col(table.channel_id) == channel_id) for table in _TABLES]
    return sum(affected(session, one.values(paused_until=until or UNTIL_RESUMED)) for one in statements)


def end(session: Session, channel_id: str) -> int:
    """Returns how many subscriptions and watches were paused."""
    channel_lock.take(session, channel_id)
    statements = [
        update(table).where(col(table.channel_id) == channel_id, col(table.paused_until).is_not(None))
        for table in _TABLES
    ]
    return sum(affected(session, one.values(paused_until=None)) for one in statements)


_ENDS = union_all(
    *(
        select(col(table.paused_until).label("ends")).where(col(table.channel_id) == bindparam("channel"))
        for table in _TABLES
    )
).subquery()
_LAST_END = select(func.max(_ENDS.c.ends))


def last_end(session: Session, channel_id: str) -> datetime | None:
    """The end of the channel's pause. The moment may be past: messages are held until the job `end_pauses` has run."""
    return session.scalars(_LAST_END, {"channel": channel_id}).one_or_none()


def until(session: Session, channel_id: str, now: datetime) -> datetime | None:
    """None for a pause whose end is past."""
    found = last_end(session, channel_id)
    return found if found and found > now else None


def is_paused(channel_id: Mapped[str], now: datetime) -> ColumnElement[bool]:
    """For statements: whether the channel of a row, by the column `channel_id`, is paused."""
    return or_(
        *(
            select(table).where(col(table.channel_id) == channel_id, col(table.paused_until) > now).exists()
            for table in _TABLES
        )
    )
