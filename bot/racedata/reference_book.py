"""The reference book: regions, courses and countries, kept for a day, and typed words checked by them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from sqlmodel import Session

from bot.channels.conditions.race_class_condition import CLASS, folded_class
from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import CommandError, ServiceError, StorageError
from bot.events.races import Course
from bot.events.reading.json_values import note_text
from bot.logs import get_logger
from bot.racedata import reference_store
from bot.racedata.client.filter_values import read_reference
from bot.racedata.client.records import UNREAD_SHOWN, CountryPage, CoursePage
from bot.racedata.client.service_client import RacingClient
from bot.racedata.client.service_errors import (
    TRANSIENT,
    AnswerUnreadable,
    NotFound,
    ServiceFailure,
    Spared,
    UpgradeRequired,
)
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import (
    COURSE_PREFIX,
    Vocabulary,
    find_courses,
    likely_courses,
    named,
    quoted,
    refusal,
    several,
    wrong_words,
)
from bot.racedata.reference_store import KnownCountry, KnownCourse

log = get_logger(__name__)
T = TypeVar("T")

LISTS_FRESH_FOR = timedelta(days=1)

REFRESH_PAUSE = timedelta(minutes=1)
"""Pause after a failed or partial refresh: not every command asks the service."""

REFUSED_LIST_PAUSE = timedelta(hours=1)
"""Pause after a refused or empty list: the next minute's answer would be the same, and each request costs quota."""

LISTED_REGIONS = 30


@dataclass(frozen=True)
class RegionCheck:
    """`known` is False if no list was available, and the region was taken as typed."""

    region: str
    known: bool


@dataclass(frozen=True)
class _PutOff:
    until: datetime
    error: ServiceError | None


