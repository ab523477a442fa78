"""The messages of held queues: given up after a time, or summarised once the channel is back."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlmodel import Session, col

from bot.channels import watches
from bot.channels.filters import ChannelFilter, Meeting, kept_until
from bot.clock import Clock
from bot.db.engine import database_now
from bot.db.tables import ChannelQueue, EventVersion, MessageKind, OutboxMessage, Reason
from bot.events import event_store
from bot.outbox import acknowledgements, held_queues, live_meetings, message_store, telling_store
from bot.outbox.held_queues import Held
from bot.outbox.message_store import COUNTS_FROM, IS_DEAD, IS_DUE, IS_QUEUED, IS_WAITING
from bot.outbox.notices import Notices
from bot.outbox.said_anew import say_apart
from bot.outbox.states import WAITING_STATES, Happened, in_order, move, move_each, write

EXPIRED_PER_COMMIT = 200
"""The number is small, because intake waits for the transaction."""

UNWANTED = "the channel unsubscribed while it waited"
MEETING_MUTED = "the channel muted the meeting while it waited"


class Waiting(NamedTuple):
    """A waiting message of the version `own`. `beside`: what the message shows too."""

    post: OutboxMessage
    own: EventVersion
    beside: list[EventVersion]


def lock(session: Session, channel_id: str) -> None:
    """Lock the channel's queued messages in the order of their numbers, for changes in several statements."""
    queued = in_order(col(OutboxMessage.channel_id) == channel_id, IS_QUEUED)
    session.execute(select(func.count()).where(queued))


def of_queue(session: Session, channel_id: str, before: datetime) -> list[Waiting]:
    """The channel's messages older than `before`, in order, without messages that wait for an hour."""
    return _waiting(session, col(OutboxMessage.channel_id) == channel_id, IS_DUE, before > COUNTS_FROM)


def channels_due(session: Session, now: datetime, limit: int) -> dict[str, datetime]:
    """Channels with messages that have waited for their moment, and the receipt of the first.

    In a held queue the messages go on waiting.
    """
    statement = (
        select(col(OutboxMessage.channel_id), func.min(col(OutboxMessage.received_at)))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(col(OutboxMessage.not_before) <= now, IS_QUEUED, col(ChannelQueue.state).not_in(WAITING_STATES))
        .group_by(col(OutboxMessage.channel_id))
        .order_by(col(OutboxMessage.channel_id))
        .limit(limit)
    )
    return {channel_id: since for channel_id, since in session.execute(statement)}  # noqa: C416  rows are no pairs to mypy


def release(session: Session, channel_id: str, now: datetime) -> list[Waiting]:
    """Queue the messages whose hour has come. Returns the messages in order."""
    is_due = (col(OutboxMessage.channel_id) == channel_id, col(OutboxMessage.not_before) <= now)
    found = _waiting(session, *is_due)
    message_store.release(session, *is_due, IS_QUEUED)
    return found


def wait_anew(
    session: Session, channel_id: str, filters: Sequence[ChannelFilter], now: datetime, *, new_hours: bool = True
) -> None:
    """The channel's filters have changed: what waits for an hour goes by the filters that are left.

    An event that no filter takes is withdrawn. `new_hours`: the other events wait by the filters' hours, unless their
    moment has come.
    """
    waiting = [(one, event_store.known(one.own)[0]) for one in _for_an_hour(session, channel_id)]
    taken = {event.key for _, event in waiting if any(chosen.matches(event) for chosen in filters)}
    unwanted = [one.post.id for one, event in waiting if event.key not in taken]
    _withdraw(session, col(OutboxMessage.id).in_(unwanted), detail=UNWANTED, now=now)
    for one, event in waiting if new_hours else ():
        if event.key in taken and one.post.not_before and one.post.not_before > now:
            anew = kept_until(filters, event, now, now) or now
            write(session, col(OutboxMessage.id) == one.post.id, ~IS_DUE, not_before=anew)


