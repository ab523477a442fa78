"""The audit: every change of a channel's choice, by whom, before and after. Entries are never deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlmodel import Session, col

from bot.db.tables import AuditEntry

ENTRIES_PER_PAGE = 15


@dataclass(frozen=True)
class AuditPage:
    entries: Sequence[AuditEntry]
    number: int
    total: int

    @property
    def pages(self) -> int:
        return pages_of(self.total, ENTRIES_PER_PAGE)


def pages_of(total: int, per_page: int) -> int:
    return max(1, -(-total // per_page))


def add(session: Session, entry: AuditEntry) -> None:
    """Write down a change, unless before and after are the same."""
    if entry.before != entry.after:
        session.add(entry)


def page(session: Session, *, channel_id: str | None = None, user_id: str | None = None, number: int = 1) -> AuditPage:
    wanted = [col(AuditEntry.channel_id) == channel_id] if channel_id else []
    wanted += [col(AuditEntry.user_id) == user_id] if user_id else []
    total = session.execute(select(func.count()).select_from(AuditEntry).where(*wanted)).scalar_one()
    number = min(max(1, number), pages_of(total, ENTRIES_PER_PAGE))
    rows = session.execute(
        select(AuditEntry)
        .where(*wanted)
        .order_by(col(AuditEntry.id).desc())
        .offset((number - 1) * ENTRIES_PER_PAGE)
        .limit(ENTRIES_PER_PAGE)
    )
    return AuditPage(rows.scalars().all(), number, total)


def last_by(session: Session, channel_id: str, action: str, since: datetime) -> AuditEntry | None:
    """The channel's last entry of the action since then."""
    return last_of_channel(session, channel_id, col(AuditEntry.action) == action, col(AuditEntry.at) >= since)


def last_of_channel(session: Session, channel_id: str, *which: ColumnElement[bool]) -> AuditEntry | None:
    of_channel = select(AuditEntry).where(col(AuditEntry.channel_id) == channel_id, *which)
    return session.execute(of_channel.order_by(col(AuditEntry.id).desc()).limit(1)).scalar_one_or_none()
