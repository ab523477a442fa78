"""Reads what channels were told of events."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sqlalchemy import false, or_, select, true, union_all
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import EventVersion, MessageState, OutboxMessage, SaidRow
from bot.desk.decide import Because, Telling
from bot.events.event import EventKind
from bot.outbox.states import UNSENT


class Told(NamedTuple):
    """`race_id`: of the event."""

    channel_id: str
    event_key: str
    race_id: str | None
    telling: Telling


def told(
    session: Session, event_keys: Collection[str], race_ids: Collection[str] = (), *, locked: bool = False
) -> Iterator[Told]:
    """Of these events, and of events of these races.

    `locked`: messages of their own alone, of which none is given up in this transaction.
    """
    event, message, meeting = EventVersion, OutboxMessage, aliased(EventVersion)
    columns: list[Any] = [
        *(col(message.id), col(message.channel_id), col(message.state), col(message.folded_into)),
        *(col(message.not_before), col(message.thread_of)),
        *(col(event.event_key), col(event.kind), col(event.race_id)),
    ]
    of_these = or_(col(event.event_key).in_(sorted(event_keys)), col(event.race_id).in_(sorted(race_ids)))
    own = select(*columns, false()).join(event, col(event.id) == col(message.event_id)).where(of_these)
    in_meetings = (
        select(*columns, true())
        .select_from(event)
        .join(SaidRow, col(SaidRow.event_id) == col(event.id))
        .join(message, col(message.id) == col(SaidRow.message_id))
        .join(meeting, col(meeting.id) == col(message.event_id))
        .where(of_these, col(event.kind) == EventKind.RACE_ABANDONED, col(meeting.kind) == EventKind.MEETING_ABANDONED)
    )
    statement = own.with_for_update(read=True, of=message) if locked else union_all(own, in_meetings)
    for number, channel_id, state, folded_into, waits, thread_of, *of_event, in_meeting in session.execute(statement):
        key, kind, race_id = of_event
        withheld, by = None, None
        if state == MessageState.MUTED:
            withheld = Because.MUTED
        elif state == MessageState.FOLDED:
            withheld, by = Because.SUMMARY, folded_into
        elif in_meeting:
            withheld, by = Because.MEETING, number
        telling = Telling(
            number,
            next((one for one in EventKind if one == kind), None),
            is_dead=state == MessageState.DEAD_LETTER,
            withheld=withheld,
            by=by,
            waits=waits if state in UNSENT else None,
            in_thread=thread_of is not None,
        )
        yield Told(channel_id, key, race_id, telling)
