"""Lanes: one a channel, leased by whoever posts to it, so that order, pace and exclusion come from one row.

`claim` takes the lane and marks its first post "sending" in one transaction. What becomes of it is written by
bot/outbox/claim_outcomes.py.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Function,
    Integer,
    ScalarSelect,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, aliased
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session, col

from bot.db.database_clock import FAR
from bot.db.engine import insert_here, table_of
from bot.db.tables import ChannelQueue, EventVersion, MessageKind, MessageState, OutboxMessage, QueueState
from bot.outbox import message_view as showing
from bot.outbox import method_holds
from bot.outbox.message_store import ALWAYS, IS_UNSENT, bearer_of, slack_ahead
from bot.outbox.message_view import Shown
from bot.outbox.method_holds import EVERY_METHOD
from bot.outbox.states import MESSAGE_TRANSITIONS, POSTING, SENT_WHILE_PAUSED, UNSENT, Happened, move_each

POST_METHOD = "chat.postMessage"
EDIT_METHOD = "chat.update"
LOOK_METHOD = "conversations.history"

_IS_OPEN = col(ChannelQueue.state) != QueueState.CLOSED

_MAY_GO_OUT = or_(col(ChannelQueue.state).in_(POSTING), col(OutboxMessage.kind).in_(SENT_WHILE_PAUSED))

_UNDER_WAY = (MessageState.SENDING, MessageState.IN_DOUBT)

_TRIAL_SINCE = case((col(ChannelQueue.state) == QueueState.ON_TRIAL, col(ChannelQueue.state_since)), else_=None)

_METHOD = case(
    (col(OutboxMessage.edits_id).is_not(None), literal_column(f"'{EDIT_METHOD}'")),
    (col(OutboxMessage.state).in_(_UNDER_WAY), literal_column(f"'{LOOK_METHOD}'")),
    else_=literal_column(f"'{POST_METHOD}'"),
)
"""What a waiting post needs next, as `Claim.method` says it."""


_SAID, _BEARER = aliased(OutboxMessage), aliased(OutboxMessage)
_SAYS_WHAT_WAITS = exists().where(
    col(_SAID.event_id) == col(OutboxMessage.event_id),
    col(_SAID.channel_id) == col(OutboxMessage.channel_id),
    col(_BEARER.id) == bearer_of(_SAID),
    col(_BEARER.kind) != MessageKind.EDIT,
    col(_BEARER.state).in_(UNSENT),
)
"""An edit's own message, and the message that the edit links, go first: where these are passed over, so is the edit."""


@dataclass(frozen=True)
class Claim:
    """A leased lane and its first post, which is marked "sending". `doubtful`: it was so before, and nobody knows."""

    channel_id: str
    token: str
    post: OutboxMessage
    event: EventVersion | None
    doubtful: bool
    claimed_at: datetime
    """By the clock that leases are measured by."""
    shown: Shown | None = None
    """What its message is to show; None of what is no event."""
    trial_since: datetime | None = None
    """Since when the channel is closed, where this is a trial: Slack has taken no post there since then."""
    slack_ahead: timedelta | None = None
    """Of a doubtful post: by how much Slack's clock is ahead of the one that leases go by; None where nothing tells."""

    @property
    def edited(self) -> OutboxMessage | None:
        """The post whose message it edits; None where it is a message of its own."""
        return self.shown.post if self.shown and self.post.edits_id is not None else None

    @property
    def edits(self) -> tuple[int, ...]:
        """The numbers of the edits that its message says: those that wait, and the claimed edit itself."""
        waiting = self.shown.edits if self.shown else ()
        own = (self.post.id or 0,) if self.edited else ()
        return tuple(dict.fromkeys((*own, *waiting)))

    def saying(self, edits: Collection[int]) -> "Claim":
        """The claim of a message that says, of the edits that wait, only these."""
        if self.shown is None:
            return self
        said = tuple(number for number in self.shown.edits if number in edits)
        return replace(self, shown=replace(self.shown, edits=said))

    @property
    def method(self) -> str:
        """The method of Slack's that the post needs next; a doubtful message is looked for before anything else."""
        if self.post.edits_id is not None:
            return EDIT_METHOD
        return LOOK_METHOD if self.doubtful else POST_METHOD


