"""Channel queues: one a channel. `claim` leases a queue and marks its first message "sending", in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Integer,
    Row,
    ScalarSelect,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import Mapped, aliased
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session, col

from bot.db.engine import is_one_of, table_of
from bot.db.tables import ChannelQueue, EventVersion, MessageKind, MessageState, OutboxMessage, QueueState
from bot.outbox import acknowledgements, live_meetings, message_view
from bot.outbox.acknowledgements import Escalation
from bot.outbox.live_meetings import LiveMeeting
from bot.outbox.message import Call
from bot.outbox.message_store import IS_DUE, IS_QUEUED, IS_TO_EDIT, IS_UNSENT, Priority, make_queues, slack_ahead
from bot.outbox.message_view import MessageView, Tells
from bot.outbox.states import MESSAGE_TRANSITIONS, PASSES_A_PAUSE, POSTING, UNSENT, Happened, move_each

POST_CALL_S = 5.0

PAUSE_MAX = timedelta(seconds=1)
"""Between two messages in a channel. A queue that waits longer waits for one message; a new abandonment passes."""

LEASE_MARGIN_S = 4.0
"""Beyond the call's deadline, so that nobody else claims the queue while the call may be under way."""

QUEUE_WAIT_MAX = timedelta(minutes=2)
"""No queue waits so long: a moment further ahead was written before somebody set the clock back."""

_IS_OPEN = col(ChannelQueue.state) != QueueState.CLOSED

_MAY_GO_OUT = or_(is_one_of(ChannelQueue.state, POSTING), PASSES_A_PAUSE)

_UNDER_WAY = (MessageState.SENDING, MessageState.IN_DOUBT)

_TRIAL_SINCE = case((col(ChannelQueue.state) == QueueState.ON_TRIAL, col(ChannelQueue.state_since)), else_=None)

_IS_URGENT = col(OutboxMessage.priority) <= literal_column(str(int(Priority.ABANDONMENT)))

_LINKED = aliased(OutboxMessage)
_LINKED_WAITS = exists().where(col(_LINKED.id) == col(OutboxMessage.after_id), is_one_of(_LINKED.state, UNSENT))


@dataclass(frozen=True)
class Claim:
    """A leased queue and its first message. `in_doubt`: the message was in doubt before."""

    channel_id: str
    lease_token: str
    post: OutboxMessage
    event: EventVersion | None
    in_doubt: bool
    claimed_at: datetime
    """By the clock of leases."""
    begun_at_s: float = 0.0
    """A moment before `claimed_at`, by the monotonic clock."""
    shown: MessageView | LiveMeeting | Escalation | None = None
    """None for a message stored in the form that Slack gets."""
    trial_since: datetime | None = None
    """The start of the channel's closing, if the queue is on trial."""
    slack_ahead: timedelta | None = None
    """For a message in doubt: how far Slack's clock is ahead of the clock of leases. None if unknown."""
    thread_ts: str | None = None
    """The thread of the message. None in the channel."""

    read_s: float = 0.0
    """Seconds of processor time spent on reading the content of the claimed messages."""

    @cached_property
    def is_edit(self) -> bool:
        return self.post.state == MessageState.SENT

    @property
    def rev(self) -> int:
        """The revision that the call sends."""
        return self.shown.rev if isinstance(self.shown, MessageView) else self.post.wanted_rev

    @property
    def calls(self) -> int:
        """Calls for the message, or for its edit, with the claimed call."""
        return self.post.edit_attempts if self.is_edit else self.post.attempts

    @property
    def call(self) -> Call:
        if self.is_edit:
            return Call.EDIT
        return Call.LOOK if self.in_doubt else Call.POST


def deadline_of(claimed_at: datetime) -> datetime:
    return claimed_at + timedelta(seconds=POST_CALL_S)


def lease_end(claimed_at: datetime) -> datetime:
    return deadline_of(claimed_at) + timedelta(seconds=LEASE_MARGIN_S)


