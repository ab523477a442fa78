"""Races that abandoned meetings name by id: so that a race's events find its meeting by an index."""

from collections.abc import Iterable
from functools import lru_cache

from sqlalchemy import Select, bindparam, select
from sqlmodel import Session

from bot.storage.engine import insert_here, table_of
from bot.storage.tables import NamedRace


def add(session: Session, event_key: str, race_ids: Iterable[str | None]) -> None:
    """Note that this meeting names these races."""
    rows = [{"race_id": race_id, "event_key": event_key} for race_id in sorted({one for one in race_ids if one})]
    if rows:
        session.execute(insert_here(session, NamedRace).on_conflict_do_nothing(), rows)


def meetings_naming(session: Session, race_ids: Iterable[str]) -> set[str]:
    """The keys of the meetings that name any of these races."""
    ids = sorted(race_ids)
    if not ids:
        return set()
    return set(session.connection().execute(_naming(), {"races": ids}).scalars())


@lru_cache
def _naming() -> Select[str]:
    """The statement of `meetings_naming`, kept."""
    named = table_of(NamedRace).c
    return select(named.event_key).where(named.race_id.in_(bindparam("races", expanding=True)))
