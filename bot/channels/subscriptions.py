"""Channels' subscriptions. Each change takes the channel's lock (bot.channels.channel_lock)."""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from sqlalchemy import ColumnElement, Select, bindparam, delete, literal_column, or_, select, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels import channel_lock, pauses
from bot.channels.filters import ALL_REGIONS, ChannelFilter, meaningful
from bot.db.engine import affected, table_of
from bot.db.named_values import parsed
from bot.db.tables import ChannelSubscriptionRow, EventVersion, MessageKind, OutboxMessage, SubscriptionState
from bot.events import event_store
from bot.events.event import DEFAULT_TOPICS

CLOSED_STATES = (SubscriptionState.WAITING, SubscriptionState.SUSPENDED)
"""States that end when the bot is in the channel."""

Selected = TypeVar("Selected")


class UnreadFilter(ChannelFilter):
    """Stands for a stored filter that can't be read."""


_ROW = table_of(ChannelSubscriptionRow).c

SENT_LITERAL: ColumnElement[str] = literal_column("'sent'")
"""In the words of the index: otherwise SQLite does not use an index over some states only."""

EVENTS_SEARCHED = 200
"""Events told to a channel among which `last_posts` looks."""


_OF_CHANNEL = (
    select(ChannelSubscriptionRow)
    .where(col(ChannelSubscriptionRow.channel_id) == bindparam("channel"))
    .order_by(col(ChannelSubscriptionRow.region))
)


def of_channel(session: Session, channel_id: str) -> Sequence[ChannelSubscriptionRow]:
    return session.execute(_OF_CHANNEL, {"channel": channel_id}).scalars().all()


def filters_of(session: Session, channel_id: str) -> list[ChannelFilter]:
    return [read_filter(row) for row in of_channel(session, channel_id)]


def channels(session: Session) -> set[str]:
    """All channels with a subscription."""
    return set(session.execute(select(col(ChannelSubscriptionRow.channel_id)).distinct()).scalars())


def find(session: Session, channel_id: str, region: str) -> ChannelSubscriptionRow | None:
    return next((row for row in of_channel(session, channel_id) if row.region == region), None)


_IS_UNCHECKED = col(ChannelSubscriptionRow.filter).contains('"unchecked_since":"', autoescape=True)
"""The field as pydantic writes a value."""

_IS_WAITING = _ROW.state == SubscriptionState.WAITING


def has_unchecked(session: Session) -> bool:
    return session.execute(select(col(ChannelSubscriptionRow.id)).where(_IS_UNCHECKED).limit(1)).first() is not None


def to_be_checked(session: Session, regions: Sequence[str]) -> Sequence[ChannelSubscriptionRow]:
    """The unchecked subscriptions, and subscriptions to regions that are not published. Waiting ones are left out."""
    is_unknown = col(ChannelSubscriptionRow.region).not_in([ALL_REGIONS, *regions])
    return _rows(session, or_(_IS_UNCHECKED, is_unknown), ~_IS_WAITING)


def unchecked_and_waiting(session: Session) -> Sequence[ChannelSubscriptionRow]:
    return _rows(session, _IS_UNCHECKED, _IS_WAITING)


def _rows(session: Session, *which: ColumnElement[bool]) -> Sequence[ChannelSubscriptionRow]:
    statement = select(ChannelSubscriptionRow).where(*which).order_by(col(ChannelSubscriptionRow.id))
    return session.execute(statement).scalars().all()


def put_filter(session: Session, row: ChannelSubscriptionRow, chosen: ChannelFilter, now: datetime) -> None:
    """Replace a subscription's filter and region. No other subscription of the channel may have the region."""
    channel_lock.take(session, row.channel_id)
    row.filter = _stored(chosen, row.filter)
    row.region = chosen.region
    row.updated_at = now
    session.add(row)
    session.flush()


