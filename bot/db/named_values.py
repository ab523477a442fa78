"""Small named values that outlive a restart. `Mark` has the names."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy import bindparam, delete, select
from sqlmodel import Session, col

from bot.clock import Clock
from bot.db.engine import Database, table_of, upsert
from bot.db.tables import StoredState
from bot.logs import get_logger

log = get_logger(__name__)

ModelT = TypeVar("ModelT", bound=BaseModel)


class Mark(StrEnum):
    """The names. A name with a dot or a colon at the end begins the names of many values."""

    REGIONS = "regions"
    COURSES = "courses"
    COUNTRIES = "countries"
    RACE_CLASSES = "race_classes"
    """The data service's lists, each with the moment of reading."""
    WALK = "racebook.walk."
    """A region's walk of the race book: the cursor, and what the pages have proved."""
    DAY = "racebook.day."
    """A region's day as read by RACING_DAY_PATH."""
    WHOLE_DAY = "racebook.whole."
    """A region's day has the whole card in the race book."""
    ACCOUNT = "account"
    """Plan and window as admins were told last."""
    LATCHES = "racing.latches."
    """A key's circuit breakers of quota, key and plan, and the pace of its requests to the data service."""
    QUOTA_SPENT = "quota.spent"
    """Our own count of the month's requests."""
    QUOTA_READING = "quota.reading"
    """The latest reading of the month's use."""
    OUTAGE = "repair.outage"
    """The latest outage by failed deliveries, in the words for admins."""
    BODIES_PRUNED_TO = "bodies_pruned_to"
    """The newest delivery whose body was forgotten."""
    JOURNAL = "journal"
    """How far the journal of deliveries is read."""
    DRILL = "drill"
    """The latest drill."""
    REPLICA = "replica:"
    """A living replica, by the moment of writing."""
    VAULT_PROOF = "vault_proof"
    """Written and read back before a signing secret is asked for."""
    READY_PROBE = "ready_probe"
    """The write by which `/readyz` tries the database."""


CLOCK_AHEAD_MAX = timedelta(hours=1)
"""How far the clock of another replica may be ahead."""

_STATE = table_of(StoredState).c
_NAMED = select(_STATE.value, _STATE.updated_at).where(_STATE.name == bindparam("name"))
_LOCKED = _NAMED.with_for_update()


def get(session: Session, name: str, *, lock: bool = False) -> tuple[Any, datetime] | None:
    kept = text(session, name, lock=lock)
    return (json.loads(kept[0]), kept[1]) if kept else None


def text(session: Session, name: str, *, lock: bool = False) -> tuple[str, datetime] | None:
    """The stored JSON and the time of writing. `lock`: other replicas wait with a change for this transaction's end."""
    row = session.connection().execute(_LOCKED if lock else _NAMED, {"name": name}).one_or_none()
    return (row[0], row[1]) if row else None


def load(session: Session, name: str, kind: type[ModelT], now: datetime | None = None) -> ModelT | None:
    """A value written more than CLOCK_AHEAD_MAX after `now` is left out: the clock was set back."""
    kept = text(session, name)
    is_taken = kept is not None and (now is None or kept[1] <= now + CLOCK_AHEAD_MAX)
    return kind.model_validate_json(kept[0]) if kept and is_taken else None


def parsed(kind: type[ModelT], text: str | None, **about: object) -> ModelT | None:
    """The value of a row's JSON; None for a text that can't be read, as an error would hold up other rows."""
    try:
        return kind.model_validate_json(text or "")
    except ValueError:
        log.exception("stored_value_not_readable", kind=kind.__name__, **about)
        return None


def put(session: Session, name: str, value: Any, now: datetime) -> None:
    row = {"name": name, "value": json.dumps(value), "updated_at": now}
    session.connection().execute(upsert(session, StoredState), row)


def drop(session: Session, name: str) -> None:
    session.execute(delete(StoredState).where(col(StoredState.name) == name))


class DatabaseStateStore:
    """For the client's circuit breakers."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(self, name: str) -> Any:
        kept = await self._database.read(partial(get, name=name))
        return kept[0] if kept else None

    async def change(self, name: str, change: Callable[[Any], Any]) -> None:
        await self._database.write(partial(self._changed, name=name, change=change))

    def _changed(self, session: Session, name: str, change: Callable[[Any], Any]) -> None:
        kept = get(session, name, lock=True)
        before = kept[0] if kept else None
        if (after := change(before)) != before:
            put(session, name, after, self._clock())
