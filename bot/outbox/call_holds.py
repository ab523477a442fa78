"""Holds: a kind of call is not made before a moment set by Slack or by the bot."""

from datetime import datetime
from typing import Final, Literal

from sqlalchemy import ColumnElement, Select, case, delete, exists, literal_column, select
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import insert_here, table_of
from bot.db.tables import MethodHold
from bot.outbox.messenger import Call

EVERY_CALL: Final = "*"
"""Held while Slack refuses the token."""


def hold_call(session: Session, call: Call | Literal["*"], until: datetime, reason: str) -> None:
    statement = insert_here(session, MethodHold).values(method=call, until=until, reason=reason)
    asked = statement.excluded["until"]
    # Another answer may have asked for longer.
    longer = case((col(MethodHold.until) > asked, col(MethodHold.until)), else_=asked)
    session.execute(
        statement.on_conflict_do_update(index_elements=["method"], set_={"until": longer, "reason": reason})
    )


def release_every_call(session: Session) -> None:
    session.execute(delete(MethodHold).where(col(MethodHold.method) == EVERY_CALL))


def is_call_free(call: Call, now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """A hold beyond `far` is ignored: a clock was set back."""
    holds = col(MethodHold.method).in_([literal_column(f"'{name}'") for name in (call, EVERY_CALL)])
    return ~exists().where(holds, col(MethodHold.until) > now, col(MethodHold.until) <= far)


def reasons_of_holds(session: Session, now: datetime) -> dict[str, str]:
    return {str(call): str(reason) for call, _, reason in session.connection().execute(_held_at(now))}


def ends_of_holds(session: Session, now: datetime) -> dict[str, datetime]:
    return {str(call): until for call, until, _ in session.connection().execute(_held_at(now))}


def _held_at(now: datetime) -> Select[str, datetime, str]:
    hold = table_of(MethodHold).c
    return select(hold.method, hold.until, hold.reason).where(hold.until > now, hold.until <= now + FAR)
