"""An index from races to the abandoned meetings that name the races.

A race is indexed by its id, else by the key of its result.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.db.engine import insert_once
from bot.db.tables import NamedRace


def add(session: Session, event_key: str, race_ids: Iterable[str | None]) -> None:
    rows = [{"race_id": race_id, "event_key": event_key} for race_id in sorted({one for one in race_ids if one})]
    if rows:
        session.connection().execute(insert_once(session, NamedRace), rows)


def naming(session: Session, race_ids: Collection[str | None]) -> set[str]:
    """The keys of abandoned meetings that name one of the races."""
    return set(session.execute(_NAMING, {"races": list(race_ids)}).scalars())


_NAMING = select(col(NamedRace.event_key)).where(col(NamedRace.race_id).in_(bindparam("races", expanding=True)))