class ReferenceBook:
    """One refresh serves all who wait."""

    def __init__(self, database: Database, client: RacingClient, clock: Clock) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._refreshing: asyncio.Task[ServiceError | None] | None = None
        self._refreshed_at: datetime | None = None
        self._asking_countries = asyncio.Lock()
        self._put_off: dict[str, _PutOff] = {}
        self._failures: dict[str, ServiceError | None] = {}

    async def aclose(self) -> None:
        """End a refresh under way: it would use the client after the client's end."""
        if self._refreshing:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    async def regions(self, timeout_s: float | None = None) -> tuple[str, ...] | None:
        """The stale codes if new codes do not come in time; None without any."""
        return await self._kept(reference_store.regions, self._client, timeout_s)

    async def courses(self, timeout_s: float | None = None) -> tuple[KnownCourse, ...] | None:
        return await self._kept(reference_store.courses, self._client, timeout_s)

    async def countries(self, timeout_s: float | None = None) -> tuple[KnownCountry, ...] | None:
        return await self._countries(self._client, timeout_s)

    async def keep_fresh(self) -> None:
        """For upkeep: read each stale list anew. Raises no ServiceError: a kept list stays."""
        client = self._client.for_upkeep()
        await self._kept(reference_store.regions, client)
        await self._kept(reference_store.courses, client)
        await self._countries(client)

    async def _countries(self, client: RacingClient, timeout_s: float | None = None) -> tuple[KnownCountry, ...] | None:
        kept = await self._database.read(reference_store.countries)
        if not self._is_fresh(kept):
            try:
                async with asyncio.timeout(timeout_s), self._asking_countries:
                    kept = await self._database.read(reference_store.countries)
                    if not self._is_fresh(kept):
                        await self._refresh_countries(client)
            except TimeoutError:
                log.info("countries_not_in_time", timeout_s=timeout_s)
            kept = await self._database.read(reference_store.countries)
        return kept[0] if kept else None

    async def known_countries(self) -> tuple[KnownCountry, ...]:
        """Makes no request."""
        kept = await self._database.read(reference_store.countries)
        return kept[0] if kept else ()

    async def lexicon(self, timeout_s: float | None = None) -> Lexicon:
        """`timeout_s` covers all lists. The countries come from the store."""
        began_s = asyncio.get_running_loop().time()
        regions = await self.regions(timeout_s)
        waited_s = asyncio.get_running_loop().time() - began_s
        courses = await self.courses(None if timeout_s is None else max(0.01, timeout_s - waited_s))
        classes = await self._database.read(reference_store.classes)
        return Lexicon(regions or (), courses or (), await self.known_countries(), classes)

    def why_none(self, name: str) -> Exception:
        """Why the list of this name is missing: the service's failure, or no answer yet."""
        if name not in self._failures:
            return TimeoutError(f"the list of {name} has not come")
        none = f"The data service's list of {name} could not be read. Try again in a few minutes."
        return self._failures[name] or CommandError(none)

    async def check_region(self, typed: str, timeout_s: float | None = None) -> RegionCheck:
        return (await self.check_regions([typed], timeout_s))[0]

    async def check_regions(
        self, typed: Sequence[str], timeout_s: float | None = None, *, other_words: Vocabulary | None = None
    ) -> list[RegionCheck]:
        """`other_words` may have been meant too, each with its typed form. CommandError with near misses."""
        regions = await self.regions(timeout_s)
        unknown = [one for one in typed if regions and one not in regions]
        if not unknown:
            return [RegionCheck(one, known=bool(regions)) for one in typed]
        right = {region: region for region in regions or ()} | dict(other_words or {})
        # The search for near misses takes as long as many deliveries.
        wrong = await asyncio.to_thread(wrong_words, unknown, right)
        typed_words = named(one.typed for one in wrong)
        listed = f"Regions: {', '.join(regions or ())}." if len(regions or ()) <= LISTED_REGIONS else ""
        if not other_words:
            raise refusal(f"There is no region {typed_words}.", wrong, after=listed)
        raise refusal(
            f"No course or region is called {typed_words}.",
            wrong,
            after=f"{listed} /racing courses lists the courses.".strip(),
        )

    async def check_classes(self, typed: Sequence[str]) -> None:
        """Raise CommandError, with near misses, for a race class that the service does not list.

        Without a list every class is taken. Makes no request.
        """
        published = {folded_class(one): one for one in await self._database.read(reference_store.classes)}
        unknown = [one for one in typed if published and folded_class(one) not in published]
        if unknown:
            wrong = await asyncio.to_thread(wrong_words, unknown, {one: f"{CLASS}:{one}" for one in published.values()})
            listed = named(published.values(), "or") if len(published) <= LISTED_REGIONS else ""
            after = f"Race classes: {listed}." if listed else ""
            raise refusal(f"There is no race class {named(unknown)}.", wrong, after=after)

    async def check_course(
        self, typed: str, timeout_s: float | None = None, *, regions: Sequence[str] = (), guessing: bool = True
    ) -> Course:
        """The course of a name, id or shortcode. Without a list the course has no id.

        `regions` decide between courses of one name. CommandError for an unknown course, with near misses if
        `guessing`, and for an ambiguous name.
        """
        courses = await self.courses(timeout_s)
        if not courses:
            return Course(name=typed)
        found = find_courses(courses, typed)
        if not found:
            meant = await asyncio.to_thread(likely_courses, typed, courses) if guessing else []
            raise CommandError(
                f"There is no course {quoted(typed)}.",
                typed=COURSE_PREFIX + typed,
                meant={word: word for word in meant},
                asks=True,
            )
        within = [one for one in found if one.region in regions]
        if len(found) > 1 and len(within) != 1:
            raise several(typed, within or found, regions)
        chosen = (within or found)[0]
        return Course(course_id=chosen.course_id, name=chosen.name, country=chosen.country)

    async def region_of(self, course: Course) -> str | None:
        kept = await self._database.read(reference_store.courses)
        found = {one.region for one in (kept[0] if kept else ()) if one.course_id and one.course_id == course.course_id}
        return found.pop() if len(found) == 1 else None

    async def refresh(self) -> None:
        """For upkeep: read stale lists anew, by one request for each. Raises ServiceError if a list did not come."""
        error = await self._refresh_together(self._client.for_upkeep().in_one_try())
        if error is not None:
            raise error

    async def _kept(
        self,
        read: Callable[[Session], tuple[T, datetime] | None],
        client: RacingClient,
        timeout_s: float | None = None,
    ) -> T | None:
        kept = await self._database.read(read)
        if kept and self._is_fresh(kept):
            return kept[0]
        if self._refreshed_at is None or self._clock() - self._refreshed_at >= REFRESH_PAUSE:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._refresh_together(client)
            except TimeoutError:
                log.info("reference_not_in_time", timeout_s=timeout_s)
            except StorageError as error:
                log.warning("reference_not_kept", reason=str(error))
            kept = await self._database.read(read)
        return kept[0] if kept else None

    async def _refresh_together(self, client: RacingClient) -> ServiceError | None:
        while True:
            task, is_ours = self._refreshing, False
            if task is None or task.done():
                task, is_ours = asyncio.create_task(self._refresh(client)), True
                task.add_done_callback(_log_failure)
                self._refreshing = task
            # The end of one caller's patience must not end the refresh for others.
            error = await asyncio.shield(task)
            # Upkeep is spared before people are.
            if is_ours or not isinstance(error, Spared):
                return error

    async def _refresh(self, client: RacingClient) -> ServiceError | None:
        error = None
        try:
            error = await self._refresh_stale(client)
            return error
        finally:
            # Also after a storage failure: the next command would request everything again.
            if not isinstance(error, Spared):
                self._refreshed_at = self._clock()

    async def _refresh_stale(self, client: RacingClient) -> ServiceError | None:
        kept_courses = await self._database.read(reference_store.courses)
        kept_regions = await self._database.read(reference_store.regions)
        new_courses: Sequence[KnownCourse] = ()
        new_regions: Sequence[str] = ()
        courses_error = regions_error = None
        if not self._is_fresh(kept_courses):
            new_courses, courses_error = await self._ask("courses", partial(_ask_courses, client))
        if not self._is_fresh(kept_regions):
            new_regions, regions_error = await self._ask("regions", partial(self._ask_regions, client))
            # A kept list survives a failed request. Without a kept list the courses name the regions.
            if not new_regions and (kept_regions is None or _is_left_to_courses(regions_error)):
                fresh_courses = kept_courses[0] if kept_courses and self._is_fresh(kept_courses) else ()
                new_regions = _regions_of(new_courses or fresh_courses)
        await self._keep(new_courses, new_regions)
        return courses_error or (None if isinstance(regions_error, UpgradeRequired) else regions_error)

    async def _ask(self, name: str, ask: Callable[[], Awaitable[list[T]]]) -> tuple[Sequence[T], ServiceError | None]:
        """The list and no failure, or an empty list and the failure. During a pause: the earlier refusal."""
        put_off = self._put_off.get(name)
        if put_off and self._clock() < put_off.until:
            return (), put_off.error
        found, error = await _attempt(ask)
        self._failures[name] = error
        self._put_off.pop(name, None)
        if not found and not isinstance(error, TRANSIENT):
            self._put_off[name] = _PutOff(self._clock() + REFUSED_LIST_PAUSE, error)
        return found or (), error

    async def _ask_regions(self, client: RacingClient) -> list[str]:
        """Keeps the race classes of the same answer."""
        data = (await client.reference()).data
        found = read_reference(data)
        if not found:
            log.warning("reference_not_readable", body=str(data)[:UNREAD_SHOWN])
        if classes := found.get("classes"):
            now = self._clock()
            await self._database.write(lambda session: reference_store.put_classes(session, classes, now))
        return found.get("regions", [])

    async def _refresh_countries(self, client: RacingClient) -> None:
        found, _ = await self._ask("countries", partial(_ask_countries, client))
        now = self._clock()
        if found:
            await self._database.write(lambda session: reference_store.put_countries(session, found, now))

    async def _keep(self, courses: Sequence[KnownCourse], regions: Sequence[str]) -> None:
        now = self._clock()

        def keep(session: Session) -> None:
            if courses:
                reference_store.put_courses(session, courses, now)
            if regions:
                reference_store.put_regions(session, regions, now)

        if courses or regions:
            await self._database.write(keep)

    def _is_fresh(self, kept: tuple[object, datetime] | None) -> bool:
        return kept is not None and self._clock() - kept[1] < LISTS_FRESH_FOR


