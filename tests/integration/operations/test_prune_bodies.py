"""Old bodies are forgotten; what a replay is known by is not."""

from datetime import UTC, datetime, timedelta

from bot.deliveries import inbox
from bot.operations.jobs.prune_bodies import prune_bodies
from tests.databases import on_both

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def arrival(number, age_days):
    return inbox.Arrival(
        f"result.received:rc_{number}", "result.received", f"{number:064}", b"{}", NOW - timedelta(age_days)
    )


async def store(database, arrivals, *, done=True):
    new = await database.write(lambda session: inbox.store(session, arrivals))
    if done:
        taken = await database.write(lambda session: inbox.waiting(session, NOW, 10_000))
        await database.write(lambda session: inbox.take(session, taken, NOW))
    return [number is not None for number in new.values()]


async def test_old_bodies_are_forgotten_once_and_their_keys_are_kept(database):
    await store(database, [arrival(number, 40) for number in range(450)])
    await store(database, [arrival(number, 5) for number in range(1000, 1010)])
    assert await prune_bodies(database, 30, lambda: NOW) == 450
    assert await prune_bodies(database, 30, lambda: NOW) == 0
    assert await store(database, [arrival(7, 0), arrival(1005, 0)], done=False) == [False, False]
    assert await prune_bodies(database, 30, lambda: NOW + timedelta(days=30)) == 10


@on_both
async def test_delivery_that_still_waits_keeps_its_body(database):
    await store(database, [arrival(1, 40)], done=False)
    assert await prune_bodies(database, 30, lambda: NOW) == 0
    (waiting,) = await database.write(lambda session: inbox.waiting(session, NOW, 5))
    assert waiting.body == b"{}"
