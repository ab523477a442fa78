"""The progress of a walk of `/races/search`, and what the progress proves. Days are "YYYY-MM-DD".

Days before yesterday are settled, and are read once. Each pass reads later days anew: declarations for a near day can
appear after those for a farther day. The list's order is not shown (Spec gap G11): the pages' dates tell.

- Oldest first: one stretch of settled days grows from the list's beginning, and a pass continues from its end.
- Newest first: a pass starts at the front. Below yesterday the pass becomes a stretch, which grows downwards until it
  joins an older stretch.

Each page's races are stored together with the walk's position, in one transaction.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from pydantic import AwareDatetime
from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.events.days import begins_at, day_before, utc_today, widens
from bot.events.races import Race, Value
from bot.events.reading.race_record import read_race
from bot.racedata import quota_store, race_book_store, whole_days
from bot.racedata.client.cursor_walk import Step
from bot.racedata.client.records import RaceRecord
from bot.racedata.client.service_client import RECORDS_PER_PAGE, RacingClient, WalkPosition
from bot.racedata.month_quota import month_key
from bot.racedata.published_lists import as_spelled

DAYS_NEAR = (-1, 0, 1)
"""The days from today whose whole card may be read while racing goes on in some time zone."""


class Order(StrEnum):
    OLDEST_FIRST = "oldest first"
    NEWEST_FIRST = "newest first"
    NONE = "none"


class Stretch(Value):
    """Settled days that were read whole: after `after` and before `before`, both excluded (None: no bound).

    `cursor` continues towards later days (oldest first) or earlier days (newest first). `undated`: some races had
    unreadable days, so no day of the stretch is known to be empty.
    """

    after: str | None = None
    before: str | None = None
    cursor: str | None = None
    undated: bool = False

    def holds(self, day: str) -> bool:
        return (self.after is None or self.after < day) and (self.before is None or day < self.before)


class Pass(Value):
    """A pass over yesterday and later days, read up to `reached` (excluded)."""

    started_at: AwareDatetime
    reached: str | None = None
    cursor: str | None = None
    ended: bool = False
    undated: bool = False


class Walk(Value):
    """The walk of a region's list (None: all regions). The cursors belong to `region` and `limit`."""

    region: str | None = None
    limit: int
    order: Order | None = None
    stretches: tuple[Stretch, ...] = ()
    newest_pass: Pass | None = None
    window: str | None = None
    data_as_of: str | None = None

    def forgotten(self) -> "Walk":
        return Walk(region=self.region, limit=self.limit, window=self.window, data_as_of=self.data_as_of)

    def reached(self) -> str | None:
        if self.newest_pass and self.newest_pass.reached:
            return self.newest_pass.reached
        return self.stretches[0].before if self.stretches else None


class Read(StrEnum):
    PASS = "pass"  # noqa: S105  no password
    STRETCH = "stretch"


class Start(NamedTuple):
    read: Read
    cursor: str | None


class PageSeen(NamedTuple):
    asked_at: datetime
    cursor: str | None
    resume_at: str | None
    is_last: bool
    dates: Sequence[str | None]

    @property
    def days(self) -> list[str]:
        return [date for date in self.dates if date]


def is_proven(walk: Walk, day: str, fresh_since: datetime) -> bool:
    """Whether every race of the day was read, lately enough."""
    if any(stretch.holds(day) and not stretch.undated for stretch in walk.stretches):
        return True
    one = walk.newest_pass
    return one is not None and one.started_at >= fresh_since and not one.undated and _has_passed(walk, one, day)


def read_at(walk: Walk, day: str, fresh_since: datetime) -> datetime | None:
    one = walk.newest_pass
    is_read = one is not None and one.started_at >= fresh_since and _has_passed(walk, one, day)
    return one.started_at if one is not None and is_read else None


def next_start(walk: Walk, day: str, yesterday: str, fresh_since: datetime) -> Start | None:
    """Where to continue towards the day; None if the day is proven or the list has ended."""
    if is_proven(walk, day, fresh_since):
        return None
    if any(stretch.holds(day) for stretch in walk.stretches):
        return None
    above = _nearest_above(walk, day) if walk.order is Order.NEWEST_FIRST and day < yesterday else None
    if above is not None:
        return Start(Read.STRETCH, above.cursor)
    one = walk.newest_pass
    if one is not None and _goes_on(walk, one, fresh_since):
        return None if one.ended or _has_passed(walk, one, day) else Start(Read.PASS, one.cursor)
    going_on = walk.order is Order.OLDEST_FIRST and walk.stretches
    return Start(Read.PASS, walk.stretches[0].cursor if going_on else None)


