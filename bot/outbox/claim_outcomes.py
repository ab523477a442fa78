"""What became of a claim. All of it goes through `_release`, which names the lane's lease.

A worker whose lease another has taken over changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Boolean, bindparam, literal_column, tuple_, update
from sqlmodel import Session, col

from bot.db.engine import affected, table_of
from bot.db.tables import ChannelQueue, MessageKind, OutboxMessage, Reason
from bot.events.event import EventKind
from bot.outbox.channel_queues import Claim
from bot.outbox.message_store import has_edit_of, message_telling, unfold
from bot.outbox.states import UNSENT, Happened, move, move_each, move_one


@dataclass(frozen=True)
class Taken:
    """A message that Slack took, and how long its queue then rests."""

    claim: Claim
    message_ts: str
    pause: timedelta


def record_taken(session: Session, taken: Sequence[Taken], now: datetime) -> dict[str, bool]:
    """The channels whose lease was still ours: their messages are sent. With each, whether more waits there.

    For plain messages and edits: what else `record_sent` does is not needed for these.
    """
    ours: dict[str, bool] = {}
    for pause in {one.pause for one in taken}:
        leases = [(one.claim.channel_id, one.claim.token) for one in taken if one.pause == pause]
        values = {"leases": leases, "free_at": now + pause}
        ours.update((channel_id, waits) for channel_id, waits in session.connection().execute(_FREED, values))
    rows = [
        {"number": one.claim.post.id, "message_ts": one.message_ts, "sent_at": now, "detail": None}
        for one in taken
        if one.claim.channel_id in ours
    ]
    move_each(session, Happened.TAKEN, rows)
    return ours


_QUEUE = table_of(ChannelQueue)
_UNSENT = ", ".join(f"'{state}'" for state in UNSENT)
_SECOND_WAITS = (
    "EXISTS (SELECT 1 FROM message AS waiting WHERE waiting.channel_id = channel_queue.channel_id"  # noqa: S608
    f" AND waiting.state IN ({_UNSENT}) LIMIT 1 OFFSET 1)"
)
"""Made of constants. One unsent message is the one that was taken."""

_FREED = (
    update(_QUEUE)
    .where(tuple_(_QUEUE.c.channel_id, _QUEUE.c.lease_token).in_(bindparam("leases", expanding=True)))
    .values(lease_token=None, leased_until=None, next_free_at=bindparam("free_at"))
    .returning(
        _QUEUE.c.channel_id,
        # In words: SQLAlchemy names no tables in what SQLite returns, so that the two channels would be one.
        literal_column(_SECOND_WAITS, Boolean()),
    )
)
"""The statement of `record_taken`: frees the queues whose leases are named.

Tells where a second message is unsent.
"""


def record_sent(session: Session, claimed: Claim, message_ts: str, now: datetime, *, free_at: datetime) -> bool:
    """Whether the result was ours to write: the message is sent, and its queue free again at `free_at`.

    So are the edits that the message says.
    """
    if not _release(session, claimed, free_at=free_at):
        return False
    sent = {"message_ts": message_ts, "sent_at": now, "detail": None}
    if claimed.shown and claimed.shown.edits:
        together = [number for number in claimed.shown.edits if number != claimed.post.id]
        move(session, Happened.SAID_TOGETHER, col(OutboxMessage.id).in_(together), **sent)
    return move_one(session, Happened.FOUND if claimed.doubtful else Happened.TAKEN, claimed.post.id, **sent)


def record_not_sent(
    session: Session, claimed: Claim, *, free_at: datetime, detail: str, plain: bool | None = None
) -> bool:
    """Back into the queue, at its head: certainly not posted."""
    plain = claimed.post.plain if plain is None else plain
    return _release(session, claimed, free_at=free_at) and move_one(
        session, Happened.NOT_SENT, claimed.post.id, detail=detail, plain=plain
    )


def record_repeated(
    session: Session, claimed: Claim, *, free_at: datetime, detail: str, plain: bool, may_be_repeat: bool
) -> bool:
    """Back into the queue, at its head: not found in the history, or to be repeated knowingly."""
    return _release(session, claimed, free_at=free_at) and move_one(
        session,
        Happened.REPEATED,
        claimed.post.id,
        detail=detail,
        plain=plain,
        may_be_repeat=may_be_repeat,
        looks=0,
        failed_looks=0,
    )


def record_doubtful(
    session: Session, claimed: Claim, *, free_at: datetime, detail: str, looks: int, failed_looks: int
) -> bool:
    """Nobody knows whether the message was posted. The queue is looked at again at `free_at`."""
    happened = Happened.LOOKED if claimed.doubtful else Happened.UNANSWERED
    return _release(session, claimed, free_at=free_at) and move_one(
        session, happened, claimed.post.id, detail=detail, looks=looks, failed_looks=failed_looks
    )


def record_given_up(
    session: Session, claimed: Claim, now: datetime, *, free_at: datetime, reason: Reason, detail: str
) -> bool:
    """Not sent, and not tried again by itself; the queue goes on. What was folded into it has to be said after all."""
    if not _release(session, claimed, free_at=free_at):
        return False
    done = move_one(session, Happened.GIVEN_UP, claimed.post.id, reason=reason, detail=detail, given_up_at=now)
    unfold(session, [claimed.post.id or 0])
    return done


def record_not_edited(session: Session, claimed: Claim, *, free_at: datetime, detail: str) -> bool:
    """The message can't be edited: the edit becomes a message of its own, where no other in the channel says it.

    A corrected version in a message of its own takes over what else the old message was to say. An edit of a
    version that the message shows already, with fields from the race book, never becomes a second message.
    """
    shown, event, edits_id = claimed.shown, claimed.event, claimed.post.edits_id
    if shown is None or event is None or not _release(session, claimed, free_at=free_at):
        return False
    corrects = event.event_key == shown.own.event_key
    # A message of another event is edited beside the event's own message, which has its own edits.
    since = event.version if corrects else 1
    said_by = message_telling(session, claimed.channel_id, event.event_key, since=since, but=edits_id)
    is_shown = event.id == shown.own.id or has_edit_of(session, edits_id, event.id)
    if said_by is None and (is_shown or not (corrects or event.kind == EventKind.RACE_ABANDONED)):
        said_by = edits_id
    if said_by is not None:
        return move_one(session, Happened.NEEDLESS, claimed.post.id, folded_into=said_by, detail=detail)
    if corrects and shown.post is not claimed.post:
        others = update(OutboxMessage).where(col(OutboxMessage.edits_id) == edits_id)
        session.execute(others.where(col(OutboxMessage.id) != claimed.post.id).values(edits_id=claimed.post.id))
    return move_one(
        session,
        Happened.NOT_EDITED,
        claimed.post.id,
        kind=MessageKind.EVENT,
        edits_id=None,
        plain=False,
        detail=detail,
    )


def _release(session: Session, claimed: Claim, *, free_at: datetime) -> bool:
    is_ours = (_QUEUE.c.channel_id == claimed.channel_id, _QUEUE.c.lease_token == claimed.token)
    freed = update(_QUEUE).where(*is_ours).values(lease_token=None, leased_until=None, next_free_at=free_at)
    return affected(session, freed) > 0
