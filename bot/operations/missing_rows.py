"""Races told as missing: all replicas together warn once and withdraw a warning once."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import MissingRace

KEEP_ROWS = timedelta(days=30)


def open_rows(session: Session) -> Sequence[MissingRace]:
    row = MissingRace
    return session.execute(select(row).where(col(row.came_at).is_(None)).order_by(col(row.race_id))).scalars().all()


def count(session: Session) -> int:
    statement = select(func.count()).select_from(MissingRace).where(col(MissingRace.came_at).is_(None))
    number: int = session.execute(statement).scalar_one()
    return number


def told(session: Session) -> tuple[set[str], datetime | None]:
    """The races told within KEEP_ROWS, and when a race was told last."""
    found = session.execute(select(col(MissingRace.race_id), col(MissingRace.told_at))).all()
    return {race_id for race_id, _ in found}, max((at for _, at in found), default=None)


def tell(session: Session, rows: Iterable[MissingRace]) -> list[MissingRace]:
    """The races to be told now. A single caller gets a race, once."""
    statement = insert_here(session, MissingRace).on_conflict_do_nothing(index_elements=["race_id"])
    returning = statement.returning(col(MissingRace.race_id))
    return [row for row in rows if session.execute(returning, row.model_dump()).first() is not None]


def came(session: Session, rows: Iterable[MissingRace], now: datetime) -> list[MissingRace]:
    """The races to be withdrawn now. A single caller gets a race, once."""
    race = MissingRace
    taken = update(race).where(col(race.came_at).is_(None)).values(came_at=now).returning(col(race.race_id))
    return [row for row in rows if session.execute(taken.where(col(race.race_id) == row.race_id)).first() is not None]


def forget(session: Session, now: datetime) -> None:
    session.execute(delete(MissingRace).where(col(MissingRace.told_at) < now - KEEP_ROWS))
