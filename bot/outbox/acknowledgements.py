"""Abandonments that a channel wants acknowledged: who has taken an abandonment, and the messages that name the person.

A row belongs to the message with the button, and is made in the message's transaction. bot.outbox.escalations tells
more people while nobody has taken the abandonment.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, and_, bindparam, func, or_, select, update
from sqlmodel import Session, col

from bot.channels.filters import AckRequest
from bot.db.engine import affected, is_one_of
from bot.db.named_values import parsed
from bot.db.tables import Acknowledgement, AckState, EventVersion, MessageKind, OutboxMessage
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.races import Value
from bot.outbox import message_store, message_view
from bot.outbox.message_view import MessageView
from bot.outbox.states import write
from bot.outbox.telling_store import Bump, bump
from bot.racedata import day_views

OPEN = (AckState.ASKED, AckState.REMINDED)
"""Nobody has taken the abandonment, and a step is left. As in the index."""

NOT_TAKEN = (*OPEN, AckState.UNANSWERED)

MINUTE = timedelta(minutes=1)

UNTAKEN_NAMED = 3


class StoredRequest(AckRequest):
    """The request in a row.

    `moved_to`: the message that took the place of the row's message, and asks on. `given_back_at`: when the last person
    gave the abandonment back. The time to the next step counts from then.
    """

    moved_to: int | None = None
    given_back_at: datetime | None = None


class Escalated(Value):
    """The content of an escalation's message. `people` are mentioned while nobody has taken the abandonment.

    `minutes`: nobody had taken the abandonment for so long.
    """

    people: tuple[str, ...] = ()
    minutes: int


@dataclass(frozen=True)
class Escalation:
    """`post`: the escalation's message. `alert`: the message with the button, and the acknowledgement.

    `minutes`: from the message with the button to the escalation. `is_replaced`: a newer message of the channel asks.
    """

    post: OutboxMessage
    alert: MessageView
    people: tuple[str, ...]
    minutes: int
    is_replaced: bool


@dataclass(frozen=True)
class Untaken:
    """`first`: at most UNTAKEN_NAMED of the `count` abandonments, the earliest told first.

    `partly_run`: see `Press`.
    """

    count: int = 0
    first: tuple[RacingEvent, ...] = ()
    partly_run: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Press:
    """`is_news`: by this press. `by` None: a newer message of the channel asks instead.

    `partly_run`: keys of abandoned meetings with a race that was run.
    """

    channel_id: str
    by: str | None
    at: datetime | None
    is_news: bool
    event: RacingEvent
    partly_run: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PersonsAbandonment:
    """`taken_at`: since when the person has the abandonment. None: the person was told, and nobody has the abandonment.

    `partly_run`: see `Press`.
    """

    event: RacingEvent
    channel_id: str
    taken_at: datetime | None
    partly_run: frozenset[str] = frozenset()


def take(session: Session, key: str, user_id: str, now: datetime) -> Press | None:
    """Somebody pressed the button of the message with this key. None for an unknown message."""

    def taken(row: Acknowledgement) -> bool:
        return move(session, [row.message_id], NOT_TAKEN, state=AckState.TAKEN, taken_by=user_id, taken_at=now)

    return _pressed(session, key, taken, now)


def give_back(session: Session, key: str, user_id: str, now: datetime) -> Press | None:
    """The person has the abandonment no more, and the remaining steps go on.

    None for an unknown message. `is_news` is False if somebody else, or nobody, has the abandonment.
    """

    def given_back(row: Acknowledgement) -> bool:
        asked = asked_of(row)
        if row.state != AckState.TAKEN or row.taken_by != user_id or asked is None:
            return False
        before, again = _state_before(session, row, asked), asked.model_copy(update={"given_back_at": now})
        written = {"taken_by": None, "taken_at": None, "asked": again.model_dump_json()}
        return move(session, [row.message_id], (AckState.TAKEN,), state=before, **written)

    return _pressed(session, key, given_back, now)


def _pressed(session: Session, key: str, change: Callable[[Acknowledgement], bool], now: datetime) -> Press | None:
    """A press on an earlier message counts for the later message in the same place. `change`: True for news."""
    locked = ALERTS.with_for_update(of=Acknowledgement).execution_options(populate_existing=True)
    press, which = None, col(OutboxMessage.idempotency_key) == key
    while (found := session.execute(locked.where(which)).first()) is not None:
        row, alert, version = found
        if is_news := change(row):
            session.refresh(row)
            # The escalations show who has the abandonment too.
            shown = [row.message_id, *session.execute(_following([row.message_id])).scalars()]
            bump(session, {one: Bump(now, passes_pause=True) for one in shown})
        event, _ = event_store.known(version)
        partly_run = day_views.partly_run(session, [event])
        press = Press(alert.channel_id, row.taken_by, row.taken_at, is_news, event, partly_run)
        asked = asked_of(row)
        if row.state != AckState.REPLACED or asked is None or asked.moved_to is None:
            break
        which = col(Acknowledgement.message_id) == asked.moved_to
    return press


ALERTS = (
    select(Acknowledgement, OutboxMessage, EventVersion)
    .select_from(Acknowledgement)
    .join(OutboxMessage, col(OutboxMessage.id) == col(Acknowledgement.message_id))
    .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
)
"""Each acknowledgement, with the message that asks and the version of the abandonment."""
_THESE = col(Acknowledgement.message_id).in_(bindparam("messages", expanding=True))
_OF_MESSAGES = select(Acknowledgement).where(_THESE)
_LOCK = (
    select(col(Acknowledgement.message_id)).where(_THESE).order_by(col(Acknowledgement.message_id)).with_for_update()
)


def _state_before(session: Session, row: Acknowledgement, asked: StoredRequest) -> AckState:
    if row.stepped_at is None:
        return AckState.ASKED
    alert = session.get_one(OutboxMessage, row.message_id)
    elsewhere = [channel_id for channel_id in asked.channels if channel_id != alert.channel_id]
    told = set(session.execute(_following([row.message_id], col(OutboxMessage.channel_id))).scalars())
    return AckState.UNANSWERED if told.issuperset(elsewhere) else AckState.REMINDED


def end(session: Session, message_ids: Collection[int]) -> None:
    """Newer messages of the channels ask instead."""
    if message_ids:
        move(session, message_ids, NOT_TAKEN, state=AckState.REPLACED)


def lock(session: Session, message_ids: Collection[int]) -> None:
    """Lock the acknowledgements of the messages: after queues and before messages, as a press of the button does."""
    session.execute(_LOCK, {"messages": sorted(message_ids)})


def ask_instead(session: Session, message_id: int, instead_of: int, now: datetime) -> None:
    """The message asks on in the place of an earlier message that Slack does not show or edit.

    Whoever has the abandonment keeps the abandonment, and nobody is told a second time. Escalations show the new
    message.
    """
    row = session.get(Acknowledgement, instead_of, with_for_update=True, populate_existing=True)
    asked = asked_of(row) if row is not None else None
    if row is None or asked is None or row.state == AckState.REPLACED:
        return
    session.add(Acknowledgement(**{**row.model_dump(), "message_id": message_id}))
    session.flush()
    moved = asked.model_copy(update={"moved_to": message_id}).model_dump_json()
    had = (*NOT_TAKEN, AckState.TAKEN)
    move(session, [instead_of], had, state=AckState.REPLACED, taken_by=None, taken_at=None, asked=moved)
    bump(session, {number: Bump(now) for number in session.execute(_following([instead_of])).scalars()})
    write(session, col(OutboxMessage.follows_id) == instead_of, follows_id=message_id)


def follow(session: Session, edits: Mapping[int, Bump]) -> dict[int, Bump]:
    """The edits of the escalations, after `edits` of the messages with the button."""
    if not edits:
        return {}
    told = session.execute(_following(edits).add_columns(col(OutboxMessage.follows_id)))
    return {number: Bump(edits[alert].at) for number, alert in told}


def of_messages(session: Session, message_ids: Collection[int]) -> dict[int, Acknowledgement]:
    if not message_ids:
        return {}
    found = session.execute(_OF_MESSAGES, {"messages": sorted(message_ids)}).scalars()
    return {row.message_id: row for row in found}


def untaken(session: Session, since: datetime, channel_id: str | None = None) -> Untaken:
    """Abandonments posted since then, asked about and taken by nobody: in all channels or in the given channel."""
    key, sent_at = col(EventVersion.event_key), col(OutboxMessage.sent_at)
    here = [] if channel_id is None else [col(OutboxMessage.channel_id) == channel_id]
    untaken = ALERTS.where(is_one_of(Acknowledgement.state, NOT_TAKEN), sent_at >= since, *here).with_only_columns(key)
    keys = session.execute(untaken.group_by(key).order_by(func.min(sent_at), key)).scalars().all()
    newest = select(EventVersion).where(key.in_(keys[:UNTAKEN_NAMED])).order_by(col(EventVersion.version))
    events = {row.event_key: event_store.known(row)[0] for row in session.execute(newest).scalars()}
    first = tuple(events[one] for one in keys[:UNTAKEN_NAMED])
    return Untaken(len(keys), first, day_views.partly_run(session, first))


def of_person(session: Session, user_id: str, since: datetime, limit: int) -> list[PersonsAbandonment]:
    """The person's abandonments since then, and abandonments told to the person and taken by nobody. Newest first."""
    told = and_(
        is_one_of(Acknowledgement.state, NOT_TAKEN),
        col(Acknowledgement.stepped_at) >= since,
        col(Acknowledgement.asked).contains(json.dumps(user_id), autoescape=True),
    )
    taken = and_(col(Acknowledgement.taken_by) == user_id, col(Acknowledgement.taken_at) >= since)
    newest = ALERTS.where(or_(taken, told)).order_by(col(Acknowledgement.message_id).desc()).limit(limit)
    rows = session.execute(newest)
    found = [(event_store.known(version)[0], alert.channel_id, row.taken_at) for row, alert, version in rows]
    partly_run = day_views.partly_run(session, [event for event, _, _ in found])
    return [PersonsAbandonment(*one, partly_run) for one in found]


