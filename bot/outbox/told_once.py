"""Notices told once by all replicas together: each by a key, until the key is dropped.

| Key | Dropped when |
|---|---|
| `refused:CAUSE:MONTH`: a refusal of the data service, met by any part of the bot | The refusal is over |
| Another notice for admins or a channel | Never |
| `missing:DAY:REGION:COURSE`: a meeting without its outcomes | The outcomes have come: the key is taken back |
| `missing:DAY:`: a racing day without any delivery | An outcome of the day has come: the key is dropped |
| `unread-record:ID`: a failed delivery whose record can't be read | Never |
| `quota:MONTH:PERCENT`: a warning that another warning covers | Never |
| `said:EVENT@CHANNEL`: a direct message whose command is under way | Forgotten with the answer |
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlmodel import Session, col

from bot.db.engine import insert_once, put_where
from bot.db.tables import Notice


def note(session: Session, keys: Iterable[str], now: datetime) -> list[str]:
    """The keys that are new. A single caller gets a key, once."""
    connection, once = session.connection(), insert_once(session, Notice, "key")
    return [key for key in keys if connection.execute(once, {"key": key, "created_at": now}).first() is not None]


def claim(session: Session, key: str, now: datetime, again_after: timedelta) -> bool:
    """True if the key is new, or was claimed `again_after` ago or earlier."""
    return put_where(session, Notice, col(Notice.created_at) <= now - again_after, key=key, created_at=now)


def is_noted(session: Session, key: str) -> bool:
    """True even if only the log was told."""
    return session.execute(select(col(Notice.key)).where(_is(key))).first() is not None


def standing(session: Session, beginning: str) -> list[str]:
    """The keys with this beginning, sorted."""
    statement = select(col(Notice.key)).where(col(Notice.key).startswith(beginning, autoescape=True))
    return list(session.execute(statement.order_by(col(Notice.key))).scalars())


def free(session: Session, keys: Iterable[str]) -> list[str]:
    """The keys that are dropped now, and may be told anew. A single caller gets a key."""
    returning = delete(Notice).returning(col(Notice.key))
    return [key for key in keys if session.execute(returning.where(_is(key))).first() is not None]


def _is(key: str) -> ColumnElement[bool]:
    return col(Notice.key).in_([key, f"log:{key}"])
