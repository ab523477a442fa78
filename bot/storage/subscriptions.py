"""Channels' subscriptions."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import delete, func, select, update
from sqlmodel import Session, col

from bot.domain.filters import ChannelFilter
from bot.storage.engine import affected
from bot.storage.tables import ChannelSubscriptionRow, SubscriptionState

CLOSED = (SubscriptionState.WAITING, SubscriptionState.SUSPENDED)
"""States that end when the bot is in the channel (again)."""


def of_channel(session: Session, channel_id: str) -> Sequence[ChannelSubscriptionRow]:
    """A channel's subscriptions, by region."""
    statement = (
        select(ChannelSubscriptionRow)
        .where(col(ChannelSubscriptionRow.channel_id) == channel_id)
        .order_by(col(ChannelSubscriptionRow.region))
    )
    return session.execute(statement).scalars().all()


def save(
    session: Session, channel_id: str, chosen: ChannelFilter, *, state: SubscriptionState, user_id: str, now: datetime
) -> ChannelSubscriptionRow:
    """Subscribe a channel to a region, or replace the filter of the subscription it has."""
    row = _find(session, channel_id, chosen.region)
    if row is None:
        row = ChannelSubscriptionRow(
            channel_id=channel_id,
            region=chosen.region,
            filter=chosen.model_dump_json(),
            state=state,
            created_by=user_id,
            created_at=now,
            updated_at=now,
        )
    row.filter = chosen.model_dump_json()
    row.state = state
    row.state_reason = None
    row.updated_at = now
    session.add(row)
    session.flush()
    return row


def remove(session: Session, channel_id: str, regions: Iterable[str] | None = None) -> int:
    """How many subscriptions were removed: of these regions, or all of the channel's."""
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
    """How many of a channel's subscriptions moved to `state`, of those in one of the states `only`."""
    statement = (
        update(ChannelSubscriptionRow)
        .where(col(ChannelSubscriptionRow.channel_id) == channel_id)
        .where(col(ChannelSubscriptionRow.state).in_([str(one) for one in only]))
        .values(state=state, state_reason=reason, updated_at=now)
    )
    return affected(session, statement)


def closed_channels(session: Session, limit: int) -> list[str]:
    """Channels with a subscription that is CLOSED, those that have been so longest first."""
    statement = (
        select(col(ChannelSubscriptionRow.channel_id))
        .where(col(ChannelSubscriptionRow.state).in_([str(state) for state in CLOSED]))
        .group_by(col(ChannelSubscriptionRow.channel_id))
        .order_by(func.min(col(ChannelSubscriptionRow.updated_at)))
        .limit(limit)
    )
    return list(session.execute(statement).scalars())


def listening(session: Session) -> list[tuple[str, ChannelFilter]]:
    """Every (channel, filter) that is posted to, or will be when its channel is back: all but those that wait.

    A suspended or paused channel's posts are made and held in its lane, so that nothing is lost meanwhile.
    """
    statement = select(col(ChannelSubscriptionRow.channel_id), col(ChannelSubscriptionRow.filter)).where(
        col(ChannelSubscriptionRow.state) != SubscriptionState.WAITING
    )
    return [(channel_id, _filter(text)) for channel_id, text in session.execute(statement)]


def creators(session: Session, channel_id: str) -> list[str]:
    """Who made a channel's subscriptions."""
    return sorted({row.created_by for row in of_channel(session, channel_id)})


def read_filter(row: ChannelSubscriptionRow) -> ChannelFilter:
    """The filter of a row."""
    return _filter(row.filter)


@lru_cache(maxsize=4096)
def _filter(text: str) -> ChannelFilter:
    return ChannelFilter.model_validate_json(text)


def _find(session: Session, channel_id: str, region: str) -> ChannelSubscriptionRow | None:
    statement = select(ChannelSubscriptionRow).where(
        col(ChannelSubscriptionRow.channel_id) == channel_id, col(ChannelSubscriptionRow.region) == region
    )
    return session.execute(statement).scalar_one_or_none()
