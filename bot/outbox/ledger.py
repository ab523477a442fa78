"""The ledger, for `/racing trace`: who was told of an event, when, or why not. Only reads.

Also figures of posts sent lately, and of unsent messages by channel.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import exists, func, literal_column, or_, select, union
from sqlmodel import Session, col

from bot.channels import subscriptions, watches
from bot.channels.conditions.condition import Condition
from bot.channels.filters import ChannelFilter, left_out
from bot.db.tables import (
    AckState,
    ChannelQueue,
    EventVersion,
    InboxDelivery,
    InboxState,
    MessageState,
    NamedRace,
    OutboxMessage,
    QueueState,
    SaidRow,
)
from bot.deliveries import inbox
from bot.events import drill_mark, event_store
from bot.events.event import EventKind
from bot.events.races import Race
from bot.outbox import acknowledgements, pace
from bot.outbox.message import Call
from bot.outbox.message_store import COUNTS_FROM, IS_SENT, IS_UNSENT
from bot.outbox.states import WAITING_STATES

VERSIONS_TRACED = 40
"""A meeting's id can name a whole day's card."""

NO_ANSWER = "Slack has not confirmed the message"


class LedgerOutcome(StrEnum):
    """The least seen outcomes come first."""

    DEAD_LETTER = "not posted"
    WAITING = "waiting"
    IN_DOUBT = "in doubt"
    SENDING = "being posted"
    MUTED = "muted"
    FOLDED = "said by another message"
    SENT = "posted"


@dataclass(frozen=True)
class LedgerAcknowledgement:
    """`steps`: what became of the messages of the escalation."""

    state: AckState
    taken_by: str | None
    taken_at: datetime | None
    steps: "tuple[LedgerLine, ...]"


@dataclass(frozen=True)
class LedgerLine:
    """The fate of an event in a channel.

    `muted_by`: who muted the meeting. `by_edit`: an earlier message was edited. `within`: another message says the
    event, and has the outcome. `is_held`: the channel is paused or closed. `person_id`: of direct messages, if known.
    `acknowledgement`: of an abandonment that is to be acknowledged.
    """

    channel_id: str
    outcome: LedgerOutcome
    attempts: int
    received_at: datetime
    sent_at: datetime | None = None
    message_ts: str | None = None
    why: str | None = None
    muted_by: str | None = None
    by_edit: bool = False
    within: bool = False
    is_held: bool = False
    person_id: str | None = None
    acknowledgement: LedgerAcknowledgement | None = None


@dataclass(frozen=True)
class TracedVersion:
    """`row`: its `posts` count the channels told, whoever asks. `race` may stand for a meeting.

    `contradicts`: the kind of an earlier event that cannot be true beside this version. `left_out`: the filters of a
    channel without a message, nearest to the event, with the conditions that don't take the event.
    """

    row: EventVersion
    told: tuple[LedgerLine, ...]
    race: Race | None = None
    contradicts: EventKind | None = None
    left_out: Mapping[ChannelFilter, Sequence[Condition]] = field(default_factory=dict)
    is_taken_back: bool = False
    in_doubt: bool = False


@dataclass(frozen=True)
class Trace:
    """`deliveries`: failing, waiting, or without news. `kept_since`: the first stored delivery.

    `untold`: channels with a subscription, but without a message of any version; empty while a delivery waits.
    """

    versions: tuple[TracedVersion, ...]
    deliveries: tuple[InboxDelivery, ...]
    more: int
    kept_since: datetime | None
    untold: tuple[str, ...] = ()


def trace(
    session: Session,
    wanted: str,
    now: datetime,
    *,
    channel_id: str | None = None,
    here: str | None = None,
    also: Collection[str] = (),
) -> Trace:
    """By a race id, a meeting id, an event key or a delivery's reference, letter by letter.

    `channel_id`: the only channel. `here`: a channel that is to know why it was not told. `also`: more event keys.
    """
    keys = _event_keys(session, wanted) | set(also)
    rows = session.execute(
        select(EventVersion)
        .where(col(EventVersion.event_key).in_(keys))
        .order_by(col(EventVersion.received_at), col(EventVersion.id))
    )
    versions = list(rows.scalars())
    shown = versions[-VERSIONS_TRACED:]
    told = _told(session, [row.id or 0 for row in shown], now, channel_id)
    filters = subscriptions.filters_of(session, here) if here else []
    deliveries, having = _deliveries(session, keys), {row.inbox_id for row in versions}
    is_told = all(one.state != InboxState.NEW for one in deliveries)
    return Trace(
        untold=_untold(session, shown, told) if channel_id is None and is_told else (),
        versions=tuple(_version(row, told.get(row.id or 0, []), here, filters) for row in shown),
        deliveries=tuple(one for one in deliveries if one.error or one.id not in having),
        more=len(versions) - len(shown),
        kept_since=inbox.first_received_at(session),
    )


def _untold(session: Session, shown: Sequence[EventVersion], told: dict[int, list[LedgerLine]]) -> tuple[str, ...]:
    """Empty for a drill, and where a message of a version is no longer stored."""
    if not shown or any(row.kind == drill_mark.KIND or row.posts > len(told.get(row.id or 0, ())) for row in shown):
        return ()
    return tuple(sorted(subscriptions.channels(session) - {one.channel_id for some in told.values() for one in some}))


def _event_keys(session: Session, wanted: str) -> set[str]:
    keys = {
        wanted,
        f"{EventKind.MEETING_ABANDONED}:meeting={wanted}",
        f"{EventKind.RACECARD_PUBLISHED}:meeting={wanted}",
    }
    keys |= {f"{kind}:{wanted}" for kind in EventKind}
    prefix, _, number = wanted.partition("-")
    is_reference = prefix == "inbox" and number.isascii() and number.isdecimal() and len(number) < 19
    key, named, meeting = col(EventVersion.event_key), col(EventVersion.race_id) == wanted, col(EventVersion.meeting_id)
    is_abandoned = col(EventVersion.kind) == EventKind.MEETING_ABANDONED
    found = union(
        select(inbox.KEYS.c.event_key).where(inbox.KEYS.c.inbox_id == (int(number) if is_reference else None)),
        select(col(NamedRace.event_key)).where(col(NamedRace.race_id) == wanted),
        select(key).where(or_(named, meeting == wanted)),
        select(key).where(meeting.in_(select(meeting).where(named)), is_abandoned),
    )
    return keys.union(key for key in session.execute(found).scalars() if key is not None)


def _deliveries(session: Session, keys: Collection[str]) -> Sequence[InboxDelivery]:
    numbers = select(inbox.KEYS.c.inbox_id).where(inbox.KEYS.c.event_key.in_(keys))
    row = InboxDelivery
    statement = select(row).where(col(row.id).in_(numbers)).order_by(col(row.id).desc()).limit(VERSIONS_TRACED)
    return session.execute(statement).scalars().all()[::-1]


def _told(
    session: Session, event_ids: Sequence[int], now: datetime, channel_id: str | None
) -> dict[int, list[LedgerLine]]:
    of = (col(OutboxMessage.channel_id) == channel_id,) if channel_id is not None else ()
    own = session.execute(_MESSAGES.where(col(OutboxMessage.event_id).in_(event_ids), *of))
    rows: list[tuple[int, OutboxMessage, ChannelQueue | None, SaidRow | None]] = [
        (post.event_id or 0, post, queue, None) for post, queue in own
    ]
    beside = _MESSAGES.add_columns(SaidRow).join(SaidRow, col(SaidRow.message_id) == col(OutboxMessage.id))
    shown = session.execute(beside.where(col(SaidRow.event_id).in_(event_ids), *of))
    rows += [(said.event_id, post, queue, said) for post, queue, said in shown]
    lines = _Lines(session, [post for _, post, _, _ in rows], now)
    asked = _acknowledgements(session, [post.id for _, post, _, said in rows if said is None], lines)
    told: dict[int, list[LedgerLine]] = {}
    for event_id, post, queue, said in rows:
        line = lines.of(post, queue, said)
        asks = asked.get(post.id) if said is None else None
        told.setdefault(event_id, []).append(replace(line, acknowledgement=asks))
    return told


_MESSAGES = select(OutboxMessage, ChannelQueue).outerjoin(
    ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id)
)


def _acknowledgements(
    session: Session, message_ids: Collection[int], lines: "_Lines"
) -> dict[int, LedgerAcknowledgement]:
    """The acknowledgements by message."""
    rows = acknowledgements.of_messages(session, message_ids)
    escalations = _MESSAGES.where(col(OutboxMessage.follows_id).in_(sorted(rows))).order_by(col(OutboxMessage.id))
    steps: dict[int, list[LedgerLine]] = {number: [] for number in rows}
    for post, queue in session.execute(escalations):
        steps[post.follows_id or 0].append(lines.of(post, queue))
    return {
        number: LedgerAcknowledgement(AckState(row.state), row.taken_by, row.taken_at, tuple(steps[number]))
        for number, row in rows.items()
    }


class _Lines:
    """The lines of a trace, by its messages."""

    def __init__(self, session: Session, posts: Sequence[OutboxMessage], now: datetime) -> None:
        self._now = now
        self._holds = pace.reasons_of_holds(session, now)
        self._people = watches.people_of(session, {post.channel_id for post in posts})
        self._targets = _targets(session, posts)

    def of(self, post: OutboxMessage, queue: ChannelQueue | None, said: SaidRow | None = None) -> LedgerLine:
        """The line of the message's event, or of an event shown beside. A folded message has the target's outcome."""
        bearer = post
        while bearer.state == MessageState.FOLDED and bearer.folded_into in self._targets:
            bearer = self._targets[bearer.folded_into]
        outcome, why = outcome_of(bearer, queue, self._holds, self._now)
        sent_at, attempts = bearer.sent_at, bearer.attempts
        is_due = said is not None and post.state == MessageState.SENT and said.rev > post.sent_rev
        if said is not None and (said.said_at or is_due):
            by_edit, within = True, False
            outcome = LedgerOutcome.SENT if said.said_at else LedgerOutcome.WAITING
            why = _why_waiting(post, queue, self._holds) if is_due else None
            sent_at, attempts = said.said_at, post.edit_attempts if is_due else 1
        else:
            by_edit = bool(said and said.rev) and bearer is post and outcome is not LedgerOutcome.SENT
            within = bearer is not post or (said is not None and not by_edit)
        return LedgerLine(
            channel_id=post.channel_id,
            outcome=LedgerOutcome.FOLDED if within and outcome is LedgerOutcome.SENT else outcome,
            attempts=attempts,
            received_at=post.received_at,
            sent_at=sent_at,
            message_ts=bearer.message_ts,
            why=why,
            muted_by=bearer.muted_by,
            by_edit=by_edit,
            within=within,
            is_held=outcome is LedgerOutcome.WAITING and queue is not None and queue.state in WAITING_STATES,
            person_id=self._people.get(post.channel_id),
        )


def _targets(session: Session, posts: Sequence[OutboxMessage]) -> dict[int | None, OutboxMessage]:
    """The messages folded into, step by step."""
    found: dict[int | None, OutboxMessage] = {}
    missing = {post.folded_into for post in posts if post.folded_into}
    while missing:
        rows = session.execute(select(OutboxMessage).where(col(OutboxMessage.id).in_(sorted(missing)))).scalars().all()
        found |= {row.id: row for row in rows}
        missing = {row.folded_into for row in rows if row.folded_into and row.folded_into not in found}
    return found


def outcome_of(
    post: OutboxMessage, queue: ChannelQueue | None, holds: dict[str, str], now: datetime
) -> tuple[LedgerOutcome, str | None]:
    match post.state:
        case MessageState.SENT:
            return LedgerOutcome.SENT, None
        case MessageState.DEAD_LETTER:
            return LedgerOutcome.DEAD_LETTER, post.detail or post.reason
        case MessageState.MUTED:
            return LedgerOutcome.MUTED, None
        case MessageState.IN_DOUBT:
            return LedgerOutcome.IN_DOUBT, post.detail or NO_ANSWER
        case MessageState.SENDING if post.deadline_at is not None and post.deadline_at <= now:
            # No outcome was recorded.
            return LedgerOutcome.IN_DOUBT, post.detail or NO_ANSWER
        case MessageState.SENDING:
            return LedgerOutcome.SENDING, post.detail
        case _:
            return LedgerOutcome.WAITING, _why_waiting(post, queue, holds)


def _why_waiting(post: OutboxMessage, queue: ChannelQueue | None, holds: dict[str, str]) -> str:
    if post.not_before is not None:
        return f"the channel asked for it at {post.not_before:%Y-%m-%d %H:%M} UTC"
    if queue is not None and queue.state == QueueState.PAUSED:
        return "the channel is paused"
    if queue is not None and queue.state == QueueState.CLOSED:
        return queue.state_reason or "the channel is closed"
    call = Call.EDIT if post.state == MessageState.SENT else Call.POST
    for held in (pace.EVERY_CALL, call):
        if held in holds:
            return holds[held]
    return post.detail or "its turn has not come"


def _version(
    row: EventVersion, told: Sequence[LedgerLine], here: str | None, filters: Sequence[ChannelFilter]
) -> TracedVersion:
    order = {outcome: place for place, outcome in enumerate(LedgerOutcome)}
    event, remarks = event_store.known(row)
    lines = tuple(sorted(told, key=lambda one: (order[one.outcome], one.channel_id)))
    is_untold = row.kind != drill_mark.KIND and all(one.channel_id != here for one in told)
    why = left_out(filters, event) if is_untold else {}
    return TracedVersion(row, lines, event.race, remarks.contradicts, why, event.is_taken_back, event.in_doubt)


_IS_SENT_EVENT = (IS_SENT, col(OutboxMessage.kind) == literal_column("'event'"))
"""In the words of the index."""


@dataclass(frozen=True)
class Sent:
    """Percentiles of the seconds from receipt, or from the hour that the channel chose, to Slack's answer."""

    posts: int
    p50_s: float | None = None
    p95_s: float | None = None


