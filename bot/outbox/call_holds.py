"""Holds: a kind of call is not made before a moment set by Slack or by the bot."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import ColumnElement, bindparam, case, delete, exists, select
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import insert_here, is_one_of, table_of
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
    holds = is_one_of(MethodHold.method, (call, EVERY_CALL))
    return ~exists().where(holds, col(MethodHold.until) > now, col(MethodHold.until) <= far)


def reasons_of_holds(session: Session, now: datetime) -> dict[str, str]:
    return {call: reason for call, _, reason in _held(session, now)}


def ends_of_holds(session: Session, now: datetime) -> dict[Call, datetime]:
    """When each held kind of call may be made again."""
    ends: dict[Call, datetime] = {}
    for held, until, _ in _held(session, now):
        for call in (one for one in Call if held in {one, EVERY_CALL}):
            ends[call] = max(until, ends.get(call, until))
    return ends


_HOLD = table_of(MethodHold).c
_HELD = select(_HOLD.method, _HOLD.until, _HOLD.reason).where(
    _HOLD.until > bindparam("now"), _HOLD.until <= bindparam("far")
)


def _held(session: Session, now: datetime) -> Iterator[tuple[str, datetime, str]]:
    for call, until, reason in session.connection().execute(_HELD, {"now": now, "far": now + FAR}):
        yield str(call), until, str(reason)
