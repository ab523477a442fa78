"""`/racecard` is right however the service fills the gaps of its specification: every combination of what lists can be.

The reference is another endpoint, so each of its shapes meets each choice of the lists, but not each combination.
"""

import shutil
from collections.abc import Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta
from itertools import product
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot.db.engine import Database
from bot.db.migrate import upgrade
from bot.errors import CommandError
from bot.racedata.client.service_client import open_client
from bot.racedata.day_card import Coverage
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings
from bot.slack.messages.answers.racecard_answer import racecard
from bot.slack.messages.kit.times import weekday_and_day
from sandbox.racing_service import RacingService
from tests.integration.racedata.backends import FakeTime, Memory

REFERENCES = ("values", "names", "map", "rows")
CHOICES: dict[str, Sequence[Any]] = {
    "races": ("nested", "flat", "renamed"),
    "newest_first": (False, True),
    "last_cursor": ("string", "null", "absent"),
    "short_page_every": (0, 2),
}


def with_reference(places: Sequence[int]) -> dict[str, Any]:
    """The choices at these places, and one for the reference: the sum of places makes each meet each."""
    chosen = {name: values[place] for (name, values), place in zip(CHOICES.items(), places, strict=True)}
    return chosen | {"reference": REFERENCES[sum(places) % len(REFERENCES)]}


COMBINATIONS = [with_reference(places) for places in product(*(range(len(values)) for values in CHOICES.values()))]


def name_of(switches: dict[str, Any]) -> str:
    return "-".join(f"{value}" for value in switches.values())


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory):
    """A file with the current schema, to be copied."""
    path = tmp_path_factory.mktemp("schema") / "empty.db"
    database = Database(f"sqlite:///{path}")
    upgrade(database)
    database.writer.dispose()
    return path


@pytest.fixture(scope="module")
def service():
    time = FakeTime()
    return RacingService(time.clock().date(), plan="analyst", clock=time.clock, days_back=12, days_ahead=2)


@asynccontextmanager
async def books(service, database_file):
    """Reference book and race book of a bot that has read nothing yet, with a key of its own: limits are a key's."""
    time, key = FakeTime(), service.rotate_key()
    settings = Settings(
        _env_file=None,
        racing_api_url="https://service/v1",
        racing_api_key=key,
        slack_bot_token="xoxb-test",
        slack_signing_secret="secret-of-a-test",
    )
    database = Database(f"sqlite:///{database_file}")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app)) as http:
        client = open_client("https://service/v1", SecretStr(key), Memory(), http=http, timing=time.timing())
        quota = QuotaBook(database, client, settings, time.clock)
        yield ReferenceBook(database, client, time.clock), RaceBook(database, client, time.clock, quota)
    await database.close()


def test_each_reference_meets_each_choice_of_the_lists():
    for name, values in CHOICES.items():
        met = {(switches[name], switches["reference"]) for switches in COMBINATIONS}
        assert met == set(product(values, REFERENCES))


@pytest.mark.parametrize("switches", COMBINATIONS, ids=name_of)
async def test_racecard_is_whole_for_every_combination(service, empty_database, tmp_path, switches):
    today = service.racing.today
    service.switch(**switches)
    copy = shutil.copy(empty_database, tmp_path / "bot.db")
    async with books(service, copy) as (reference_book, race_book):
        assert (await reference_book.check_region("GB")).known
        with pytest.raises(CommandError, match="Did you mean GB"):
            await reference_book.check_region("gb")
        for day in (today, today - timedelta(days=3)):
            card = await race_book.card("GB", day)
            assert card.coverage is Coverage.COMPLETE
            listed = service.racing.races(day, "GB")
            shown = [race for meeting in card.meetings for race in meeting.races]
            assert {race.race_id for race in shown} == {race.race_id for race in listed}
            assert {race.course.name for race in shown} == {race.course.name for race in listed}
            assert card.data_as_of == datetime(2025, 11, 20, 12, tzinfo=UTC).isoformat()
            said = racecard(card, datetime.combine(today, time(12), UTC))
            assert "data as of <!date^1763640000^{time}|12:00 UTC>" in str(said.blocks)
            assert said.text.startswith(f"Racecard: GB, {weekday_and_day(day)}: ")


@pytest.mark.parametrize("usage", ["rows", "period", "renamed"])
@pytest.mark.parametrize("plan", ["free", "analyst"])
async def test_usage_is_read_for_every_shape_and_grouping(empty_database, tmp_path, usage, plan):
    time = FakeTime()
    service = RacingService(time.clock().date(), plan=plan, clock=time.clock)
    service.switch(usage=usage)
    copy = shutil.copy(empty_database, tmp_path / "bot.db")
    async with books(service, copy) as (_, race_book):
        service.set_used(1_234)
        for by, label in (("day", "2025-11-20"), ("endpoint", "/races/search")):
            reading = await race_book._quota.read(by)
            assert (label, 1_234) in [(row.label, row.requests) for row in reading.rows]
            assert (reading.used, reading.certain) == (1_234, True)
            assert reading.limit == {"free": 15_000, "analyst": 1_000_000}[plan]
        assert {request.status for request in service.requests} == {200}
        assert service.used == 1_234
