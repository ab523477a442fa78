"""The race book: races by region and day, read by a walk of `/races/search` whose position is stored with its races.

`/races/search` is the only specified way to read races, and can't be asked for a day (Spec gap G10): so the list is
walked, a few pages a command, and what the walk has passed is known for good (bot.book.walk_state).
"""

import asyncio
from dataclasses import dataclass
from datetime import date, timedelta

from bot.book.card import Card, Coverage, at_course, by_meeting
from bot.book.quota import QuotaBook
from bot.book.reader import Errand, Reader
from bot.book.walk_state import Walk, is_proven, read_at
from bot.domain.clock import Clock
from bot.domain.days import is_outside, utc_today
from bot.domain.races import Course, Race
from bot.errors import ServiceError
from bot.logs import get_logger
from bot.racing.client import RacingClient
from bot.racing.errors import OutsideWindow, QuotaExceeded, ServiceFailure
from bot.storage import racebook
from bot.storage.engine import Database

log = get_logger(__name__)


@dataclass(frozen=True)
class Budget:
    """What one command may take: pages of the service, and seconds of its reader's patience."""

    pages: int = 25
    seconds: float = 12.0


@dataclass(frozen=True)
class Standing:
    """How far an errand's day is known. `stopped_by` is why it isn't, where something stopped the reading."""

    errand: Errand
    walk: Walk
    stopped_by: Coverage | None = None
    failure: ServiceError | None = None

    @property
    def is_proven(self) -> bool:
        """Whether all that the service has of the day was read, and lately enough: outside the window nothing is."""
        if self.stopped_by is Coverage.OUTSIDE_WINDOW:
            return False
        return is_proven(self.walk, self.errand.day.isoformat(), self.errand.fresh_since)


class RaceBook:
    """Reads cards, and keeps what was read."""

    def __init__(self, database: Database, client: RacingClient, clock: Clock, quota: QuotaBook) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._quota = quota
        self._reader = Reader(database, client, clock)
        self._reading: dict[str | None, asyncio.Lock] = {}

    async def card(
        self, region: str | None, day: date, course: Course | None = None, budget: Budget | None = None
    ) -> Card:
        """The day's meetings of a region, or of all (None), read on first where the book is stale.

        Raises no ServiceError: what went wrong stands in the card.
        """
        standing = await self.top_up(region, day, budget or Budget())
        kept = await self._database.read(lambda session: racebook.of_day(session, day.isoformat(), region))
        races, none_hidden = at_course([one.race for one in kept], course)
        is_whole = standing.is_proven and none_hidden
        passed_at = read_at(standing.walk, day.isoformat(), standing.errand.fresh_since)
        return Card(
            day=day,
            region=region,
            course=course,
            meetings=by_meeting(races),
            coverage=Coverage.COMPLETE if is_whole else standing.stopped_by or _so_far(races),
            failure=standing.failure,
            read_at=passed_at or max((one.updated_at for one in kept), default=None),
            reached=None if is_whole else standing.walk.reached(),
            data_as_of=standing.walk.data_as_of,
            window=self._window(standing.walk),
        )

    async def top_up(self, region: str | None, day: date, budget: Budget) -> Standing:
        """Read on until the day is proven, or the budget, the quota or the service ends it. Raises no ServiceError.

        One reader a region: others wait for it, and then mostly find what they came for.
        """
        now = self._clock()
        fresh_since = now - timedelta(seconds=await self._quota.staleness_s())
        errand = Errand(region, day, utc_today(now), fresh_since)
        before = Standing(errand, await self._reader.load(region))
        if is_outside(self._window(before.walk), day):
            return Standing(errand, before.walk, Coverage.OUTSIDE_WINDOW)
        if before.is_proven:
            return before
        stopped_by, failure = await self._read_on(errand, budget)
        walk = await self._reader.load(region)
        if is_outside(self._window(walk), day):
            stopped_by = Coverage.OUTSIDE_WINDOW
        return Standing(errand, walk, stopped_by, failure)

    async def _read_on(self, errand: Errand, budget: Budget) -> tuple[Coverage | None, ServiceError | None]:
        """What stopped the reading, and the service's failure if it was one."""
        try:
            async with asyncio.timeout(budget.seconds), self._reading.setdefault(errand.region, asyncio.Lock()):
                left = await self._quota.commands_left()
                pages = budget.pages if left is None else min(budget.pages, left)
                was_enough = await self._reader.read_on(errand, pages)
        except TimeoutError:
            log.info("racebook_reads_on_later", region=errand.region, day=errand.day.isoformat())
            return None, None
        except ServiceError as error:
            log.info("racebook_stopped", region=errand.region, reason=str(error))
            return _stopped_by(error, errand.day), error
        return (None if was_enough or pages == budget.pages else Coverage.QUOTA), None

    def _window(self, walk: Walk) -> str | None:
        """The plan's window, as last seen by anyone."""
        return self._client.state.window or walk.window


def _stopped_by(error: ServiceError, day: date) -> Coverage:
    """Why it ended. A refusal that is about another date says nothing about this day."""
    if isinstance(error, OutsideWindow) and error.requested_date == day.isoformat():
        return Coverage.OUTSIDE_WINDOW
    # A latch keeps the code of the refusal that shut it.
    is_quota = isinstance(error, ServiceFailure) and error.code == QuotaExceeded.known_code
    return Coverage.QUOTA if is_quota or isinstance(error, QuotaExceeded) else Coverage.FAILED


def _so_far(races: list[Race]) -> Coverage:
    return Coverage.PARTIAL if races else Coverage.UNREAD