def tried_longest(session: Session) -> tuple[str, str] | None:
    """Of the posts in open lanes whose last try failed, the oldest: its name, and what Slack said. None without any."""
    statement = (
        select(col(OutboxMessage.idempotency_key), col(OutboxMessage.detail))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(IS_UNSENT, col(OutboxMessage.detail).is_not(None), _IS_OPEN)
        # A sum, so that SQLite goes by the index of unsent messages, and not through all messages by their number.
        .order_by(col(OutboxMessage.id) + 0)
        .limit(1)
    )
    found = session.execute(statement).first()
    return (found[0], found[1] or "") if found else None


def claim(
    session: Session,
    now: datetime,
    *,
    limit: int,
    lease_s: float,
    call_s: float,
    allowed: Mapping[str, int] | None = None,
) -> list[Claim]:
    """Up to `limit` free lanes that have something to post, abandonments first, leased for `lease_s` seconds.

    `allowed`: how many claims each method may have, any number where it is not named. What needs a method that is held
    or has had its number is passed over.
    """
    holds = method_holds.until_when(session, now)
    if EVERY_METHOD in holds:
        return []
    left = dict(allowed or {}) | dict.fromkeys(holds, 0)
    claims: list[Claim] = []
    passed_over = True
    # Whoever is passed over has taken another's place within the limit: then once more, without that method.
    while passed_over and len(claims) < limit:
        spent = [method for method, calls in left.items() if calls < 1]
        passed_over = False
        taken: list[Claim] = []
        for post, event, trial_since in _heads(session, _lock_lanes(session, now, limit - len(claims), spent), spent):
            # An edit that nobody heard of is simply made again: it is the same whether it was made before or not.
            doubtful = post.state in _UNDER_WAY and post.kind != MessageKind.EDIT
            begun = Claim(post.channel_id, secrets.token_hex(8), post, event, doubtful, now, trial_since=trial_since)
            if left.get(begun.method, 1) < 1:
                passed_over = True
                continue
            if begun.method in left:
                left[begun.method] -= 1
            taken.append(begun)
        _begin(session, taken, lease_s=lease_s, call_s=call_s)
        claims += taken
    return [
        replace(claim, slack_ahead=slack_ahead(session, claim.channel_id)) if claim.doubtful else claim
        for claim in _with_shown(session, claims)
    ]


def _with_shown(session: Session, claims: list[Claim]) -> list[Claim]:
    if not claims:
        return []
    said = showing.shown(session, [(claim.post, claim.event) for claim in claims if claim.event])
    return [replace(claim, shown=said.get(claim.post.id or 0)) for claim in claims]


def _begin(session: Session, begun: Sequence[Claim], *, lease_s: float, call_s: float) -> None:
    """Write down that these lanes are leased, and that their first posts are being sent."""
    if not begun:
        return
    now = begun[0].claimed_at
    leased_until, deadline_at = now + timedelta(seconds=lease_s), now + timedelta(seconds=call_s)
    session.connection().execute(
        _LEASED,
        [{"lane": claim.channel_id, "token": claim.token, "leased_until": leased_until} for claim in begun],
    )
    # In the order in which fan-out locks posts (`hurry_races`), so that neither waits for the other.
    claimed = sorted((claim.post for claim in begun), key=lambda each: each.id or 0)
    # From here on they are values: what becomes of them is written by whoever holds the lease.
    session.expunge_all()
    rows: dict[Happened, list[dict[str, Any]]] = {}
    for each in claimed:
        happened, written = _begun(each, now, deadline_at)
        if happened is None:
            continue
        rows.setdefault(happened, []).append({"number": each.id, **written})
        for name, value in {"state": MESSAGE_TRANSITIONS[happened].to, **written}.items():
            set_committed_value(each, name, value)
    for happened, some in rows.items():
        move_each(session, happened, some)


