"""The race book: the races of all days, with the cards and races that commands and jobs ask for.

A region's day is read from the data service by RACING_DAY_PATH in one request, else by the walk of `/races/search`. No
specified list has a filter by day (Spec gap G10), so the walk reads the whole list, and keeps its position with the
races. A caller waits as long as the budget says, while the reading continues in the background. A region is read by one
request at a time, and each reading goes on from the pages of the others.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from pydantic import AwareDatetime
from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.errors import ServiceError
from bot.events.days import begins_at, day_before, is_outside, utc_today, widens
from bot.events.races import Course, Race, Value
from bot.events.reading.fields import NAMES_OF, Fields, fields_of, fold
from bot.events.reading.race_list import lists_races, read_races
from bot.events.reading.race_record import read_race
from bot.events.sentences import counted
from bot.logs import get_logger
from bot.racedata import quota_book, race_book_store
from bot.racedata.client.circuit_breakers import QUOTA
from bot.racedata.client.cursor_walk import Step, Trail
from bot.racedata.client.records import UNREAD_SHOWN, AnyPage, Meta
from bot.racedata.client.service_client import RACES_PATH, RECORDS_PER_PAGE, WHOLE_LIST_PAGES, RacingClient
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    InvalidParam,
    NotFound,
    OutsideWindow,
    RateLimited,
    ServiceFailure,
    Spared,
    WalkBroken,
)
from bot.racedata.day import known_day, note_whole
from bot.racedata.day_card import Card, Coverage, Outcomes, none_hidden
from bot.racedata.lexicon import REGIONS
from bot.racedata.month_quota import Purpose
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_walk import ALL_REGIONS_WALK, Errand, PageSeen, Start, Walk, after_page, is_proven, read_at
from bot.settings import Settings
from bot.tasks import Tasks

log = get_logger(__name__)

PAGES_TOGETHER = 25
"""Pages that are read for a waiting person before another day of the region has a turn."""

RUNNERS_KEPT = timedelta(days=60)
"""Older races have no runners: a walk from 2017 on passes hundreds of thousands of races."""

DAYS_NEAR = (-1, 0, 1)
"""The days from today whose whole card may be read while racing goes on in some time zone."""

NAMES_OF_LISTS = frozenset(name for fact in ("lists.races", "lists.cards", "lists.meetings") for name in NAMES_OF[fact])


@dataclass(frozen=True)
class Budget:
    pages: int = 1_000
    seconds: float = 15.0
    purpose: Purpose = Purpose.PEOPLE


class DayRead(Value):
    """A reading of a day by RACING_DAY_PATH. `data_as_of` is the answer's."""

    read_at: AwareDatetime
    data_as_of: str | None = None

    def proves(self, errand: Errand) -> bool:
        """Whether the reading is recent enough, or was made after the day was settled."""
        settled = errand.day.isoformat() < day_before(self.read_at.date())
        return settled or self.read_at >= errand.fresh_since


