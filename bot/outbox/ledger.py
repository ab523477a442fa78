"""The ledger, for `/racing trace`: who was told of an event, when, or why not. Only reads."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Select, or_, select
from sqlmodel import Session, col

from bot.channels import subscriptions, watches
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
from bot.outbox import acknowledgements, call_holds
from bot.outbox.messenger import Call
from bot.outbox.states import WAITING_STATES

VERSIONS_TRACED = 40
"""A meeting's id can name a whole day's card."""

NO_ANSWER = "Slack has not confirmed the message"

FOLD_DEPTH_MAX = 4
"""From a race's message to the meeting's message, and to a summary."""


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
    """What became of an event in one channel.

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
    """`posts`: the number of channels told, whoever asks. `race` may stand for a meeting.

    `contradicts`: the kind of an earlier event that cannot be true beside this version.
    """

    event_key: str
    version: int
    kind: str | None
    race_id: str | None
    received_at: datetime
    inbox_id: int
    posts: int
    told: tuple[LedgerLine, ...]
    race: Race | None = None
    contradicts: EventKind | None = None


@dataclass(frozen=True)
class TracedDelivery:
    """A delivery without a version: waiting, failing, or without news."""

    inbox_id: int
    event_key: str
    received_at: datetime
    waits: bool
    attempts: int
    not_before: datetime | None
    error: str | None


@dataclass(frozen=True)
class Trace:
    """`kept_since`: the first stored delivery. `untold`: channels with a subscription that no version was told in."""

    versions: tuple[TracedVersion, ...]
    deliveries: tuple[TracedDelivery, ...]
    more: int
    kept_since: datetime | None
    untold: tuple[str, ...] = ()


def trace(
    session: Session, wanted: str, now: datetime, *, channel_id: str | None = None, also: Collection[str] = ()
) -> Trace:
    """By a race id, a meeting id, an event key or a delivery's reference, letter by letter. `also`: more event keys."""
    keys = _event_keys(session, wanted) | set(also)
    rows = session.execute(
        select(EventVersion)
        .where(col(EventVersion.event_key).in_(keys))
        .order_by(col(EventVersion.received_at), col(EventVersion.id))
    )
    versions = list(rows.scalars())
    shown = versions[-VERSIONS_TRACED:]
    told = _told(session, [row.id or 0 for row in shown], now, channel_id)
    return Trace(
        untold=_untold(session, shown, told) if channel_id is None else (),
        versions=tuple(_version(row, told.get(row.id or 0, [])) for row in shown),
        deliveries=_other_deliveries(session, keys, {row.inbox_id for row in versions}),
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
    if prefix == "inbox" and number.isascii() and number.isdecimal() and len(number) < 19:
        keys |= set(_column(session, select(col(InboxDelivery.event_key)).where(col(InboxDelivery.id) == int(number))))
    named = col(EventVersion.race_id) == wanted
    keys |= set(
        _column(session, select(col(EventVersion.event_key)).where(or_(named, col(EventVersion.meeting_id) == wanted)))
    )
    keys |= set(_column(session, select(col(NamedRace.event_key)).where(col(NamedRace.race_id) == wanted)))
    meetings = select(col(EventVersion.meeting_id)).where(named, col(EventVersion.meeting_id).is_not(None))
    of_its_meeting = select(col(EventVersion.event_key)).where(
        col(EventVersion.meeting_id).in_(meetings), col(EventVersion.kind) == EventKind.MEETING_ABANDONED
    )
    return keys | set(_column(session, of_its_meeting))


def _other_deliveries(session: Session, keys: Collection[str], known: Collection[int]) -> tuple[TracedDelivery, ...]:
    statement = (
        select(InboxDelivery).where(col(InboxDelivery.event_key).in_(keys)).order_by(col(InboxDelivery.id).desc())
    ).limit(VERSIONS_TRACED)
    return tuple(
        TracedDelivery(
            inbox_id=row.id or 0,
            event_key=row.event_key,
            received_at=row.received_at,
            waits=row.state == InboxState.NEW,
            attempts=row.attempts,
            not_before=row.not_before,
            error=row.error,
        )
        for row in session.execute(statement).scalars()
        if row.id not in known
    )[::-1]


def _told(
    session: Session, event_ids: Sequence[int], now: datetime, channel_id: str | None
) -> dict[int, list[LedgerLine]]:
    of = (col(OutboxMessage.channel_id) == channel_id,) if channel_id is not None else ()
    statement = select(OutboxMessage, ChannelQueue).outerjoin(
        ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id)
    )
    own = session.execute(statement.where(col(OutboxMessage.event_id).in_(event_ids), *of))
    rows = [(post, queue) for post, queue in own]
    beside = session.execute(
        statement.add_columns(SaidRow)
        .join(SaidRow, col(SaidRow.message_id) == col(OutboxMessage.id))
        .where(col(SaidRow.event_id).in_(event_ids), *of)
    )
    shown = [(post, queue, said) for post, queue, said in beside]
    posts = [post for post, _ in rows] + [post for post, _, _ in shown]
    targets = _targets(session, posts)
    holds = call_holds.reasons_of_holds(session, now)
    asked = _acknowledgements(session, [post for post, _ in rows], holds, now)
    people = watches.people_of(session, {post.channel_id for post in posts})
    told: dict[int, list[LedgerLine]] = {}
    for post, queue in rows:
        line = replace(_told_of(post, queue, targets, holds, now), person_id=people.get(post.channel_id))
        told.setdefault(post.event_id or 0, []).append(replace(line, acknowledgement=asked.get(post.id or 0)))
    for post, queue, said in shown:
        line = _shown_by(said, post, queue, holds) or _shown_with(said, _told_of(post, queue, targets, holds, now))
        told.setdefault(said.event_id, []).append(replace(line, person_id=people.get(post.channel_id)))
    return told


