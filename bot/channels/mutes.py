"""Muted meetings of channels. The row of an ended mute stays, with the time of the end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from sqlalchemy import bindparam, select, update
from sqlmodel import Session, col

from bot.channels import channel_lock
from bot.channels.filters import QUIETED, Meeting
from bot.db.engine import affected
from bot.db.named_values import parsed
from bot.db.tables import MutedMeetingRow
from bot.events.event import RacingEvent

KEPT_FOR = timedelta(days=30)
"""Racecards come days before a meeting, and corrections days after. Events of a meeting end within a month."""


def mute(session: Session, channel_id: str, meeting: Meeting, user_id: str, now: datetime) -> int:
    channel_lock.take(session, channel_id)
    for row in of_channel(session, channel_id, now):
        if read(row).is_same(meeting):
            return row.id or 0
    row = MutedMeetingRow(channel_id=channel_id, meeting=meeting.model_dump_json(), muted_by=user_id, muted_at=now)
    session.add(row)
    session.flush()
    return row.id or 0


def end(session: Session, channel_id: str, number: int, now: datetime) -> Meeting | None:
    channel_lock.take(session, channel_id)
    row = session.get(MutedMeetingRow, number)
    if row is None or row.channel_id != channel_id:
        return None
    statement = update(MutedMeetingRow).where(
        col(MutedMeetingRow.id) == number, col(MutedMeetingRow.ended_at).is_(None)
    )
    return read(row) if affected(session, statement.values(ended_at=now)) else None


def of_channel(session: Session, channel_id: str, now: datetime) -> list[MutedMeetingRow]:
    return [row for row in active(session, now) if row.channel_id == channel_id]


_ACTIVE = (
    select(MutedMeetingRow)
    .where(col(MutedMeetingRow.muted_at) > bindparam("since"), col(MutedMeetingRow.ended_at).is_(None))
    .order_by(col(MutedMeetingRow.muted_at).desc(), col(MutedMeetingRow.id).desc())
)


def active(session: Session, now: datetime) -> Sequence[MutedMeetingRow]:
    return session.execute(_ACTIVE, {"since": now - KEPT_FOR}).scalars().all()


def muting(rows: Sequence[MutedMeetingRow], event: RacingEvent) -> dict[str, str]:
    if event.topic not in QUIETED or event.reports_loss:
        return {}
    return {row.channel_id: row.muted_by for row in rows if read(row).has(event.race)}


def read(row: MutedMeetingRow) -> Meeting:
    return _meeting(row.meeting, row.channel_id)


@lru_cache(maxsize=4096)
def _meeting(text: str, channel_id: str) -> Meeting:
    """The stored meeting. An unreadable row gives a meeting without races. The log has each such row once a process."""
    return parsed(Meeting, text, channel_id=channel_id) or Meeting()
