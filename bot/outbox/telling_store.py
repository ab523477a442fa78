"""The tellings: which events each channel was told of, and which events a message shows (table `said`).

A message with more to show gets a further revision. Of a sent message an edit is then due. A message is rendered from
the database, so a revision is a number.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    ColumnElement,
    CompoundSelect,
    Integer,
    bindparam,
    case,
    exists,
    func,
    null,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import Session, col

from bot.db.engine import dialect_of, in_parts, insert_into, table_of
from bot.db.tables import Acknowledgement, BigKey, EventVersion, MessageState, OutboxMessage, SaidRow
from bot.desk.decide import Because, Telling
from bot.events.event import EventKind
from bot.outbox.message_store import IS_DEAD, IS_TO_EDIT, Priority
from bot.outbox.states import UNSENT, write

POSTS_PER_STATEMENT = 100


def told(
    session: Session,
    event_keys: Collection[str],
    race_ids: Collection[str] = (),
    channels: Collection[str] | None = None,
) -> Sequence[Telling]:
    """The tellings of events, and of events of races, the oldest message first. `channels`: None for all."""
    named = {"events": sorted(event_keys), "races": sorted(race_ids)}
    asked = _statement(of_channels=channels is not None)
    rows = session.execute(asked, named if channels is None else {**named, "channels": sorted(channels)})
    return sorted(map(_telling, rows), key=attrgetter("id"))


@cache
def _statement(*, of_channels: bool) -> CompoundSelect[Any]:
    event, message, main, summary = EventVersion, OutboxMessage, aliased(EventVersion), aliased(OutboxMessage)
    columns: list[Any] = [
        *(col(message.id), col(message.channel_id), col(message.state), col(message.folded_into)),
        *(col(message.not_before), col(message.thread_of), col(message.message_ts)),
        *(col(summary.state).label("summary_state"), col(summary.message_ts).label("summary_ts")),
        exists().where(col(Acknowledgement.message_id) == col(message.id)).label("asked"),
        *(col(event.event_key), col(event.kind), col(event.race_id)),
        *(col(event.version), col(event.received_at), col(event.remarks)),
    ]
    these = [or_(_is_one_of(event.event_key, "events"), _is_one_of(event.race_id, "races"))]
    if of_channels:
        these.append(_is_one_of(message.channel_id, "channels"))
    in_summary = (summary, col(summary.id) == col(message.folded_into))
    own = (
        select(*columns, null().label("of"))
        .join(event, col(event.id) == col(message.event_id))
        .outerjoin(*in_summary)
        .where(*these)
    )
    beside = (
        select(*columns, col(main.kind))
        .select_from(event)
        .join(SaidRow, col(SaidRow.event_id) == col(event.id))
        .join(message, col(message.id) == col(SaidRow.message_id))
        .join(main, col(main.id) == col(message.event_id))
        .outerjoin(*in_summary)
        .where(*these, col(main.event_key) != col(event.event_key))
    )
    return union_all(own, beside)


def _is_one_of(column: Any, name: str) -> ColumnElement[bool]:
    return col(column).in_(bindparam(name, expanding=True))


class ShownBeside(NamedTuple):
    """An event shown by a message beside the message's `own`."""

    said: SaidRow
    message: OutboxMessage
    own: EventVersion
    event: EventVersion


_OWN = aliased(EventVersion)
_BESIDE = (
    select(SaidRow, OutboxMessage, _OWN, EventVersion)
    .join(EventVersion, col(EventVersion.id) == col(SaidRow.event_id))
    .join(OutboxMessage, col(OutboxMessage.id) == col(SaidRow.message_id))
    .join(_OWN, col(_OWN.id) == col(OutboxMessage.event_id))
    .where(_is_one_of(SaidRow.message_id, "posts"))
    .order_by(col(EventVersion.version), col(EventVersion.id))
)


def shown_beside(session: Session, post_ids: Iterable[int]) -> dict[int, list[ShownBeside]]:
    """The events that each message shows besides, in the order of versions."""
    found: dict[int, list[ShownBeside]] = {}
    # Any number of messages may wait.
    for some in in_parts(sorted(post_ids), POSTS_PER_STATEMENT):
        for said, message, its_own, event in session.execute(_BESIDE, {"posts": some}):
            found.setdefault(said.message_id, []).append(ShownBeside(said, message, its_own, event))
    return found


def _telling(row: Any) -> Telling:
    in_meeting = row.kind == EventKind.RACE_ABANDONED and row.of == EventKind.MEETING_ABANDONED
    withheld, by = None, None
    if row.state == MessageState.MUTED:
        withheld = Because.MUTED
    elif row.state == MessageState.FOLDED:
        withheld, by = Because.SUMMARY, row.folded_into
    elif in_meeting:
        withheld = Because.MEETING
    return Telling(
        row.id,
        row.channel_id,
        next((one for one in EventKind if one == row.kind), None),
        row.event_key,
        row.race_id,
        row.version,
        row.received_at,
        row.remarks,
        is_dead=row.state == MessageState.DEAD_LETTER,
        withheld=withheld,
        by=by,
        waits=row.not_before if row.state in UNSENT else None,
        in_thread=row.thread_of is not None,
        message_ts=row.message_ts or row.summary_ts,
        is_unsent=(row.summary_state or row.state) in UNSENT,
        is_asked=bool(row.asked),
        is_link=row.of is not None and not in_meeting,
    )


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


def cancel_edits(session: Session, *where: ColumnElement[bool]) -> int:
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
