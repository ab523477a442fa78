"""The reference book: region codes and courses as published, kept for a day, and typed words checked by them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlmodel import Session

from bot.domain.clock import Clock
from bot.domain.races import Course
from bot.errors import CommandError, ServiceError, StorageError
from bot.logs import get_logger
from bot.racing.client import RacingClient
from bot.racing.errors import NotFound, UpgradeRequired
from bot.racing.records import CoursePage
from bot.racing.values import read_reference, suggest
from bot.storage import reference
from bot.storage.engine import Database
from bot.storage.reference import KnownCourse

log = get_logger(__name__)
T = TypeVar("T")

FRESH_FOR = timedelta(days=1)

ASK_AGAIN_AFTER = timedelta(minutes=1)
"""After a refresh that failed, or that left one of the lists out, the service is not asked by every command."""

TYPED_MAX = 80
"""What is looked at of a typed word: no code or course name is longer, and likeness costs time by the character."""

LISTED_REGIONS = 30


@dataclass(frozen=True)
class RegionCheck:
    """A region as it will be used. `known` is False where neither list could be had: it was taken as typed."""

    region: str
    known: bool


class ReferenceBook:
    """Region codes and courses. One refresh serves all who wait for it."""

    def __init__(self, database: Database, client: RacingClient, clock: Clock) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._refreshing: asyncio.Task[ServiceError | None] | None = None
        self._refreshed_at: datetime | None = None

    async def regions(self, timeout_s: float | None = None) -> tuple[str, ...] | None:
        """The region codes as published; the stale ones where new ones don't come in time; None without any."""
        return await self._kept(reference.regions, timeout_s)

    async def courses(self, timeout_s: float | None = None) -> tuple[KnownCourse, ...] | None:
        """The courses; the stale ones where new ones don't come in time; None without any."""
        return await self._kept(reference.courses, timeout_s)

    async def check_region(self, typed: str, timeout_s: float | None = None) -> RegionCheck:
        """The region. CommandError where it isn't one, with those that it may have meant."""
        regions = await self.regions(timeout_s)
        if not regions or typed in regions:
            return RegionCheck(typed, known=bool(regions))
        listed = f" Regions: {', '.join(regions)}." if len(regions) <= LISTED_REGIONS else ""
        raise CommandError(f"There is no region {_quoted(typed)}.{did_you_mean(typed, regions)}{listed}")

    async def check_course(self, typed: str, timeout_s: float | None = None) -> Course:
        """The course of a name, id or shortcode; without an id where there is no list to check it by.

        CommandError where there is none, or where several share the name.
        """
        courses = await self.courses(timeout_s)
        if not courses:
            return Course(name=typed)
        found = find_courses(courses, typed)
        if not found:
            raise CommandError(f"There is no course {_quoted(typed)}.{did_you_mean(typed, course_words(courses))}")
        if len(found) > 1:
            several = " or ".join(f"{one.course_id or '?'} ({one.region or one.country or '?'})" for one in found)
            raise CommandError(f"Several courses are called {_quoted(typed)}: give the id, {several}.")
        return Course(course_id=found[0].course_id, name=found[0].name, country=found[0].country)

    async def region_of(self, course: Course) -> str | None:
        """The region of a checked course."""
        kept = await self._database.read(reference.courses)
        found = {one.region for one in (kept[0] if kept else ()) if one.course_id and one.course_id == course.course_id}
        return found.pop() if len(found) == 1 else None

    async def refresh(self) -> None:
        """Read both lists anew and keep what came. Raises ServiceError where one of them did not."""
        error = await self._refresh_together()
        if error is not None:
            raise error

    async def _kept(self, read: Callable[[Session], tuple[T, datetime] | None], timeout_s: float | None) -> T | None:
        kept = await self._database.read(read)
        now = self._clock()
        if kept and now - kept[1] < FRESH_FOR:
            return kept[0]
        if self._refreshed_at is None or now - self._refreshed_at >= ASK_AGAIN_AFTER:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._refresh_together()
            except TimeoutError:
                log.info("reference_not_in_time", timeout_s=timeout_s)
            except StorageError as error:
                log.warning("reference_not_kept", reason=str(error))
            kept = await self._database.read(read)
        return kept[0] if kept else None

    async def _refresh_together(self) -> ServiceError | None:
        """What went wrong with the refresh that is under way, or else with a new one."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
            self._refreshing.add_done_callback(_look_at)
        # Whoever gives up waiting must not end it for the others.
        return await asyncio.shield(self._refreshing)

    async def _refresh(self) -> ServiceError | None:
        courses, courses_error = await _attempt(self._client.courses)
        values, values_error = await _attempt(self._client.reference)
        regions = read_reference(values.data).get("regions", []) if values else []
        known = _known_courses(courses) if courses else []
        now = self._clock()

        def keep(session: Session) -> None:
            if known:
                reference.put_courses(session, known, now)
            # A list that only failed to come leaves the one that was kept; where the plan has none, the courses tell.
            from_courses = isinstance(values_error, UpgradeRequired | NotFound) or reference.regions(session) is None
            if regions or (known and from_courses):
                reference.put_regions(session, regions or _regions_of(known), now)

        await self._database.write(keep)
        self._refreshed_at = now
        return courses_error or (None if isinstance(values_error, UpgradeRequired) else values_error)


def find_courses(courses: Sequence[KnownCourse], typed: str) -> list[KnownCourse]:
    """The courses of an id, else of an exact name, else of a shortcode."""
    for field in ("course_id", "name", "shortcode"):
        found = [course for course in courses if getattr(course, field) == typed]
        if found:
            return found
    return []


def course_words(courses: Sequence[KnownCourse]) -> list[str]:
    """What courses can be called by, for near misses: names and shortcodes."""
    words = (word for course in courses for word in (course.name, course.shortcode) if word)
    return list(dict.fromkeys(words))


def did_you_mean(typed: str, values: Sequence[str]) -> str:
    """A question with the likeliest of the values, after a space; nothing where none is likely."""
    likely = suggest(typed[:TYPED_MAX], values)
    return f" Did you mean {' or '.join(likely)}?" if likely else ""


async def _attempt(ask: Callable[[], Awaitable[T]]) -> tuple[T | None, ServiceError | None]:
    """The answer, or why there is none."""
    try:
        return await ask(), None
    except ServiceError as error:
        log.info("reference_refused", reason=str(error))
        return None, error


def _known_courses(page: CoursePage) -> list[KnownCourse]:
    return [
        KnownCourse(
            course_id=record.course_id,
            name=record.name,
            shortcode=record.shortcode,
            country=record.country,
            region=record.region,
        )
        for record in page.data
    ]


def _regions_of(courses: Sequence[KnownCourse]) -> list[str]:
    return sorted({course.region for course in courses if course.region})


def _quoted(typed: str) -> str:
    return f'"{typed}"' if len(typed) <= TYPED_MAX else f'"{typed[:TYPED_MAX]}…"'


def _look_at(task: "asyncio.Task[ServiceError | None]") -> None:
    """Take note of how the refresh ended, where all who waited for it have given up."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("reference_not_refreshed", reason=str(error))
