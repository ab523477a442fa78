"""Races of the race book without a delivered outcome, and what was delivered."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import exists, or_, select, union
from sqlmodel import Session, col

from bot.db.tables import BookRace, EventVersion, NamedRace
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import OUTCOMES
from bot.events.races import Race
from bot.racedata import race_book_store

DELIVERED_EARLY_AT_MOST = timedelta(days=30)
"""Deliveries come at most this long before the racing day."""

DayAndRegion = tuple[str, str | None]


def of_days(session: Session, first_day: str, last_day: str) -> list[Race]:
    """The race book's races from the first day to the last, without a delivered outcome of the same race id."""
    book, event, named = BookRace, EventVersion, NamedRace
    told = select(col(event.race_id)).where(
        col(event.race_date).between(first_day, last_day),
        col(event.kind).in_(OUTCOMES),
        col(event.race_id).is_not(None),
    )
    of_race = exists().where(col(event.race_id) == col(book.race_id), col(event.kind).in_(OUTCOMES))
    of_meeting = exists().where(
        col(event.meeting_id) == col(book.meeting_id), col(event.kind) == EventKind.MEETING_ABANDONED
    )
    by_meeting = exists().where(col(named.race_id) == col(book.race_id))
    statement = select(col(book.race_id), col(book.region), col(book.data)).where(
        col(book.race_date).between(first_day, last_day),
        # Nearly every race has a delivered outcome: one look-up for each race would read a long history.
        col(book.race_id).not_in(told),
        ~or_(of_race, of_meeting, by_meeting),
    )
    read = (race_book_store.read_row(*row) for row in session.execute(statement))
    return [race for race in read if race is not None and race.race_id]


def told_places(session: Session, first_day: str, since: datetime) -> set[DayAndRegion]:
    """Days and regions with a delivered outcome.

    A delivery may lack the date known to the book: such deliveries count if received after `since`.
    """
    event, book = EventVersion, BookRace
    is_outcome = col(event.kind).in_(OUTCOMES)
    said = select(col(event.race_date), col(event.region)).where(col(event.race_date) >= first_day, is_outcome)
    by_id = (
        select(col(book.race_date), col(book.region))
        .join(event, col(event.race_id) == col(book.race_id))
        .where(col(event.race_date).is_(None), is_outcome, col(event.received_at) >= since)
    )
    return {(day, region or None) for day, region in session.execute(union(said, by_id)) if day >= first_day}


def told_without_id(session: Session, days: Collection[str], since: datetime) -> list[RacingEvent]:
    """Outcomes without a race's id: of these days, or undated and received after `since`."""
    row = EventVersion
    # By day and receipt, else SQLite reads all events without an id.
    of_days = [
        (col(row.race_date) == day, col(row.received_at) >= since - DELIVERED_EARLY_AT_MOST) for day in sorted(days)
    ]
    is_undated = (col(row.race_date).is_(None), col(row.received_at) >= since)
    ways = [select(col(row.event_key)).where(col(row.race_id).is_(None), *when) for when in (*of_days, is_undated)]
    newest = event_store.latest(session, session.execute(union(*ways)).scalars())
    return [event_store.known(version)[0] for version in newest.values() if version.kind in OUTCOMES]
