"""Reads pages of `/races/search` into the race book: each page's races and the walk's position in one transaction."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.events.days import day_before, widens
from bot.events.races import Race
from bot.events.reading.race_record import read_race
from bot.racedata import quota_store, race_book_store
from bot.racedata.client.cursor_walk import Step
from bot.racedata.client.records import RaceRecord
from bot.racedata.client.service_client import PAGE_SIZE, RacingClient, WalkPosition
from bot.racedata.month_quota import month_key
from bot.racedata.walk_state import PageSeen, Read, Start, Walk, after_page, next_start

RUNNERS_KEPT = timedelta(days=60)
"""Of older races the book keeps no runners: a walk that begins in 2017 passes hundreds of thousands of races."""

ALL = "*"


@dataclass(frozen=True)
class Errand:
    """What is read for: a day of a region (None: all). What was read before `fresh_since` counts as stale."""

    region: str | None
    day: date
    today: date
    fresh_since: datetime

    def next_start(self, walk: Walk) -> Start | None:
        """Where to read on; None where there is no need to."""
        return next_start(walk, self.day.isoformat(), day_before(self.today), self.fresh_since)


class Reader:
    """Walks the lists, page by page."""

    def __init__(self, database: Database, client: RacingClient, clock: Clock) -> None:
        self._database = database
        self._client = client
        self._clock = clock

    async def load(self, region: str | None) -> Walk:
        """The walk of a region's list, as it was left."""
        kept = await self._database.read(lambda session: named_values.get(session, _name(region)))
        return Walk.model_validate(kept[0]) if kept else Walk(region=region, limit=PAGE_SIZE)

    async def read_on(
        self,
        errand: Errand,
        pages: int,
        *,
        in_background: bool = False,
        on_page: Callable[[], None] = lambda: None,
    ) -> bool:
        """Whether no more than `pages` pages were enough for the errand. Raises ServiceError.

        `on_page` is called after each. `in_background`: nobody waits for it, so it leaves a part of the minute to
        those who do.
        """
        client = self._client.in_background() if in_background else self._client
        walk = await self.load(errand.region)
        left = pages
        while (start := errand.next_start(walk)) is not None and left > 0:
            position = WalkPosition(region=walk.region, limit=walk.limit, cursor=start.cursor)
            async with aclosing(client.walk_races(position)) as steps:
                walk, read = await self._run(steps, walk, start, errand, left, on_page=on_page)
            left -= read
        return start is None

    async def _run(
        self,
        steps: AsyncGenerator[Step[RaceRecord]],
        walk: Walk,
        start: Start,
        errand: Errand,
        pages: int,
        *,
        on_page: Callable[[], None],
    ) -> tuple[Walk, int]:
        """The walk after at most `pages` pages that follow one another, and how many they were."""
        read, count, asked_at = start.read, 0, self._clock()
        async for step in steps:
            if step.started_again and step.cursor is None:
                # The stored cursor was refused: nothing that hangs on it can be gone on with.
                walk, read = walk.forgotten(), Read.PASS
            walk, count = await self._keep(walk, read, step, asked_at, errand), count + 1
            on_page()
            if count >= pages or errand.next_start(walk) != Start(read, step.resume_at):
                break
            asked_at = self._clock()
        return walk, count

    async def _keep(self, walk: Walk, read: Read, step: Step[RaceRecord], asked_at: datetime, errand: Errand) -> Walk:
        """The walk with one more page, stored with the page's races."""
        # Hundreds of records take a while: other commands and deliveries must not wait for it.
        races = await asyncio.to_thread(_read_races, step.page.data, errand.today)
        seen = PageSeen(asked_at, step.cursor, step.resume_at, step.is_last, [race.race_date for race in races])
        meta = step.page.meta
        if widens(walk.window, meta.window):
            # Another plan shows more: what was passed under the narrower window was not the whole.
            after = walk.forgotten()
        else:
            after = after_page(walk, read, seen, day_before(errand.today), errand.fresh_since)
        after = after.model_copy(
            update={"window": meta.window or walk.window, "data_as_of": meta.data_as_of or walk.data_as_of}
        )
        await self._database.write(lambda session: self._store(session, after, races))
        return after

    def _store(self, session: Session, walk: Walk, races: Sequence[Race]) -> None:
        now = self._clock()
        # Of all regions' list a race's region is what the race itself says; "" puts no other in its place.
        race_book_store.put(session, races, now, region=walk.region or race_book_store.REGION_UNKNOWN)
        named_values.put(session, _name(walk.region), walk.model_dump(mode="json"), now)
        quota_store.spend(session, month_key(now), 1, now, by_commands=1)


def _name(region: str | None) -> str:
    return f"racebook.walk.{ALL if region is None else region}"


def _read_races(records: Sequence[RaceRecord], today: date) -> list[Race]:
    races = [read_race(record.fields) for record in records]
    kept_from = (today - RUNNERS_KEPT).isoformat()
    return [race if (race.race_date or "") >= kept_from else _without_runners(race) for race in races]


def _without_runners(race: Race) -> Race:
    return race.model_copy(update={"runners": (), "field_size": race.field_size or len(race.runners) or None})
