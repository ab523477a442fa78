"""The ledger: of each event who was told, when and where, or why not; for `/racing trace`. It only reads."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Select, or_, select
from sqlmodel import Session, col

from bot.db.tables import (
    ChannelQueue,
    EventVersion,
    InboxDelivery,
    InboxState,
    MessageState,
    NamedRace,
    OutboxMessage,
    QueueState,
)
from bot.deliveries import inbox
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.outbox import channel_queues, method_holds

EVENTS_MAX = 40
"""Versions of events that are looked up at most: a meeting's id can name every race of a day's card."""

NO_WORD = "Slack has not said whether it has it"

HELD = (QueueState.PAUSED, QueueState.CLOSED)

FOLDS = 4
"""A fold can lead to another: a race's message to its meeting's, and that to a summary."""


class Outcome(StrEnum):
    """What became of a post, those first that their channel has not seen."""

    PARKED = "not posted"
    WAITING = "waiting"
    DOUBTFUL = "being settled"
    SENDING = "being posted"
    MUTED = "muted"
    FOLDED = "said by another message"
    SENT = "posted"


@dataclass(frozen=True)
class Told:
    """What became of an event in one channel. `why` where it was not posted; `message_ts` where it stands.

    `muted_by`: who muted its meeting there. `by_edit`: an earlier message was edited. `within`: another message says
    it, whose outcome this is. `is_held`: the message waits in a channel that is paused or closed.
    """

    channel_id: str
    outcome: Outcome
    attempts: int
    received_at: datetime
    sent_at: datetime | None = None
    message_ts: str | None = None
    why: str | None = None
    muted_by: str | None = None
    by_edit: bool = False
    within: bool = False
    is_held: bool = False


@dataclass(frozen=True)
class TracedVersion:
    """One version of an event; `posts` is to how many channels it went, whoever asks.

    `race` is the race of the event, or the meeting's as a race.
    """

    event_key: str
    version: int
    kind: str | None
    race_id: str | None
    received_at: datetime
    inbox_id: int
    posts: int
    told: tuple[Told, ...]
    race: Race | None = None


@dataclass(frozen=True)
class TracedDelivery:
    """A delivery that made no version of an event: it waits for its fan-out, fails there, or said nothing new."""

    inbox_id: int
    event_key: str
    received_at: datetime
    waits: bool
    attempts: int
    not_before: datetime | None
    error: str | None


@dataclass(frozen=True)
class Trace:
    """All that is known of what was asked for. `kept_since`: the first delivery that there is at all."""

    versions: tuple[TracedVersion, ...]
    deliveries: tuple[TracedDelivery, ...]
    more: int
    kept_since: datetime | None


def trace(session: Session, wanted: str, now: datetime, *, channel_id: str | None = None) -> Trace:
    """What came of a race's id, a meeting's id, an event's key or a delivery's reference, each exactly as it is.

    With a channel only what became of it there.
    """
    keys = _event_keys(session, wanted)
    rows = session.execute(
        select(EventVersion)
        .where(col(EventVersion.event_key).in_(keys))
        .order_by(col(EventVersion.received_at), col(EventVersion.id))
    )
    versions = list(rows.scalars())
    shown = versions[-EVENTS_MAX:]
    told = _told(session, [row.id or 0 for row in shown], now, channel_id)
    return Trace(
        versions=tuple(_version(row, told.get(row.id or 0, [])) for row in shown),
        deliveries=_other_deliveries(session, keys, {row.inbox_id for row in versions}),
        more=len(versions) - len(shown),
        kept_since=inbox.first_received_at(session),
    )


def _event_keys(session: Session, wanted: str) -> set[str]:
    """The events that are meant: by their own name, their delivery's, their race's or their meeting's."""
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
    ).limit(EVENTS_MAX)
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


