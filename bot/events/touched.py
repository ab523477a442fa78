"""Races and events with later values: fan-out looks at the messages again, in a turn of its own."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from sqlalchemy import delete, select, tuple_
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import Touched

AT_ONCE = 100
"""SQLite limits the number of values."""


class What(StrEnum):
    RACE = "race"
    """A race of the race book, by its id."""
    EVENT = "event"
    """An event, by its key."""


def note(session: Session, what: What, names: Iterable[str]) -> None:
    rows = [{"what": what, "name": name} for name in sorted(names)]
    if rows:
        session.execute(insert_here(session, Touched).on_conflict_do_nothing(), rows)


def first(session: Session) -> list[tuple[What, str]]:
    row = Touched
    of_first = select(col(row.what), col(row.name)).order_by(col(row.what), col(row.name)).limit(AT_ONCE)
    return [(What(what), name) for what, name in session.execute(of_first)]


def forget(session: Session, looked_at: Sequence[tuple[What, str]]) -> None:
    session.execute(delete(Touched).where(tuple_(col(Touched.what), col(Touched.name)).in_(looked_at)))