def tried_longest(session: Session) -> tuple[str, str] | None:
    """The oldest unsent message of open queues whose last call failed: key and failure."""
    # Two looks, each by its index.
    waiting = union_all(*(select(col(OutboxMessage.id)).where(which) for which in (IS_UNSENT, IS_TO_EDIT)))
    statement = (
        select(col(OutboxMessage.idempotency_key), col(OutboxMessage.detail))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(col(OutboxMessage.id).in_(waiting), col(OutboxMessage.detail).is_not(None), _IS_OPEN)
        .order_by(col(OutboxMessage.id) + 0)
        .limit(1)
    )
    found = session.execute(statement).first()
    return (found[0], found[1] or "") if found else None


def claim(session: Session, now: datetime, *, token: str, limit: int, allowed: Mapping[Call, int]) -> list[Claim]:
    """Lease up to `limit` free queues, abandonments first.

    `allowed`: claims by kind of call; a missing kind has no limit.
    """
    left = dict(allowed)
    claims: list[Claim] = []
    passed_over = True
    # Skipped queues have used the limit: ask once more without their kind of call.
    while passed_over and len(claims) < limit:
        spent = [call for call, calls in left.items() if calls < 1]
        passed_over = False
        taken: list[Claim] = []
        for post, event, trial_since in _heads(session, now, limit - len(claims), spent):
            in_doubt = post.state in _UNDER_WAY
            begun = Claim(post.channel_id, token, post, event, in_doubt, now, trial_since=trial_since)
            if left.get(begun.call, 1) < 1:
                passed_over = True
                continue
            if begun.call in left:
                left[begun.call] -= 1
            taken.append(begun)
        _begin(session, taken)
        claims += taken
    return [
        replace(claim, slack_ahead=slack_ahead(session, claim.post, now)) if claim.in_doubt else claim
        for claim in with_views(session, claims)
    ]


def with_views(session: Session, claims: Sequence[Claim], new: Tells | None = None) -> list[Claim]:
    """`new`: see `views_of`."""
    if not claims:
        return []
    heads = [(claim.post, claim.event) for claim in claims if claim.event]
    views = message_view.views_of(session, heads, new)
    now = claims[0].claimed_at
    live = live_meetings.read(session, [claim.post for claim in claims if claim.post.kind == MessageKind.LIVE], now)
    escalations = [claim.post for claim in claims if claim.post.kind == MessageKind.ESCALATION]
    escalated = acknowledgements.read(session, escalations)
    # The next edit shows the links that wait for another message.
    later = [{"number": number, "after_id": view.waits_for} for number, view in views.items() if view.waits_for]
    if later:
        session.connection().execute(_WRITTEN, later)
    threads = live_meetings.threads(session, [claim.post.id for claim in claims if claim.post.thread_of])
    shows: dict[int, MessageView | LiveMeeting | Escalation] = {**views, **live, **escalated}
    numbered = [(claim, claim.post.id) for claim in claims]
    return [replace(claim, shown=shows.get(number), thread_ts=threads.get(number)) for claim, number in numbered]


def _begin(session: Session, begun: Sequence[Claim]) -> None:
    if not begun:
        return
    now = begun[0].claimed_at
    lease = {"token": begun[0].lease_token, "until": lease_end(now)}
    session.connection().execute(_LEASED, {"channels": sorted(claim.channel_id for claim in begun), **lease})
    claimed = sorted((claim.post for claim in begun), key=lambda each: each.id)
    # From here on the rows are plain values.
    session.expunge_all()
    rows: dict[Happened | None, list[dict[str, Any]]] = {}
    for each in claimed:
        happened, written = _begun(each, now)
        if written or happened:
            rows.setdefault(happened, []).append({"number": each.id, **written})
        for name, value in written.items():
            set_committed_value(each, name, value)
        if happened:
            set_committed_value(each, "state", MESSAGE_TRANSITIONS[happened].to)
    for happened, some in rows.items():
        if happened:
            move_each(session, happened, some)
        else:
            session.connection().execute(_WRITTEN, some)