def _begun(post: OutboxMessage, now: datetime, deadline_at: datetime) -> tuple[Happened | None, dict[str, Any]]:
    """What a claim does to its message. One in doubt stays as it is."""
    if post.state == MessageState.IN_DOUBT:
        return None, {}
    if post.state == MessageState.SENDING and post.kind != MessageKind.EDIT:
        return Happened.LEASE_RAN_OUT, {}
    happened = Happened.CLAIMED if post.state == MessageState.QUEUED else Happened.CLAIMED_AGAIN
    return happened, {"sending_at": now, "deadline_at": deadline_at, "attempts": post.attempts + 1}


def is_free(now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """Whether nobody has leased the queue, and its next free moment has come.

    A moment beyond `far` is of a clock that was set back since.
    """
    free_at, leased_until = col(ChannelQueue.next_free_at), col(ChannelQueue.leased_until)
    return and_(
        or_(free_at <= now, free_at > far),
        or_(leased_until.is_(None), leased_until <= now, leased_until > far),
    )


def waits_for_a_call(now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """Whether any free queue has a message that is still to be posted."""
    waiting = (
        select(col(OutboxMessage.id))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(
            IS_UNSENT,
            _is_any((MessageState.QUEUED,)),
            col(OutboxMessage.edits_id).is_(None),
            _IS_OPEN,
            _MAY_GO_OUT,
            is_free(now, far),
        )
    )
    return waiting.correlate(None).exists()


def _is_any(states: Collection[MessageState]) -> ColumnElement[bool]:
    return col(OutboxMessage.state).in_([literal_column(f"'{state}'") for state in states])


_SPENT: BindParameter[Sequence[str]] = bindparam("spent", expanding=True)
_POSTS_ARE_SPENT = bindparam("posts_are_spent", type_=Boolean())
_MOMENT = table_of(ChannelQueue).c.next_free_at.type


def _without(spent: Collection[str]) -> dict[str, object]:
    """The values that leave out messages that need a method of `spent`. The empty name stands for no message."""
    return {"spent": ["", *sorted(spent)], "posts_are_spent": POST_METHOD in spent}


def _first(column: ColumnElement[Any] | Mapped[Any], states: Collection[MessageState]) -> ScalarSelect[Any]:
    """A column of a queue's first message of these states, but for queued messages that need a spent method."""
    wanted = [col(OutboxMessage.channel_id) == col(ChannelQueue.channel_id), IS_UNSENT, _is_any(states)]
    if MessageState.QUEUED in states:
        wanted += [
            _MAY_GO_OUT,
            _METHOD.not_in(_SPENT),
            or_(~_POSTS_ARE_SPENT, ~_SAYS_WHAT_WAITS),
        ]
    return (
        select(column)
        .where(*wanted)
        .order_by(col(OutboxMessage.priority), col(OutboxMessage.id))
        .limit(literal_column("1"))
        .correlate(ChannelQueue)
        .scalar_subquery()
    )


def _of_head(column: ColumnElement[Any] | Mapped[Any]) -> Function[Any]:
    """A column of a queue's first message. A message in doubt is resolved before anything follows."""
    return func.coalesce(_first(column, _UNDER_WAY), _first(column, (MessageState.QUEUED,)))


_HAS_WORK = and_(
    # For most queues one look at all that is unsent says that there is nothing.
    col(ChannelQueue.channel_id).in_(select(col(OutboxMessage.channel_id)).where(IS_UNSENT)),
    func.coalesce(_of_head(_METHOD), literal_column("''")).not_in(_SPENT),
)
"""Whether a queue has something to send by a method that is not spent."""

_DOUBTFUL, _QUEUED = (_first(col(OutboxMessage.priority), states) for states in (_UNDER_WAY, (MessageState.QUEUED,)))
_URGENCY = case((or_(_DOUBTFUL.is_(None), _QUEUED < _DOUBTFUL), _QUEUED), else_=_DOUBTFUL)
"""The priority of the most urgent message of a queue: an abandonment may wait behind a message in doubt."""

_FREE_QUEUES = (
    select(col(ChannelQueue.channel_id))
    .where(_IS_OPEN, is_free(bindparam("now", type_=_MOMENT), bindparam("far", type_=_MOMENT)), _HAS_WORK)
    .order_by(_URGENCY, _of_head(col(OutboxMessage.id)))
    .limit(bindparam("most", type_=Integer()))
    .with_for_update(of=ChannelQueue, skip_locked=True)
)
"""Free queues that have something to send, the most urgent first."""

_HEADS = (
    select(OutboxMessage, EventVersion, _TRIAL_SINCE)
    .select_from(ChannelQueue)
    .join(OutboxMessage, col(OutboxMessage.id) == _of_head(col(OutboxMessage.id)))
    .outerjoin(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
    .where(col(ChannelQueue.channel_id).in_(bindparam("channels", expanding=True)))
    .order_by(_URGENCY, col(OutboxMessage.id))
)
"""The first messages of some queues."""

_LEASED_UNTIL, _NEXT_FREE_AT = col(ChannelQueue.leased_until), col(ChannelQueue.next_free_at)
_FREE_AT = case((and_(_LEASED_UNTIL.is_not(None), _LEASED_UNTIL > _NEXT_FREE_AT), _LEASED_UNTIL), else_=_NEXT_FREE_AT)
_FIRST_FREE = select(func.min(_FREE_AT)).where(_HAS_WORK, _IS_OPEN)
"""When the first queue is free that has something to send."""

_LEASED = (
    update(table_of(ChannelQueue))
    .where(table_of(ChannelQueue).c.channel_id == bindparam("lane"))
    .values(lease_token=bindparam("token"), leased_until=bindparam("leased_until"))
)


def _lock_lanes(session: Session, now: datetime, limit: int, spent: Collection[str]) -> list[str]:
    """Free queues that have something to send, the most urgent first. Nothing but the queues is looked through."""
    values = {"now": now, "far": now + FAR, "most": limit, **_without(spent)}
    return list(session.execute(_FREE_QUEUES, values).scalars())


def _heads(
    session: Session, channel_ids: list[str], spent: Collection[str]
) -> list[tuple[OutboxMessage, EventVersion | None, datetime | None]]:
    """The first messages of queues, and since when each queue is on trial: read after the queues were locked.

    Before, another replica may have sent them.
    """
    if not channel_ids:
        return []
    found = session.execute(_HEADS, {"channels": channel_ids, **_without(spent)})
    return [(post, event, held_at) for post, event, held_at in found]


def next_due(session: Session, now: datetime, spent: Mapping[str, datetime] | None = None) -> datetime | None:
    """The first moment at which a lane that has something to post is free; None if none has.

    `spent`: methods that have no call left, and until when; those that are held count besides.
    """
    waits = dict(spent or {})
    for method, until in method_holds.until_when(session, now).items():
        waits[method] = max(until, waits.get(method, until))
    first: datetime | None = session.execute(_FIRST_FREE, _without(waits)).scalar_one_or_none()
    if EVERY_METHOD in waits:
        return first and max(first, waits[EVERY_METHOD])
    # What waits for a method is looked at when that is free again; in vain, where nothing needs it.
    return min([*waits.values(), *([first] if first else [])], default=None)


def make_missing(session: Session) -> int:
    """How many lanes were missing: of channels that have something to post, and had another id a moment ago."""
    has_lane = exists().where(col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
    statement = select(col(OutboxMessage.channel_id)).where(IS_UNSENT, ~has_lane).distinct()
    missing = list(session.execute(statement).scalars())
    if missing:
        rows = [{"channel_id": channel_id, "state": QueueState.OPEN, "next_free_at": ALWAYS} for channel_id in missing]
        session.execute(insert_here(session, ChannelQueue).on_conflict_do_nothing(index_elements=["channel_id"]), rows)
    return len(missing)