async def _ask_courses(client: RacingClient) -> list[KnownCourse]:
    return _known_courses(await client.courses())


async def _ask_countries(client: RacingClient) -> list[KnownCountry]:
    return _known_countries(await client.countries())


async def _attempt(ask: Callable[[], Awaitable[T]]) -> tuple[T | None, ServiceError | None]:
    try:
        return await ask(), None
    except ServiceError as error:
        log.info("reference_refused", reason=str(error))
        return None, error


def _is_left_to_courses(error: ServiceError | None) -> bool:
    """Whether `/reference` has no regions for this key."""
    forbidden = isinstance(error, ServiceFailure) and error.status == HTTPStatus.FORBIDDEN
    return error is None or forbidden or isinstance(error, UpgradeRequired | NotFound | AnswerUnreadable)


def _known_courses(page: CoursePage) -> list[KnownCourse]:
    named = set(KnownCourse.model_fields)
    return [KnownCourse(**record.model_dump(include=named)) for record in page.data if (record.name or "").strip()]


def _known_countries(page: CountryPage) -> list[KnownCountry]:
    named = set(KnownCountry.model_fields) - {"note"}
    return [KnownCountry(**record.model_dump(include=named), note=note_text(record.note)) for record in page.data]


def _regions_of(courses: Sequence[KnownCourse]) -> list[str]:
    return sorted({course.region for course in courses if course.region})


def _log_failure(task: "asyncio.Task[ServiceError | None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("reference_not_refreshed", reason=str(error))
