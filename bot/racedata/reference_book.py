"""The reference book: regions, courses and countries, kept for a day."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.errors import CommandError, ServiceError, StorageError
from bot.events import event_store
from bot.logs import get_logger
from bot.racedata.client.records import UNREAD_SHOWN, KnownCountry, KnownCourse, read_reference
from bot.racedata.client.service_client import RacingClient
from bot.racedata.client.service_errors import (
    TRANSIENT,
    AnswerUnreadable,
    NotFound,
    ServiceFailure,
    Spared,
    UpgradeRequired,
)
from bot.racedata.lexicon import CLASSES, COUNTRIES, COURSES, REGIONS, CourseNamed, Lexicon, StoredList, kept
from bot.tasks import Tasks

log = get_logger(__name__)
T = TypeVar("T")

LISTS_FRESH_FOR = timedelta(days=1)

REFRESH_PAUSE = timedelta(minutes=1)
"""Pause after a failed or partial refresh: not every command asks the service."""

REFUSED_LIST_PAUSE = timedelta(hours=1)
"""Pause after a refused or empty list: the next minute's answer would be the same, and each request costs quota."""

TOLD_WITHIN = timedelta(days=7)

LOOK_BACK_EVERY = timedelta(hours=1)
"""All told events of the days are read this often. Each command reads only the events stored since the last look."""


@dataclass(eq=False)
class _List(Generic[T]):
    """A list of the data service, refreshed in turns. `tried_at`: the end of the last refresh.

    `refused_at`: for REFUSED_LIST_PAUSE no request is made, as the answer would be the `failure` of the last request,
    or empty again. A list that was never asked for has a TimeoutError as `failure`.
    """

    name: str
    stored: StoredList[T]
    ask: Callable[[RacingClient], Awaitable[Sequence[T]]]
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    tried_at: datetime | None = None
    refused_at: datetime | None = None
    failure: Exception | None = field(default_factory=lambda: TimeoutError("the list has not come"))


