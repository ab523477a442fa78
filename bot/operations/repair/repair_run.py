"""Makes failed deliveries good: each goes through inbox and outbox once.

Deliveries in the inbox are left alone. Others are stored and fanned out in a single transaction. Events of hours ago
become one summary for each channel.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.db.tables import BookRace, EventVersion
from bot.deliveries import inbox
from bot.deliveries.intake import arrival_of
from bot.errors import ServiceError, StorageError
from bot.events import event_store
from bot.events.days import racing_day
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.fanout.fanout import OTHER_TURN_S, Fanout
from bot.fanout.transaction import LogLine, log_lines
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.repair import outage
from bot.operations.repair.failed_record import Failed, ReadPayload, name_of, read_record
from bot.operations.repair.outage import Outage
from bot.operations.self_notices import key_of_refusal, notice_words
from bot.outbox.held_channels import SUMMARY_AFTER, Reopening
from bot.outbox.notices import Notices, Urgency
from bot.racedata import quota_book, race_book_store
from bot.racedata.client.calls import Patience
from bot.racedata.client.cursor_walk import Trail
from bot.racedata.client.service_client import DELIVERIES_PATH, RacingClient
from bot.racedata.client.service_errors import (
    PASSING,
    STOPPING,
    TRANSIENT,
    ServiceFailure,
    WalkBroken,
)
from bot.racedata.month_quota import Purpose, month_key
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import Budget, RaceBook

log = get_logger(__name__)

LOOK_UP_S = 30.0
"""For all deliveries together: abandonments wait meanwhile."""

LOGGED_MAX = 4_000
"""Characters of a record that can't be read."""

REQUEST_EVERY, LONGEST_WAIT = timedelta(minutes=10), timedelta(hours=6)
"""The wait until the next reading: for each request beyond the first, and at most. Records are kept for 30 days."""

LOOK_UP_BUDGET = Budget(pages=25, seconds=LOOK_UP_S, purpose=Purpose.UPKEEP)
"""For the race book's walk for a day of failed deliveries."""


@dataclass(frozen=True)
class Bounds:
    """`deliveries`: of a transaction and of a summary. Small, because intake waits for the transaction.

    `pages` of records: each costs quota, and cursors may lead on for ever. Records read within `walk_s` do not wait
    for a slow service.
    """

    deliveries: int = 50
    pages: int = 200
    walk_s: float = 600.0


@dataclass
class Repaired:
    """`records`: listed. `unread`: names of records that tell no event or no race. `requests`: spent on records.

    `known`: the number of deliveries left alone. `broken`: why the list is incomplete. `missing`: readable records
    without a delivery in the inbox, in order. `made`: stored and fanned out. `events`: keys with news.
    """

    records: int = 0
    unread: tuple[str, ...] = ()
    known: int = 0
    requests: int = 0
    broken: ServiceError | None = None
    missing: Sequence[Failed] = ()
    made: list[Failed] = field(default_factory=list)
    events: list[str] = field(default_factory=list)


class _Made(NamedTuple):
    deliveries: Sequence[Failed] = ()
    events: Sequence[str] = ()
    lines: Sequence[LogLine] = ()


class _TooMany(Exception):
    """Too many posts for a transaction; `room` deliveries fit."""

    def __init__(self, room: int) -> None:
        self.room = room
        super().__init__(f"{room} deliveries fit into one transaction")