def withdraw_muted(session: Session, channel_id: str, meeting: Meeting, now: datetime) -> None:
    """The channel muted the meeting: what waits for an hour is withdrawn, as new messages would be muted."""
    waiting = _for_an_hour(session, channel_id)
    muted = [one.post.id for one in waiting if meeting.has(event_store.known(one.own)[0].race)]
    _withdraw(session, col(OutboxMessage.id).in_(muted), detail=MEETING_MUTED, now=now)


def _for_an_hour(session: Session, channel_id: str) -> list[Waiting]:
    return _waiting(session, col(OutboxMessage.channel_id) == channel_id, ~IS_DUE)


def of_versions(session: Session, event_ids: Sequence[int]) -> dict[str, list[Waiting]]:
    """Channel → the versions' messages in order. Held queues get a summary of their own later."""
    held = select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state).in_(WAITING_STATES))
    may_go_out = col(OutboxMessage.channel_id).not_in(held)
    by_channel: dict[str, list[Waiting]] = {}
    for one in _waiting(session, col(OutboxMessage.event_id).in_(event_ids), IS_DUE, may_go_out):
        by_channel.setdefault(one.post.channel_id, []).append(one)
    return dict(sorted(by_channel.items()))


_WAITING = (
    select(OutboxMessage, EventVersion)
    .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
    .where(IS_QUEUED)
    .order_by(col(OutboxMessage.priority), col(OutboxMessage.id))
)


def _waiting(session: Session, *where: ColumnElement[bool]) -> list[Waiting]:
    """The queued messages in the order of sending."""
    found = session.execute(_WAITING.where(*where)).all()
    beside = telling_store.shown_beside(session, [post.id for post, _ in found])
    return [Waiting(post, own, [one.event for one in beside.get(post.id, ())]) for post, own in found]


def fold(session: Session, waiting: Iterable[Waiting], into: int) -> None:
    folded = {"folded_into": into, "detail": None}
    move_each(session, Happened.SUMMARISED, [{"number": one.post.id} | folded for one in waiting])


def unfold(session: Session, channel_id: str) -> None:
    """Take back unsent summaries, and queue the messages folded into them. What waited for an hour waits again."""
    statement = select(col(OutboxMessage.id)).where(
        col(OutboxMessage.channel_id) == channel_id, IS_QUEUED, col(OutboxMessage.kind) == MessageKind.SUMMARY
    )
    summaries = list(session.execute(statement).scalars())
    if not summaries:
        return
    waited = (col(OutboxMessage.folded_into).in_(summaries), col(OutboxMessage.due_at).is_not(None))
    write(session, *waited, not_before=col(OutboxMessage.due_at))
    message_store.unfold(session, summaries)
    session.execute(delete(OutboxMessage).where(col(OutboxMessage.id).in_(summaries)))


def give_up(session: Session, notices: Notices, keep_hours: int, clock: Clock) -> int:
    """Give up event messages held for so long, and tell admins. Returns how many. Locked queues are left out.

    A message that waits for an hour is old once the hour is long over.
    """
    # The closing has the database's time, and the summary counts from the closing.
    now, before = database_now(session, clock), clock() - timedelta(hours=keep_hours)
    statement = (
        select(col(OutboxMessage.id), ChannelQueue, EventVersion)
        .select_from(ChannelQueue)
        .join(OutboxMessage, col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id))
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(col(ChannelQueue.state).in_(WAITING_STATES), IS_WAITING)
        .where(before > COUNTS_FROM)
        .order_by(col(ChannelQueue.channel_id), col(OutboxMessage.id))
        .limit(EXPIRED_PER_COMMIT)
        .with_for_update(of=ChannelQueue, skip_locked=True)
    )
    found: dict[tuple[str, Held], dict[int, EventVersion]] = {}
    for post_id, queue, version in session.execute(statement):
        found.setdefault((queue.channel_id, held_queues.held(queue)), {})[post_id] = version
    acknowledgements.lock(session, [post_id for ids in found.values() for post_id in ids])
    for (_, held), ids in found.items():
        these, detail = col(OutboxMessage.id).in_(ids), f"it waited too long for its channel ({held.because})"
        _expire(session, these, detail=detail, now=now)
        # What a dead letter was to show too is younger.
        message_store.unfold(session, list(ids))
        for beside in telling_store.shown_beside(session, ids).values():
            say_apart(session, beside[0].message, now, lambda one: one.event.received_at >= before)
    for (channel_id, held), lost in found.items():
        has_abandonment = any(event_store.known(version)[0].reports_loss for version in lost.values())
        notices.given_up(session, channel_id, held, keep_hours, has_abandonment=has_abandonment)
    return sum(map(len, found.values()))


