"""Endpoints that the plan does not reach: asked once, and again under another plan."""

from collections import Counter

from tests.integration.operations.running_bot import run_bot

BEYOND = ("/account/usage", "/webhooks/deliveries", "/reference", "/races/search")


async def test_running_bot_asks_for_nothing_beyond_the_plan_until_the_plan_changes(tmp_path):
    async with run_bot(tmp_path) as bot:
        await bot.well()
        bot.racing.switch(reach=dict.fromkeys(BEYOND, ("analyst",)))
        asked = len(bot.racing.requests)
        for _ in range(24):
            await bot.forward(3_600)
            await bot.service.races.card("GB", bot.clock().date())
        counts = Counter(request.endpoint for request in bot.racing.requests[asked:])
        assert [counts[endpoint] for endpoint in BEYOND] == [1, 1, 1, 1]
        bot.racing.set_plan("analyst")
        asked = len(bot.racing.requests)
        for _ in range(25):
            await bot.forward(3_600)
            await bot.service.races.card("GB", bot.clock().date())
        assert {request.endpoint for request in bot.racing.requests[asked:]} >= {*BEYOND}
