"""Reads what channels were told of events."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sqlalchemy import exists, null, or_, select, union_all
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.tables import Acknowledgement, EventVersion, MessageState, OutboxMessage, SaidRow
from bot.desk.decide import Because, Telling
from bot.events.event import EventKind
from bot.outbox.states import UNSENT


class Told(NamedTuple):
    """`race_id`: of the event. `sent_ts`: of a sent message. `is_asked`: to be acknowledged.

    `is_link`: the message of another event shows the event, and the channel was not told of the event thereby.
    """

    channel_id: str
    event_key: str
    race_id: str | None
    telling: Telling
    sent_ts: str | None = None
    is_asked: bool = False
    is_link: bool = False


def told(session: Session, event_keys: Collection[str], race_ids: Collection[str] = ()) -> Iterator[Told]:
    """Of these events, and of events of these races."""
    event, message, main = EventVersion, OutboxMessage, aliased(EventVersion)
    columns: list[Any] = [
        *(col(message.id), col(message.channel_id), col(message.state), col(message.folded_into)),
        *(col(message.not_before), col(message.thread_of), col(message.message_ts)),
        exists().where(
            col(Acknowledgement.message_id) == col(message.id), col(Acknowledgement.stepped_at).is_not(None)
        ),
        *(col(event.event_key), col(event.kind), col(event.race_id)),
    ]
    of_these = or_(col(event.event_key).in_(sorted(event_keys)), col(event.race_id).in_(sorted(race_ids)))
    own = select(*columns, null()).join(event, col(event.id) == col(message.event_id)).where(of_these)
    beside = (
        select(*columns, col(main.kind))
        .select_from(event)
        .join(SaidRow, col(SaidRow.event_id) == col(event.id))
        .join(message, col(message.id) == col(SaidRow.message_id))
        .join(main, col(main.id) == col(message.event_id))
        .where(of_these, col(main.event_key) != col(event.event_key))
    )
    for number, channel_id, state, folded_into, waits, thread_of, ts, asked, key, kind, race_id, of in session.execute(
        union_all(own, beside)
    ):
        in_meeting = kind == EventKind.RACE_ABANDONED and of == EventKind.MEETING_ABANDONED
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
        is_link = of is not None and not in_meeting
        yield Told(channel_id, key, race_id, telling, ts if state == MessageState.SENT else None, bool(asked), is_link)