@dataclass(frozen=True)
class WaitingChannel:
    """`since` and `why` are of the first message."""

    channel_id: str
    count: int
    since: datetime
    outcome: LedgerOutcome
    why: str | None


def sent_since(session: Session, since: datetime) -> Sent:
    """Messages about events, without edits, notices, summaries and drills."""
    is_drill = exists().where(
        col(EventVersion.id) == col(OutboxMessage.event_id), col(EventVersion.kind) == drill_mark.KIND
    )
    sent = select(col(OutboxMessage.sent_at), COUNTS_FROM).where(
        *_IS_SENT_EVENT, col(OutboxMessage.sent_at) >= since, ~is_drill
    )
    took_s = sorted(max(0.0, (sent_at - due_at).total_seconds()) for sent_at, due_at in session.execute(sent))
    # The nearest rank: the time of a real post.
    p50_s, p95_s = (took_s[math.ceil(share * len(took_s)) - 1] if took_s else None for share in (0.5, 0.95))
    return Sent(len(took_s), p50_s, p95_s)


def waiting(
    session: Session, now: datetime, *, at_most: int, channel_id: str | None = None
) -> tuple[int, Sequence[WaitingChannel]]:
    row = OutboxMessage
    here = [] if channel_id is None else [col(row.channel_id) == channel_id]
    counts = (
        select(col(row.channel_id), func.count().label("number"), func.min(col(row.id)).label("first_id"))
        .where(IS_UNSENT, *here)
        .group_by(col(row.channel_id))
    )
    found = {number: (count, first) for number, count, first in session.execute(counts)}
    most = sorted(found, key=lambda one: (-found[one][0], one))[:at_most]
    holds = pace.reasons_of_holds(session, now)
    firsts = _MESSAGES.where(col(row.id).in_([found[one][1] for one in most]))
    shown = {
        post.channel_id: WaitingChannel(
            post.channel_id,
            found[post.channel_id][0],
            post.received_at,
            *outcome_of(post, queue, holds, now),
        )
        for post, queue in session.execute(firsts)
    }
    return sum(count for count, _ in found.values()), [shown[one] for one in most if one in shown]
