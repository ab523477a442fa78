"""Figures of posts sent lately, and of unsent messages by channel. Only reads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Float, exists, extract, func, literal_column, select, type_coerce
from sqlmodel import Session, col

from bot.db.engine import dialect_of
from bot.db.tables import ChannelQueue, EventVersion, OutboxMessage
from bot.events import drill_mark
from bot.outbox import call_holds
from bot.outbox.ledger import LedgerOutcome, outcome_of
from bot.outbox.message_store import COUNTS_FROM, IS_SENT, IS_UNSENT

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
    is_meant = (*_IS_SENT_EVENT, col(OutboxMessage.sent_at) >= since, ~is_drill)
    count: int = session.execute(select(func.count()).where(*is_meant)).scalar_one()
    if not count:
        return Sent(0)
    took_s = _took_s(dialect_of(session))
    by_time = select(took_s.label("took_s")).where(*is_meant).order_by(took_s)

    def at(share: float) -> float:
        # The nearest rank: the time of a real post.
        rank = max(0, math.ceil(share * count) - 1)
        return max(0.0, float(session.execute(by_time.offset(rank).limit(1)).scalar_one()))

    return Sent(count, p50_s=at(0.5), p95_s=at(0.95))


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
    holds = call_holds.reasons_of_holds(session, now)
    firsts = (
        select(row, ChannelQueue)
        .outerjoin(ChannelQueue, col(ChannelQueue.channel_id) == col(row.channel_id))
        .where(col(row.id).in_([found[one][1] for one in most]))
    )
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


def _took_s(dialect: str) -> ColumnElement[float]:
    sent_at = col(OutboxMessage.sent_at)
    if dialect == "sqlite":
        return (func.julianday(sent_at) - func.julianday(COUNTS_FROM)) * 86_400.0
    return type_coerce(extract("epoch", sent_at - COUNTS_FROM), Float())
