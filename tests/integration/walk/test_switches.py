"""The main job with every way of filling the specification's gaps: one bot, and each pair of ways."""

from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from itertools import combinations, count, product

import httpx
import pytest
from pydantic import SecretStr

from bot.racedata.client.service_client import open_client
from bot.racedata.day_card import Coverage
from bot.racedata.quota_book import QuotaBook
from bot.racedata.race_book import RaceBook
from bot.racedata.reference_book import ReferenceBook
from sandbox.racing_day import REGION_CODES, Meeting
from sandbox.racing_service import RacingService
from sandbox.racing_service.delivery_queue import Subscription
from tests.clock import START, now
from tests.said import as_posted
from tests.unit.pages import settings
from tests.unit.racedata.scripted_service import Memory, SleepClock
from tests.world import WEBHOOK_SECRET, abandoned

EVENTS = frozenset({"result.received", "race.abandoned", "meeting.abandoned", "racecard.published"})

COMBINATIONS = [
    {"payload": payload, "attempt_in_body": in_body, "repeat_every": int(in_body == (payload == "renamed"))}
    for payload, in_body in product(("nested", "renamed"), (False, True))
]
"""Each pair of values of every two switches."""


def weekday_and_day(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b}"


@dataclass(frozen=True)
class Place:
    """Racing with a happening. Each region has a separate channel."""

    region: str
    ran: Meeting
    lost: Meeting
    coming: list[Meeting]

    @property
    def channel(self) -> str:
        return f"C{self.region}"

    def expected(self) -> list[str]:
        """The beginnings of the messages: of the result twice, because the result is corrected."""
        lost_on, *coming_on = [weekday_and_day(one.race_date) for one in (self.lost, *self.coming)]
        is_today = self.ran.race_date == START.date()
        day = "" if is_today else f", {weekday_and_day(self.ran.race_date)}"
        result = f"{self.ran.course.name} {self.ran.races[0].off_time}{day} ({self.region})"
        return sorted(
            [
                f"Result: {result}",
                f"CORRECTION: {result}",
                f"ABANDONED: {self.ran.course.name} {self.ran.races[1].off_time}{day} ({self.region})",
                f"ABANDONED: {self.lost.course.name}, whole meeting, {lost_on} ({self.region})",
                *(
                    f"Racecard: {one.course.name}, {on} ({self.region})"
                    for one, on in zip(self.coming, coming_on, strict=True)
                ),
            ]
        )


def places(racing) -> Iterator[Place]:
    """Places, two in a region, each with separate meetings."""
    for region in REGION_CODES:
        near = [meeting for days in range(1, -8, -1) for meeting in _meetings(racing, days, region)]
        coming = sorted(filter(None, (_meetings(racing, days, region) for days in (2, 3, 4))), key=len)
        if len(near) >= 4 and len(coming) >= 2:
            yield Place(region, near[0], near[1], coming[0])
            yield Place(region, near[2], near[3], coming[1])


def _meetings(racing, days, region) -> list[Meeting]:
    """The meetings a number of days from today."""
    found: list[Meeting] = racing.meetings(racing.today + timedelta(days=days), region)
    return found


async def happen(service, place):
    """Delivers every happening: a second event goes out after the first was taken."""
    race, other = place.ran.races[:2]
    service.settle(race.race_id)
    service.abandon_race(other.race_id, "Frozen track")
    service.abandon_meeting(place.lost.meeting_id, "Waterlogged")
    service.publish_racecards(place.coming[0].race_date, place.region)
    await deliver_all(service)
    service.correct(race.race_id)
    await deliver_all(service)


async def deliver_all(service):
    """A busy bot refuses a delivery, and takes the delivery an hour later."""
    for hours in count():
        await service.deliver_due(now() + timedelta(hours=hours))
        if {delivery.status for delivery in service.deliveries} == {"delivered"}:
            return


