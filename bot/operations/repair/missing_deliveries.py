"""Compares failed deliveries with the inbox, orders missing deliveries, and finds races to look up."""

from collections.abc import Iterable, Sequence
from datetime import date

from sqlmodel import Session

from bot.deliveries import inbox
from bot.events import event_store
from bot.events.days import racing_day
from bot.events.event import EventKind, RacingEvent
from bot.operations.repair.failed_record import Failed
from bot.racedata import race_book_store


def in_order(failed: Sequence[Failed]) -> tuple[Failed, ...]:
    """Abandonments first, with all events of their races and meetings, by when the service had the event.

    Within these no abandonment overtakes an earlier result. A record without a payload gives way to a record with the
    payload.
    """
    lost = {mark for one in failed if one.event.is_abandonment for mark in _marks(one.event)}
    whole = {one.event.key for one in failed if one.has_payload}

    def place(numbered: tuple[int, Failed]) -> tuple[bool, bool, float, int]:
        number, one = numbered
        had_at = one.event.occurred_at or one.tried_at
        return lost.isdisjoint(_marks(one.event)), had_at is None, had_at.timestamp() if had_at else 0.0, number

    kept = [one for one in failed if one.has_payload or one.event.key not in whole]
    return tuple(one for _, one in sorted(enumerate(kept), key=place))


def _marks(event: RacingEvent) -> set[tuple[str | None, ...]]:
    race = event.race
    marks: set[tuple[str | None, ...]] = {("event", event.key), ("meeting", race.meeting_id)}
    marks |= {("race", one.race_id) for one in (race, *event.races)}
    marks.add(("place", race.course.course_id or race.course.name, race.race_date))
    return {mark for mark in marks if None not in mark}


def find_missing(session: Session, failed: Sequence[Failed]) -> list[Failed]:
    bare = [one.event.race for one in failed if not one.has_payload]
    bodies = inbox.known_bodies(session, (digest for one in failed for digest in one.digests))
    keys = inbox.known_keys(session, (one.event.key for one in failed))
    race_ids, meeting_ids = {race.race_id for race in bare} - {None}, {race.meeting_id for race in bare} - {None}
    stored = event_store.kinds_of(session, race_ids, meeting_ids)

    def is_stored(one: Failed) -> bool:
        event, race = one.event, one.event.race
        if one.has_payload or event.kind is None:
            return not bodies.isdisjoint(one.digests)
        return event.key in keys or (race.race_id or race.meeting_id, event.kind) in stored

    return list({one.sha256: one for one in failed if not is_stored(one)}.values())


def find_lacking(session: Session, missing: Sequence[Failed]) -> list[Failed]:
    """Deliveries without a payload, if the race book lacks the place or the order too."""
    bare = [one for one in missing if not one.has_payload]
    ids = {one.event.race.race_id for one in bare if one.event.race.race_id}
    meetings = {one.event.race.meeting_id for one in bare if one.event.race.meeting_id}
    book = race_book_store.find(session, ids, meetings)
    in_book = {race.meeting_id for race in book.values()}

    def is_lacking(one: Failed) -> bool:
        race = one.event.race
        known = book.get(race.race_id or "")
        if one.event.kind is EventKind.RESULT_RECEIVED:
            return known is None or not known.placed()
        return known is None and race.meeting_id not in in_book

    return [one for one in bare if is_lacking(one)]


def days_of(lacking: Iterable[Failed]) -> list[tuple[str | None, date]]:
    """Regions and days to look up. A card without a date has no day."""
    found: dict[tuple[str | None, date], None] = {}
    for one in lacking:
        day = racing_day(one.event.race.race_date)
        if day is None and one.tried_at and one.event.kind is not EventKind.RACECARD_PUBLISHED:
            day = one.tried_at.date()
        if day:
            found[one.event.race.region, day] = None
    return list(found)
