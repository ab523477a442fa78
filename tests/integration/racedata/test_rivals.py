"""The client at the stand-in with somebody else on the same key, on a clock that the test drives."""

import asyncio
import random
from collections import Counter
from contextlib import asynccontextmanager
from datetime import timedelta
from email.utils import format_datetime

import httpx
import pytest
from pydantic import SecretStr

from bot.racedata.client import service_errors
from bot.racedata.client.service_client import open_client
from bot.racedata.client.timing import Timing
from sandbox.racing_service import RacingService
from tests.integration.racedata.backends import KEY, FakeTime, Memory

MINUTES = 4


class Rivalry(FakeTime):
    """Time in which a rival asks `per_minute` times between two seconds of each minute, at moments thrown with
    a fixed seed. Each request of ours takes 50 ms."""

    def __init__(self, per_minute, from_s, until_s, *, skew_s):
        super().__init__()
        chance = random.Random(per_minute)
        self.moments = sorted(
            (60 * minute + chance.uniform(from_s, until_s) for minute in range(MINUTES + 3) for _ in range(per_minute)),
            reverse=True,
        )
        self.skew = timedelta(seconds=skew_s)
        self.service = RacingService(self.start.date(), api_key=KEY, clock=self.service_clock)
        self.rival = httpx.AsyncClient(transport=httpx.ASGITransport(self.service.app))
        self.refused: Counter[int] = Counter()
        self.served = 0

    def service_clock(self):
        return self.clock() + self.skew

    async def sleep(self, seconds):
        await self.pass_(seconds)

    async def pass_(self, seconds):
        """Let time go by, and the rival ask when it is due."""
        end_s = self.now_s + seconds
        while self.moments and self.moments[-1] <= end_s:
            self.now_s = max(self.now_s, self.moments.pop())
            await self.rival.get("http://service/v1/countries", headers={"X-API-Key": KEY})
        self.now_s = end_s

    async def note(self, response):
        """What our client is answered, with the `Date` that a server adds."""
        await self.pass_(0.05)
        response.headers["date"] = format_datetime(self.service_clock(), usegmt=True)
        if response.status_code == 429:
            self.refused[int(self.service_clock().timestamp() // 60)] += 1
        else:
            self.served += 1


@asynccontextmanager
async def client_beside(time):
    transport = httpx.ASGITransport(time.service.app)
    async with time.rival, httpx.AsyncClient(transport=transport, event_hooks={"response": [time.note]}) as http:
        timing = Timing(time.clock, lambda: time.now_s, time.sleep, lambda: 1.0)
        yield open_client("https://service/v1", SecretStr(KEY), Memory(), http=http, timing=timing).in_background()


async def ask_on(client, time):
    """Ask as fast as the client lets us, until the time is over."""
    while time.now_s < 60 * MINUTES:
        try:
            await client.usage()
        except service_errors.RateLimited:
            await time.pass_(1)
        await time.pass_(0.2)


AT_ANY_SECOND = [(0, 0, 60), (20, 0, 60), (45, 0, 60), (70, 0, 60)]
IN_A_PART_OF_THE_MINUTE = [(70, 0, 3), (55, 20, 30), (70, 2.0, 2.1)]


# By a clock that is wrong, it is the part of the minute that could be mistaken.
@pytest.mark.parametrize(
    ("per_minute", "from_s", "until_s", "skew_s"),
    [
        *((*rival, 0) for rival in AT_ANY_SECOND + IN_A_PART_OF_THE_MINUTE),
        *((*rival, -1234.5) for rival in [(45, 0, 60), *IN_A_PART_OF_THE_MINUTE]),
    ],
)
async def test_rival_on_the_key_costs_at_most_one_refusal_a_minute(per_minute, from_s, until_s, skew_s):
    time = Rivalry(per_minute, from_s, until_s, skew_s=skew_s)
    async with client_beside(time) as client:
        await asyncio.gather(*(ask_on(client, time) for _ in range(3)))
    assert all(refusals <= 1 for refusals in time.refused.values()), time.refused
    if per_minute == 0:
        assert not time.refused
    # What the rival leaves is used, but for the part that is kept for people's commands.
    assert time.served >= MINUTES * max(0, 60 - 15 - per_minute) * 0.6


async def test_rival_that_uses_up_every_minute_is_noticed_by_one_refusal_in_each():
    """Were it none, the tests above would show nothing."""
    time = Rivalry(70, 2.0, 2.1, skew_s=0)
    async with client_beside(time) as client:
        await ask_on(client, time)
    assert set(time.refused.values()) == {1}
    assert len(time.refused) >= MINUTES - 1