def save(
    session: Session,
    channel_id: str,
    chosen: ChannelFilter,
    *,
    user_id: str,
    now: datetime,
    instead_of: str | None = None,
) -> ChannelSubscriptionRow:
    """Subscribe a channel to a region, or replace the filter of the present subscription, whose state stays.

    A new subscription is closed or paused like the channel's others, else live. `instead_of`: the region of the edited
    subscription.
    """
    channel_lock.take(session, channel_id)
    before = find(session, channel_id, chosen.region)
    edited = find(session, channel_id, instead_of) if instead_of is not None else None
    row = before or _new(session, channel_id, chosen, user_id, now)
    row.filter = _stored(chosen, (before or edited or row).filter)
    row.updated_at = now
    session.add(row)
    session.flush()
    return row


def remove(session: Session, channel_id: str, regions: Iterable[str] | None = None) -> int:
    channel_lock.take(session, channel_id)
    statement = delete(ChannelSubscriptionRow).where(col(ChannelSubscriptionRow.channel_id) == channel_id)
    if regions is not None:
        statement = statement.where(col(ChannelSubscriptionRow.region).in_(list(regions)))
    return affected(session, statement)


def set_state(
    session: Session,
    channel_id: str,
    state: SubscriptionState,
    now: datetime,
    *,
    reason: str | None = None,
    only: Iterable[SubscriptionState] = tuple(SubscriptionState),
) -> int:
    channel_lock.take(session, channel_id)
    statement = (
        update(ChannelSubscriptionRow)
        .where(col(ChannelSubscriptionRow.channel_id) == channel_id)
        .where(col(ChannelSubscriptionRow.state).in_([str(one) for one in only]))
        .values(state=state, state_reason=reason, updated_at=now)
    )
    return affected(session, statement)


def let_wait(session: Session, channel_id: str, now: datetime) -> int:
    return set_state(
        session,
        channel_id,
        SubscriptionState.WAITING,
        now,
        reason="the bot is not in the channel",
        only=(SubscriptionState.LIVE,),
    )


def suspend(session: Session, channel_id: str, reason: str, now: datetime) -> int:
    open_to_us = (SubscriptionState.LIVE, SubscriptionState.PAUSED)
    return set_state(session, channel_id, SubscriptionState.SUSPENDED, now, reason=reason, only=open_to_us)


def reopen(session: Session, channel_id: str, now: datetime) -> int:
    channel_lock.take(session, channel_id)
    paused = pauses.until(session, channel_id, now) is not None
    state = SubscriptionState.PAUSED if paused else SubscriptionState.LIVE
    return set_state(session, channel_id, state, now, only=CLOSED_STATES)


def pause(session: Session, channel_id: str, until: datetime | None, now: datetime) -> int:
    """Returns how many subscriptions and watches are paused."""
    paused = pauses.begin(session, channel_id, until)
    set_state(session, channel_id, SubscriptionState.PAUSED, now, only=(SubscriptionState.LIVE,))
    return paused


def end_pause(session: Session, channel_id: str, now: datetime) -> int:
    """Returns how many subscriptions and watches were paused."""
    ended = pauses.end(session, channel_id)
    set_state(session, channel_id, SubscriptionState.LIVE, now, only=(SubscriptionState.PAUSED,))
    return ended


def listening(session: Session) -> list[tuple[str, ChannelFilter]]:
    """Every (channel, filter) but waiting subscriptions.

    Posts of suspended and paused channels wait in their queues.
    """
    return _filters(session, ~_IS_WAITING)


def every(session: Session) -> list[tuple[str, ChannelFilter]]:
    return sorted(_filters(session), key=lambda one: (one[0], one[1].region))


def waiting(session: Session) -> list[tuple[str, ChannelFilter]]:
    return _filters(session, _IS_WAITING)


def mentioning(session: Session, channel_ids: Collection[str]) -> dict[str, list[ChannelFilter]]:
    found: dict[str, list[ChannelFilter]] = {}
    if not channel_ids:
        return found
    for channel_id, chosen in _filters(session, _ROW.channel_id.in_(sorted(channel_ids))):
        if chosen.mentions:
            found.setdefault(channel_id, []).append(chosen)
    return found


def _filters(session: Session, *which: ColumnElement[bool]) -> list[tuple[str, ChannelFilter]]:
    statement = select(_ROW.channel_id, _ROW.filter, _ROW.region).where(*which).order_by(_ROW.id)
    return [(channel_id, _filter(text, region)) for channel_id, text, region in session.execute(statement)]