@dataclass(eq=False)
class Repair:
    database: Database
    client: RacingClient
    quota_book: QuotaBook
    races: RaceBook
    fanout: Fanout
    reopening: Reopening
    notices: Notices
    read_payload: ReadPayload
    clock: Clock
    wake: asyncio.Event
    bounds: Bounds = Bounds()
    _requests: int = field(default=0, init=False)
    _read_at: datetime | None = field(default=None, init=False)
    _failure: ServiceFailure | None = field(default=None, init=False)

    def job(self, every_s: int) -> Job:
        return Job("repair", "Failed deliveries looked up", every_s, self._run_as_job)

    async def _run_as_job(self) -> None:
        """Admins hear of a refusal or of a broken list; the next slot tries again.

        After a failure that may pass, the job fails until the next reading.
        """
        wait = min((self._requests - 1) * REQUEST_EVERY, LONGEST_WAIT)
        if self._read_at and timedelta(0) <= self.clock() - self._read_at < wait:
            if self._failure:
                raise self._failure.with_traceback(None)
            return
        self._failure = None
        try:
            await self.run()
        except ServiceFailure as error:
            if not isinstance(error, PASSING):
                await self.database.write(partial(self._tell_refused, error=error))
                self.wake.set()
            # The scheduler tries a failed job again within minutes. A refusal would be the same, and may cost quota.
            if isinstance(error, TRANSIENT):
                self._failure = error
                raise

    async def run(self) -> Repaired:
        """Raises ServiceError if not all records were read."""
        found = await self._find()
        await self.database.write(lambda session: quota_book.spend(session, found.requests, self.clock()))
        found.missing = await self._look_up(found.missing)
        await self._make_all_good(found)
        names, now = found.unread, self.clock()
        is_news = bool(names) and await self.database.write(
            lambda session: outage.tell_unread(session, self.notices, names, now)
        )
        if found.made:
            log.info("failed_deliveries_made_good", deliveries=len(found.made), events=len(found.events))
        if found.made or is_news:
            self.wake.set()
        if found.broken is not None:
            raise found.broken
        return found

    async def preview(self) -> Repaired:
        """The deliveries that a `run` would make good, without changes and without a look-up of races."""
        found = await self._find()
        return replace(found, made=[*found.missing], events=list(dict.fromkeys(one.event.key for one in found.missing)))

    async def _find(self) -> Repaired:
        """A broken walk gives the pages before the break."""
        if held_back := await self.quota_book.held_back(DELIVERIES_PATH, Purpose.PEOPLE):
            raise held_back
        found, records = Repaired(), list[dict[str, Any]]()
        try:
            async with asyncio.timeout(self.bounds.walk_s):
                async for step in self.client.walk_failed_deliveries(Trail(most_pages=self.bounds.pages)):
                    found.requests += 1
                    records += step.page.data
        except ServiceError as error:
            if not found.requests:
                raise
            found.broken = error
        except TimeoutError:
            found.broken = WalkBroken(DELIVERIES_PATH, message=f"not read to the end within {self.bounds.walk_s:g} s")
        # A page that fails is asked for several times.
        self._requests = found.requests + (Patience.fault_tries if found.broken else 0)
        self._read_at = self.clock()
        # Off the event loop: hundreds of records take a while.
        read = await asyncio.to_thread(self._read, records)
        found.records = len(records)
        failed = [one for _, one in read if one is not None]
        found.unread = tuple(name for name, one in read if one is None or not one.says_where)
        found.missing = await self.database.read(partial(_find_missing, failed=_in_order(failed)))
        found.known = len(failed) - len(found.missing)
        return found

    def _read(self, records: Iterable[Mapping[str, Any]]) -> list[tuple[str, Failed | None]]:
        now = self.clock()
        return [(name_of(record), self._read_one(record, now)) for record in records]

    def _read_one(self, record: Mapping[str, Any], now: datetime) -> Failed | None:
        """None for a record of another shape, or a record that breaks our code.

        Admins hear, and the log has the record, also where the record does not say which race.
        """
        try:
            found = read_record(record, self.read_payload, now)
        except Exception:
            log.exception("failed_delivery_not_read", delivery_id=name_of(record), record=str(record)[:LOGGED_MAX])
            return None
        if found is None or not found.says_where:
            log.error("failed_delivery_not_read", delivery_id=name_of(record), record=str(record)[:LOGGED_MAX])
        return found

    async def _look_up(self, missing: Sequence[Failed]) -> Sequence[Failed]:
        """The deliveries to be made good now: later news of a known event wait until the race is looked up."""
        later = [one for one in missing if one.is_later]
        lacking = await self.database.read(partial(_find_lacking, missing=missing))
        try:
            async with asyncio.timeout(LOOK_UP_S):
                for race_id in dict.fromkeys(one.event.race.race_id for one in (*later, *lacking)):
                    await self._look_up_race(race_id)
                still = await self.database.read(partial(_find_lacking, missing=lacking))
                for region, day in _days_of(still):
                    await self.races.top_up(region, day, LOOK_UP_BUDGET)
        except TimeoutError:
            log.info("races_not_looked_up", deliveries=len(lacking), after_s=LOOK_UP_S)
        races = await self.database.read(
            lambda session: [_race_since(session, one) if one.is_later else None for one in missing]
        )
        both = zip(missing, races, strict=True)
        return [one.telling(race, self.read_payload) if race else one for one, race in both if race or not one.is_later]

    async def _look_up_race(self, race_id: str | None) -> None:
        try:
            if race_id is not None:
                await self.races.race(race_id, Purpose.UPKEEP, anew=True)
        except ServiceError as error:
            log.info("race_not_looked_up", race_id=race_id, reason=str(error))

    async def _make_all_good(self, found: Repaired) -> None:
        rest, size = found.missing, self.bounds.deliveries
        told = outage.outage_of(rest, self.clock()) if rest else None
        while rest and told:
            some = rest[:size]
            try:
                made = await self._in_turn(partial(self._make_good, failed=some, found=told))
            except _TooMany as error:
                size = error.room
                continue
            except StorageError:
                raise
            except Exception:
                # Fan-out retries these deliveries singly and tells of faults.
                log.exception("failed_deliveries_left_to_fanout", deliveries=len(some))
                made = await self.database.write(partial(self._only_store, failed=some, found=told))
            rest, size = rest[len(some) :], self.bounds.deliveries
            found.made += made.deliveries
            found.events += [key for key in made.events if key not in found.events]

    async def _in_turn(self, work: Callable[[Session], _Made | None]) -> _Made:
        while (made := await self.database.write(work)) is None:  # noqa: ASYNC110  another process has the turn
            await asyncio.sleep(OTHER_TURN_S)
        log_lines(made.lines)
        return made

    def _make_good(self, session: Session, *, failed: Sequence[Failed], found: Outage) -> _Made | None:
        """Store and fan out; None while another replica has the turn."""
        now = inbox.take_turn(session, self.clock)
        if now is None:
            return None
        # Another process may have been quicker.
        failed = _find_missing(session, failed)
        stored = inbox.store(session, [arrival_of(one.body, one.sha256, now) for one in failed]) if failed else ()
        if not stored:
            return _Made(failed)
        done = self.fanout.fan_out_within(session, stored, now)
        if done.deliveries < len(stored):
            raise _TooMany(done.deliveries)
        made = {one.inbox_id for one in stored}
        rows = event_store.versions(session, inbox.keys_of(session, made)).values()
        versions = sorted(
            (row for of_key in rows for row in of_key if row.inbox_id in made), key=lambda row: row.id or 0
        )
        self._summarise(session, versions, now)
        if versions:
            outage.tell(session, self.notices, found, now)
        return _Made(failed, tuple(dict.fromkeys(row.event_key for row in versions)), done.lines)

    def _only_store(self, session: Session, *, failed: Sequence[Failed], found: Outage) -> _Made:
        """Store for fan-out, which handles deliveries singly if necessary."""
        now = self.clock()
        failed = _find_missing(session, failed)
        if failed:
            inbox.store(session, [arrival_of(one.body, one.sha256, now) for one in failed])
            outage.tell(session, self.notices, found, now)
        return _Made(failed)

    def _summarise(self, session: Session, versions: Sequence[EventVersion], now: datetime) -> None:
        had = {row.id: event_store.remarks_of(row).had_at or now for row in versions}
        old = [number for number, had_at in had.items() if number is not None and had_at <= now - SUMMARY_AFTER]
        if old:
            self.reopening.summarise_late(session, old, min(had[number] for number in old), now)

    def _tell_refused(self, session: Session, *, error: ServiceFailure) -> None:
        which = "all deliveries" if isinstance(error, WalkBroken) else "deliveries"
        key = key_of_refusal(error.cause, month_key(self.clock()))
        urgency = Urgency.CRITICAL if isinstance(error, STOPPING) else Urgency.WARNING
        words = notice_words("repair-refused", which=which, told=error.told)
        self.notices.tell(session, key, words, urgency=urgency)