def after_page(walk: Walk, read: Read, page: PageSeen, yesterday: str, fresh_since: datetime) -> Walk:
    """The walk after one more page. Dates against the known order restart the walk without an order."""
    if read is Read.STRETCH:
        return _longer(walk, page)
    before = _pass_before(walk, page, fresh_since)
    order = _order([day for day in (before.reached, *page.days) if day], walk.order)
    if order is Order.NONE and walk.order in {Order.OLDEST_FIRST, Order.NEWEST_FIRST}:
        return _without_order(walk)
    one = Pass(
        started_at=before.started_at,
        reached=page.days[-1] if page.days else before.reached,
        cursor=page.resume_at,
        ended=page.is_last,
        undated=before.undated or None in page.dates,
    )
    return _settle(walk.model_copy(update={"order": order, "newest_pass": one}), page, yesterday)


def _has_passed(walk: Walk, one: Pass, day: str) -> bool:
    if one.ended:
        return True
    if one.reached is None:
        return False
    return (walk.order is Order.OLDEST_FIRST and day < one.reached) or (
        walk.order is Order.NEWEST_FIRST and day > one.reached
    )


def _nearest_above(walk: Walk, day: str) -> Stretch | None:
    above = [stretch for stretch in walk.stretches if stretch.after is not None and stretch.after >= day]
    return min(above, key=lambda stretch: stretch.after or "", default=None)


def _pass_before(walk: Walk, page: PageSeen, fresh_since: datetime) -> Pass:
    one = walk.newest_pass
    goes_on = one is not None and page.cursor is not None and one.cursor == page.cursor
    return one if one is not None and goes_on and _goes_on(walk, one, fresh_since) else Pass(started_at=page.asked_at)


def _goes_on(walk: Walk, one: Pass, fresh_since: datetime) -> bool:
    """A stale pass is continued only in a list without order, because such a pass is long."""
    return one.started_at >= fresh_since or (walk.order is Order.NONE and not one.ended)


def _order(days: Sequence[str], known: Order | None) -> Order | None:
    rises = any(one < other for one, other in pairwise(days))
    falls = any(one > other for one, other in pairwise(days))
    if known is Order.NONE or (rises and (falls or known is Order.NEWEST_FIRST)):
        return Order.NONE
    if falls and known is Order.OLDEST_FIRST:
        return Order.NONE
    return Order.OLDEST_FIRST if rises else Order.NEWEST_FIRST if falls else known


def _settle(walk: Walk, page: PageSeen, yesterday: str) -> Walk:
    one = walk.newest_pass
    if one is None or one.reached is None or one.reached >= yesterday:
        return walk
    if walk.order is Order.OLDEST_FIRST and page.days and not page.is_last:
        undated = one.undated or any(stretch.undated for stretch in walk.stretches)
        stretch = Stretch(before=one.reached, cursor=page.resume_at, undated=undated)
        return walk.model_copy(update={"stretches": (stretch,), "newest_pass": None})
    if walk.order is Order.NEWEST_FIRST:
        after = None if page.is_last else one.reached
        stretch = Stretch(after=after, before=yesterday, cursor=page.resume_at, undated=one.undated)
        return walk.model_copy(update={"stretches": _joined(stretch, walk.stretches)})
    return walk


def _longer(walk: Walk, page: PageSeen) -> Walk:
    stretch = next((one for one in walk.stretches if one.cursor == page.cursor), None)
    if stretch is None:
        return walk
    if _order([day for day in (stretch.after, *page.days) if day], walk.order) is Order.NONE:
        return _without_order(walk)
    after = None if page.is_last else page.days[-1] if page.days else stretch.after
    grown = Stretch(
        after=after,
        before=stretch.before,
        cursor=page.resume_at,
        undated=stretch.undated or None in page.dates,
    )
    return walk.model_copy(update={"stretches": _joined(grown, [one for one in walk.stretches if one is not stretch])})


def _without_order(walk: Walk) -> Walk:
    """Only a pass over the whole list proves anything."""
    return walk.forgotten().model_copy(update={"order": Order.NONE})


