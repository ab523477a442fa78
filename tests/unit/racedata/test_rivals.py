"""The client with somebody else on the same key, on a clock that the test drives."""

import asyncio
import random

import httpx
import pytest
from pydantic import SecretStr

from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import RateLimited
from tests.unit.racedata.counted_minutes import START, Minutes
from tests.unit.racedata.scripted_service import BASE_URL, KEY, Memory, SleepClock, answer, refusal

MINUTES = 4


class Rivalry(SleepClock):
    """Time in which a rival asks `per_minute` times between two seconds of each minute, at moments thrown with
    a fixed seed. Each request of ours takes 50 ms."""

    def __init__(self, per_minute, from_s, until_s, *, skew_s):
        super().__init__()
        self.start = START
        chance = random.Random(per_minute)
        moments = (
            60 * minute + chance.uniform(from_s, until_s) for minute in range(MINUTES + 3) for _ in range(per_minute)
        )
        self.moments = sorted(moments, reverse=True)
        self.service = Minutes(60, skew_s)
        self.served = 0

    async def sleep(self, seconds):
        """Let time go by, and the rival ask when it is due."""
        end_s = self.now_s + seconds
        while self.moments and self.moments[-1] <= end_s:
            self.now_s = max(self.now_s, self.moments.pop())
            self.service.ask(self.now_s, rival=True)
        self.now_s = end_s

    async def answer(self, _request):
        await asyncio.sleep(0)
        headers, refused = self.service.ask(self.now_s)
        await self.sleep(0.05)
        self.served += refused is None
        status, content, _ = refusal(429, "rate_limited") if refused else answer(200, {"meta": {}, "data": []})
        after = {"retry-after": str(int(refused) + 1)} if refused else {}
        return httpx.Response(status, content=content, headers=headers | after)

    async def ask_on(self, client):
        """Ask as fast as the client lets us, until the time is over."""
        while self.now_s < 60 * MINUTES:
            try:
                await client.usage()
            except RateLimited:
                await self.sleep(1)
            await self.sleep(0.2)


async def run(rivalry, askers):
    async with httpx.AsyncClient(transport=httpx.MockTransport(rivalry.answer)) as http:
        client = open_client(BASE_URL, SecretStr(KEY), Memory(), rivalry.timing(), http=http).in_background()
        await asyncio.gather(*(rivalry.ask_on(client) for _ in range(askers)))


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
    rivalry = Rivalry(per_minute, from_s, until_s, skew_s=skew_s)
    await run(rivalry, 3)
    refused = rivalry.service.refused
    assert all(refusals <= 1 for refusals in refused.values()), refused
    if per_minute == 0:
        assert not refused
    # What the rival leaves is used, but for the part that is kept for people's commands.
    assert rivalry.served >= MINUTES * max(0, 60 - 15 - per_minute) * 0.6


async def test_rival_that_uses_up_every_minute_is_noticed_by_one_refusal_in_each():
    """Were it none, the tests above would show nothing."""
    rivalry = Rivalry(70, 2.0, 2.1, skew_s=0)
    await run(rivalry, 1)
    assert set(rivalry.service.refused.values()) == {1}
    assert len(rivalry.service.refused) >= MINUTES - 1
