"""The next deliveries that fan-out takes of a backlog: a flooded region delays no other region."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.db.tables import InboxDelivery
from bot.deliveries import inbox
from bot.deliveries.payload import Payload
from tests.databases import on_both
from tests.integration.pipeline.steps import counting
from tests.rows import over

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LIMIT = 25
FLOOD = 3 * LIMIT


def arrivals(*named):
    """Deliveries of (key, region, further keys…), a second apart."""
    return [
        inbox.Arrival(
            *(key, key.partition(":")[0], f"{key:0>64}", b"{}", NOW + timedelta(seconds=number), region),
            further_keys=further,
        )
        for number, (key, region, *further) in enumerate(named)
    ]


@pytest.fixture
def next_keys(database):
    async def read(*named):
        if named:
            await database.write(lambda session: inbox.store(session, arrivals(*named)))
        later = NOW + timedelta(hours=1)
        return [one.event_key for one in await database.read(lambda session: inbox.waiting(session, later, LIMIT))]

    return read


def flood(region=lambda number: "X"):
    return [(f"result.received:x_{number}", region(number)) for number in range(FLOOD)]


@pytest.mark.parametrize(
    "region",
    [lambda number: "X", lambda number: "", lambda number: f"X{number % 5}"],
    ids=["one region", "no region", "five regions"],
)
async def test_flooded_region_delays_no_other(next_keys, region):
    keys = await next_keys(*flood(region), ("result.received:gb", "GB"))
    assert sorted(keys) == sorted(
        [*(f"result.received:x_{number}" for number in range(LIMIT - 1)), "result.received:gb"]
    )


async def test_deliveries_of_a_region_go_by_receipt(next_keys):
    """A channel of a single region reads the messages in the order of receipt, also in a backlog."""
    region = [(f"result.received:gb_{number}", "GB") for number in range(LIMIT)]
    keys = await next_keys(*flood(), *region)
    assert [key for key in keys if "gb_" in key] == [f"result.received:gb_{number}" for number in range(LIMIT // 2)]


async def test_regions_of_failed_deliveries_delay_no_other(database, next_keys):
    """More regions than deliveries are taken at a time, and each region's deliveries wait for the next try."""
    failed = [(f"racecard.published:f_{number}", f"R{number}") for number in range(LIMIT + 1)]
    await next_keys(*failed, *flood())
    failing = update(InboxDelivery).where(col(InboxDelivery.event_name) == "racecard.published")
    later = NOW + timedelta(hours=1, seconds=300)
    await database.write(lambda session: session.execute(failing.values(not_before=later)))
    assert len(await next_keys(*failed, *flood())) == LIMIT


async def test_only_bodies_of_chosen_deliveries_are_read(database, next_keys):
    await next_keys(*flood(), ("race.abandoned:rc_1", "GB"), ("result.received:rc_1", "GB"))
    with counting(database) as counted:
        await next_keys()
    assert ["inbox.body" in one for one in counted.statements].count(True) == 1, str(counted)


async def test_abandonments_come_first(next_keys):
    lost = [(f"race.abandoned:x_{FLOOD + number}", "X") for number in range(LIMIT - 1)]
    keys = await next_keys(*flood(), *lost, ("result.received:gb", "GB"))
    assert set(keys) >= {key for key, _ in lost}


@on_both
async def test_earlier_deliveries_of_a_race_go_first_whatever_region_they_say(next_keys):
    """The first delivery of the race stands behind the flood, and the second is the first of its region."""
    race = [("result.received:rc_1", "X"), ("racecard.published:rc_1", "GB")]
    keys = await next_keys(*flood(), *race)
    assert [key for key in keys if key.endswith("rc_1")] == [key for key, _ in race]


async def test_abandonment_is_not_before_an_earlier_delivery_that_is_beyond_a_turn(next_keys):
    """Thirteen lost races have more earlier deliveries than a turn takes. The last race is the first lost."""
    kinds = ("racecard.published", "result.received")
    earlier = [(f"{kind}:rc_{number}", "GB") for kind in kinds for number in range(LIMIT // 2 + 1)]
    lost = [(f"race.abandoned:rc_{number}", "GB") for number in reversed(range(LIMIT // 2 + 1))]
    keys = await next_keys(*earlier, *lost)
    race = f":rc_{LIMIT // 2}"
    assert [key for key in keys if key.endswith(race)] == [f"{kind}{race}" for kind in (*kinds, "race.abandoned")]


def lost(number, races):
    """A meeting with so many lost races, which names the races `m_number_0`…"""
    named = (f"meeting.abandoned:m_{number}_{race}" for race in range(races))
    return (f"meeting.abandoned:meeting=m_{number}", "GB", *named)


MANY = [(f"result.received:x_{number}", "GB", *lost(0, 30)[2:]) for number in range(LIMIT - 4)]
"""Deliveries that name the same thirty races each."""

LARGE = {
    "many races in a turn": (
        [(f"result.received:m_{number}_59", "GB") for number in range(12)],
        [lost(number, 60) for number in range(12)],
    ),
    "many races of a delivery": ([("result.received:m_1_1799", "GB")], [lost(1, 1_800)]),
    "many deliveries of many races": (
        [*MANY, ("result.received:m_1_0", "GB")],
        [lost(0, 30), lost(1, 1)],
    ),
}


@on_both
@pytest.mark.parametrize(("earlier", "later"), LARGE.values(), ids=LARGE)
async def test_no_delivery_overtakes_an_earlier_one_of_its_races_however_many_keys_wait(next_keys, earlier, later):
    keys = await next_keys(*earlier, *later)
    assert set(keys) == {key for key, *_ in (*earlier, *later)}
    assert max(keys.index(key) for key, *_ in earlier) < keys.index(later[-1][0])


@over(
    ("body", "region"),
    [
        (b'{"event": "result.received", "race": {"race_id": "rc_1", "region": "GB"}}', "GB"),
        (b'{"event": "result.received", "race": {"race_id": "rc_1", "region": "a|b"}}', "a|b"),
        (b'{"event": "result.received", "race": {"race_id": "rc_1"}}', ""),
        (b"no JSON", ""),
    ],
)
def test_region_is_what_the_delivery_says(body, region):
    assert Payload(body).region == region
