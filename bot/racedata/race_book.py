"""The race book: the races of all days, with the cards and races that commands and jobs ask for."""

from datetime import date
from functools import partial

from sqlmodel import Session

from bot.errors import ServiceError
from bot.events.races import Course, Race
from bot.racedata import race_book_store
from bot.racedata.day import known_day
from bot.racedata.day_card import Card, Coverage, MeetingCard, Outcomes, none_hidden
from bot.racedata.quota_purposes import Purpose
from bot.racedata.reading import Budget, Reading, Standing


class RaceBook(Reading):
    """Commands and jobs share one race book, so that a region is read once for all."""

    async def card(
        self, region: str | None, day: date, course: Course | None = None, budget: Budget | None = None
    ) -> Card:
        """A stale book is read on first. Raises no ServiceError: the card holds the failure."""
        standing = await self.top_up(region, day, budget or Budget())
        return await self._database.read(partial(_card, standing=standing, course=course))

    async def known(self, region: str | None, day: date, course: Course | None = None) -> Card:
        """What the book and the deliveries have of a day. Makes no request."""
        outcomes = await self._database.read(lambda session: known_day(session, day, region).outcomes(course))
        return Card(day, region, course, outcomes, _so_far(outcomes))

    async def meetings(self, day: date) -> tuple[MeetingCard, ...]:
        """Makes no request."""
        return (await self.known(None, day)).meetings

    async def race(self, race_id: str, purpose: Purpose = Purpose.PEOPLE) -> Race | None:
        """From the book; without a finishing order there, by RACING_RACE_PATH.

        Raises ServiceError if the service failed and the book lacks the race.
        """
        known = await self._database.read(lambda session: race_book_store.by_id(session, race_id))
        if (known and known.placed()) or await self._quota.commands_left() == 0:
            return known
        try:
            return await self._paths.read_race(self._client_for(purpose), race_id, known or Race()) or known
        except ServiceError:
            if known is None:
                raise
            return known


def _card(session: Session, standing: Standing, course: Course | None) -> Card:
    errand, day_read, walk = standing.errand, standing.day_read, standing.walk
    known = known_day(session, errand.day, errand.region)
    outcomes = known.outcomes(course)
    is_whole = standing.is_proven and none_hidden(known.in_book, course)
    return Card(
        day=errand.day,
        region=errand.region,
        course=course,
        outcomes=outcomes,
        coverage=Coverage.COMPLETE if is_whole else standing.stopped_by or _so_far(outcomes),
        failure=None if is_whole else standing.failure,
        read_at=standing.read_at,
        latest_at=known.latest_at,
        reached=None if is_whole else walk.reached(),
        data_as_of=(day_read and day_read.data_as_of) or walk.data_as_of,
        window=standing.window,
    )


def _so_far(outcomes: Outcomes) -> Coverage:
    return Coverage.PARTIAL if outcomes.meetings else Coverage.UNREAD
