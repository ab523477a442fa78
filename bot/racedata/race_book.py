"""The race book: races by region and day, read by a cursor walk of `/races/search`.

No specified list has a filter by day (Spec gap G10), so the bot walks the whole list, and keeps the position with the
races. A command waits as long as its budget says, while the walk continues in the background. RACING_DAY_PATH replaces
the walk with one request.
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
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, RaceOutcome, none_hidden, outcomes_of
from bot.racedata.day_path import DayRead, PathReader, Paths
from bot.racedata.quota_book import QuotaBook
from bot.racedata.quota_purposes import Purpose
from bot.racedata.race_book_store import StoredRace
from bot.racedata.race_walk import Errand, Walk, WalkReader, is_proven, read_at

log = get_logger(__name__)

PAGES_PER_CHECK = 25


@dataclass(frozen=True)
class Budget:
    pages: int = 1_000
    seconds: float = 15.0
    purpose: Purpose = Purpose.PEOPLE


@dataclass(frozen=True)
class Standing:
    errand: Errand
    walk: Walk
    day_read: DayRead | None = None
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
class _Run:
    """A walk under way. `waiting` counts people for this day, `queued` people for another day.

    `budget` is the first caller's; `for_people` after a person asked too.
    """

    errand: Errand
    task: "asyncio.Task[Stopped]"
    budget: Budget
    for_people: bool = False
    pages: int = 0
    waiting: int = 0
    queued: int = 0


class RaceBook:
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
        self._paths = PathReader(database, clock, paths or Paths())
        self._reader = WalkReader(database, clock)
        self.runs: dict[str | None, _Run] = {}
        self._pages: Counter[str | None] = Counter()
        self._reading_day: dict[str | None, asyncio.Lock] = {}

    async def aclose(self) -> None:
        tasks = [run.task for run in self.runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def card(
        self, region: str | None, day: date, course: Course | None = None, budget: Budget | None = None
    ) -> Card:
        """A stale book is read on first. Raises no ServiceError: the card holds the failure."""
        standing = await self.top_up(region, day, budget or Budget())
        kept, told, doubts = await self._database.read(lambda session: _known(session, region, day))
        outcomes = outcomes_of([one.race for one in kept], told, region, course, doubts)
        return self._card(standing, kept, course, outcomes)

    async def known(self, region: str | None, day: date, course: Course | None = None) -> Card:
        """What the book and the deliveries have of a day. Makes no request."""
        kept, told, doubts = await self._database.read(lambda session: _known(session, region, day))
        outcomes = outcomes_of([one.race for one in kept], told, region, course, doubts)
        return Card(day, region, course, outcomes, _so_far(outcomes))

    async def meetings(self, day: date) -> tuple[MeetingCard, ...]:
        """Makes no request."""
        return (await self.known(None, day)).meetings

    async def race(self, race_id: str, purpose: Purpose = Purpose.PEOPLE) -> Race | None:
        """From the book; without a finishing order there, by RACING_RACE_PATH.

        Raises ServiceError if the service failed and the book lacks the race.
        """
        known = await self._database.read(lambda session: race_book_store.by_id(session, race_id))
        if (known and known.placed()) or await self._quota.commands_left() == 0:
            return known
        try:
            return await self._paths.read_race(self._client_for(purpose), race_id, known or Race()) or known
        except ServiceError:
            if known is None:
                raise
            return known

    async def progress(self, region: str | None) -> str:
        run, walk = self.runs.get(region), await self._reader.load(region)
        read = run.pages if run else 0
        pages = f"{read} page{'' if read == 1 else 's'} so far" if read else "waiting for the data service"
        reached = walk.reached()
        so_far = f", and it has come to {reached}" if reached else ""
        return f"Reading the data service's list of {region or 'all regions'}: {pages}{so_far}"

    async def top_up(self, region: str | None, day: date, budget: Budget) -> Standing:
        """Read until the day is proven, or until budget, quota or service end the reading. Raises no ServiceError."""
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
            # A walk with a page already only waits for its next minute: a retry would not help.
            if self._pages[region] == pages and not (isinstance(error, RateLimited) and self._is_reading(region)):
                stopped = _stopped_by(error, errand.day), error
        except ServiceError as error:
            stopped = _stopped_by(error, errand.day), error
        return await self._standing(errand, stopped)

    def _is_reading(self, region: str | None) -> bool:
        run = self.runs.get(region)
        return run is not None and not run.task.done() and run.pages > 0

    async def _standing(self, errand: Errand, stopped: Stopped = (None, None)) -> Standing:
        walk, day_read = await self._reader.load(errand.region), await self._paths.load(errand)
        stopped_by, failure = stopped
        if is_outside(self._window(walk, day_read), errand.day):
            stopped_by = Coverage.OUTSIDE_WINDOW
        return Standing(errand, walk, day_read, stopped_by, failure)

    async def _read_on(self, errand: Errand, budget: Budget) -> Stopped:
        async with self._reading_day.setdefault(errand.region, asyncio.Lock()):
            if (await self._standing(errand)).is_proven or await self._read_day(errand, budget):
                return None, None
        while True:
            run = self.runs.get(errand.region)
            if run is None or run.task.done():
                run = self._start(errand, budget)
            if run.errand.day == errand.day:
                stopped = await self._wait_for(run, budget)
                if run.budget == budget or not _ended_early(stopped):
                    return stopped
            else:
                run.queued += budget.purpose is Purpose.PEOPLE
                try:
                    await asyncio.wait({run.task})
                finally:
                    run.queued -= budget.purpose is Purpose.PEOPLE
            if (await self._standing(errand)).is_proven:
                return None, None

    async def _read_day(self, errand: Errand, budget: Budget) -> bool:
        left = await self._quota.commands_left()
        requests = budget.pages if left is None else min(budget.pages, left)
        return await self._paths.read_day(self._client_for(budget.purpose), errand, requests) is not None

    def _client_for(self, purpose: Purpose) -> RacingClient:
        return self._client if purpose is Purpose.PEOPLE else self._client.for_upkeep()

    def _start(self, errand: Errand, budget: Budget) -> _Run:
        # The end of one caller's patience must not end the walk for others.
        task = asyncio.create_task(self._walk(errand, budget.pages), name=f"race book {errand.region}")
        task.add_done_callback(_log_failure)
        run = self.runs[errand.region] = _Run(errand, task, budget)
        return run

    async def _wait_for(self, run: _Run, budget: Budget) -> Stopped:
        is_person = budget.purpose is Purpose.PEOPLE
        run.for_people = run.for_people or is_person
        run.waiting += is_person
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= is_person

    async def _walk(self, errand: Errand, pages: int) -> Stopped:
        """Read until the day is proven, while commands may spend quota and no other day is kept waiting."""
        run, may_spend = self.runs[errand.region], pages
        try:
            while True:
                left = await self._quota.commands_left()
                # This walk's own pages are subtracted too.
                may_spend = may_spend if left is None else min(may_spend, left)
                # A person who comes later need not wait for a client in the background.
                before, together = run.pages, min(PAGES_PER_CHECK if run.waiting else 1, may_spend)
                was_enough = await self._reader.read_on(
                    self._client_of(run), errand, together, on_page=partial(self._note_page, run)
                )
                may_spend -= run.pages - before
                if was_enough or run.pages >= pages or (run.queued and not run.waiting):
                    return None, None
                if may_spend <= 0:
                    return Coverage.QUOTA, await self._quota.held_back()
        except ServiceError as error:
            log.info("racebook_stopped", region=errand.region, reason=str(error))
            return _stopped_by(error, errand.day), error

    def _client_of(self, run: _Run) -> RacingClient:
        if run.waiting:
            return self._client
        return self._client.in_background() if run.for_people else self._client.for_upkeep()

    def _note_page(self, run: _Run) -> None:
        run.pages += 1
        self._pages[run.errand.region] += 1

    def _card(self, standing: Standing, kept: list[StoredRace], course: Course | None, outcomes: Outcomes) -> Card:
        is_whole = standing.is_proven and none_hidden((one.race for one in kept), course)
        day_read, walk = standing.day_read, standing.walk
        return Card(
            day=standing.errand.day,
            region=standing.errand.region,
            course=course,
            outcomes=outcomes,
            coverage=Coverage.COMPLETE if is_whole else standing.stopped_by or _so_far(outcomes),
            failure=None if is_whole else standing.failure,
            read_at=standing.read_at,
            latest_at=max((one.updated_at for one in kept), default=None),
            reached=None if is_whole else walk.reached(),
            data_as_of=(day_read and day_read.data_as_of) or walk.data_as_of,
            window=self._window(walk, day_read),
        )

    def _window(self, walk: Walk, day_read: DayRead | None) -> str | None:
        return self._client.state.window or (day_read and day_read.window) or walk.window


def _known(
    session: Session, region: str | None, day: date
) -> tuple[list[StoredRace], list[RacingEvent], dict[str, RaceOutcome]]:
    since, until = (datetime.combine(day, clock, UTC) for clock in (time.min, time.max))
    told = race_book_store.told_of_day(session, day.isoformat(), since, until)
    doubts = race_book_store.doubts_of_day(session, day.isoformat(), since, until)
    return race_book_store.of_day(session, day.isoformat(), region), told, doubts


def _stopped_by(error: ServiceError, day: date) -> Coverage:
    """A refusal about another date says nothing about this day."""
    if isinstance(error, OutsideWindow) and error.requested_date == day.isoformat():
        return Coverage.OUTSIDE_WINDOW
    is_quota = isinstance(error, ServiceFailure) and error.code == QuotaExceeded.known_code
    return Coverage.QUOTA if is_quota or isinstance(error, QuotaExceeded | Spared) else Coverage.FAILED


def _ended_early(stopped: Stopped) -> bool:
    """Whether the walk ended by its own budget or purpose, so that another caller may read on."""
    coverage, failure = stopped
    return isinstance(failure, Spared) if failure else coverage is None


def _so_far(outcomes: Outcomes) -> Coverage:
    return Coverage.PARTIAL if outcomes.meetings else Coverage.UNREAD


def _log_failure(task: "asyncio.Task[Stopped]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("racebook_not_read", reason=str(error))