def _begun(post: OutboxMessage, now: datetime) -> tuple[Happened | None, dict[str, Any]]:
    """A message in doubt stays so. An edit is never in doubt, because a second call changes nothing."""
    match post.state:
        case MessageState.IN_DOUBT:
            return None, {}
        case MessageState.SENT:
            return None, {"edit_attempts": post.edit_attempts + 1, "edit_sending_at": now}
        case MessageState.SENDING:
            return Happened.LEASE_RAN_OUT, {}
    return Happened.CLAIMED, {"sending_at": now, "deadline_at": deadline_of(now), "attempts": post.attempts + 1}


def is_free(
    now: ColumnElement[datetime], far: ColumnElement[datetime], *passes: ColumnElement[bool]
) -> ColumnElement[bool]:
    """Whether the queue can be claimed. A moment beyond `far` is ignored: a clock was set back.

    `passes`: conditions under which the first message need not wait for `next_free_at`.
    """
    free_at, leased_until = col(ChannelQueue.next_free_at), col(ChannelQueue.leased_until)
    return and_(
        or_(free_at <= now, free_at > far, *passes),
        or_(leased_until.is_(None), leased_until <= now, leased_until > far),
    )


def waits_for_a_call(call: Call, now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """A message to be posted, or an edit."""
    waiting = (
        select(_ID)
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(*_NEEDS[call], _IS_OPEN, is_free(now, far))
    )
    return waiting.correlate(None).exists()


_LEFT: Mapping[Call, BindParameter[bool]] = {call: bindparam(f"{call}_left", type_=Boolean()) for call in Call}
"""Whether calls of the kind are left. No list: SQLAlchemy would write the words of the statement anew each time."""
_MOMENT = table_of(ChannelQueue).c.next_free_at.type
_ID, _PRIORITY = col(OutboxMessage.id), col(OutboxMessage.priority)

_IN_DOUBT = is_one_of(OutboxMessage.state, _UNDER_WAY)
_NEEDS = {
    Call.LOOK: (IS_UNSENT, _IN_DOUBT),
    Call.POST: (IS_QUEUED, IS_DUE, _MAY_GO_OUT),
    Call.EDIT: (IS_TO_EDIT, _MAY_GO_OUT, or_(col(OutboxMessage.passes_pause), ~_LINKED_WAITS)),
}
"""The messages that need the call."""


def _left(spent: Collection[Call]) -> dict[str, object]:
    return {f"{call}_left": call not in spent for call in Call}


def _first(column: ColumnElement[Any] | Mapped[Any], call: Call, *which: ColumnElement[bool]) -> ScalarSelect[Any]:
    """A column of the queue's first message that needs the call. Live messages are edited last.

    A message in doubt comes first even if no look is left: the queue waits for the look.
    """
    needs = _NEEDS[call] if call is Call.LOOK else (*_NEEDS[call], _LEFT[call])
    last = [col(OutboxMessage.kind) == literal_column(f"'{MessageKind.LIVE}'")] if call is Call.EDIT else []
    return (
        select(column)
        .where(*needs, *which, col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id))
        .order_by(*last, _PRIORITY, _ID)
        .limit(literal_column("1"))
        .correlate(ChannelQueue)
        .scalar_subquery()
    )


# A message in doubt is resolved before the queue goes on. An abandonment passes messages about other subjects: fan-out
# makes messages about the abandonment's own races urgent. Edits come after messages. An abandonment's edit may tell of
# a further abandonment, and comes after abandonments.
_HEAD = func.coalesce(
    _first(_ID, Call.LOOK, _IS_URGENT),
    _first(_ID, Call.POST, _IS_URGENT),
    _first(_ID, Call.EDIT, _IS_URGENT),
    _first(_ID, Call.LOOK),
    _first(_ID, Call.POST),
    _first(_ID, Call.EDIT),
)