def _joined(new: Stretch, others: Iterable[Stretch]) -> tuple[Stretch, ...]:
    apart = []
    for other in others:
        if _is_below(new.after, other.before) and _is_below(other.after, new.before):
            lower = other if _is_below(other.after, new.after) else new
            new = Stretch(
                after=lower.after,
                before=max(new.before or "", other.before or "") or None,
                cursor=lower.cursor,
                undated=new.undated or other.undated,
            )
        else:
            apart.append(other)
    return tuple(sorted([new, *apart], key=lambda stretch: stretch.before or "", reverse=True))


def _is_below(after: str | None, bound: str | None) -> bool:
    return bound is not None and (after is None or after < bound)


RUNNERS_KEPT = timedelta(days=60)
"""Older races have no runners: a walk from 2017 on passes hundreds of thousands of races."""

ALL_REGIONS_WALK = "*"


@dataclass(frozen=True)
class Errand:
    """The day of a region (None: all) to be read. Readings before `fresh_since` are stale."""

    region: str | None
    day: date
    today: date
    fresh_since: datetime

    def next_start(self, walk: Walk) -> Start | None:
        return next_start(walk, self.day.isoformat(), day_before(self.today), self.fresh_since)


class WalkReader:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def load(self, region: str | None) -> Walk:
        return await self._database.read(partial(stored_walk, region=region))

    async def read_on(
        self, client: RacingClient, errand: Errand, pages: int, *, on_page: Callable[[], None] = lambda: None
    ) -> bool:
        """Whether at most `pages` pages were enough for the errand. Raises ServiceError.

        `on_page` is called after each page.
        """
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
        read, count, asked_at = start.read, 0, self._clock()
        async for step in steps:
            read = Read.PASS if step.started_again else read
            walk, count = await self._keep(walk, read, step, asked_at, errand), count + 1
            on_page()
            if count >= pages or errand.next_start(walk) != Start(read, step.resume_at):
                break
            asked_at = self._clock()
        return walk, count

    async def _keep(self, walk: Walk, read: Read, step: Step[RaceRecord], asked_at: datetime, errand: Errand) -> Walk:
        # Hundreds of records take a while, and other commands must not wait.
        races = await asyncio.to_thread(_read_races, step.page.data, errand.today)
        seen = PageSeen(asked_at, step.cursor, step.resume_at, step.is_last, [race.race_date for race in races])
        meta = step.page.meta
        # After a refused cursor, everything that depends on cursors is forgotten.
        known = walk.forgotten() if step.started_again and step.cursor is None else walk
        if widens(walk.window, meta.window):
            # Another plan shows more races than the walk could see before.
            after = walk.forgotten()
        else:
            after = after_page(known, read, seen, day_before(errand.today), errand.fresh_since)
        after = after.model_copy(
            update={"window": meta.window or walk.window, "data_as_of": meta.data_as_of or walk.data_as_of}
        )
        return await self._database.write(lambda session: self._store(session, walk, after, races))

    def _store(self, session: Session, before: Walk, walk: Walk, races: Sequence[Race]) -> Walk:
        """The stored walk, which goes on from the progress of another process if there is any."""
        now = self._clock()
        # In the list of all regions each race names its own region; "" replaces no region.
        races = as_spelled(session, races)
        race_book_store.put(session, races, now, region=walk.region or race_book_store.REGION_UNKNOWN)
        quota_store.spend(session, month_key(now), 1, now, by_commands=1)
        kept = stored_walk(session, walk.region)
        if kept != before:
            return kept
        named_values.put(session, _name(walk.region), walk.model_dump(mode="json"), now)
        for day in (utc_today(now) + timedelta(days=ahead) for ahead in DAYS_NEAR):
            if is_proven(walk, day.isoformat(), begins_at(day)):
                whole_days.note(session, walk.region, day, now)
        return walk


def stored_walk(session: Session, region: str | None) -> Walk:
    kept = named_values.get(session, _name(region))
    return Walk.model_validate(kept[0]) if kept else Walk(region=region, limit=RECORDS_PER_PAGE)


def _name(region: str | None) -> str:
    return f"racebook.walk.{ALL_REGIONS_WALK if region is None else region}"


def _read_races(records: Sequence[RaceRecord], today: date) -> list[Race]:
    races = [read_race(record.fields) for record in records]
    kept_from = (today - RUNNERS_KEPT).isoformat()
    return [race if (race.race_date or "") >= kept_from else _without_runners(race) for race in races]


def _without_runners(race: Race) -> Race:
    return race.model_copy(update={"runners": (), "field_size": race.field_size or len(race.runners) or None})
