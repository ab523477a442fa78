"""The states of messages and channel queues, and all transitions. `docs/architecture.md` has the same as diagrams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Update, and_, bindparam, literal_column, or_, select, update
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from bot.db.engine import affected, is_one_of, table_of
from bot.db.tables import ChannelQueue, MessageKind, MessageState, OutboxMessage, QueueState

SENT_WHILE_PAUSED = (MessageKind.NOTICE, MessageKind.WELCOME, MessageKind.ANSWER, MessageKind.ESCALATION)

PASSES_A_PAUSE = or_(
    is_one_of(OutboxMessage.kind, SENT_WHILE_PAUSED),
    and_(col(OutboxMessage.passes_pause), col(OutboxMessage.state) == literal_column(f"'{MessageState.SENT}'")),
)
"""A pause holds posts of news. Colleagues read at once who has an abandonment that the channel shows."""

UNSENT = (MessageState.QUEUED, MessageState.SENDING, MessageState.IN_DOUBT)
"""In the words of the index."""

POSTING = (QueueState.OPEN, QueueState.ON_TRIAL)

WAITING_STATES = (QueueState.PAUSED, QueueState.CLOSED)


class Happened(StrEnum):
    CLAIMED = "claimed"
    LEASE_RAN_OUT = "lease ran out"
    """The sending process died or slept."""
    TAKEN = "taken"
    """Slack took the call, as the answer or the history says."""
    NOT_SENT = "not sent"
    UNANSWERED = "unanswered"
    """The call; or the look found nothing yet, or failed."""
    REPEATED = "repeated"
    """Not in the history, or `DOUBTFUL_POSTS=repeat`."""
    GIVEN_UP = "given up"
    NOT_IN_THREAD = "not in thread"
    """Slack refuses the message in the thread: it becomes a message of the channel."""
    SUMMARISED = "summarised"
    EXPIRED = "expired"
    """Waited too long in a held queue, or is not wanted any more."""
    RESTORED = "restored"
    UNFOLDED = "unfolded"
    """The message to say the same was taken back or given up."""


@dataclass(frozen=True)
class Transition:
    """`writes`: the columns written with the state."""

    origins: tuple[StrEnum, ...]
    to: StrEnum
    writes: tuple[str, ...] = ()


_Q, _S, _D = MessageState.QUEUED, MessageState.SENDING, MessageState.IN_DOUBT

MESSAGE_TRANSITIONS: Mapping[Happened, Transition] = {
    Happened.CLAIMED: Transition((_Q,), _S, ("sending_at", "deadline_at", "attempts")),
    Happened.LEASE_RAN_OUT: Transition((_S,), _D),
    Happened.TAKEN: Transition((_S, _D), MessageState.SENT, ("message_ts", "sent_at", "sent_rev", "detail")),
    Happened.NOT_SENT: Transition((_S,), _Q, ("detail", "plain")),
    Happened.UNANSWERED: Transition((_S, _D), _D, ("detail", "looks", "failed_looks")),
    Happened.REPEATED: Transition(
        (_D,), _Q, ("detail", "plain", "may_be_repeat", "thread_of", "looks", "failed_looks")
    ),
    Happened.GIVEN_UP: Transition((_S, _D), MessageState.DEAD_LETTER, ("reason", "detail", "given_up_at")),
    Happened.NOT_IN_THREAD: Transition((_S,), _Q, ("thread_of", "detail")),
    Happened.SUMMARISED: Transition((_Q,), MessageState.FOLDED, ("folded_into", "detail")),
    Happened.EXPIRED: Transition((_Q,), MessageState.DEAD_LETTER, ("reason", "detail", "given_up_at")),
    Happened.RESTORED: Transition(UNSENT, _D, ("sending_at", "deadline_at", "detail", "looks", "failed_looks")),
    Happened.UNFOLDED: Transition((MessageState.FOLDED,), _Q, ("folded_into",)),
}


class QueueEvent(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CLOSE = "close"
    CLOSE_AGAIN = "close again"
    """The trial failed: the closing goes on."""
    TRY = "try"
    TAKEN = "taken"


QUEUE_TRANSITIONS: Mapping[QueueEvent, Transition] = {
    QueueEvent.PAUSE: Transition(
        (QueueState.OPEN, QueueState.ON_TRIAL),
        QueueState.PAUSED,
        ("state_reason", "state_since"),
    ),
    QueueEvent.RESUME: Transition((QueueState.PAUSED,), QueueState.OPEN, ("state_reason", "state_since")),
    QueueEvent.CLOSE: Transition(
        (QueueState.OPEN, QueueState.PAUSED), QueueState.CLOSED, ("state_reason", "state_since")
    ),
    QueueEvent.CLOSE_AGAIN: Transition((QueueState.ON_TRIAL,), QueueState.CLOSED, ("state_reason",)),
    QueueEvent.TRY: Transition((QueueState.CLOSED,), QueueState.ON_TRIAL),
    QueueEvent.TAKEN: Transition((QueueState.ON_TRIAL,), QueueState.OPEN, ("state_reason", "state_since")),
}


_MESSAGE, _QUEUE = table_of(OutboxMessage), table_of(ChannelQueue)
_NUMBER = col(OutboxMessage.id)


def move(session: Session, happened: Happened | QueueEvent, *where: ColumnElement[bool], **written: Any) -> int:
    """Move messages or queues from a state of origin. Returns how many.

    Raises TypeError unless `written` has exactly the transition's columns.
    """
    transition = MESSAGE_TRANSITIONS[happened] if isinstance(happened, Happened) else QUEUE_TRANSITIONS[happened]
    if set(written) != set(transition.writes):
        raise TypeError(f"{happened.value!r} writes {transition.writes}, not {tuple(written)}")
    after = {"state": transition.to.value, **written}
    if isinstance(happened, Happened):
        return write(session, is_one_of(_MESSAGE.c.state, transition.origins), *where, **after)
    which = and_(is_one_of(_QUEUE.c.state, transition.origins), *where)
    return affected(session, update(_QUEUE).where(which).values(after))


def write(session: Session, *where: ColumnElement[bool], **columns: Any) -> int:
    """Write columns of messages, in the order of their numbers. Returns how many. States are written by `move`."""
    return affected(session, update(_MESSAGE).where(in_order(*where)).values(columns))


def in_order(*where: ColumnElement[bool], number: Mapped[Any] = _NUMBER) -> ColumnElement[bool]:
    """Rows, to be locked in the order of their numbers: two transactions never wait for each other."""
    return number.in_(select(number).where(*where).order_by(number).with_for_update().correlate(None))


def move_each(session: Session, happened: Happened, rows: Sequence[Mapping[str, Any]]) -> None:
    """Each row has the message's `number` and the transition's columns."""
    if rows:
        session.connection().execute(_BY_ID[happened], sorted(map(dict, rows), key=itemgetter("number")))


def _of_one(transition: Transition) -> Update:
    statement = update(_MESSAGE).where(
        _MESSAGE.c.id == bindparam("number"), is_one_of(_MESSAGE.c.state, transition.origins)
    )
    return statement.values(state=transition.to.value, **{name: bindparam(name) for name in transition.writes})


_BY_ID = {happened: _of_one(transition) for happened, transition in MESSAGE_TRANSITIONS.items()}
