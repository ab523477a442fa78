"""Events and their versions: what deliveries said, each version once."""

from datetime import datetime

from sqlalchemy import select, update
from sqlmodel import Session, col

from bot.domain.events import EventKind, RacingEvent, VersionRemarks
from bot.storage.tables import EventVersion


def latest(session: Session, event_key: str) -> EventVersion | None:
    """The newest version that is stored of an event."""
    statement = (
        select(EventVersion)
        .where(col(EventVersion.event_key) == event_key)
        .order_by(col(EventVersion.version).desc())
        .limit(1)
    )
    return session.execute(statement).scalar_one_or_none()


def add(
    session: Session, event: RacingEvent, version: int, *, remarks: VersionRemarks, inbox_id: int, received_at: datetime
) -> EventVersion:
    """Store a version of an event."""
    row = EventVersion(
        event_key=event.key,
        version=version,
        kind=event.kind,
        region=event.race.region,
        race_id=event.race.race_id,
        meeting_id=event.race.meeting_id,
        data=event.model_dump_json(exclude_defaults=True),
        remarks=remarks.model_dump_json(exclude_defaults=True) if remarks != VersionRemarks() else None,
        inbox_id=inbox_id,
        received_at=received_at,
    )
    session.add(row)
    session.flush()
    return row


def set_posts(session: Session, event_id: int, posts: int) -> None:
    """Note to how many channels a version went."""
    session.execute(update(EventVersion).where(col(EventVersion.id) == event_id).values(posts=posts))


def of_race(session: Session, race_id: str, kind: EventKind) -> EventVersion | None:
    """The newest version of a race's event of that kind, whatever key it came under."""
    statement = (
        select(EventVersion)
        .where(col(EventVersion.race_id) == race_id, col(EventVersion.kind) == kind)
        .order_by(col(EventVersion.id).desc())
        .limit(1)
    )
    return session.execute(statement).scalar_one_or_none()


def read(row: EventVersion) -> tuple[RacingEvent, VersionRemarks]:
    """The event of a row, and what is to be said of that version."""
    return RacingEvent.model_validate_json(row.data), VersionRemarks.model_validate_json(row.remarks or "{}")