class ReferenceBook:
    """A refresh of a list serves all who wait."""

    def __init__(self, database: Database, client: RacingClient, clock: Clock) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._courses = _List("courses", COURSES, _ask_courses)
        self._regions = _List("regions", REGIONS, self._ask_regions)
        self._countries = _List("countries", COUNTRIES, _ask_countries)
        self._lists: tuple[_List[Any], ...] = (self._courses, self._regions, self._countries)
        self._told: dict[CourseNamed, int] = {}
        self._looked_back_at = datetime.min.replace(tzinfo=UTC)
        self._readings = Tasks()
        self.aclose = self._readings.finish

    async def regions(self, timeout_s: float | None = None) -> tuple[str, ...] | None:
        """The stale codes if new codes do not come in time; None without any."""
        return await self._read(self._regions, self._client, timeout_s)

    async def courses(self, timeout_s: float | None = None) -> tuple[KnownCourse, ...] | None:
        """With the unlisted courses of told events."""
        listed = await self._read(self._courses, self._client, timeout_s)
        return listed and tuple((await self._database.read(self.known)).courses)

    async def countries(self, timeout_s: float | None = None) -> tuple[KnownCountry, ...] | None:
        return await self._read(self._countries, self._client, timeout_s)

    async def keep_fresh(self) -> None:
        """For upkeep: read each stale list anew. Raises the failure of the first list that stays stale."""
        client = self._client.for_upkeep().in_one_try()
        for one in self._lists:
            await self._read(one, client)
        for one in self._lists:
            is_fresh = self._is_fresh(await self._database.read(one.stored.kept))
            # A request spared for the quota is no failure: admins are told of the quota.
            if not (is_fresh or isinstance(one.failure, Spared)):
                raise self.why_none(one.name)

    async def known_countries(self) -> tuple[KnownCountry, ...]:
        """Makes no request."""
        return await self._database.read(COUNTRIES.items)

    async def lexicon(self, timeout_s: float | None = None) -> Lexicon:
        """`timeout_s` covers all lists. The countries come from the store; the race classes are left out."""
        await asyncio.gather(self.regions(timeout_s), self._read(self._courses, self._client, timeout_s))
        return await self._database.read(self.known)

    def known(self, session: Session) -> Lexicon:
        """The stored lists, with the courses of lately told events."""
        now = self._clock()
        is_due = abs(now - self._looked_back_at) > LOOK_BACK_EVERY
        before = {} if is_due else self._told
        newest = max(before.values(), default=0)
        self._told = before | event_store.courses_told(session, now - TOLD_WITHIN, after=newest)
        self._looked_back_at = now if is_due else self._looked_back_at
        return kept(session, sorted(self._told, key=lambda one: self._told[one], reverse=True))

    def why_none(self, name: str) -> Exception:
        """Why the list of this name is missing: the service's failure, or no answer yet."""
        one = next(one for one in self._lists if one.name == name)
        none = f"The data service's list of {name} could not be read. Try again in a few minutes."
        # Each raise of a kept error would lengthen its traceback.
        return (one.failure or CommandError(none)).with_traceback(None)

    async def _read(self, one: _List[T], client: RacingClient, timeout_s: float | None = None) -> tuple[T, ...] | None:
        kept = await self._database.read(one.stored.kept)
        if self._is_due(one) and not self._is_fresh(kept):
            try:
                async with asyncio.timeout(timeout_s):
                    reading = self._read_anew(one, client)
                    await self._readings.finished(reading, f"read {one.name}")
            except TimeoutError:
                log.info("list_not_in_time", name=one.name, timeout_s=timeout_s)
            except StorageError as error:
                log.warning("list_not_kept", name=one.name, reason=str(error))
            kept = await self._database.read(one.stored.kept)
        return kept[0] if kept else None

    async def _read_anew(self, one: _List[T], client: RacingClient) -> None:
        async with one.turn:
            kept = await self._database.read(one.stored.kept)
            # A refresh serves all who waited for its end.
            if self._is_fresh(kept) or not self._is_due(one):
                return
            found: Sequence[Any] = ()
            try:
                if self._has_passed(REFUSED_LIST_PAUSE, one.refused_at):
                    found = await self._ask(one, client)
                # A kept list survives a failed request. Without a kept list the courses name the regions.
                if one.name == self._regions.name and not found and (kept is None or _is_left_to_courses(one.failure)):
                    found = await self._regions_of_courses(client)
                now = self._clock()
                if found:
                    await self._database.write(lambda session: one.stored.put(session, found, now))
            finally:
                # Also after a storage failure: the next command would request everything again. Upkeep is spared before
                # people are.
                if not isinstance(one.failure, Spared):
                    one.tried_at = self._clock()

    async def _ask(self, one: _List[T], client: RacingClient) -> Sequence[T]:
        """Empty for a failure, which the list keeps."""
        found: Sequence[T] = ()
        try:
            found = await one.ask(client)
            one.failure = None
        except ServiceError as error:
            log.info("list_refused", name=one.name, reason=str(error))
            one.failure = error
        one.refused_at = None if found or isinstance(one.failure, TRANSIENT) else self._clock()
        return found

    async def _ask_regions(self, client: RacingClient) -> list[str]:
        """Keeps the race classes of the same answer."""
        data = (await client.reference()).data
        regions, classes, now = read_reference(data, "regions"), read_reference(data, "classes"), self._clock()
        if not regions and not classes:
            log.warning("reference_not_readable", body=str(data)[:UNREAD_SHOWN])
        if classes:
            await self._database.write(lambda session: CLASSES.put(session, classes, now))
        return regions

    async def _regions_of_courses(self, client: RacingClient) -> list[str]:
        await self._read(self._courses, client)
        kept = await self._database.read(COURSES.kept)
        return sorted({one.region for one in kept[0] if one.region}) if kept and self._is_fresh(kept) else []

    def _is_due(self, one: _List[T]) -> bool:
        return self._has_passed(REFRESH_PAUSE, one.tried_at)

    def _is_fresh(self, kept: tuple[object, datetime] | None) -> bool:
        return not self._has_passed(LISTS_FRESH_FOR, kept and kept[1])

    def _has_passed(self, time: timedelta, since: datetime | None) -> bool:
        """True without `since` too, and where `since` is far ahead: the clock was set back."""
        return since is None or abs(self._clock() - since) >= time


def _is_left_to_courses(error: Exception | None) -> bool:
    """Whether `/reference` has no regions for this key."""
    forbidden = isinstance(error, ServiceFailure) and error.status == HTTPStatus.FORBIDDEN
    return error is None or forbidden or isinstance(error, UpgradeRequired | NotFound | AnswerUnreadable)


async def _ask_courses(client: RacingClient) -> list[KnownCourse]:
    return [one for one in (await client.courses()).data if (one.name or "").strip()]


async def _ask_countries(client: RacingClient) -> list[KnownCountry]:
    return (await client.countries()).data
