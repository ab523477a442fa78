"""The audit: every change of what a channel receives, by whom, before and after. Nothing is ever taken out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.db.tables import AuditEntry

PAGE = 15


@dataclass(frozen=True)
class Page:
    """Some of the entries, the newest first; `total` is how many there are."""

    entries: Sequence[AuditEntry]
    number: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // PAGE))


def add(
    session: Session,
    *,
    at: datetime,
    user_id: str,
    channel_id: str,
    action: str,
    before: str | None,
    after: str | None,
    reference: str,
) -> None:
    """Write down a change; where before and after are the same there was none."""
    if before == after:
        return
    session.add(
        AuditEntry(
            at=at,
            user_id=user_id,
            channel_id=channel_id,
            action=action,
            before=before,
            after=after,
            reference=reference,
        )
    )


def page(session: Session, *, channel_id: str | None = None, user_id: str | None = None, number: int = 1) -> Page:
    """A page of the entries, of a channel, of a person, or of all; beyond the last page it is the last one."""
    wanted = [col(AuditEntry.channel_id) == channel_id] if channel_id else []
    wanted += [col(AuditEntry.user_id) == user_id] if user_id else []
    total = session.execute(select(func.count()).select_from(AuditEntry).where(*wanted)).scalar_one()
    number = min(max(1, number), max(1, -(-total // PAGE)))
    rows = session.execute(
        select(AuditEntry).where(*wanted).order_by(col(AuditEntry.id).desc()).offset((number - 1) * PAGE).limit(PAGE)
    )
    return Page(rows.scalars().all(), number, total)


def last_of_channel(session: Session, channel_id: str) -> AuditEntry | None:
    """The newest change of what a channel receives."""
    entries = page(session, channel_id=channel_id).entries
    return entries[0] if entries else None