def _told(session: Session, event_ids: Sequence[int], now: datetime, channel_id: str | None) -> dict[int, list[Told]]:
    """By event, what became of each of its posts."""
    statement = (
        select(OutboxMessage, ChannelQueue)
        .outerjoin(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .where(col(OutboxMessage.event_id).in_(event_ids))
    )
    if channel_id is not None:
        statement = statement.where(col(OutboxMessage.channel_id) == channel_id)
    rows = [(post, lane) for post, lane in session.execute(statement)]
    targets = _targets(session, [post for post, _ in rows])
    holds = method_holds.method_holds(session, now)
    told: dict[int, list[Told]] = {}
    for post, lane in rows:
        told.setdefault(post.event_id or 0, []).append(_one(post, lane, targets, holds, now))
    return told


def _targets(session: Session, posts: Sequence[OutboxMessage]) -> dict[int, OutboxMessage]:
    """The messages that folded posts are said by, and those that say these in turn."""
    found: dict[int, OutboxMessage] = {}
    for _ in range(FOLDS):
        wanted = {post.folded_into for post in [*posts, *found.values()] if post.state == MessageState.FOLDED}
        missing = sorted(number for number in wanted if number and number not in found)
        if not missing:
            break
        found |= {
            row.id or 0: row
            for row in session.execute(select(OutboxMessage).where(col(OutboxMessage.id).in_(missing))).scalars()
        }
    return found


def _one(
    post: OutboxMessage,
    lane: ChannelQueue | None,
    targets: dict[int, OutboxMessage],
    holds: dict[str, str],
    now: datetime,
) -> Told:
    """What became of a post; of a folded one, what became of the message that says it."""
    bearer = _bearer(post, targets)
    outcome, why = outcome_of(bearer, lane, holds, now)
    if bearer is not post and outcome is Outcome.SENT:
        outcome = Outcome.FOLDED
    return Told(
        channel_id=post.channel_id,
        outcome=outcome,
        attempts=bearer.attempts,
        received_at=post.received_at,
        sent_at=bearer.sent_at,
        message_ts=bearer.message_ts,
        why=why,
        muted_by=bearer.muted_by,
        by_edit=bearer.edits_id is not None,
        within=bearer is not post,
        is_held=outcome is Outcome.WAITING and lane is not None and lane.state in HELD,
    )


def _bearer(post: OutboxMessage, targets: dict[int, OutboxMessage]) -> OutboxMessage:
    """The post itself, or the message that says it."""
    for _ in range(FOLDS):
        if post.state != MessageState.FOLDED or post.folded_into not in targets:
            break
        post = targets[post.folded_into]
    return post


def outcome_of(
    post: OutboxMessage, lane: ChannelQueue | None, holds: dict[str, str], now: datetime
) -> tuple[Outcome, str | None]:
    """What became of a message by itself, and why it is not posted where it isn't."""
    match post.state:
        case MessageState.SENT:
            return Outcome.SENT, None
        case MessageState.DEAD_LETTER:
            return Outcome.PARKED, post.detail or post.reason
        case MessageState.MUTED:
            return Outcome.MUTED, None
        case MessageState.IN_DOUBT:
            return Outcome.DOUBTFUL, post.detail or NO_WORD
        case MessageState.SENDING if post.deadline_at is not None and post.deadline_at <= now:
            # Whoever was sending it has not written down what became of it.
            return Outcome.DOUBTFUL, post.detail or NO_WORD
        case MessageState.SENDING:
            return Outcome.SENDING, post.detail
        case _:
            return Outcome.WAITING, _why_waiting(post, lane, holds)


def _why_waiting(post: OutboxMessage, lane: ChannelQueue | None, holds: dict[str, str]) -> str:
    if lane is not None and lane.state == QueueState.PAUSED:
        return "the channel is paused"
    if lane is not None and lane.state == QueueState.CLOSED:
        return lane.state_reason or "the channel is closed"
    method = channel_queues.POST_METHOD if post.edits_id is None else channel_queues.EDIT_METHOD
    for held in (method_holds.EVERY_METHOD, method):
        if held in holds:
            return holds[held]
    return post.detail or "its turn has not come"


def _version(row: EventVersion, told: Sequence[Told]) -> TracedVersion:
    order = {outcome: place for place, outcome in enumerate(Outcome)}
    return TracedVersion(
        event_key=row.event_key,
        version=row.version,
        kind=row.kind,
        race_id=row.race_id,
        received_at=row.received_at,
        inbox_id=row.inbox_id,
        posts=row.posts,
        told=tuple(sorted(told, key=lambda one: (order[one.outcome], one.channel_id))),
        race=RacingEvent.model_validate_json(row.data).race,
    )


def _column(session: Session, statement: Select[str]) -> Iterator[str]:
    """The values of a statement's one column, those that are null left out."""
    return (value for value in session.execute(statement).scalars() if value is not None)
