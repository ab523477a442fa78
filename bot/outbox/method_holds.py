"""Methods of Slack's that are held: nothing is sent by them before a moment, which Slack or we have set."""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, case, delete, exists, literal_column, select
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import insert_here, table_of
from bot.db.tables import MethodHold

EVERY_METHOD = "*"
"""Held when Slack no longer takes our token: then nothing is sent at all."""


def hold_method(session: Session, method: str, until: datetime, reason: str) -> None:
    """Nothing is sent by this method (or by none, EVERY_METHOD) before `until`."""
    statement = insert_here(session, MethodHold).values(method=method, until=until, reason=reason)
    asked = statement.excluded["until"]
    # Another call may have been asked to wait for longer, a moment ago.
    longer = case((col(MethodHold.until) > asked, col(MethodHold.until)), else_=asked)
    session.execute(
        statement.on_conflict_do_update(index_elements=["method"], set_={"until": longer, "reason": reason})
    )


def free_every_method(session: Session) -> None:
    """Slack takes our token (again): what it may not be used for, the next post finds out."""
    session.execute(delete(MethodHold).where(col(MethodHold.method) == EVERY_METHOD))


def is_free(method: str, now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """Whether neither this method nor every one is held; `far`: a hold beyond is of a clock that was set back since."""
    of_these = col(MethodHold.method).in_([literal_column(f"'{name}'") for name in (method, EVERY_METHOD)])
    return ~exists().where(of_these, col(MethodHold.until) > now, col(MethodHold.until) <= far)


def method_holds(session: Session, now: datetime) -> dict[str, str]:
    """What is held just now: method → reason."""
    found = session.connection().execute(_held_at(now))
    return {str(method): str(reason) for method, _, reason in found}


def until_when(session: Session, now: datetime) -> dict[str, datetime]:
    """What is held just now: method → until when."""
    found = session.connection().execute(_held_at(now))
    return {str(method): until for method, until, _ in found}


def _held_at(now: datetime) -> Select[str, datetime, str]:
    hold = table_of(MethodHold).c
    return select(hold.method, hold.until, hold.reason).where(hold.until > now, hold.until <= now + FAR)
