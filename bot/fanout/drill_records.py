"""The latest drill, one row for all replicas."""

from datetime import datetime, timedelta

from pydantic import AwareDatetime
from sqlalchemy import update
from sqlmodel import Session, col

from bot.db import named_values
from bot.db.engine import insert_here
from bot.db.named_values import Mark
from bot.db.tables import StoredState
from bot.events.drill_mark import Drill
from bot.events.races import Value

DRILLS_APART = timedelta(seconds=60)
"""Between two beginnings."""
DRILL_LASTS = timedelta(seconds=50)
"""Shorter than DRILLS_APART, so drills never overlap."""

DRILLS_REMEMBERED = 20
"""Remembered drills, to recognise late deliveries."""


class KeptDrill(Value):
    """`is_over`: no message waits. `earlier`: newest first."""

    drill: Drill
    begun_at: AwareDatetime
    is_over: bool = False
    earlier: tuple[Drill, ...] = ()

    def find(self, drill_id: str, now: datetime) -> Drill | None:
        """None for an unknown drill, or an old drill. Only the latest drill can be open."""
        if drill_id == self.drill.drill_id:
            return self.drill.model_copy(update={"is_open": self.is_open(now)})
        return next((one for one in self.earlier if one.drill_id == drill_id), None)

    def is_open(self, now: datetime) -> bool:
        return not self.is_over and now < self.begun_at + DRILL_LASTS

    @property
    def next_at(self) -> datetime:
        return self.begun_at + DRILLS_APART


def begin(session: Session, drill: Drill, now: datetime) -> KeptDrill | None:
    """None where the latest drill began less than DRILLS_APART ago, in any replica."""
    before = latest(session)
    earlier = (before.drill, *before.earlier)[:DRILLS_REMEMBERED] if before else ()
    kept = KeptDrill(drill=drill, begun_at=now, earlier=earlier)
    values = {"value": kept.model_dump_json(), "updated_at": now}
    # `updated_at` is the beginning: one statement decides between two replicas.
    statement = insert_here(session, StoredState).values(name=Mark.DRILL, **values)
    statement = statement.on_conflict_do_update(
        index_elements=["name"], set_=values, where=col(StoredState.updated_at) <= now - DRILLS_APART
    )
    begun = session.execute(statement.returning(col(StoredState.name))).first()
    return kept if begun else None


def latest(session: Session) -> KeptDrill | None:
    kept = named_values.text(session, Mark.DRILL)
    return KeptDrill.model_validate_json(kept[0]) if kept else None


def end(session: Session, kept: KeptDrill) -> None:
    """A later drill stays open."""
    over = kept.model_copy(update={"is_over": True})
    is_latest = (col(StoredState.name) == Mark.DRILL, col(StoredState.updated_at) == kept.begun_at)
    session.execute(update(StoredState).where(*is_latest).values(value=over.model_dump_json()))