def _shown_by(
    said: SaidRow, post: OutboxMessage, queue: ChannelQueue | None, holds: dict[str, str]
) -> LedgerLine | None:
    """What became of the edit; None without an edit."""
    is_due = post.state == MessageState.SENT and said.rev > post.sent_rev
    if said.said_at is None and not is_due:
        return None
    return LedgerLine(
        channel_id=post.channel_id,
        outcome=LedgerOutcome.SENT if said.said_at else LedgerOutcome.WAITING,
        attempts=post.edit_attempts if is_due else 1,
        received_at=post.received_at,
        sent_at=said.said_at,
        message_ts=post.message_ts,
        why=_why_waiting(post, queue, holds) if is_due else None,
        by_edit=True,
        is_held=is_due and queue is not None and queue.state in WAITING_STATES,
    )


def _shown_with(said: SaidRow, line: LedgerLine) -> LedgerLine:
    """The event has the outcome of the message."""
    if said.rev and line.outcome is not LedgerOutcome.SENT and not line.within:
        return replace(line, by_edit=True)
    outcome = LedgerOutcome.FOLDED if line.outcome is LedgerOutcome.SENT else line.outcome
    return replace(line, within=True, outcome=outcome)


def _acknowledgements(
    session: Session, posts: Sequence[OutboxMessage], holds: dict[str, str], now: datetime
) -> dict[int, LedgerAcknowledgement]:
    """By message."""
    rows = acknowledgements.of_messages(session, [post.id or 0 for post in posts])
    escalations = (
        select(OutboxMessage, ChannelQueue)
        .outerjoin(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(col(OutboxMessage.follows_id).in_(sorted(rows)))
        .order_by(col(OutboxMessage.id))
    )
    steps: dict[int, list[LedgerLine]] = {number: [] for number in rows}
    for post, queue in session.execute(escalations):
        steps[post.follows_id or 0].append(_told_of(post, queue, {}, holds, now))
    return {
        number: LedgerAcknowledgement(AckState(row.state), row.taken_by, row.taken_at, tuple(steps[number]))
        for number, row in rows.items()
    }


def _targets(session: Session, posts: Sequence[OutboxMessage]) -> dict[int, OutboxMessage]:
    """The messages folded into, step by step."""
    found: dict[int, OutboxMessage] = {}
    for _ in range(FOLD_DEPTH_MAX):
        wanted = {post.folded_into for post in [*posts, *found.values()] if post.state == MessageState.FOLDED}
        missing = sorted(number for number in wanted if number and number not in found)
        if not missing:
            break
        found |= {
            row.id or 0: row
            for row in session.execute(select(OutboxMessage).where(col(OutboxMessage.id).in_(missing))).scalars()
        }
    return found


def _told_of(
    post: OutboxMessage,
    queue: ChannelQueue | None,
    targets: dict[int, OutboxMessage],
    holds: dict[str, str],
    now: datetime,
) -> LedgerLine:
    """A folded message has the outcome of the message folded into."""
    bearer = _bearer(post, targets)
    outcome, why = outcome_of(bearer, queue, holds, now)
    if bearer is not post and outcome is LedgerOutcome.SENT:
        outcome = LedgerOutcome.FOLDED
    return LedgerLine(
        channel_id=post.channel_id,
        outcome=outcome,
        attempts=bearer.attempts,
        received_at=post.received_at,
        sent_at=bearer.sent_at,
        message_ts=bearer.message_ts,
        why=why,
        muted_by=bearer.muted_by,
        within=bearer is not post,
        is_held=outcome is LedgerOutcome.WAITING and queue is not None and queue.state in WAITING_STATES,
    )


def _bearer(post: OutboxMessage, targets: dict[int, OutboxMessage]) -> OutboxMessage:
    for _ in range(FOLD_DEPTH_MAX):
        if post.state != MessageState.FOLDED or post.folded_into not in targets:
            break
        post = targets[post.folded_into]
    return post


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
    for held in (call_holds.EVERY_CALL, call):
        if held in holds:
            return holds[held]
    return post.detail or "its turn has not come"


def _version(row: EventVersion, told: Sequence[LedgerLine]) -> TracedVersion:
    order = {outcome: place for place, outcome in enumerate(LedgerOutcome)}
    event, remarks = event_store.known(row)
    return TracedVersion(
        event_key=row.event_key,
        version=row.version,
        kind=row.kind,
        race_id=row.race_id,
        received_at=row.received_at,
        inbox_id=row.inbox_id,
        posts=row.posts,
        told=tuple(sorted(told, key=lambda one: (order[one.outcome], one.channel_id))),
        race=event.race,
        contradicts=remarks.contradicts,
    )


def _column(session: Session, statement: Select[str]) -> Iterator[str]:
    """Without nulls."""
    return (value for value in session.execute(statement).scalars() if value is not None)