def _in_order(failed: Sequence[Failed]) -> tuple[Failed, ...]:
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


def _find_missing(session: Session, failed: Sequence[Failed]) -> list[Failed]:
    bodies = inbox.known_bodies(session, (digest for one in failed for digest in one.digests))
    keys = inbox.last_received(session, (one.event.key for one in failed))
    meetings = event_store.meetings_told(session, {one.event.race.meeting_id for one in failed} - {None})

    def missing(one: Failed) -> Failed | None:
        race, kind = one.event.race, one.event.kind
        of_meeting = meetings.get((race.meeting_id, kind)) if one.event.is_of_meeting else None
        received = max(filter(None, (keys.get(one.event.key), of_meeting)), default=None)
        if not bodies.isdisjoint(one.digests):
            return None
        if one.has_payload or received is None:
            return one
        # The record of a delivery that came by a retry was tried before.
        is_after = one.tried_at is not None and one.tried_at > received
        is_news = race.race_id is not None or kind is EventKind.MEETING_ABANDONED
        return replace(one, is_later=True) if is_after and is_news else None

    return list({one.sha256: one for one in map(missing, failed) if one}.values())


def _find_lacking(session: Session, missing: Sequence[Failed]) -> list[Failed]:
    """Deliveries without a payload, if the race book lacks the place, or the order since the first attempt."""
    bare = [one for one in missing if not one.has_payload]
    ids = {one.event.race.race_id for one in bare if one.event.race.race_id}
    meetings = {one.event.race.meeting_id for one in bare if one.event.race.meeting_id}
    book = race_book_store.find(session, ids, meetings)
    in_book = {race.meeting_id for race in book.values()}

    def is_lacking(one: Failed) -> bool:
        if one.is_later or one.event.kind is EventKind.RESULT_RECEIVED:
            return _race_since(session, one) is None
        race = one.event.race
        return race.race_id not in book and race.meeting_id not in in_book

    return [one for one in bare if is_lacking(one)]


def _race_since(session: Session, one: Failed) -> Race | None:
    """The race of the race book, if read or told since the first attempt. The race of a result has an order.

    No path reads a meeting. The event's name says that an abandoned meeting is lost (Interface, Events).
    """
    if one.event.kind is EventKind.MEETING_ABANDONED:
        return one.event.race.model_copy(update={"status": "abandoned"})
    race_id, is_result = one.event.race.race_id, one.event.kind is EventKind.RESULT_RECEIVED
    row = session.get(BookRace, race_id) if race_id else None
    if row is None or (one.tried_at and row.updated_at <= one.tried_at):
        return None
    race = race_book_store.read_row(row.race_id, row.region, row.data)
    return race if race and (race.placed() or not is_result) else None


def _days_of(lacking: Iterable[Failed]) -> list[tuple[str | None, date]]:
    """Regions and days to look up. A card without a date has no day."""
    found: dict[tuple[str | None, date], None] = {}
    for one in lacking:
        day = racing_day(one.event.race.race_date)
        if day is None and one.tried_at and one.event.kind is not EventKind.RACECARD_PUBLISHED:
            day = one.tried_at.date()
        if day:
            found[one.event.race.region, day] = None
    return list(found)
