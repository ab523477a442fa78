"""`/racecard` is right with every way of filling the specification's gaps: every two choices meet."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import combinations, product

import httpx
import pytest
from pydantic import SecretStr

from bot.errors import CommandError
from bot.racedata.client.service_client import open_client
from bot.racedata.day_card import Coverage
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from sandbox.racing_service import RacingService
from tests.unit.pages import settings
from tests.unit.racedata.scripted_service import Memory, SleepClock

NAMES = ("races", "reference", "last_cursor", "newest_first", "short_page_every")
COMBINATIONS = [
    ("nested", "values", "null", False, 0),
    ("renamed", "names", "null", True, 2),
    ("nested", "values", "absent", True, 2),
    ("renamed", "names", "absent", False, 0),
    ("nested", "names", "string", False, 2),
    ("renamed", "values", "string", True, 0),
]


@pytest.fixture(scope="module")
def service():
    time = SleepClock()
    return RacingService(time.clock().date(), plan="analyst", clock=time.clock, days_back=6, days_ahead=2)


@asynccontextmanager
async def books(service, database):
    """The books of a bot before its first reading, with a new key: limits belong to a key."""
    time, key = SleepClock(), service.rotate_key()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app)) as http:
        client = open_client("https://service/v1", SecretStr(key), Memory(), http=http, timing=time.timing())
        quota = QuotaBook(database, client, settings(), time.clock)
        yield ReferenceBook(database, client, time.clock), RaceBook(database, client, time.clock, quota)


def test_every_two_choices_meet():
    for one, other in combinations(range(len(NAMES)), 2):
        choices = product({row[one] for row in COMBINATIONS}, {row[other] for row in COMBINATIONS})
        assert {(row[one], row[other]) for row in COMBINATIONS} == set(choices)


@pytest.mark.parametrize("choices", COMBINATIONS, ids=str)
async def test_racecard_is_whole_for_every_combination(service, database, choices):
    today = service.racing.today
    service.switch(**dict(zip(NAMES, choices, strict=True)))
    async with books(service, database) as (reference_book, race_book):
        assert await reference_book.check_regions(["GB"])
        with pytest.raises(CommandError, match="Did you mean GB"):
            await reference_book.check_regions(["gb"])
        for day in (today, today - timedelta(days=3)):
            card = await race_book.card("GB", day)
            assert card.coverage is Coverage.COMPLETE
            listed = service.racing.races(day, "GB")
            shown = [race for meeting in card.meetings for race in meeting.races]
            assert {race.race_id for race in shown} == {race.race_id for race in listed}
            assert {race.course.name for race in shown} == {race.course.name for race in listed}
            assert card.data_as_of == datetime(2025, 11, 20, 12, tzinfo=UTC).isoformat()