def last_posts(session: Session, channel_id: str, filters: Sequence[ChannelFilter]) -> list[OutboxMessage | None]:
    """Each filter's last post: a message of an event that the filter takes, or a summary that told of such an event."""
    newest = _sent(select(col(OutboxMessage.id)), channel_id).limit(EVENTS_SEARCHED)
    said = aliased(OutboxMessage)
    statement = (
        select(OutboxMessage, EventVersion)
        .select_from(OutboxMessage)
        .join(said, or_(col(said.id) == col(OutboxMessage.id), col(said.folded_into) == col(OutboxMessage.id)))
        .join(EventVersion, col(EventVersion.id) == col(said.event_id))
        .where(col(OutboxMessage.id).in_(newest))
        .order_by(col(OutboxMessage.id).desc(), col(said.id).desc())
        .limit(EVENTS_SEARCHED)
    )
    sent = [(post, event_store.known(event)[0]) for post, event in session.execute(statement)]
    return [next((post for post, event in sent if chosen.matches(event)), None) for chosen in filters]


def last_post_at(session: Session, channel_id: str) -> datetime | None:
    """When an event or a summary was last posted, without edits."""
    newest = _sent(select(col(OutboxMessage.sent_at)), channel_id)
    return session.scalars(newest.limit(1)).one_or_none()


def _sent(of: Select[Selected], channel_id: str) -> Select[Selected]:
    """Messages of events, and summaries, without edits, the newest first."""
    is_sent = (col(OutboxMessage.channel_id) == channel_id, col(OutboxMessage.state) == SENT_LITERAL)
    return of.where(*is_sent, col(OutboxMessage.kind).in_([MessageKind.EVENT, MessageKind.SUMMARY])).order_by(
        col(OutboxMessage.id).desc()
    )


def escalating_to(session: Session, channel_id: str) -> list[ChannelSubscriptionRow]:
    """Subscriptions of other channels whose abandonments are told in this channel while nobody has them."""
    named = col(ChannelSubscriptionRow.filter).contains(json.dumps(channel_id), autoescape=True)
    statement = select(ChannelSubscriptionRow).where(named).order_by(col(ChannelSubscriptionRow.channel_id))
    return [row for row in session.execute(statement).scalars() if channel_id in read_filter(row).escalate]


def creators(session: Session, channel_id: str) -> list[str]:
    return sorted({row.created_by for row in of_channel(session, channel_id)})


def read_filter(row: ChannelSubscriptionRow) -> ChannelFilter:
    return _filter(row.filter, row.region)


def _stored(chosen: ChannelFilter, before: str) -> str:
    """The filter as JSON. Fields of a newer version stay: in a rolling upgrade an older replica may save the filter."""
    try:
        kept = json.loads(before)
    except ValueError:
        kept = None
    newer = {name: kept[name] for name in kept.keys() - ChannelFilter.model_fields} if isinstance(kept, dict) else {}
    said = chosen.model_dump_json()
    return json.dumps(json.loads(said) | newer, separators=(",", ":")) if newer else said


@lru_cache(maxsize=4096)
def _filter(text: str, region: str) -> ChannelFilter:
    """The stored filter. An unreadable filter takes the region's default topics, and is logged once a process."""
    chosen = parsed(ChannelFilter, text, region=region)
    return meaningful(chosen) if chosen else UnreadFilter(region=region, topics=DEFAULT_TOPICS)


def _new(
    session: Session, channel_id: str, chosen: ChannelFilter, user_id: str, now: datetime
) -> ChannelSubscriptionRow:
    pause_ends = pauses.until(session, channel_id, now)
    closed = next((row for row in of_channel(session, channel_id) if row.state in CLOSED_STATES), None)
    state = SubscriptionState.PAUSED if pause_ends else SubscriptionState.LIVE
    return ChannelSubscriptionRow(
        channel_id=channel_id,
        region=chosen.region,
        filter=chosen.model_dump_json(),
        state=closed.state if closed else state,
        state_reason=closed.state_reason if closed else None,
        paused_until=pause_ends,
        created_by=user_id,
        created_at=now,
        updated_at=now,
    )
