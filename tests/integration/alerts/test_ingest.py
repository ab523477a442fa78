"""More deliveries than can be stored: some are refused at once, so that those that are taken are answered soon."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from bot.alerts.ingest import BEHIND_S, MANY, Ingest
from bot.errors import QueueFull
from bot.storage.inbox import Arrival


class Disk:
    """A database whose writer pauses until it is told to go on."""

    def __init__(self, database) -> None:
        self._pause = threading.Event()
        self._paused = asyncio.create_task(database.write(lambda _session: self._pause.wait()))

    async def go_on(self) -> None:
        self._pause.set()
        await self._paused


class Watch:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def arrival(number):
    return Arrival(f"result.received:rc_{number}", "result.received", f"{number:064}", b"{}", datetime.now(UTC))


@pytest.fixture
def watch():
    return Watch()


@pytest_asyncio.fixture
async def disk(database):
    paused = Disk(database)
    yield paused
    await paused.go_on()


@pytest.fixture
def ingest(database, watch):
    return Ingest(database, patience_s=60, capacity=2 * MANY + 1, monotonic=watch)


async def begin(ingest, count):
    """So many deliveries wait behind a first one, which is being stored."""
    tasks = [asyncio.create_task(ingest.store(arrival(number))) for number in range(count + 1)]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_disk_that_pauses_refuses_nobody_while_few_wait(ingest, disk, watch):
    tasks = await begin(ingest, MANY - 1)
    watch.now_s = 1.0
    ingest.check_room()
    await disk.go_on()
    assert await asyncio.gather(*tasks) == [True] * MANY


async def test_many_that_have_waited_are_joined_by_no_more(ingest, disk, watch):
    first = asyncio.create_task(ingest.store(arrival(0)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.create_task(ingest.store(arrival(number))) for number in range(1, MANY + 1)]
    await asyncio.sleep(0)
    watch.now_s = BEHIND_S
    ingest.check_room()
    watch.now_s = BEHIND_S + 0.01
    with pytest.raises(QueueFull, match=r"the first for 0\.11 s"):
        ingest.check_room()
    await disk.go_on()
    assert await asyncio.gather(first, *others) == [True] * (MANY + 1)
    ingest.check_room()


async def test_capacity_is_refused_however_short_the_wait(ingest, disk):
    tasks = [asyncio.create_task(ingest.store(arrival(number))) for number in range(2 * MANY + 1)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFull, match="deliveries are waiting"):
        ingest.check_room()
    await disk.go_on()
    assert all(await asyncio.gather(*tasks))
