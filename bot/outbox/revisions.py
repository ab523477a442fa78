"""Revisions of messages: a message with more to show gets a further revision. Of a sent message an edit is then due.

A message is rendered from the database, so a revision is a number. The table `said` has the events that a message
shows beside the message's own event.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Boolean, ColumnElement, Integer, bindparam, case, func, or_, select, update
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import Session, col

from bot.db.engine import dialect_of, insert_into, table_of
from bot.db.tables import BigKey, OutboxMessage, SaidRow
from bot.outbox.message_store import IS_DEAD, IS_TO_EDIT, Priority
from bot.outbox.states import write


@dataclass(frozen=True)
class Bump:
    """A further revision, wanted since `at`. `after_id`: the edit waits for this message to be sent or given up."""

    at: datetime
    after_id: int | None = None
    passes_pause: bool = False


class Bumps:
    """The revisions of one transaction. `write` comes last: no lock may follow the locks of the messages.

    `messages` get a further revision. `said`: message and event, and whether the message needs an edit for the event.
    `hurried`: messages that get an abandonment's priority.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.messages: dict[int, Bump] = {}
        self.said: dict[tuple[int, int], bool] = {}
        self.hurried = set[int]()

    def show(self, said: Mapping[tuple[int, int], Bump | None]) -> None:
        """Messages are to show events: None where a message shows the event without an edit."""
        self.said |= {pair: bump is not None for pair, bump in said.items()}
        self.messages |= {number: bump for (number, _), bump in said.items() if bump}

    def write(self, begun: Collection[int] = (), begun_at: datetime | None = None) -> set[tuple[int, int]]:
        """`begun`: messages whose edit is claimed at that moment.

        Returns the pairs left out: the message shows the event already, or was given up meanwhile.
        """
        # In a fixed order, against deadlocks. A locked message can no longer be given up.
        rows = [
            _values(number, self.messages.get(number), number in self.hurried, begun_at if number in begun else None)
            for number in sorted({*self.messages, *self.hurried, *(number for number, _ in self.said)})
        ]
        if rows:
            self._session.connection().execute(_BUMPED, rows)
        noted = {
            (number, event_id)
            for event_id in sorted({event_id for _, event_id in self.said})
            for number in self._note(event_id)
        }
        return self.said.keys() - noted

    def _note(self, event_id: int) -> Iterable[int]:
        of_event = {number: edits for (number, noted), edits in self.said.items() if noted == event_id}
        values = {"event_id": event_id, "messages": sorted(of_event)}
        values["silent"] = [number for number, edits in of_event.items() if not edits] or [0]
        return self._session.connection().execute(_noting(dialect_of(self._session)), values).scalars()


def bump(session: Session, messages: Mapping[int, Bump]) -> None:
    """At the end of a transaction, as `Bumps.write`."""
    bumps = Bumps(session)
    bumps.messages |= messages
    bumps.write()


def mark_said(session: Session, revs: Mapping[int, int], now: datetime) -> None:
    """Store that Slack shows these revisions. `revs`: message → revision."""
    if revs:
        rows = [{"number": number, "shown": rev, "now": now} for number, rev in sorted(revs.items())]
        session.connection().execute(_SHOWN, rows)


def cancel(session: Session, *where: ColumnElement[bool]) -> int:
    """Drop due edits. Returns how many."""
    return write(session, IS_TO_EDIT, *where, sent_rev=col(OutboxMessage.wanted_rev))


def _values(number: int, bump: Bump | None, is_hurried: bool, begun_at: datetime | None) -> dict[str, object]:
    return {
        "number": number,
        "more": 1 if bump else 0,
        "at": bump.at if bump else None,
        "after": bump.after_id if bump else None,
        "passes": bump is not None and bump.passes_pause,
        "hurried": is_hurried,
        "calls": 1 if begun_at else 0,
        "begun_at": begun_at,
    }


_MESSAGE, _SAID = table_of(OutboxMessage), table_of(SaidRow)
_M = _MESSAGE.c
_AT = bindparam("at", type_=_M.received_at.type)
_BUMPED = (
    update(_MESSAGE)
    .where(_M.id == bindparam("number", type_=BigKey))
    .values(
        wanted_at=case((or_(_AT.is_(None), _M.wanted_rev > _M.sent_rev), _M.wanted_at), else_=_AT),
        wanted_rev=_M.wanted_rev + bindparam("more", type_=Integer()),
        after_id=func.coalesce(bindparam("after", type_=BigKey), _M.after_id),
        passes_pause=or_(_M.passes_pause, bindparam("passes", type_=Boolean())),
        priority=case((bindparam("hurried", type_=Boolean()), int(Priority.ABANDONMENT)), else_=_M.priority),
        edit_attempts=_M.edit_attempts + bindparam("calls", type_=Integer()),
        edit_sending_at=func.coalesce(bindparam("begun_at", type_=_M.received_at.type), _M.edit_sending_at),
    )
)
_SHOWN = (
    update(_SAID)
    .where(_SAID.c.message_id == bindparam("number"), _SAID.c.said_at.is_(None))
    .where(_SAID.c.rev.between(1, bindparam("shown")))
    .values(said_at=bindparam("now"))
)


@cache
def _noting(dialect: str) -> ReturningInsert[int]:
    """For one event: a message given up notes no event."""
    is_silent = _M.id.in_(bindparam("silent", expanding=True))
    noted = select(_M.id, bindparam("event_id", type_=BigKey), case((is_silent, 0), else_=_M.wanted_rev)).where(
        _M.id.in_(bindparam("messages", expanding=True)), ~IS_DEAD
    )
    once = insert_into(dialect, SaidRow).from_select(["message_id", "event_id", "rev"], noted)
    return once.on_conflict_do_nothing().returning(_SAID.c.message_id)
