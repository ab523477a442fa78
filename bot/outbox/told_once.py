"""What all replicas together tell once: each notice by a key, until the notice is withdrawn.

| Key | Withdrawn when |
|---|---|
| Of a notice for admins or a channel | `refused:unauthorized:DAY`: the data service takes the key again. Others never |
| `missing-race:DAY:ID`: a race without an outcome | The outcome has come, or the race has another day |
| `unread-record:ID`: a failed delivery whose record can't be read | Never |
| `quota:MONTH:PERCENT`: a warning that another warning covers | Never |
| `said:EVENT@CHANNEL`: a direct message whose command is under way | Forgotten with the answer |
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import Notice


def note(session: Session, keys: Iterable[str], now: datetime) -> list[str]:
    """The keys that are new. A single caller gets a key, once."""
    statement = insert_here(session, Notice).on_conflict_do_nothing(index_elements=["key"])
    # RETURNING: a driver's row count of an INSERT is unreliable.
    returning = statement.returning(col(Notice.key))
    return [key for key in keys if session.execute(returning, {"key": key, "created_at": now}).first() is not None]


def claim(session: Session, key: str, now: datetime, again_after: timedelta) -> bool:
    """Whether the key is new, or was claimed so long ago. One statement decides between two replicas."""
    values = {"key": key, "created_at": now}
    statement = (
        insert_here(session, Notice)
        .values(values)
        .on_conflict_do_update(
            index_elements=["key"], set_={"created_at": now}, where=col(Notice.created_at) <= now - again_after
        )
    )
    return session.execute(statement.returning(col(Notice.key))).first() is not None


def is_noted(session: Session, key: str) -> bool:
    """True even if only the log was told."""
    statement = select(col(Notice.key)).where(col(Notice.key).in_([key, f"log:{key}"]))
    return session.execute(statement).first() is not None


def noted(session: Session, beginning: str) -> Mapping[str, datetime]:
    """The keys with this beginning, each with the moment of telling."""
    found = session.execute(select(col(Notice.key), col(Notice.created_at)).where(_begins(beginning))).all()
    return {row.key: row.created_at for row in found}


def standing(session: Session, beginning: str) -> list[str]:
    """The keys with this beginning that are not withdrawn, in the order of text."""
    is_standing = (_begins(beginning), col(Notice.withdrawn_at).is_(None))
    return list(session.execute(select(col(Notice.key)).where(*is_standing).order_by(col(Notice.key))).scalars())


def withdraw(session: Session, keys: Iterable[str], now: datetime) -> list[str]:
    """The keys that are withdrawn now. A single caller gets a key, once."""
    taken = update(Notice).where(col(Notice.withdrawn_at).is_(None)).values(withdrawn_at=now)
    returning = taken.returning(col(Notice.key))
    return [key for key in keys if session.execute(returning.where(col(Notice.key) == key)).first() is not None]


def is_withdrawn(session: Session, key: str) -> bool:
    statement = select(col(Notice.key)).where(col(Notice.key) == key, col(Notice.withdrawn_at).is_not(None))
    return session.execute(statement).first() is not None


def forget(session: Session, beginning: str, before: datetime) -> None:
    session.execute(delete(Notice).where(_begins(beginning), col(Notice.created_at) < before))


def free(session: Session, key: str) -> None:
    session.execute(delete(Notice).where(col(Notice.key) == key))


def _begins(beginning: str) -> ColumnElement[bool]:
    return col(Notice.key).startswith(beginning, autoescape=True)
