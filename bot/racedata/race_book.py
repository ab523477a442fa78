"""The race book: races by region and day, read by a walk of `/races/search` whose position is stored with its races.

`/races/search` is the only specified way to read races, and can't be asked for a day (Spec gap G10): so the list is
walked, and what the walk has passed is known for good (bot.racedata.walk_state). A command waits for it as long as its
budget says; the walk goes on without it, so that the next one finds more. Where the path of a day is known, one request
takes the walk's place.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import ServiceError
from bot.events.days import is_outside, utc_today
from bot.events.event import RacingEvent
from bot.events.races import Course, Race
from bot.logs import get_logger
from bot.racedata import race_book_store
from bot.racedata.client.service_client import RacingClient
from bot.racedata.client.service_errors import OutsideWindow, QuotaExceeded, RateLimited, ServiceFailure, Spared
from bot.racedata.day_card import Card, Coverage, Meeting, Outcomes, none_hidden
from bot.racedata.day_outcomes import outcomes_of
from bot.racedata.day_path import DayRead, PathReader, Paths
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book_reader import Errand, Reader
from bot.racedata.race_book_store import Kept
from bot.racedata.walk_state import Walk, is_proven, read_at

log = get_logger(__name__)

PAGES_TOGETHER = 25
"""After so many pages it is looked who still waits, and what commands may still spend."""


@dataclass(frozen=True)
class Budget:
    """What one command may take: pages of the service, and seconds of its reader's patience."""

    pages: int = 1_000
    seconds: float = 15.0


@dataclass(frozen=True)
class Standing:
    """How far an errand's day is known. `stopped_by` is why it isn't, where something stopped the reading."""

    errand: Errand
    walk: Walk
    day_read: DayRead | None = None
    stopped_by: Coverage | None = None
    failure: ServiceError | None = None

    @property
    def is_proven(self) -> bool:
        """Whether all that the service has of the day was read, and lately enough: outside the window nothing is."""
        if self.stopped_by is Coverage.OUTSIDE_WINDOW:
            return False
        by_path = self.day_read is not None and self.day_read.proves(self.errand)
        return by_path or is_proven(self.walk, self.errand.day.isoformat(), self.errand.fresh_since)

    @property
    def read_at(self) -> datetime | None:
        """When the day was last read whole; None where it was not, or is settled."""
        if self.day_read is not None and self.day_read.proves(self.errand):
            return self.day_read.read_at
        return read_at(self.walk, self.errand.day.isoformat(), self.errand.fresh_since)


Stopped = tuple[Coverage | None, ServiceError | None]
"""What stopped a reading, and the service's failure if it was one."""


@dataclass(eq=False)
class _Run:
    """A reading of a region's list that is under way. `waiting`: those who wait for it; `queued`: for its end."""

    errand: Errand
    task: "asyncio.Task[Stopped]"
    pages: int = 0
    waiting: int = 0
    queued: int = 0


