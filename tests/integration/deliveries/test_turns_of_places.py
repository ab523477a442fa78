"""Which deliveries of a backlog fan-out takes next: no flooded place or region delays another."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import InboxDelivery
from bot.deliveries import inbox
from bot.deliveries.payload import Payload

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIMIT = 25
FLOOD = 3 * LIMIT


def arrivals(*named):
    """Of (key, place), one a second."""
    return [
        inbox.Arrival(key, key.partition(":")[0], f"{key:0>64}", b"{}", NOW + timedelta(seconds=number), place=place)
        for number, (key, place) in enumerate(named)
    ]


@pytest.fixture
def next_keys(database):
    async def read(*named):
        await database.write(lambda session: inbox.store(session, arrivals(*named)))
        later = NOW + timedelta(hours=1)
        return [one.event_key for one in await database.read(lambda session: inbox.waiting(session, later, LIMIT))]

    return read


def flood(place="X|Lost City"):
    return [(f"result.received:x_{number}", place(number) if callable(place) else place) for number in range(FLOOD)]


@pytest.mark.parametrize(
    "place",
    ["X|Lost City", "GB|York", "|", "", lambda number: f"X|Course {number}", lambda number: f"X{number % 5}|Lost City"],
    ids=["a region", "a course of the same region", "no place", "not said", "many courses", "many regions"],
)
async def test_flooded_place_delays_no_other(next_keys, place):
    keys = await next_keys(*flood(place), ("result.received:gb", "GB|Ascot"))
    assert keys == [*(f"result.received:x_{number}" for number in range(LIMIT - 1)), "result.received:gb"]


async def test_places_of_failed_deliveries_delay_no_other(database, next_keys):
    """More places than deliveries are taken at a time, and each place's deliveries wait for the next try."""
    failed = [(f"racecard.published:f_{number}", f"GB|Course {number}") for number in range(LIMIT + 1)]
    await next_keys(*failed, *flood("GB|York"))
    failing = update(InboxDelivery).where(col(InboxDelivery.event_name) == "racecard.published")
    later = NOW + timedelta(hours=1, seconds=300)
    await database.write(lambda session: session.execute(failing.values(not_before=later)))
    assert len(await next_keys(*failed, *flood("GB|York"))) == LIMIT


async def test_abandonments_come_first(next_keys):
    lost = [(f"race.abandoned:x_{FLOOD + number}", "X|Lost City") for number in range(LIMIT - 1)]
    keys = await next_keys(*flood(), *lost, ("result.received:gb", "GB|Ascot"))
    assert set(keys) >= {key for key, _ in lost}


async def test_earlier_deliveries_of_a_race_go_first_whatever_place_they_say(next_keys):
    """The first delivery of the race stands behind the flood, and the second is the first of its place."""
    race = [("result.received:rc_1", "X|Lost City"), ("racecard.published:rc_1", "GB|Ascot")]
    keys = await next_keys(*flood(), *race)
    assert [key for key in keys if key.endswith("rc_1")] == [key for key, _ in race]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"event": "result.received", "race": {"race_id": "rc_1", "region": "GB", "course": "Ascot"}}', "GB|Ascot"),
        (b'{"event": "result.received", "race": {"race_id": "rc_1", "region": "a|b"}}', "a b|"),
        (b'{"event": "result.received", "race": {"race_id": "rc_1"}}', "|"),
        (b"no JSON", ""),
    ],
)
def test_place_is_what_the_delivery_says(body, place):
    assert Payload(body).place == place