class PathReader:
    """Races by paths known to the operator: RACING_DAY_PATH and RACING_RACE_PATH (Spec gaps G9, G10).

    A request for a day returns every race of the day (Interface, Limits 9). The interface does not show the shape of
    the answer: a list of races, a list of meetings, or an object with lists.
    """

    def __init__(self, database: Database, clock: Clock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._day_path = settings.racing_day_path
        self._race_path = settings.racing_race_path

    async def load(self, errand: Errand) -> DayRead | None:
        if self._day_path is None:
            return None
        now = self._clock()
        return await self._database.read(lambda session: named_values.load(session, _name(errand), DayRead, now))

    async def read_day(self, client: RacingClient, errand: Errand, requests: int) -> bool:
        """False if RACING_DAY_PATH does not give the whole day.

        Raises ServiceError for a failure of the service: the list of races would fail too.
        """
        day, known = errand.day.isoformat(), await self._database.read(REGIONS.items)
        # An answer to a path without `{region}` covers all regions.
        of_errand = known if errand.region is None else (errand.region,)
        regions = of_errand if "{region}" in (self._day_path or "") else (None,)
        if self._day_path is None or not 0 < len(regions) <= requests:
            return False
        began, meta = self._clock(), Meta()
        for region in regions:
            page = await self._ask(client, self._day_path, date=day, **({"region": region} if region else {}))
            if page is None:
                return False
            races = await asyncio.to_thread(read_day, page.data, Race(region=region, race_date=day))
            if races is None or not _tells(errand, races, known):
                log.warning("day_not_readable", path=self._day_path, body=str(page.data)[:UNREAD_SHOWN])
                return False
            meta = page.meta
            await race_book_store.keep(
                self._database, races, self._clock(), region=region or race_book_store.REGION_UNKNOWN
            )
        read = DayRead(read_at=began, data_as_of=meta.data_as_of)
        await self._database.write(lambda session: self._note(session, errand, read))
        return True

    async def read_race(self, client: RacingClient, race_id: str, known: Race) -> Race | None:
        page = None if self._race_path is None else await self._ask(client, self._race_path, race_id=race_id)
        record = _only(page.data) if page else None
        if record is None:
            return None
        race = race_book_store.merged(known, read_race(record).model_copy(update={"race_id": race_id}), whole=True)
        await race_book_store.keep(self._database, (race,), self._clock(), region=None)
        return race

    async def _ask(self, client: RacingClient, path: str, **values: str) -> AnyPage | None:
        """Counts a request. Returns None if the answer shows a wrong path."""
        try:
            page = await client.read_path(path, **values)
        except (NotFound, InvalidParam, AnswerUnreadable, ValueError) as error:
            log.warning("path_not_read", path=path, reason=str(error))
            page = None
        now = self._clock()
        await self._database.write(lambda session: quota_book.spend(session, 1, now, by_commands=1))
        return page

    def _note(self, session: Session, errand: Errand, read: DayRead) -> None:
        now = self._clock()
        named_values.put(session, _name(errand), read.model_dump(mode="json"), now)
        if read.proves(replace(errand, fresh_since=begins_at(errand.day))):
            note_whole(session, errand.region, errand.day, now)


@dataclass(frozen=True)
class DayStanding:
    errand: Errand
    walk: Walk
    day_read: DayRead | None = None
    window: str | None = None
    stopped_by: Coverage | None = None
    failure: ServiceError | None = None

    @property
    def is_proven(self) -> bool:
        """Whether the whole day was read, and lately enough. Days outside the plan's window are never proven."""
        if self.stopped_by is Coverage.OUTSIDE_WINDOW:
            return False
        by_path = self.day_read is not None and self.day_read.proves(self.errand)
        return by_path or is_proven(self.walk, self.errand.day.isoformat(), self.errand.fresh_since)

    @property
    def read_at(self) -> datetime | None:
        """When the day was last read whole; None for settled days and unread days."""
        if self.day_read is not None and self.day_read.proves(self.errand):
            return self.day_read.read_at
        return read_at(self.walk, self.errand.day.isoformat(), self.errand.fresh_since)


Stopped = tuple[Coverage | None, ServiceError | None]


@dataclass(eq=False)
class _Reading:
    """A reading under way, which goes on when its caller has given up. `is_waited_for`: a person waits."""

    errand: Errand
    budget: Budget
    is_waited_for: bool
    pages: int = 0


@dataclass(eq=False)
class _Region:
    """Readings of a region take turns on a single walk.

    `pages`: read since the first of the `readers` began. `days`: seen since the front of the list. `idle_pages`: pages
    of races in a row without another day. The walk itself bounds empty pages.
    """

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    trail: Trail = field(default_factory=Trail)
    readers: int = 0
    pages: int = 0
    days: set[str] = field(default_factory=set)
    idle_pages: int = 0

    def see(self, page: PageSeen) -> None:
        """Raise WalkBroken where the list comes to no other day."""
        if page.cursor is None:
            self.days.clear()
        is_idle = self.days.issuperset(page.days)
        self.idle_pages = self.idle_pages + bool(page.dates) if is_idle else 0
        self.days.update(page.days)
        if self.idle_pages >= WHOLE_LIST_PAGES and not page.is_last:
            raise WalkBroken(RACES_PATH, message=f"{self.idle_pages} pages without another day")


class RaceBook:
    """Commands and jobs share one race book, so that a region is read once for all."""

    def __init__(
        self, database: Database, client: RacingClient, clock: Clock, quota: QuotaBook, settings: Settings
    ) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._quota = quota
        self._paths = PathReader(database, clock, settings)
        self.readings = Tasks()
        self.aclose = self.readings.finish
        self._regions: dict[str | None, _Region] = defaultdict(_Region)

    async def card(
        self, region: str | None, day: date, course: Course | None = None, budget: Budget | None = None
    ) -> Card:
        """A stale book is read on first. Raises no ServiceError: the card holds the failure."""
        standing = await self.top_up(region, day, budget or Budget())
        return await self._database.read(partial(_card, standing=standing, course=course))

    async def known(self, region: str | None, day: date, course: Course | None = None) -> Card:
        """A day's races by the book and the deliveries. Makes no request."""
        outcomes = await self._database.read(lambda session: known_day(session, day, region).outcomes(course))
        return Card(day, region, course, outcomes, _so_far(outcomes))

    async def race(self, race_id: str, purpose: Purpose = Purpose.PEOPLE, *, anew: bool = False) -> Race | None:
        """The race from the book. `anew`, or if the book has no finishing order, the race is read by RACING_RACE_PATH.

        Raises ServiceError if the service failed and the book lacks the race.
        """
        known = await self._database.read(lambda session: race_book_store.by_id(session, race_id))
        if (known and known.placed() and not anew) or await self._quota.commands_left() == 0:
            return known
        try:
            return await self._paths.read_race(self._client_for(purpose), race_id, known or Race()) or known
        except ServiceError:
            if known is None:
                raise
            return known

    async def top_up(self, region: str | None, day: date, budget: Budget) -> DayStanding:
        """Read until the day is proven, or until budget, quota or service end the reading. Raises no ServiceError."""
        now = self._clock()
        fresh_since = now - timedelta(seconds=await self._quota.staleness_s())
        errand = Errand(region, day, utc_today(now), fresh_since)
        before = await self._standing(errand)
        if before.is_proven or before.stopped_by is not None:
            return before
        stopped: Stopped = None, None
        reading, here = _Reading(errand, budget, budget.purpose is Purpose.PEOPLE), self._regions[region]
        pages = here.pages
        here.readers += 1
        try:
            async with asyncio.timeout(budget.seconds):
                stopped = await self.readings.finished(self._read(reading, here), f"read {region or 'all regions'}")
        except TimeoutError:
            log.info("racebook_reads_on", region=region, day=day.isoformat())
            error = self._client.held_up()
            # A reading with a page already only waits for its next minute: a retry would not help.
            if here.pages == pages and not (isinstance(error, RateLimited) and pages):
                stopped = _stopped_by(error, day), error
        finally:
            reading.is_waited_for = False
        return await self._standing(errand, stopped)

    async def progress(self, region: str | None) -> str:
        walk, read = await self._walk_of(region), self._regions[region].pages
        pages = f"{counted(read, 'page')} so far" if read else "waiting for the data service"
        reached = walk.reached()
        so_far = f", up to {reached}" if reached else ""
        return f"Reading the data service's list of {region or 'all regions'}: {pages}{so_far}"

    async def _standing(self, errand: Errand, stopped: Stopped = (None, None)) -> DayStanding:
        walk, day_read = await self._walk_of(errand.region), await self._paths.load(errand)
        window = self._client.state.window or walk.window
        stopped_by, failure = stopped
        if is_outside(window, errand.day):
            stopped_by = Coverage.OUTSIDE_WINDOW
        return DayStanding(errand, walk, day_read, window, stopped_by, failure)

    async def _walk_of(self, region: str | None) -> Walk:
        return await self._database.read(partial(stored_walk, region=region, now=self._clock()))

    async def _read(self, reading: _Reading, here: _Region) -> Stopped:
        """Read until the day is proven, while the budget lasts and commands may spend quota."""
        errand = reading.errand
        try:
            async with here.turn:
                if (await self._standing(errand)).is_proven:
                    return None, None
                left, most = await self._quota.commands_left(), reading.budget.pages
                client = self._client_for(reading.budget.purpose)
                if await self._paths.read_day(client, errand, most if left is None else min(most, left)):
                    return None, None
            while reading.pages < most:
                left = await self._quota.commands_left()
                if left is not None and left <= 0:
                    return Coverage.QUOTA, await self._quota.held_back(RACES_PATH, Purpose.PEOPLE)
                async with here.turn:
                    if await self._walk_on(reading, here, most if left is None else left):
                        return None, None
        except ServiceError as error:
            log.info("racebook_stopped", region=errand.region, reason=str(error))
            return _stopped_by(error, errand.day), error
        finally:
            here.readers -= 1
            if not here.readers:
                self._regions.pop(errand.region)
        return None, None

    async def _walk_on(self, reading: _Reading, here: _Region, left: int) -> bool:
        """True if the day is read. A person who comes later need not wait for a client in the background."""
        errand, is_waiting = reading.errand, reading.is_waited_for
        pages = min(left, reading.budget.pages - reading.pages, PAGES_TOGETHER if is_waiting else 1)
        walk = await self._walk_of(errand.region)
        start = errand.next_start(walk)
        if start is None:
            return True
        client = self._client_for(reading.budget.purpose, is_waiting=is_waiting)
        asked_at = self._clock()
        async with aclosing(client.walk_races(walk.region, walk.limit, start.cursor, here.trail)) as steps:
            async for step in steps:
                walk = await self._keep_page(walk, step, asked_at, errand, here)
                reading.pages += 1
                here.pages += 1
                pages -= 1
                # A broken walk stays at its page, and raises next.
                is_over = pages <= 0 or errand.next_start(walk) != Start(step.resume_at)
                if is_over and step.resume_at != step.cursor:
                    break
                asked_at = self._clock()
        return errand.next_start(walk) is None

    def _client_for(self, purpose: Purpose, *, is_waiting: bool = True) -> RacingClient:
        if purpose is Purpose.UPKEEP:
            return self._client.for_upkeep()
        return self._client if is_waiting else self._client.in_background()

    async def _keep_page(
        self, walk: Walk, step: Step[dict[str, Any]], asked_at: datetime, errand: Errand, here: _Region
    ) -> Walk:
        # Hundreds of records take a while, and other commands must not wait.
        races = await asyncio.to_thread(_read_races, step.page.data, errand.today)
        seen = PageSeen(asked_at, step.cursor, step.resume_at, step.is_last, [race.race_date for race in races])
        meta = step.page.meta
        # After a refused cursor, everything that depends on cursors is forgotten.
        known = walk.forgotten() if step.started_again else walk
        if widens(walk.window, meta.window):
            # Another plan shows more races than the walk could see before.
            after = walk.forgotten()
        else:
            after = after_page(known, seen, day_before(errand.today), errand.fresh_since)
        after = after.model_copy(
            update={"window": meta.window or walk.window, "data_as_of": meta.data_as_of or walk.data_as_of}
        )
        # In the list of all regions each race names its own region; "" replaces no region.
        region = walk.region or race_book_store.REGION_UNKNOWN
        await race_book_store.keep(self._database, races, self._clock(), region=region)
        kept = await self._database.write(lambda session: self._store(session, walk, after))
        here.see(seen)
        return kept

    def _store(self, session: Session, before: Walk, walk: Walk) -> Walk:
        """The stored walk, which goes on from the progress of another process if there is any."""
        now = self._clock()
        quota_book.spend(session, 1, now, by_commands=1)
        kept = stored_walk(session, walk.region, now)
        if kept != before:
            return kept
        named_values.put(session, _walk_name(walk.region), walk.model_dump(mode="json"), now)
        for day in (utc_today(now) + timedelta(days=ahead) for ahead in DAYS_NEAR):
            if is_proven(walk, day.isoformat(), begins_at(day)):
                note_whole(session, walk.region, day, now)
        return walk


def _card(session: Session, standing: DayStanding, course: Course | None) -> Card:
    errand, day_read, walk = standing.errand, standing.day_read, standing.walk
    known = known_day(session, errand.day, errand.region)
    outcomes = known.outcomes(course)
    is_whole = standing.is_proven and none_hidden(known.in_book, course)
    return Card(
        day=errand.day,
        region=errand.region,
        course=course,
        outcomes=outcomes,
        coverage=Coverage.COMPLETE if is_whole else standing.stopped_by or _so_far(outcomes),
        failure=None if is_whole else standing.failure,
        read_at=standing.read_at,
        latest_at=known.latest_at,
        reached=None if is_whole else walk.reached(),
        data_as_of=(day_read and day_read.data_as_of) or walk.data_as_of,
        window=standing.window,
    )


def _so_far(outcomes: Outcomes) -> Coverage:
    return Coverage.PARTIAL if outcomes.meetings else Coverage.UNREAD


def stored_walk(session: Session, region: str | None, now: datetime) -> Walk:
    return named_values.load(session, _walk_name(region), Walk, now) or Walk(region=region, limit=RECORDS_PER_PAGE)


def _walk_name(region: str | None) -> str:
    return f"{Mark.WALK}{ALL_REGIONS_WALK if region is None else region}"


def _read_races(records: Sequence[Mapping[str, Any]], today: date) -> list[Race]:
    races = [read_race(record) for record in records]
    kept_from = (today - RUNNERS_KEPT).isoformat()
    return [race if (race.race_date or "") >= kept_from else _without_runners(race) for race in races]


def _without_runners(race: Race) -> Race:
    return race.model_copy(update={"runners": (), "field_size": race.field_size or len(race.runners) or None})


def _stopped_by(error: ServiceError, day: date) -> Coverage:
    """A refusal about another date says nothing about this day."""
    if isinstance(error, OutsideWindow) and error.requested_date == day.isoformat():
        return Coverage.OUTSIDE_WINDOW
    is_quota = isinstance(error, ServiceFailure) and error.cause in {QUOTA, Spared.__name__}
    return Coverage.QUOTA if is_quota else Coverage.FAILED


def read_day(data: Any, shared: Race) -> tuple[Race, ...] | None:
    """The races of a list of races or meetings, or of an object with lists. None for another shape.

    `shared`: facts of all races.
    """
    named = data if isinstance(data, Mapping) else {"races": data}
    lists = [value for name, value in named.items() if isinstance(value, list) and fold(str(name)) in NAMES_OF_LISTS]
    if not lists or not all(isinstance(entry, Mapping) for entries in lists for entry in entries):
        return None
    races: list[Race] = []
    for entries in lists:
        of_meetings = any(lists_races(fields_of(entry)) for entry in entries)
        for entry in entries:
            # Each entry by itself: `read_races` bounds the races of a delivery.
            races += read_races([Fields({"meetings" if of_meetings else "races": [entry]})], shared)
    return tuple(races)


def _only(data: Any) -> Mapping[str, Any] | None:
    one = data[0] if isinstance(data, list) and len(data) == 1 else data
    return one if isinstance(one, Mapping) else None


def _tells(errand: Errand, races: Sequence[Race], known: Collection[str]) -> bool:
    """False if all races are of other days, or if the errand has a region and a race has no known region."""
    if races and all(race.race_date != errand.day.isoformat() for race in races):
        return False
    return errand.region is None or all(race.region and (not known or race.region in known) for race in races)


def _name(errand: Errand) -> str:
    return f"{Mark.DAY}{ALL_REGIONS_WALK if errand.region is None else errand.region}.{errand.day.isoformat()}"