class RaceBook:
    """Reads cards, and keeps what was read."""

    def __init__(
        self,
        database: Database,
        client: RacingClient,
        clock: Clock,
        quota: QuotaBook,
        paths: Paths | None = None,
    ) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._quota = quota
        self._paths = PathReader(database, client, clock, paths or Paths())
        self._reader = Reader(database, client, clock)
        self._runs: dict[str | None, _Run] = {}
        self._pages: Counter[str | None] = Counter()
        self._reading_day: dict[str | None, asyncio.Lock] = {}

    async def aclose(self) -> None:
        """End what is read for nobody; a walk's position is stored with its last page."""
        tasks = [run.task for run in self._runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def card(
        self, region: str | None, day: date, course: Course | None = None, budget: Budget | None = None
    ) -> Card:
        """The day's meetings of a region, or of all (None), by the book and by all deliveries.

        The book is read on first where it is stale. Raises no ServiceError: what went wrong stands in the card.
        """
        standing = await self.top_up(region, day, budget or Budget())
        kept, told = await self._database.read(lambda session: _known(session, region, day))
        return self._card(standing, kept, course, outcomes_of([one.race for one in kept], told, region, course))

    async def meetings(self, day: date) -> tuple[Meeting, ...]:
        """The meetings that are known of a day by now, of all regions; nothing is read on for it."""
        kept, told = await self._database.read(lambda session: _known(session, None, day))
        return outcomes_of([one.race for one in kept], told, None, None).meetings

    async def race(self, race_id: str) -> Race | None:
        """A race by its id, from the book; where that lacks the finishing order, by RACING_RACE_PATH if it is set.

        None where neither has it. Raises ServiceError where the service failed and the book has nothing.
        """
        known = await self._database.read(lambda session: race_book_store.by_id(session, race_id))
        if (known and known.placed()) or await self._quota.commands_left() == 0:
            return known
        try:
            return await self._paths.read_race(race_id, known or Race()) or known
        except ServiceError:
            if known is None:
                raise
            return known

    async def progress(self, region: str | None) -> str:
        """How far the reading of a region's list is, in words."""
        run, walk = self._runs.get(region), await self._reader.load(region)
        read = run.pages if run else 0
        pages = f"{read} page{'' if read == 1 else 's'} so far" if read else "waiting for the data service"
        reached = walk.reached()
        so_far = f", and it has come to {reached}" if reached else ""
        return f"Reading the data service's list of {region or 'all regions'}: {pages}{so_far}"

    async def top_up(self, region: str | None, day: date, budget: Budget) -> Standing:
        """Read on until the day is proven, or the budget, the quota or the service ends it. Raises no ServiceError."""
        now = self._clock()
        fresh_since = now - timedelta(seconds=await self._quota.staleness_s())
        errand = Errand(region, day, utc_today(now), fresh_since)
        before = await self._standing(errand)
        if before.is_proven or before.stopped_by is not None:
            return before
        stopped: Stopped = None, None
        pages = self._pages[region]
        try:
            async with asyncio.timeout(budget.seconds):
                stopped = await self._read_on(errand, budget)
        except TimeoutError:
            log.info("racebook_reads_on", region=errand.region, day=errand.day.isoformat())
            error = self._client.held_up()
            # A reading that has begun waits for its next minute, and nothing has to be asked again.
            if self._pages[region] == pages and not (isinstance(error, RateLimited) and self._is_reading(region)):
                stopped = _stopped_by(error, errand.day), error
        except ServiceError as error:
            stopped = _stopped_by(error, errand.day), error
        return await self._standing(errand, stopped)

    def _is_reading(self, region: str | None) -> bool:
        """Whether a reading of the region's list is under way, and has come to a page."""
        run = self._runs.get(region)
        return run is not None and not run.task.done() and run.pages > 0

    async def _standing(self, errand: Errand, stopped: Stopped = (None, None)) -> Standing:
        """How far the errand's day is known by what is kept."""
        walk, day_read = await self._reader.load(errand.region), await self._paths.load(errand)
        stopped_by, failure = stopped
        if is_outside(self._window(walk, day_read), errand.day):
            stopped_by = Coverage.OUTSIDE_WINDOW
        return Standing(errand, walk, day_read, stopped_by, failure)

    async def _read_on(self, errand: Errand, budget: Budget) -> Stopped:
        """Read by the day's path, else have the list walked, whoever began that, until the day is proven."""
        async with self._reading_day.setdefault(errand.region, asyncio.Lock()):
            if (await self._standing(errand)).is_proven or await self._read_day(errand, budget):
                return None, None
        while True:
            run = self._runs.get(errand.region)
            if run is None or run.task.done():
                return await self._wait_for(self._start(errand, budget))
            if run.errand.day == errand.day:
                return await self._wait_for(run)
            run.queued += 1
            try:
                await asyncio.wait({run.task})
            finally:
                run.queued -= 1
            if (await self._standing(errand)).is_proven:
                return None, None

    async def _read_day(self, errand: Errand, budget: Budget) -> bool:
        """Whether the day could be read by its path."""
        left = await self._quota.commands_left()
        requests = budget.pages if left is None else min(budget.pages, left)
        return await self._paths.read_day(errand, requests) is not None

    def _start(self, errand: Errand, budget: Budget) -> _Run:
        # Whoever gives up waiting must not end it for the others.
        task = asyncio.create_task(self._walk(errand, budget.pages), name=f"race book {errand.region}")
        task.add_done_callback(_look_at)
        run = self._runs[errand.region] = _Run(errand, task)
        return run

    async def _wait_for(self, run: _Run) -> Stopped:
        run.waiting += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1

    async def _walk(self, errand: Errand, pages: int) -> Stopped:
        """Read pages until the day is proven, while commands may spend them, and nobody is kept from another day."""
        run, may_spend = self._runs[errand.region], pages
        try:
            while True:
                left = await self._quota.commands_left()
                # What others spend meanwhile is seen by the quota book, and what this run does by its own count too.
                may_spend = may_spend if left is None else min(may_spend, left)
                before, together = run.pages, min(PAGES_TOGETHER, may_spend)
                was_enough = await self._reader.read_on(
                    errand, together, in_background=not run.waiting, on_page=partial(self._note_page, run)
                )
                may_spend -= run.pages - before
                if was_enough or run.pages >= pages or (run.queued and not run.waiting):
                    return None, None
                if may_spend <= 0:
                    return Coverage.QUOTA, await self._quota.held_back()
        except ServiceError as error:
            log.info("racebook_stopped", region=errand.region, reason=str(error))
            return _stopped_by(error, errand.day), error

    def _note_page(self, run: _Run) -> None:
        run.pages += 1
        self._pages[run.errand.region] += 1

    def _card(self, standing: Standing, kept: list[Kept], course: Course | None, outcomes: Outcomes) -> Card:
        is_whole = standing.is_proven and none_hidden((one.race for one in kept), course)
        day_read, walk = standing.day_read, standing.walk
        return Card(
            day=standing.errand.day,
            region=standing.errand.region,
            course=course,
            outcomes=outcomes,
            coverage=Coverage.COMPLETE if is_whole else standing.stopped_by or _so_far(outcomes),
            failure=None if is_whole else standing.failure,
            read_at=standing.read_at or max((one.updated_at for one in kept), default=None),
            reached=None if is_whole else walk.reached(),
            data_as_of=(day_read and day_read.data_as_of) or walk.data_as_of,
            window=self._window(walk, day_read),
        )

    def _window(self, walk: Walk, day_read: DayRead | None) -> str | None:
        """The plan's window, as last seen by anyone."""
        return self._client.state.window or (day_read and day_read.window) or walk.window


def _known(session: Session, region: str | None, day: date) -> tuple[list[Kept], list[RacingEvent]]:
    """The races of a day in the book, and what deliveries told of them."""
    since, until = (datetime.combine(day, clock, UTC) for clock in (time.min, time.max))
    told = race_book_store.told_of_day(session, day.isoformat(), since, until)
    return race_book_store.of_day(session, day.isoformat(), region), told


def _stopped_by(error: ServiceError, day: date) -> Coverage:
    """Why it ended. A refusal that is about another date says nothing about this day."""
    if isinstance(error, OutsideWindow) and error.requested_date == day.isoformat():
        return Coverage.OUTSIDE_WINDOW
    # A latch keeps the code of the refusal that shut it.
    is_quota = isinstance(error, ServiceFailure) and error.code == QuotaExceeded.known_code
    return Coverage.QUOTA if is_quota or isinstance(error, QuotaExceeded | Spared) else Coverage.FAILED


def _so_far(outcomes: Outcomes) -> Coverage:
    return Coverage.PARTIAL if outcomes.meetings else Coverage.UNREAD


def _look_at(task: "asyncio.Task[Stopped]") -> None:
    """Take note of a bug or a full disk, where all who waited for the reading have given up."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("racebook_not_read", reason=str(error))
