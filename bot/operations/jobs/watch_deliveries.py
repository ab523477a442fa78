"""Warns admins once of each meeting without its outcomes, and takes the warning back when the outcomes come.

A racing day without any delivery is told as such, in place of its meetings. Before a warning the race book reads these
days anew, within the quota: the data service may list an undelivered outcome.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain

from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import Database
from bot.events.races import Race
from bot.logs import get_logger
from bot.operations.jobs.job import Job
from bot.operations.overdue import LONG_PAST
from bot.operations.watchdog import MissingOutcomes, day_key, is_listed, missing_name, read_missing
from bot.outbox import told_once
from bot.outbox.notices import Notices, Urgency
from bot.racedata.day_card import Coverage
from bot.racedata.month_quota import Purpose
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import Budget, RaceBook

log = get_logger(__name__)

REGION_DAYS_ASKED = 12
"""The most pairs of a region and a day that a run reads anew."""

BUDGET_PER_REGION_DAY = Budget(pages=10, seconds=15.0, purpose=Purpose.UPKEEP)
REQUESTS_LEFT_TO_PEOPLE = 500
"""Below this number of requests for commands the job asks nothing."""

MEETINGS_NAMED = 10
HOURS = int(LONG_PAST.total_seconds()) // 3600

ByKey = Mapping[str, Sequence[Race]]


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
        read, is_asked = partial(read_missing, now=self.clock()), False
        found = await self.database.read(read)
        if not found.news and not found.over:
            return False
        if found.news:
            is_asked = await self._ask(list(chain.from_iterable(found.news.values())))
            found = await self.database.read(read)
        is_told = await self.database.write(partial(self._note, found=found, is_asked=is_asked))
        if is_told:
            self.wake.set()
        return is_told

    async def _ask(self, races: Sequence[Race]) -> bool:
        """True if the race book has the service's whole list of the races' regions and days."""
        wanted = sorted({(race.region or "", race.race_date or "") for race in races if not is_listed(race)})
        left = await self.quota.commands_left()
        if left is not None and left < REQUESTS_LEFT_TO_PEOPLE:
            log.info("missing_races_not_asked_for", requests_left=left)
            return False
        asked = [(region, day) for region, day in wanted if region][:REGION_DAYS_ASKED]
        cards = [
            await self.races.card(region, date.fromisoformat(day), budget=BUDGET_PER_REGION_DAY)
            for region, day in asked
        ]
        return asked == wanted and all(card.coverage is Coverage.COMPLETE for card in cards)

    def _note(self, session: Session, *, found: MissingOutcomes, is_asked: bool) -> bool:
        """True if anything was told. A single replica tells each meeting, and takes each meeting back."""
        now = self.clock()
        come = [key for key in told_once.free(session, found.over) if key in found.come]
        news = {key: found.news[key] for key in told_once.note(session, found.news, now)}
        if come:
            words = (
                f"The outcomes have come after all, or the races have another day: {_named(map(missing_name, come))}."
            )
            self.notices.tell(session, f"outcomes-come:{now.isoformat()}:{come[0]}", words, urgency=Urgency.ALL_CLEAR)
        if news:
            is_silent = any(_is_day(key) for key in news)
            urgency = Urgency.CRITICAL if is_silent else Urgency.WARNING
            key = f"outcomes-missing:{now.isoformat()}:{next(iter(news))}"
            self.notices.tell(session, key, " ".join(_missing(news, is_asked=is_asked)), urgency=urgency)
        return bool(come or news)


def _is_day(key: str) -> bool:
    return key == day_key(key.split(":")[1])


def _missing(news: ByKey, *, is_asked: bool) -> Iterator[str]:
    for key, races in news.items():
        if _is_day(key):
            yield (
                f"No result and no abandonment was delivered of {missing_name(key)}, although {_races(races)} should "
                f"have been over for {HOURS} hours or more. The data service keeps a record of failed deliveries for "
                "30 days. Check that strangers reach /webhooks/racing at PUBLIC_URL, and that the log refuses no "
                "signature. If nothing comes on the next racing day either, the data service may have ended the "
                "subscription: racing-bot subscribe --again."
            )
    meetings = {key: races for key, races in news.items() if not _is_day(key)}
    if meetings:
        of_all = list(chain.from_iterable(meetings.values()))
        named = _named(f"{missing_name(key)} {_offs(races)}" for key, races in meetings.items())
        yield (
            f"{_races(of_all)} should have been over for {HOURS} hours or more, and neither a result nor an "
            f"abandonment was delivered: {named}."
        )
        if listed := sum(map(is_listed, of_all)):
            yield f"The data service lists an outcome for {listed} of these races, but delivered none: see /results."
        if listed < len(of_all):
            yield (
                f"The data service's list has no outcome {'for the other races' if listed else 'either'}."
                if is_asked
                else "I could not ask the data service about all these races: the quota is low, or the service fails."
            )


def _races(races: Sequence[Race]) -> str:
    return "1 race" if len(races) == 1 else f"{len(races)} races"


def _offs(races: Sequence[Race]) -> str:
    return ", ".join(
        race.off.text or (f"{race.off.off_at:%H:%M} UTC" if race.off.off_at else race.race_id or "?") for race in races
    )


def _named(words: Iterator[str]) -> str:
    names = list(words)
    more = f" and {len(names) - MEETINGS_NAMED} more" if len(names) > MEETINGS_NAMED else ""
    return "; ".join(names[:MEETINGS_NAMED]) + more
