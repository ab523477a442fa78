"""Revisions of messages: a message with more to show gets a further revision, and an edit is due once it was sent.

A message shows whatever the database has when the message is rendered, so a revision is a number. The table `said` has
the events that a message shows beside its own event.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Boolean, ColumnElement, Integer, bindparam, case, func, or_, select, update
from sqlmodel import Session, col

from bot.db.engine import affected, insert_here, table_of
from bot.db.tables import BigKey, EventVersion, OutboxMessage, SaidRow
from bot.outbox.message_store import IS_TO_EDIT, IS_UNSENT, Priority

_NEW = -1
"""The `rev` of a row whose message gets its revision at the end of the transaction."""


@dataclass(frozen=True)
class Bump:
    """A further revision, wanted since `at`. `after_id`: the edit waits for this message to be sent or given up."""

    at: datetime
    after_id: int | None = None
    passes_pause: bool = False


class Bumps:
    """Of one transaction. `write` comes last: nothing may wait for a lock after the locks of the messages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.messages: dict[int, Bump] = {}
        self.urgent_races: set[str] = set()

    def add(self, messages: Mapping[int, Bump]) -> None:
        self.messages |= messages

    def show(self, said: Mapping[tuple[int, int], Bump | None]) -> dict[int, Bump]:
        """Messages are to show events: None where a message shows the event without an edit.

        Returns the messages that did not show the event before, and need an edit.
        """
        if not said:
            return {}
        rows = [
            {"message_id": number, "event_id": event_id, "rev": _NEW if bump else 0}
            for (number, event_id), bump in said.items()
        ]
        once = insert_here(self._session, SaidRow).on_conflict_do_nothing()
        of_these = once.returning(col(SaidRow.message_id), col(SaidRow.event_id))
        made = self._session.connection().execute(of_these, rows)
        new = {number: bump for number, event_id in made if (bump := said[number, event_id])}
        self.add(new)
        return new

    def hurry(self, race_ids: Iterable[str | None]) -> None:
        """Give a race's unsent messages an abandonment's priority: an abandonment comes after earlier news."""
        self.urgent_races |= {race_id for race_id in race_ids if race_id}

    def take(self, other: "Bumps") -> None:
        self.messages |= other.messages
        self.urgent_races |= other.urgent_races

    def write(self) -> int:
        """Returns how many messages got a revision."""
        urgent = self._hurried()
        # In a fixed order, so that no deadlock is possible.
        rows = [
            _values(number, self.messages.get(number), number in urgent) for number in sorted({*self.messages, *urgent})
        ]
        if rows:
            self._session.connection().execute(_BUMPED, rows)
        if self.messages:
            new = _NUMBERED.where(col(SaidRow.message_id).in_(sorted(self.messages)))
            self._session.execute(new.execution_options(synchronize_session=False))
        count = len(self.messages)
        self.messages, self.urgent_races = {}, set()
        return count

    def _hurried(self) -> set[int]:
        if not self.urgent_races:
            return set()
        of_race = select(col(EventVersion.id)).where(col(EventVersion.race_id).in_(sorted(self.urgent_races)))
        unsent = select(col(OutboxMessage.id)).where(IS_UNSENT, col(OutboxMessage.event_id).in_(of_race))
        return {number for number in self._session.execute(unsent).scalars() if number is not None}


def bump(session: Session, messages: Mapping[int, Bump]) -> None:
    """At the end of a transaction, as `Bumps.write`."""
    bumps = Bumps(session)
    bumps.add(messages)
    bumps.write()


def saying(session: Session, event_keys: Collection[str]) -> set[tuple[int, str]]:
    """Messages of other events that show any version of these events, each with the event."""
    statement = select(col(SaidRow.message_id), col(EventVersion.event_key)).join(
        EventVersion, col(EventVersion.id) == col(SaidRow.event_id)
    )
    found = session.execute(statement.where(col(EventVersion.event_key).in_(sorted(event_keys))))
    return {(number, key) for number, key in found}


def mark_said(session: Session, message_id: int | None, rev: int, now: datetime) -> None:
    """Slack shows the message's revision `rev`."""
    shown = update(SaidRow).where(col(SaidRow.message_id) == message_id, col(SaidRow.said_at).is_(None))
    session.execute(shown.where(col(SaidRow.rev).between(1, rev)).values(said_at=now))


def cancel(session: Session, *where: ColumnElement[bool]) -> int:
    """Edits that are due are not made. Returns how many."""
    due = update(OutboxMessage).where(IS_TO_EDIT, *where).values(sent_rev=col(OutboxMessage.wanted_rev))
    return affected(session, due.execution_options(synchronize_session=False))


def _values(number: int, bump: Bump | None, is_hurried: bool) -> dict[str, object]:
    return {
        "number": number,
        "more": 1 if bump else 0,
        "at": bump.at if bump else None,
        "after": bump.after_id if bump else None,
        "passes": bump is not None and bump.passes_pause,
        "hurried": is_hurried,
    }


_MESSAGE = table_of(OutboxMessage)
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
    )
)
_NUMBERED = (
    update(SaidRow)
    .where(col(SaidRow.rev) == _NEW)
    .values(rev=select(_M.wanted_rev).where(_M.id == col(SaidRow.message_id)).scalar_subquery())
)
