"""Races and events with later values: fan-out looks at the messages again, in a turn of its own."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import bindparam, delete, or_, select, tuple_, update
from sqlmodel import Session, col

from bot.db.engine import table_of, upsert
from bot.db.tables import Touched

AT_ONCE = 100
"""SQLite limits the number of values."""

LOOKS_MAX = 12
"""Failed looks, an hour with the waits between the looks: later values edit the messages of the last hour."""


class What(StrEnum):
    RACE = "race"
    """A race of the race book, by id."""
    EVENT = "event"
    """An event, by key."""


class Name(NamedTuple):
    """`attempts`: failed looks."""

    what: What
    name: str
    attempts: int = 0

    @property
    def reference(self) -> str:
        return f"{self.what}:{self.name}"


def note(session: Session, what: What, names: Iterable[str]) -> None:
    """Locks the rows until the transaction ends. No look takes a row before the end."""
    rows = [{"what": what, "name": name, "attempts": 0} for name in sorted(names)]
    if rows:
        session.connection().execute(upsert(session, Touched), rows)


_ROW = table_of(Touched).c
_NOW, _FAR = (bindparam(name, type_=_ROW.not_before.type) for name in ("now", "far"))
_FIRST = (
    select(_ROW.what, _ROW.name, _ROW.attempts)
    .where(or_(_ROW.not_before.is_(None), _ROW.not_before <= _NOW, _ROW.not_before > _FAR))
    .order_by(_ROW.what, _ROW.name)
    .limit(AT_ONCE)
)


def first(session: Session, now: datetime, far: datetime) -> list[Name]:
    """The due names. A moment beyond `far` is ignored: a clock was set back."""
    found = session.connection().execute(_FIRST, {"now": now, "far": far})
    return [Name(What(what), name, attempts) for what, name, attempts in found]


_KEY = tuple_(_ROW.what, _ROW.name)
_FREE = (
    select(_ROW.what, _ROW.name).where(_KEY.in_(bindparam("names", expanding=True))).with_for_update(skip_locked=True)
)
_TAKE = delete(table_of(Touched)).where(_KEY.in_(_FREE)).returning(_ROW.what, _ROW.name, _ROW.attempts)


def take(session: Session, names: Sequence[Name]) -> list[Name]:
    """The names, but for names that another transaction is noting. The rows are deleted."""
    taken = session.connection().execute(_TAKE, {"names": [(one.what, one.name) for one in names]})
    return sorted(Name(What(what), name, attempts) for what, name, attempts in taken)


def look_later(session: Session, failed: Name, not_before: datetime) -> None:
    """After the last of LOOKS_MAX failures the name is dropped. Later news stays."""
    is_as_seen = (
        col(Touched.what) == failed.what,
        col(Touched.name) == failed.name,
        col(Touched.attempts) == failed.attempts,
    )
    if failed.attempts + 1 < LOOKS_MAX:
        later = {"attempts": failed.attempts + 1, "not_before": not_before}
        session.execute(update(Touched).where(*is_as_seen).values(later))
    else:
        session.execute(delete(Touched).where(*is_as_seen))
