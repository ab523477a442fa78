"""Warns admins once of missing outcomes and deliveries, and withdraws a warning when the delivery comes.

The first missing race is told at once, further races of the next hour together. Before the warning the race book reads
these races anew, within the quota: the data service may list an undelivered outcome.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.db.tables import MissingKind, MissingRow
from bot.events.races import Race
from bot.logs import get_logger
from bot.operations import missing_rows
from bot.operations import watchdog_words as words
from bot.operations.jobs.job import Job
from bot.operations.watchdog import DeliveryState, is_listed, new_findings, read_delivery_state, resolved_findings
from bot.outbox.notices import Notices, Urgency
from bot.racedata.day_card import Coverage
from bot.racedata.quota_book import QuotaBook
from bot.racedata.quota_purposes import Purpose
from bot.racedata.race_book import Budget, RaceBook

log = get_logger(__name__)

TELL_RACES_EVERY = timedelta(hours=1)

REGION_DAYS_ASKED = 12
"""Regions and days asked for at most, once in TELL_RACES_EVERY."""

BUDGET_PER_REGION_DAY = Budget(pages=10, seconds=15.0, purpose=Purpose.UPKEEP)
REQUESTS_LEFT_TO_PEOPLE = 500
"""Below this number of requests for commands the job asks nothing."""


TOLD_SINGLY: Mapping[MissingKind, tuple[Callable[[str], str], Urgency]] = {
    MissingKind.DAY: (words.day_missing, Urgency.WARNING),
    MissingKind.SUBSCRIPTION: (words.subscription_missing, Urgency.CRITICAL),
}
"""Findings told one by one. Missing races are gathered (`missing_rows.OF_RACES`)."""


@dataclass(frozen=True)
class Watch:
    state: DeliveryState
    new: Sequence[MissingRow]
    resolved: dict[str, MissingRow]
    tells_races: bool

    @property
    def untold(self) -> list[MissingRow]:
        before = (row for row in self.state.open_rows if row.told_at is None and row.key not in self.resolved)
        return [*before, *self.new]

    @property
    def races_to_tell(self) -> dict[str, Race]:
        races = {race.race_id: race for race in self.state.due} | self.state.undelivered
        rows = [row for row in self.untold if row.kind in missing_rows.OF_RACES] if self.tells_races else []
        return {row.key: race for row in rows if (race := races.get(row.race_id)) is not None}

    @property
    def has_work(self) -> bool:
        above = [row for row in self.untold if row.kind not in missing_rows.OF_RACES]
        return bool(self.new or self.resolved or above or self.races_to_tell)


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
        found = await self.database.read(partial(_watch, now=self.clock()))
        if not found.has_work:
            return False
        is_asked = False
        if found.races_to_tell:
            is_asked = await self._ask(found.races_to_tell.values())
            found = await self.database.read(partial(_watch, now=self.clock()))
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


def _watch(session: Session, now: datetime) -> Watch:
    state = read_delivery_state(session, now)
    found = new_findings(state)
    known = missing_rows.keys(session, {row.key for row in found})
    told_last = missing_rows.told_last(session)
    return Watch(
        state=state,
        new=[row for row in found if row.key not in known],
        resolved=resolved_findings(state),
        tells_races=told_last is None or now - told_last >= TELL_RACES_EVERY,
    )


def _note(session: Session, notices: Notices, found: Watch, *, is_asked: bool) -> bool:
    """True if anything was told. A single replica tells and withdraws each finding."""
    now = found.state.now
    missing_rows.add(session, found.new)
    told = [
        _take_back(session, notices, found, now),
        *(_tell_above(session, notices, row, now) for row in found.untold if row.kind not in missing_rows.OF_RACES),
        _tell_races(session, notices, found, now, is_asked=is_asked),
    ]
    missing_rows.forget(session, now)
    return any(told)


def _take_back(session: Session, notices: Notices, found: Watch, now: datetime) -> bool:
    keys = missing_rows.came(session, found.resolved, now)
    if not keys:
        return False
    rows = [found.resolved[key] for key in keys]
    elsewhere = [row.key for row in rows if row.race_id in found.state.undelivered]
    said = words.come_after_all(rows, elsewhere)
    return notices.tell(session, f"come-after-all:{keys[0]}", said, urgency=Urgency.ALL_CLEAR)


def _tell_above(session: Session, notices: Notices, row: MissingRow, now: datetime) -> bool:
    """Tell of a silent day or subscription."""
    kind = MissingKind(row.kind)
    if not missing_rows.tell(session, [row.key], kind, now):
        return False
    said, urgency = TOLD_SINGLY[kind]
    return notices.tell(session, f"missing:{row.key}", said(row.name), urgency=urgency)


def _tell_races(session: Session, notices: Notices, found: Watch, now: datetime, *, is_asked: bool) -> bool:
    names = {row.key: row.name for row in found.untold}
    listed = {key for key, race in found.races_to_tell.items() if is_listed(race)}
    nowhere = missing_rows.tell(session, found.races_to_tell.keys() - listed, MissingKind.RACE, now)
    undelivered = missing_rows.tell(session, listed, MissingKind.DELIVERY, now)
    told = [*nowhere, *undelivered]
    if not told:
        return False
    said = words.races_missing([names[key] for key in nowhere], [names[key] for key in undelivered], is_asked=is_asked)
    return notices.tell(session, f"missing:{told[0]}", said, urgency=Urgency.WARNING)
