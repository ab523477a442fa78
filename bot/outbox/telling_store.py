"""Reads the tellings: which events each channel was told of, and which events a message shows."""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, CompoundSelect, bindparam, exists, null, or_, select, union_all
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import Acknowledgement, EventVersion, MessageState, OutboxMessage, SaidRow
from bot.desk.decide import Because, Telling
from bot.events.event import EventKind
from bot.outbox.states import UNSENT

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
    numbers = sorted(post_ids)
    found: dict[int, list[ShownBeside]] = {}
    # A statement takes a limited number of values, and any number of messages may wait.
    for start in range(0, len(numbers), POSTS_PER_STATEMENT):
        some = numbers[start : start + POSTS_PER_STATEMENT]
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