def drop(session: Session, channel_id: str, now: datetime) -> int:
    """The channel unsubscribed. While the channel watches names, messages stay: some may be of a watched runner.

    A message that waits for an hour is of no watched runner, and is dropped.
    """
    # Deleted, so that a later subscription gets a live message.
    live_meetings.delete_unsent(session, channel_id)
    watching = [~IS_DUE] if watches.has_any(session, channel_id) else []
    of_events = (col(OutboxMessage.channel_id) == channel_id, col(OutboxMessage.event_id).is_not(None))
    if not watching:
        telling_store.cancel_edits(session, *of_events)
    return _withdraw(session, *of_events, *watching, detail=UNWANTED, now=now)


def withdraw(session: Session, event_key: str, detail: str, now: datetime) -> int:
    """Nobody wants the event any more. `detail` is for the ledger."""
    of_event = select(col(EventVersion.id)).where(col(EventVersion.event_key) == event_key)
    told = col(OutboxMessage.event_id).in_(of_event)
    return _withdraw(session, told, detail=detail, now=now)


def drop_of_past_meetings(session: Session, before: datetime, now: datetime) -> int:
    """Live messages, escalations, and their edits."""
    is_past = or_(
        and_(col(OutboxMessage.kind) == MessageKind.ESCALATION, col(OutboxMessage.received_at) < before),
        # A racecard makes the live message days before.
        and_(col(OutboxMessage.kind) == MessageKind.LIVE, live_meetings.is_of_day_before(before)),
    )
    cancelled, over = telling_store.cancel_edits(session, is_past), "its meeting is over"
    return cancelled + _expire(session, is_past, detail=over, now=now)


def _withdraw(session: Session, *where: ColumnElement[bool], detail: str, now: datetime) -> int:
    written = {"reason": Reason.UNSUBSCRIBED, "detail": detail, "given_up_at": now}
    return move(session, Happened.EXPIRED, *where, **written)


def _expire(session: Session, *where: ColumnElement[bool], detail: str, now: datetime) -> int:
    """A message in doubt too: nobody has looked for such a message in all this time."""
    written = {"reason": Reason.WAITED_TOO_LONG, "detail": detail, "given_up_at": now}
    return sum(move(session, one, IS_WAITING, *where, **written) for one in (Happened.EXPIRED, Happened.GIVEN_UP))


def count_waiting(session: Session, channel_id: str) -> int:
    """Messages of events that wait in the channel's queue, without messages for a later moment."""
    return _count(session, channel_id, col(OutboxMessage.kind) == MessageKind.EVENT, IS_QUEUED, IS_DUE)


def count_given_up(session: Session, channel_id: str, held: Held) -> int:
    return _count(
        session,
        channel_id,
        IS_DEAD,
        col(OutboxMessage.reason) == Reason.WAITED_TOO_LONG,
        col(OutboxMessage.event_id).is_not(None),
        col(OutboxMessage.given_up_at) >= held.since,
    )


def _count(session: Session, channel_id: str, *which: ColumnElement[bool]) -> int:
    statement = select(func.count()).where(col(OutboxMessage.channel_id) == channel_id, *which)
    return session.scalars(statement).one()