_HAS_WORK = and_(
    # For most queues this look is enough.
    or_(
        col(ChannelQueue.channel_id).in_(select(col(OutboxMessage.channel_id)).where(IS_UNSENT, IS_DUE)),
        col(ChannelQueue.channel_id).in_(select(col(OutboxMessage.channel_id)).where(IS_TO_EDIT)),
    ),
    # No OR: SQLite would look a second time.
    case((_IN_DOUBT, _LEFT[Call.LOOK]), else_=true()),
)
"""Of a queue and its first message."""

_NOW, _FAR, _PAUSED_UNTIL = (bindparam(name, type_=_MOMENT) for name in ("now", "far", "paused_until"))
_IS_NEW_ABANDONMENT = and_(_IS_URGENT, col(OutboxMessage.sending_at).is_(None))
_PASSES = and_(_IS_NEW_ABANDONMENT, col(ChannelQueue.next_free_at) > _PAUSED_UNTIL)

_FREE_QUEUES = (
    select(col(ChannelQueue.channel_id))
    .join(OutboxMessage, _ID == _HEAD)
    .where(_IS_OPEN, is_free(_NOW, _FAR, _PASSES), _HAS_WORK)
    .order_by(_PRIORITY, _ID)
    .limit(bindparam("most", type_=Integer()))
    .with_for_update(of=ChannelQueue, skip_locked=True)
)

_HEADS = (
    select(OutboxMessage, EventVersion, _TRIAL_SINCE)
    .select_from(ChannelQueue)
    .join(OutboxMessage, _ID == _HEAD)
    .outerjoin(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
    .where(col(ChannelQueue.channel_id).in_(bindparam("channels", expanding=True)))
    .order_by(_PRIORITY, _ID)
    # Messages that fan-out changes are passed over: fan-out waits for locks of messages, and nobody waits for fan-out.
    .with_for_update(of=OutboxMessage, skip_locked=True)
)

_LEASED_UNTIL, _NEXT_FREE_AT = col(ChannelQueue.leased_until), col(ChannelQueue.next_free_at)
_FREE_AT = case((and_(_LEASED_UNTIL.is_not(None), _LEASED_UNTIL > _NEXT_FREE_AT), _LEASED_UNTIL), else_=_NEXT_FREE_AT)
_FIRST_FREE = select(func.min(_FREE_AT)).join_from(ChannelQueue, OutboxMessage, _ID == _HEAD).where(_HAS_WORK, _IS_OPEN)

_MESSAGE = table_of(OutboxMessage)
_WRITTEN = update(_MESSAGE).where(_MESSAGE.c.id == bindparam("number"))

LEASE = update(table_of(ChannelQueue)).values(lease_token=bindparam("token"), leased_until=bindparam("until"))
_LEASED = LEASE.where(table_of(ChannelQueue).c.channel_id.in_(bindparam("channels", expanding=True)))


def _heads(
    session: Session, now: datetime, limit: int, spent: Collection[Call]
) -> Sequence[Row[OutboxMessage, EventVersion | None, datetime | None]]:
    """Locks the queues, then reads the messages: another replica may have sent messages before the lock."""
    left = _left(spent)
    free = {"now": now, "far": now + QUEUE_WAIT_MAX, "paused_until": now + PAUSE_MAX, "most": limit, **left}
    channels = session.connection().execute(_FREE_QUEUES, free).scalars().all()
    return session.execute(_HEADS, {"channels": channels, **left}).all() if channels else ()


def next_due(session: Session, spent: Mapping[Call, datetime]) -> datetime | None:
    """When the next queue with a message is free. `spent`: the kinds of call without a call left, and until when."""
    first: datetime | None = session.connection().execute(_FIRST_FREE, _left(spent)).scalar_one_or_none()
    # The end of a wait counts even if no message needs the call.
    return min([*spent.values(), *([first] if first else [])], default=None)


def make_missing(session: Session) -> int:
    """Make missing queues, for example after a move. Returns the number."""
    has_queue = exists().where(col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
    statement = select(col(OutboxMessage.channel_id)).where(IS_UNSENT, ~has_queue).distinct()
    missing = list(session.execute(statement).scalars())
    make_queues(session, missing)
    return len(missing)
