"""Signed deliveries in at one end, messages in the channels that asked for them at the other."""

import asyncio
import json

from sandbox.slack import failures
from tests.acceptance.payloads import abandoned, result


async def subscribe_three(world):
    await world.subscribe("CGB", "GB")
    await world.subscribe("CIRE", "IRE")
    await world.subscribe("CALL", "all")


async def test_result_reaches_its_region_and_all_and_no_other(world):
    await subscribe_three(world)
    answer = await world.bot.deliver(result())
    assert (answer.status_code, answer.json()) == (200, {"status": "accepted"})
    for channel in ("CGB", "CALL"):
        (text,) = await world.wait_for_posts(channel, 1)
        assert text.startswith("Result: Ascot 14:30 (GB)")
        assert "Blue Moon" in text
    assert (await world.bot.deliver(abandoned(region="IRE"))).status_code == 200
    await world.wait_for_posts("CIRE", 1)
    assert [text for text in world.texts("CIRE") if "Blue Moon" in text] == []


async def test_same_delivery_twenty_times_is_one_message(world):
    await subscribe_three(world)
    answers = await asyncio.gather(*(world.bot.deliver(result()) for _ in range(20)))
    said = sorted(answer.json()["status"] for answer in answers)
    assert said == ["accepted"] + ["duplicate"] * 19
    # The same race in another envelope is no news either.
    await world.wait_for_posts("CGB", 1)
    again = json.loads(json.dumps(result()))
    assert (await world.bot.deliver({**again, "attempt": 2, "delivery_id": "d-77"})).status_code == 200
    assert (await world.bot.deliver(abandoned(region="GB"))).status_code == 200
    texts = await world.wait_for_posts("CGB", 2)
    assert [text.split(":")[0] for text in texts] == ["Result", "ABANDONED"]
    assert len(await world.wait_for_posts("CALL", 2)) == 2


async def test_forged_signature_is_401_and_posts_nothing(world):
    await subscribe_three(world)
    body = json.dumps(result("rc_forged")).encode()
    for signature in ("0" * 64, "not hex", "", None, "f" * 63):
        answer = await world.bot.deliver(body, signature=signature)
        assert answer.status_code == 401, signature
        assert "error" in answer.json()
    assert (await world.bot.deliver(body, secret="another secret")).status_code == 401
    await world.bot.deliver(result("rc_real", course="Bath"))
    (text,) = await world.wait_for_posts("CGB", 1)
    assert "Bath" in text


async def test_abandonment_without_a_region_reaches_every_channel_that_takes_abandonments(world):
    await world.subscribe("CGB", "GB")
    await world.subscribe("CIRE", "IRE abandonments")
    await world.subscribe("CALL", "all results")
    await world.bot.deliver(abandoned(region=None))
    for channel in ("CGB", "CIRE"):
        (text,) = await world.wait_for_posts(channel, 1)
        assert text.startswith("ABANDONED: Nowhere Park 15:05")
        assert "region unknown" in text
    await world.bot.deliver(result("rc_2"))
    (text,) = await world.wait_for_posts("CALL", 1)
    assert text.startswith("Result:")


async def test_message_arrives_after_kill_and_restart(make_world):
    async with make_world() as world:
        await subscribe_three(world)
        # Slack asks for a wait while the delivery comes in, so the process is killed with the post still to be made.
        world.slack.script("chat.postMessage", [], then_always=failures.rate_limited(1))
        assert (await world.bot.deliver(result())).status_code == 200
        world.bot.kill()
        assert world.texts("CGB") == []
        world.slack.script("chat.postMessage", [])
        await world.bot.start()
        (text,) = await world.wait_for_posts("CGB", 1, timeout_s=60)
        assert "Blue Moon" in text


async def test_graceful_stop_exits_cleanly_and_loses_nothing(world):
    await subscribe_three(world)
    answers = await asyncio.gather(*(world.bot.deliver(result(f"rc_{n}")) for n in range(5)))
    assert {answer.status_code for answer in answers} == {200}
    assert await world.bot.stop() == 0
    assert "Traceback" not in world.bot.log
    await world.bot.start()
    texts = await world.wait_for_posts("CGB", 5)
    assert len(texts) == 5
