"""The inbox: deliveries as they came, each stored once for ever."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, literal_column, or_, select, update
from sqlmodel import Session, col

from bot.storage.engine import affected, insert_here
from bot.storage.tables import InboxDelivery, InboxState

RETRY_AFTER_S = 5.0
"""A delivery whose fan-out failed is tried again after this, doubled each time up to ten minutes."""


_IS_NEW = col(InboxDelivery.state) == literal_column("'new'")
"""As a literal: the index of new deliveries is of no use to a statement whose state is a parameter."""


@dataclass(frozen=True, eq=False)
class Arrival:
    """A delivery that was received and whose signature was right."""

    event_key: str
    event_name: str | None
    body_sha256: str
    body: bytes
    received_at: datetime


@dataclass(frozen=True)
class StoredDelivery:
    """A delivery of the inbox, its body whole again."""

    inbox_id: int
    event_key: str
    event_name: str | None
    body: bytes
    received_at: datetime
    attempts: int


def reference(inbox_id: int) -> str:
    """How a delivery is called in the log and towards admins."""
    return f"inbox-{inbox_id}"


def store(session: Session, arrivals: Sequence[Arrival]) -> dict[Arrival, bool]:
    """Whether each is new; a body that the inbox has under its key is not stored again."""
    unique = {(arrival.event_key, arrival.body_sha256): arrival for arrival in reversed(arrivals)}
    # In one order everywhere: two replicas that insert the same keys would otherwise wait for each other.
    rows = [_as_row(unique[key]) for key in sorted(unique)]
    insert = insert_here(session, InboxDelivery)
    statement = insert.on_conflict_do_nothing(index_elements=["event_key", "body_sha256"]).returning(
        col(InboxDelivery.event_key), col(InboxDelivery.body_sha256)
    )
    added = {(key, sha256) for key, sha256 in session.execute(statement, rows).all()}
    return {
        arrival: (arrival.event_key, arrival.body_sha256) in added
        and unique[arrival.event_key, arrival.body_sha256] is arrival
        for arrival in arrivals
    }


def _as_row(arrival: Arrival) -> dict[str, Any]:
    return {
        "event_key": arrival.event_key,
        "event_name": arrival.event_name,
        "body_sha256": arrival.body_sha256,
        "body": zlib.compress(arrival.body, level=1),
        "received_at": arrival.received_at,
        "state": InboxState.NEW,
        "attempts": 0,
    }


def take_new(session: Session, now: datetime, limit: int) -> list[StoredDelivery]:
    """The oldest deliveries that wait for their fan-out, locked against other replicas until the commit."""
    statement = (
        select(InboxDelivery)
        .where(_IS_NEW)
        .where(or_(col(InboxDelivery.not_before).is_(None), col(InboxDelivery.not_before) <= now))
        # By receipt: those that shared a commit were inserted in the order of their keys.
        .order_by(col(InboxDelivery.received_at), col(InboxDelivery.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [
        StoredDelivery(
            row.id or 0,
            row.event_key,
            row.event_name,
            zlib.decompress(row.body or b""),
            row.received_at,
            row.attempts,
        )
        for row in session.execute(statement).scalars()
    ]


def mark_done(session: Session, inbox_ids: Sequence[int], now: datetime) -> None:
    """Their posts stand in the same transaction."""
    session.execute(
        update(InboxDelivery)
        .where(col(InboxDelivery.id).in_(inbox_ids))
        .values(state=InboxState.DONE, done_at=now, error=None)
    )


def mark_failed(session: Session, delivery: StoredDelivery, now: datetime, error: str) -> None:
    """Fan-out raised; it is tried again later, and later each time."""
    wait_s = min(RETRY_AFTER_S * 2**delivery.attempts, 600.0)
    session.execute(
        update(InboxDelivery)
        .where(col(InboxDelivery.id) == delivery.inbox_id)
        .values(attempts=delivery.attempts + 1, not_before=now + timedelta(seconds=wait_s), error=error)
    )


def count_waiting(session: Session) -> int:
    """How many deliveries wait for their fan-out."""
    statement = select(func.count()).select_from(InboxDelivery).where(_IS_NEW)
    count: int = session.execute(statement).scalar_one()
    return count


def received_before(session: Session, before: datetime, *, after_id: int, limit: int) -> list[int]:
    """The next deliveries by number that were received before a moment; none once the next is younger."""
    statement = (
        select(col(InboxDelivery.id), col(InboxDelivery.received_at))
        .where(col(InboxDelivery.id) > after_id)
        .order_by(col(InboxDelivery.id))
        .limit(limit)
    )
    return [number for number, received_at in session.execute(statement) if number and received_at < before]


def forget_bodies(session: Session, inbox_ids: Sequence[int]) -> int:
    """How many bodies were forgotten: those of deliveries that are done."""
    statement = (
        update(InboxDelivery)
        .where(col(InboxDelivery.id).in_(inbox_ids), col(InboxDelivery.state) == InboxState.DONE)
        .values(body=None)
    )
    return affected(session, statement)
