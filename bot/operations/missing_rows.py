"""Rows of missing outcomes and deliveries: all replicas together warn once and withdraw a warning once."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import MissingKind, MissingRow

KEEP_ROWS = timedelta(days=30)
OF_RACES = (MissingKind.RACE, MissingKind.DELIVERY)

KEYS_PER_STATEMENT = 500
"""SQLite limits the values of a statement."""


def open_rows(session: Session) -> Sequence[MissingRow]:
    row = MissingRow
    statement = select(row).where(col(row.came_at).is_(None)).order_by(col(row.key))
    return session.execute(statement).scalars().all()


def count_told(session: Session) -> dict[str, int]:
    row = MissingRow
    statement = select(col(row.kind), func.count()).where(col(row.came_at).is_(None), col(row.told_at).is_not(None))
    return {str(kind): number for kind, number in session.execute(statement.group_by(col(row.kind)))}


def keys(session: Session, of_these: Collection[str]) -> set[str]:
    found: set[str] = set()
    for part in _parts(of_these):
        found |= set(session.execute(select(col(MissingRow.key)).where(col(MissingRow.key).in_(part))).scalars())
    return found


def told_last(session: Session) -> datetime | None:
    of_races = col(MissingRow.kind).in_(OF_RACES)
    moment: datetime | None = session.execute(select(func.max(col(MissingRow.told_at))).where(of_races)).scalar_one()
    return moment


def add(session: Session, rows: Sequence[MissingRow]) -> None:
    if rows:
        values = [row.model_dump() for row in rows]
        session.execute(insert_here(session, MissingRow).on_conflict_do_nothing(index_elements=["key"]), values)


def tell(session: Session, of_these: Collection[str], kind: MissingKind, now: datetime) -> list[str]:
    """Keys to be told now. A single caller gets a key, once."""
    row = MissingRow
    told: list[str] = []
    for part in _parts(of_these):
        is_untold = (col(row.key).in_(part), col(row.told_at).is_(None), col(row.came_at).is_(None))
        statement = update(row).where(*is_untold).values(told_at=now, kind=kind).returning(col(row.key))
        told += session.execute(statement).scalars()
    return sorted(told)


def came(session: Session, of_these: Collection[str], now: datetime) -> list[str]:
    """Keys to be withdrawn now. A single caller gets a key, once. Untold rows need no withdrawal."""
    row = MissingRow
    taken_back: list[str] = []
    for part in _parts(of_these):
        statement = update(row).where(col(row.key).in_(part), col(row.came_at).is_(None)).values(came_at=now)
        found = session.execute(statement.returning(col(row.key), col(row.told_at)))
        taken_back += [key for key, told_at in found if told_at is not None]
    return sorted(taken_back)


def forget(session: Session, now: datetime) -> None:
    session.execute(delete(MissingRow).where(col(MissingRow.found_at) < now - KEEP_ROWS))


def _parts(of_these: Collection[str]) -> list[list[str]]:
    ordered = sorted(of_these)
    return [ordered[start : start + KEYS_PER_STATEMENT] for start in range(0, len(ordered), KEYS_PER_STATEMENT)]