def read(session: Session, posts: Sequence[OutboxMessage]) -> dict[int, Escalation]:
    """The escalations by message."""
    if not posts:
        return {}
    said = {post.id: parsed(Escalated, post.content, post=post.idempotency_key) for post in posts}
    wanted = sorted({post.follows_id for post in posts if post.follows_id})
    alerts = session.execute(ALERTS.where(_THESE), {"messages": wanted}).all()
    states = {row.message_id: row.state for row, _, _ in alerts}
    views = message_view.views_of(session, [(alert, version) for _, alert, version in alerts])
    return {
        post.id: Escalation(post, views[alert], one.people, one.minutes, is_replaced=states[alert] == AckState.REPLACED)
        for post in posts
        if (one := said.get(post.id)) and (alert := post.follows_id or 0) in views
    }


def waiting_in(session: Session, channel_id: str) -> list[str]:
    """The channels whose escalations wait to be posted in this channel."""
    waiting = select(col(OutboxMessage.follows_id)).where(
        col(OutboxMessage.channel_id) == channel_id,
        message_store.IS_UNSENT,
        col(OutboxMessage.kind) == MessageKind.ESCALATION,
    )
    channels = select(col(OutboxMessage.channel_id)).where(col(OutboxMessage.id).in_(waiting)).distinct()
    return sorted(session.execute(channels).scalars())


def asked_of(row: Acknowledgement) -> StoredRequest | None:
    """None if unreadable: the button works all the same."""
    try:
        return StoredRequest.model_validate_json(row.asked)
    except ValueError:
        return None


def _following(alerts: Iterable[int], column: Any = OutboxMessage.id) -> Select[Any]:
    """The alerts' escalations."""
    return select(col(column)).where(col(OutboxMessage.follows_id).in_(sorted(alerts)))


def move(session: Session, message_ids: Collection[int], origins: Collection[AckState], **written: Any) -> bool:
    """True if a row was in a state of `origins`. The second of two writers at the same time gets False."""
    these = col(Acknowledgement.message_id).in_(sorted(message_ids))
    moved = update(Acknowledgement).where(these, is_one_of(Acknowledgement.state, origins))
    return affected(session, moved.values(**written).execution_options(synchronize_session=False)) > 0