def said(text: str) -> str:
    """The text in the form shared by every combination of switches.

    The service's times are whole seconds: within a second nothing tells the newer version. Not every delivery names the
    races of a lost meeting that were run.
    """
    same = {"Two versions disagree: ": "CORRECTION: ", "rest of the meeting": "whole meeting"}
    return reduce(lambda words, pair: words.replace(*pair), same.items(), as_posted(text))


async def test_every_event_is_posted_once_for_every_pair_of_switches(make_world):
    async with make_world() as world:
        await all_combinations(world)


async def all_combinations(world):
    service = world.service
    service.subscriptions.append(
        Subscription("sub_1", f"{world.bot.url}/webhooks/racing", EVENTS, None, WEBHOOK_SECRET)
    )
    chosen = list(zip(COMBINATIONS, places(service.racing), strict=False))
    assert len(chosen) == len(COMBINATIONS)
    expected: dict[str, list[str]] = {}
    for combination, place in chosen:
        if place.channel not in expected:
            world.slack.add_channel(place.channel, place.region.lower(), bot_is_member=True)
            await world.subscribe(place.channel, f"{place.region} results abandonments racecards")
        expected.setdefault(place.channel, []).extend(place.expected())
        service.switch(**combination)
        await happen(service, place)
    assert {delivery.status for delivery in service.deliveries} == {"delivered"}
    assert sum(len(delivery.attempts) for delivery in service.deliveries) > len(service.deliveries)
    # The last event is told last: by then every repeated message would have been told.
    last = abandoned("rc_last", place.region, course="Last Park")
    assert (await world.bot.deliver(last)).status_code == 200
    for channel, beginnings in expected.items():
        await world.wait_for_posts(channel, len(beginnings) + (channel == place.channel))
    await world.wait_for_text(place.channel, "ABANDONED: Last Park")
    expected[place.channel].append("ABANDONED: Last Park")
    for channel, beginnings in expected.items():
        texts = sorted(said(text) for text in world.texts(channel))
        assert len(texts) == len(beginnings), texts
        for text, beginning in zip(texts, sorted(beginnings), strict=True):
            assert text.startswith(beginning), (text, beginning)
    assert world.texts("CADMIN") == []


# `/racecard` is right with every way: every two choices meet


NAMES = ("races", "reference", "last_cursor", "newest_first", "short_page_every")
READINGS = [
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
    return RacingService(time.clock().date(), plan="analyst", clock=time.clock, days_back=4, days_ahead=2)


@asynccontextmanager
async def books(service, database):
    """The books of a bot before its first reading, with a new key: limits belong to a key."""
    time, key = SleepClock(), service.rotate_key()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app)) as http:
        client = open_client("https://service/v1", SecretStr(key), Memory(), http=http, timing=time.timing())
        quota = QuotaBook(database, client, settings(), time.clock)
        yield ReferenceBook(database, client, time.clock), RaceBook(database, client, time.clock, quota, settings())


def test_every_two_choices_meet():
    for one, other in combinations(range(len(NAMES)), 2):
        choices = product({row[one] for row in READINGS}, {row[other] for row in READINGS})
        assert {(row[one], row[other]) for row in READINGS} == set(choices)


@pytest.mark.parametrize("choices", READINGS, ids=str)
async def test_racecard_is_whole_for_every_combination(service, database, choices):
    today = service.racing.today
    service.switch(**dict(zip(NAMES, choices, strict=True)))
    async with books(service, database) as (reference_book, race_book):
        assert "GB" in (await reference_book.regions() or ())
        for day in (today, today - timedelta(days=3)):
            card = await race_book.card("GB", day)
            assert card.coverage is Coverage.COMPLETE
            listed = service.racing.races(day, "GB")
            shown = [race for meeting in card.meetings for race in meeting.races]
            assert {race.race_id for race in shown} == {race.race_id for race in listed}
            assert {race.course.name for race in shown} == {race.course.name for race in listed}
            assert card.data_as_of == datetime(2025, 11, 20, 12, tzinfo=UTC).isoformat()
