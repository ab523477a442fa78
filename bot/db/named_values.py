"""Small named values that outlive a restart."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlmodel import Session, col

from bot.db.engine import insert_here, table_of
from bot.db.tables import StoredState


def get(session: Session, name: str) -> tuple[Any, datetime] | None:
    kept = text(session, name)
    return (json.loads(kept[0]), kept[1]) if kept else None


def text(session: Session, name: str) -> tuple[str, datetime] | None:
    """The stored JSON and the time of writing."""
    state = table_of(StoredState).c
    named = select(state.value, state.updated_at).where(state.name == name)
    row = session.connection().execute(named).one_or_none()
    return (row[0], row[1]) if row else None


def put(session: Session, name: str, value: Any, now: datetime) -> None:
    values = {"value": json.dumps(value), "updated_at": now}
    statement = insert_here(session, StoredState).values(name=name, **values)
    session.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def drop(session: Session, name: str) -> None:
    session.execute(delete(StoredState).where(col(StoredState.name) == name))
