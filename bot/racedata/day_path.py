"""Races by paths known to the operator: RACING_DAY_PATH and RACING_RACE_PATH (Spec gaps G9, G10).

A request for a day returns every race of the day (Interface, Limits 9). The interface does not show the shape of the
answer: a list of races, a list of meetings, or an object with lists.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import AwareDatetime
from sqlmodel import Session

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.events.days import begins_at, day_before
from bot.events.races import Race, Value
from bot.events.reading.fields import NAMES_OF, Fields, fields_of, fold
from bot.events.reading.race_list import lists_races, read_races
from bot.events.reading.race_record import read_race
from bot.logs import get_logger
from bot.racedata import quota_book, race_book_store
from bot.racedata.client.records import UNREAD_SHOWN, AnyPage, Meta
from bot.racedata.client.service_client import RacingClient
from bot.racedata.client.service_errors import AnswerUnreadable, InvalidParam, NotFound
from bot.racedata.day import note_whole
from bot.racedata.lexicon import REGIONS
from bot.racedata.race_walk import ALL_REGIONS_WALK, Errand
from bot.settings import Settings

log = get_logger(__name__)

NAMES_OF_LISTS = frozenset(name for fact in ("lists.races", "lists.cards", "lists.meetings") for name in NAMES_OF[fact])


class DayRead(Value):
    """A reading of a day by RACING_DAY_PATH. `data_as_of` is the answer's."""

    read_at: AwareDatetime
    data_as_of: str | None = None

    def proves(self, errand: Errand) -> bool:
        """Whether the reading is recent enough, or was made after the day was settled."""
        settled = errand.day.isoformat() < day_before(self.read_at.date())
        return settled or self.read_at >= errand.fresh_since


class PathReader:
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
        regions = self._regions_to_ask(errand, known)
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

    def _regions_to_ask(self, errand: Errand, known: tuple[str, ...]) -> tuple[str | None, ...]:
        """An answer to a path without `{region}` covers all regions."""
        if self._day_path is None or "{region}" not in self._day_path:
            return (None,)
        return known if errand.region is None else (errand.region,)

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
