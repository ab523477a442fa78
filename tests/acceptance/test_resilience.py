"""Starts, stops and outages of the real process."""

import asyncio
from typing import Any

import httpx

from sandbox.slack import failures
from tests.acceptance.conftest import until
from tests.acceptance.payloads import abandoned, result
from tests.notice_levels import NOTE, WARNING


async def readiness(world) -> tuple[int, dict[str, Any]]:
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{world.bot.url}/readyz")
    return answer.status_code, answer.json()


async def test_starts_and_takes_deliveries_while_nothing_outside_answers(make_world):
    async with make_world(RACING_API_URL="http://127.0.0.1:9/v1") as world:
        await world.subscribe("CGB", "GB")
        await world.bot.stop()
        api_url = world.bot.env["SLACK_API_URL"]
        port = int(api_url.split(":")[2].split("/")[0])
        # Nobody listens where Slack was.
        world.bot.env["SLACK_API_URL"] = "http://127.0.0.1:9/api/"
        await world.bot.start()
        assert (await world.bot.deliver(abandoned())).status_code == 200
        for _ in range(100):
            status, body = await readiness(world)
            if "slack" in body["degraded"]:
                break
            await asyncio.sleep(0.1)
        assert status == 200
        assert "slack" in body["degraded"]
        assert port
        await world.bot.stop()
        world.bot.env["SLACK_API_URL"] = api_url
        await world.bot.start()
        (text,) = await world.wait_for_posts("CGB", 1, timeout_s=60)
        assert text.startswith("ABANDONED")


async def test_posting_begins_when_slack_answers_again(world):
    await world.subscribe("CGB", "GB")
    world.slack.script("chat.postMessage", [failures.rate_limited(1)] * 2)
    await world.bot.deliver(result())
    assert len(await world.wait_for_posts("CGB", 1)) == 1


async def test_wrong_secret_is_noted_once(world):
    for number in range(8):
        assert (await world.bot.deliver(result(f"rc_{number}"), secret="wrong")).status_code == 401
    (told,) = await world.wait_for_posts("CADMIN", 1)
    assert told.startswith(f"{NOTE}5 deliveries ")
    assert "RACING_WEBHOOK_SECRETS" in told


async def test_too_large_delivery_is_413_and_told(make_world):
    async with make_world(MAX_BODY_BYTES="2048") as world:
        answer = await world.bot.deliver(b"x" * 4096)
        assert answer.status_code == 413
        (told,) = await world.wait_for_posts("CADMIN", 1)
        assert told.startswith(WARNING)
        assert "MAX_BODY_BYTES" in told


def usage_readings(world) -> int:
    return sum(one.endpoint == "/account/usage" for one in world.service.requests)


async def test_admins_are_warned_once_per_threshold(make_world):
    async with make_world(QUOTA_CHECK_S="1") as world:
        world.service.set_used(8_000)
        (first,) = await world.wait_for_posts("CADMIN", 1)
        assert "of 15,000 requests are used (53%)" in first
        world.service.set_used(14_500)
        texts = await world.wait_for_posts("CADMIN", 2)
        assert "(96%)" in texts[1] or "(97%)" in texts[1]
        await world.bot.stop()
        before = usage_readings(world)
        await world.bot.start()
        # What the first reading says is posted before the third comes, one second after the second.
        await until(lambda: usage_readings(world) >= before + 3)
        assert len(world.texts("CADMIN")) == 2


async def test_no_secret_is_in_the_log_or_in_an_answer(world):
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result())
    await world.bot.deliver(b"not json")
    world.service.fail_next("*", 500, times=5)
    await world.say("/usage", "", channel="CGB")
    await world.wait_for_posts("CGB", 1)
    async with httpx.AsyncClient() as client:
        metrics = (await client.get(f"{world.bot.url}/metrics")).text
    assert "racing_bot_deliveries_total" in metrics
    for secret in (
        value for name, value in world.bot.env.items() if "KEY" in name or "SECRET" in name or "TOKEN" in name
    ):
        assert secret not in world.bot.log + metrics


async def test_settings_that_are_wrong_are_listed_at_once_and_nothing_starts(make_world):
    async with make_world(start=False, RACING_API_KEY="", SLACK_BOT_TOKEN="xapp-test-token", PORT="many") as world:
        await world.bot.start(ready=False)
        assert await asyncio.to_thread(world.bot.process.wait, 30) == 2
        for name in ("RACING_API_KEY", "SLACK_BOT_TOKEN", "PORT"):
            assert name in world.bot.log
        assert "xapp-test-token" not in world.bot.log


async def test_posts_go_on_at_once_when_the_bot_starts_with_a_token_that_slack_takes(make_world):
    async with make_world() as world:
        await world.subscribe("CGB", "GB")
        world.slack.script("chat.postMessage", [failures.slack_error("invalid_auth")])
        await world.bot.deliver(result())
        async with asyncio.timeout(60):
            while "slack *" not in (await readiness(world))[1]["degraded"]:  # noqa: ASYNC110  another process
                await asyncio.sleep(0.1)
        await world.bot.stop()
        await world.bot.start()
        assert len(await world.wait_for_posts("CGB", 1)) == 1


async def test_service_that_can_not_be_reached_is_named_by_readyz(make_world):
    async with make_world(RACING_API_URL="http://127.0.0.1:9/v1") as world, asyncio.timeout(60):
        while "job check_quota" not in (await readiness(world))[1]["degraded"]:  # noqa: ASYNC110  another process
            await asyncio.sleep(0.2)
        assert (await readiness(world))[0] == 200


async def test_region_that_was_taken_as_typed_is_flagged_as_soon_as_the_service_is_back(make_world):
    async with make_world(start=False) as world:
        api_url = world.bot.env["RACING_API_URL"]
        world.bot.env["RACING_API_URL"] = "http://127.0.0.1:9/v1"
        await world.bot.start()
        assert "could not check" in await world.say("/racing", "subscribe gb nowhere racecards", channel="CGB")
        await world.bot.stop()
        world.bot.env["RACING_API_URL"] = api_url
        await world.bot.start()
        flag = "publishes no region nowhere, so nothing from it arrives."
        # On a busy machine the first list comes before the service's regions have been read.
        async with asyncio.timeout(60):
            while flag not in await world.say("/racing", "list", channel="CGB"):
                continue


async def test_port_that_is_taken_ends_the_start_and_is_named(make_world):
    async with make_world() as world:
        folder = world.bot.folder / "second"
        folder.mkdir()
        second = type(world.bot)(folder, world.bot.env | {"DATABASE_URL": f"sqlite:///{folder}/b.db"}, world.bot.port)
        await second.start(ready=False)
        assert second.process is not None
        assert await asyncio.to_thread(second.process.wait, 30) == 1
        assert "already in use" in second.log
        assert f'"port": {world.bot.port}' in second.log
        assert "set PORT or HOST to a free address" in second.log
        assert "Traceback" not in second.log
