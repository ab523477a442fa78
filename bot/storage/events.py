"""Events and their versions: what deliveries said, each version once."""

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Select, bindparam, select, union
from sqlmodel import Session, col

from bot.domain.events import EventKind, RacingEvent
from bot.domain.facts import VersionRemarks
from bot.domain.races import Race
from bot.logs import get_logger
from bot.storage.tables import EventVersion

log = get_logger(__name__)

PAGE = 500


def latest(session: Session, event_keys: Iterable[str]) -> dict[str, EventVersion]:
    """The newest version that is stored of each event."""
    return {row.event_key: row for row in session.execute(_versions(), {"keys": sorted(event_keys)}).scalars()}


@lru_cache
def _versions() -> Select[EventVersion]:
    """The statement of `latest`, kept."""
    of_these = col(EventVersion.event_key).in_(bindparam("keys", expanding=True))
    return select(EventVersion).where(of_these).order_by(col(EventVersion.version))


def kinds_of_races(session: Session, race_ids: Iterable[str]) -> set[tuple[str, EventKind]]:
    """Which kinds of event are stored of each race, whatever key they came under."""
    ids = sorted(race_ids)
    if not ids:
        return set()
    statement = (
        select(col(EventVersion.race_id), col(EventVersion.kind)).where(col(EventVersion.race_id).in_(ids)).distinct()
    )
    return {(race_id, EventKind(kind)) for race_id, kind in session.execute(statement) if race_id and kind}


def related(
    session: Session,
    kind: EventKind,
    *,
    keys: Collection[str] = (),
    race_ids: Collection[str] = (),
    meeting_ids: Collection[str] = (),
    race_dates: Collection[str] = (),
) -> dict[str, EventVersion]:
    """The newest version of each event of a kind that has one of these keys, ids or dates: each by an index."""
    ways = (
        (col(EventVersion.event_key), keys),
        (col(EventVersion.race_id), race_ids),
        (col(EventVersion.meeting_id), meeting_ids),
        (col(EventVersion.race_date), race_dates),
    )
    found = [
        select(col(EventVersion.event_key)).where(col(EventVersion.kind) == kind, column.in_(sorted(values)))
        for column, values in ways
        if values
    ]
    return latest(session, session.execute(union(*found)).scalars()) if found else {}


def received_since(session: Session, since: datetime) -> list[EventVersion]:
    """The versions that were received at that moment or later, oldest first.

    They are among the newest by number: the look ends at the first page that has none.
    """
    found: list[EventVersion] = []
    before: int | None = None
    while True:
        statement = select(EventVersion).order_by(col(EventVersion.id).desc()).limit(PAGE)
        if before is not None:
            statement = statement.where(col(EventVersion.id) < before)
        page = session.execute(statement).scalars().all()
        young = [row for row in page if row.received_at >= since]
        found += young
        if not young:
            return sorted(found, key=lambda row: row.id or 0)
        before = page[-1].id


def make(
    event: RacingEvent,
    version: int,
    *,
    remarks: VersionRemarks,
    inbox_id: int,
    received_at: datetime,
) -> EventVersion:
    """A version of an event, to be added to a session."""
    return EventVersion(
        event_key=event.key,
        version=version,
        kind=event.kind,
        region=event.race.region,
        race_id=event.race.race_id,
        meeting_id=event.race.meeting_id,
        race_date=event.race.race_date,
        data=event.model_dump_json(exclude_defaults=True),
        remarks=remarks.model_dump_json(exclude_defaults=True) if remarks != VersionRemarks() else None,
        inbox_id=inbox_id,
        received_at=received_at,
    )


def read(row: EventVersion) -> tuple[RacingEvent, VersionRemarks]:
    """The event of a row, and what is to be said of that version."""
    return RacingEvent.model_validate_json(row.data), remarks_of(row)


def remarks_of(row: EventVersion) -> VersionRemarks:
    """What is to be said of a version, beside the event."""
    return VersionRemarks.model_validate_json(row.remarks or "{}")


def known(row: EventVersion) -> tuple[RacingEvent, VersionRemarks]:
    """As `read`; of a row that can't be read what its columns say, so that what comes after it is told all the same."""
    try:
        return read(row)
    except ValueError:
        log.exception("stored_event_not_readable", event_key=row.event_key, version=row.version)
        race = Race(race_id=row.race_id, meeting_id=row.meeting_id, region=row.region, race_date=row.race_date)
        kind = EventKind(row.kind) if row.kind else None
        return RacingEvent(key=row.event_key, kind=kind, race=race), VersionRemarks()
