"""A card out of a race book of very many races, without a request: reading, building, and the answer's blocks."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session

from bench.common import Below, Measure, Plan, percentiles
from bot.db import named_values
from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.db.tables import BookRace
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.client.calls import AccountState
from bot.racedata.client.service_client import RECORDS_PER_PAGE
from bot.racedata.race_book import RaceBook
from bot.racedata.race_walk import Settled, Walk
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.racecard_answer import racecard
from bot.slack.messages.answers.results_answer import results_of_day

RACES = 100_000
A_DAY = 60
"""Ten meetings of six races in one region."""

TOGETHER = 2_000
CARDS = 200
TODAY = date(2026, 11, 20)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FIELD = tuple(Runner(horse=f"Horse {place}", position=str(place), jockey="J", trainer="T") for place in range(1, 11))


class NoClient:
    """A client that nothing may be asked of."""

    state = AccountState()

    def __getattr__(self, name):
        raise AssertionError(f"a card out of the book asked for {name}")


class NoQuota:
    """As much of the quota as need be."""

    async def staleness_s(self):
        return 900

    async def commands_left(self):
        return None


async def measure(folder: Path, _plan: Plan) -> list[Measure]:
    """Milliseconds of a day's card and of its results, each another day."""
    database = Database(f"sqlite:///{folder / 'cards.db'}")
    upgrade(database)
    await fill(database)
    client: Any = NoClient()
    quota: Any = NoQuota()
    book = RaceBook(database, client, lambda: NOW, quota)
    with modules_frozen():
        cards, results = await _answers(book)
    await database.close()
    name = f"{A_DAY} races out of {RACES:,}"
    return [
        *percentiles(f"card of {name}", cards, {50: None, 99: Below(100)}),
        *percentiles(f"results of {name}", results, {50: None, 99: Below(100)}),
    ]


async def _answers(book: RaceBook) -> tuple[list[float], list[float]]:
    """Seconds of each card, and of each day's results."""
    cards, results = [], []
    for number in range(CARDS):
        day = TODAY - timedelta(days=10 + number)
        started = time.perf_counter()
        card = await book.card("GB", day)
        assert racecard(card, DayQuestion(NOW)).blocks
        cards.append(time.perf_counter() - started)
        assert sum(len(meeting.races) for meeting in card.meetings) == A_DAY
        started = time.perf_counter()
        assert results_of_day(await book.card("GB", day), DayQuestion(now=NOW)).blocks
        results.append(time.perf_counter() - started)
    return cards, results


@contextmanager
def modules_frozen() -> Iterator[None]:
    """The collector skips what is loaded, as in the running service (`bot.app`).

    A full collection of the bench's modules takes 110 to 160 ms, and one in fifty answers would wait for the collector.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def fill(database: Database) -> None:
    """A book that has been read whole, up to yesterday."""
    for first in range(0, RACES, TOGETHER):
        rows = [a_row(number) for number in range(first, first + TOGETHER)]
        await database.write(partial(_insert, rows=rows))
    settled = Settled(before=(TODAY - timedelta(days=1)).isoformat(), cursor="c")
    walk = Walk(region="GB", limit=RECORDS_PER_PAGE, newest_first=False, settled=settled)
    await database.write(
        partial(named_values.put, name="racebook.walk.GB", value=walk.model_dump(mode="json"), now=NOW)
    )


def _insert(session: Session, rows: list[dict[str, Any]]) -> None:
    session.connection().execute(insert(BookRace), rows)


def a_row(number: int) -> dict[str, Any]:
    """The race as it stands in the book's table."""
    race = a_race(number)
    data = race.model_dump_json(exclude_defaults=True)
    return {
        "race_id": race.race_id,
        "region": race.region,
        "race_date": race.race_date,
        "data": data,
        "updated_at": NOW,
    }


def a_race(number: int) -> Race:
    """A settled race with ten runners."""
    of_day = number % A_DAY
    return Race(
        race_id=f"rc_{number}",
        meeting_id=f"mt_{number // 6}",
        region="GB",
        course=Course(course_id=f"cr_{of_day // 6}", name=f"Course {of_day // 6}"),
        race_date=(TODAY - timedelta(days=2 + number // A_DAY)).isoformat(),
        off=OffTime(text=f"{12 + of_day % 6}:30"),
        title="Novices' Handicap Hurdle",
        race_class="4",
        distance="2m",
        going="Good to Soft",
        status="result",
        runners=FIELD,
    )
