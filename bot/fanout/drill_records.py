"""The latest drill: one row for all replicas."""

from datetime import datetime, timedelta

from pydantic import AwareDatetime
from sqlalchemy import update
from sqlmodel import Session, col

from bot.db import named_values
from bot.db.engine import insert_here
from bot.db.tables import StoredState
from bot.events.drill_mark import Drill
from bot.events.races import Value

NAME = "drill"
"""Under this name the latest drill is kept."""

APART = timedelta(seconds=60)
"""Two drills begin at least so far apart."""

LASTS = timedelta(seconds=50)
"""After this a drill tells no further channel. Shorter than APART: two drills never overlap."""


EARLIER = 20
"""Earlier drills, kept beside the latest: a late delivery is still recognised as our own."""


class KeptDrill(Value):
    """A stored drill. `is_over`: no post of the drill waits any more. `earlier` are the drills before, newest first."""

    drill: Drill
    begun_at: AwareDatetime
    is_over: bool = False
    earlier: tuple[Drill, ...] = ()

    def find(self, drill_id: str, now: datetime) -> Drill | None:
        """The drill of an id; None for a drill of another bot, or of long ago. Earlier drills are not open."""
        if drill_id == self.drill.drill_id:
            return self.drill.model_copy(update={"is_open": self.is_open(now)})
        return next((one for one in self.earlier if one.drill_id == drill_id), None)

    def is_open(self, now: datetime) -> bool:
        """Whether channels are still to be told."""
        return not self.is_over and now < self.begun_at + LASTS

    @property
    def next_at(self) -> datetime:
        """When the next drill may begin."""
        return self.begun_at + APART


def begin(session: Session, drill: Drill, now: datetime) -> KeptDrill | None:
    """The drill, begun now; None where the latest drill began less than APART ago, in whatever replica."""
    before = latest(session)
    earlier = (before.drill, *before.earlier)[:EARLIER] if before else ()
    kept = KeptDrill(drill=drill, begun_at=now, earlier=earlier)
    values = {"value": kept.model_dump_json(), "updated_at": now}
    # `updated_at` stays the moment of the beginning: one statement decides between two replicas.
    statement = insert_here(session, StoredState).values(name=NAME, **values)
    statement = statement.on_conflict_do_update(
        index_elements=["name"], set_=values, where=col(StoredState.updated_at) <= now - APART
    )
    begun = session.execute(statement.returning(col(StoredState.name))).first()
    return kept if begun else None


def latest(session: Session) -> KeptDrill | None:
    """The latest drill; None before the first."""
    kept = named_values.text(session, NAME)
    return KeptDrill.model_validate_json(kept[0]) if kept else None


def end(session: Session, kept: KeptDrill) -> None:
    """Keep that the drill is over. A drill that began since stays as stored."""
    over = kept.model_copy(update={"is_over": True})
    is_latest = (col(StoredState.name) == NAME, col(StoredState.updated_at) == kept.begun_at)
    session.execute(update(StoredState).where(*is_latest).values(value=over.model_dump_json()))
