"""Warns admins once of missing outcomes, and withdraws a warning when the delivery comes.

The first missing race is told at once, further races of the next hour together. A racing day without any delivery is
told as such, once. Before a warning the race book reads these races anew, within the quota: the data service may list
an undelivered outcome.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.events.races import Race
from bot.logs import get_logger
from bot.operations import missing_rows
from bot.operations.jobs.job import Job
from bot.operations.overdue import LONG_PAST
from bot.operations.watchdog import (
    DeliveryState,
    is_listed,
    name_of,
    read_delivery_state,
)
from bot.outbox.notices import Notices, Urgency
from bot.racedata import race_book_store
from bot.racedata.day_card import Coverage
from bot.racedata.quota_book import QuotaBook
from bot.racedata.quota_purposes import Purpose
from bot.racedata.race_book import Budget, RaceBook

log = get_logger(__name__)

REGION_DAYS_ASKED = 12
"""Regions and days asked for at most, once an hour."""

BUDGET_PER_REGION_DAY = Budget(pages=10, seconds=15.0, purpose=Purpose.UPKEEP)
REQUESTS_LEFT_TO_PEOPLE = 500
"""Below this number of requests for commands the job asks nothing."""


RACES_NAMED = 10
HOURS = int(LONG_PAST.total_seconds()) // 3600


@dataclass(frozen=True)
class DeliveryWatch:
    database: Database
    notices: Notices
    races: RaceBook
    quota: QuotaBook
    clock: Clock
    wake: asyncio.Event

    @property
    def job(self) -> Job:
        return Job("watch_deliveries", "Missing results and deliveries looked for", 600, self.run)

    async def run(self) -> bool:
        found = await self.database.read(partial(read_delivery_state, now=self.clock()))
        if not found.news and not found.resolved:
            return False
        is_asked = False
        if found.news:
            is_asked = await self._ask(found.news)
            found = await self.database.read(partial(read_delivery_state, now=self.clock()))
        is_told = await self.database.write(partial(_note, notices=self.notices, found=found, is_asked=is_asked))
        if is_told:
            self.wake.set()
        return is_told

    async def _ask(self, races: Iterable[Race]) -> bool:
        """True if the race book has the service's whole list of the races' regions and days."""
        wanted = sorted({(race.region or "", race.race_date or "") for race in races if not is_listed(race)})
        left = await self.quota.commands_left()
        if left is not None and left < REQUESTS_LEFT_TO_PEOPLE:
            log.info("missing_races_not_asked_for", requests_left=left)
            return False
        is_whole = len(wanted) <= REGION_DAYS_ASKED
        for region, day in wanted[:REGION_DAYS_ASKED]:
            if not region:
                is_whole = False
                continue
            card = await self.races.card(region, date.fromisoformat(day), budget=BUDGET_PER_REGION_DAY)
            is_whole = is_whole and card.coverage is Coverage.COMPLETE
        return is_whole


def _note(session: Session, notices: Notices, found: DeliveryState, *, is_asked: bool) -> bool:
    """True if anything was told. A single replica tells and withdraws each finding."""
    told = [_take_back(session, notices, found), _tell(session, notices, found, is_asked=is_asked)]
    missing_rows.forget(session, found.now)
    return any(told)


def _take_back(session: Session, notices: Notices, found: DeliveryState) -> bool:
    came = missing_rows.came(session, found.resolved, found.now)
    if not came:
        return False
    races = race_book_store.find(session, {race.race_id for race in came}, set())
    names = {race.race_id: name_of(races[race.race_id]) if race.race_id in races else race.race_id for race in came}
    still = found.undelivered
    moved = [f"{names[one.race_id]} in place of {one.race_date}" for one in came if one.race_id in still]
    said = _come_after_all([names[one.race_id] for one in came if one.race_id not in still], moved)
    return notices.tell(session, f"come-after-all:{came[0].race_id}", said, urgency=Urgency.ALL_CLEAR)


def _tell(session: Session, notices: Notices, found: DeliveryState, *, is_asked: bool) -> bool:
    told = missing_rows.tell(session, found.news, found.now)
    news = [race for race in told if not found.was_told(race.race_date or "")]
    if not news:
        return False
    days = {race.race_date for race in news}
    silent = {day: races for day, races in found.silent.items() if day in days}
    singly = [race for race in news if race.race_date not in silent]
    listed = [name_of(race) for race in singly if is_listed(race)]
    unknown = [name_of(race) for race in singly if not is_listed(race)]
    said = _races_missing(silent, unknown, listed, is_asked=is_asked)
    urgency = Urgency.CRITICAL if silent else Urgency.WARNING
    return notices.tell(session, f"missing:{news[0].race_id}", said, urgency=urgency)


def _races_missing(
    silent: Mapping[str, int], open_races: Sequence[str], undelivered: Sequence[str], *, is_asked: bool
) -> str:
    """`silent`: days without any delivery, with the number of races."""
    said = [
        f"No result and no abandonment was delivered of the racing day {day}, although {races} races should have been "
        f"over for {HOURS} hours or more. The data service keeps a record of failed deliveries for 30 days. Check that "
        "strangers reach /webhooks/racing at PUBLIC_URL, and that the log refuses no signature. If nothing comes on "
        "the next racing day either, the data service may have ended the subscription: racing-bot subscribe --again."
        for day, races in silent.items()
    ]
    if open_races:
        said.append(
            f"{_races(open_races)} should have been over for {HOURS} hours or more, and I know neither a result nor an "
            f"abandonment: {_named(open_races)}."
        )
        said.append(
            "The data service's list has no outcome either."
            if is_asked
            else "I could not ask the data service about all of them: the month's quota is low, or the service fails."
        )
    if undelivered:
        said.append(
            f"The data service lists the outcome of {_races(undelivered)} and did not deliver it, so no channel was "
            f"told: {_named(undelivered)}. /results shows what is listed."
        )
    return " ".join(said)


def _come_after_all(delivered: Sequence[str], moved: Sequence[str]) -> str:
    """Withdraws warnings."""
    said = []
    if delivered:
        said.append(f"The outcome of {_races(delivered)} has come after all: {_named(delivered)}.")
    if moved:
        said.append(f"The data service now lists another day of {_races(moved)}: {_named(moved)}.")
    return " ".join(said)


def _races(names: Sequence[str]) -> str:
    return "1 race" if len(names) == 1 else f"{len(names)} races"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - RACES_NAMED} more" if len(names) > RACES_NAMED else ""
    return "; ".join(names[:RACES_NAMED]) + more
