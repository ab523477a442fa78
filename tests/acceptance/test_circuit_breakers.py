"""After a refusal that would only be repeated the bot asks no more, restart or not; and no alert waits for it."""

import sqlite3

from tests.acceptance.command_line import run_command
from tests.acceptance.payloads import abandoned, result


def asked(world) -> int:
    """How many requests cost quota, or would have."""
    return sum(request.endpoint != "/account/usage" for request in world.service.requests)


def replicas(world) -> int:
    """How many replicas note that they run."""
    with sqlite3.connect(world.bot.folder / "bot.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM stored_state WHERE name LIKE 'replica:%'").fetchone()
    return int(count)


async def wait_for_admins(world, words: str) -> None:
    await world.slack.wait_for(lambda: any(words in text for text in world.texts("CADMIN")))


async def test_breaker_of_a_used_up_quota_outlives_a_restart_holds_up_no_alert_and_is_reset_at_a_word(make_world):
    async with make_world(start=False, ADMIN_USERS="UADMIN") as world:
        world.slack.add_user("UADMIN", "admin")
        world.service.set_used(15_000)
        # Usage would tell before the refusal does, and close the circuit breaker again by itself.
        world.service.fail_next("/account/usage", "server_error", times=1_000)
        await world.bot.start()
        await wait_for_admins(world, "racing-bot unlatch quota")
        # By the answer the requests of two jobs at start are refused, should both have gone out at once.
        await world.say("/racecard", "GB", channel="CGB")
        before = asked(world)
        assert 1 <= before <= 2
        for restart in (False, True):
            if restart:
                world.bot.kill()
                await world.bot.start()
            said = await world.say("/racecard", "GB", channel="CGB")
            assert "used up; the month turns on 1 " in said
            assert "racing-bot" not in said
            assert "racing-bot unlatch quota" in await world.say("/racecard", "GB", channel="CGB", user="UADMIN")
            assert asked(world) == before
        await world.subscribe("CGB", "GB")
        await world.bot.deliver(abandoned())
        (text,) = await world.wait_for_posts("CGB", 1)
        assert text.startswith("ABANDONED")
        # The month is as it was, but somebody has bought more requests: the running bot takes the word.
        world.service.set_used(0)
        ran = await run_command(world.bot, "unlatch", "quota")
        assert (ran.code, ran.said.split(";")[0]) == (0, "quota: closed again")
        said = await world.say("/racecard", "GB", channel="CGB")
        assert "used up" not in said
        assert asked(world) > before
        assert "No circuit breaker is open" in (await run_command(world.bot, "unlatch")).said


async def test_breaker_of_a_rotated_key_holds_up_no_delivery(world):
    await world.subscribe("CGB", "GB")
    new_key = world.service.rotate_key()
    said = await world.say("/usage", "", channel="CGB")
    assert "does not accept the bot's key" in said
    await wait_for_admins(world, "racing-bot unlatch key")
    requests = len(world.service.requests)
    assert "does not accept the bot's key" in await world.say("/usage", "", channel="CGB")
    assert len(world.service.requests) == requests
    await world.bot.deliver(result())
    assert len(await world.wait_for_posts("CGB", 1)) == 1
    assert replicas(world) == 1
    assert await world.bot.stop() == 0
    assert replicas(world) == 0
    world.bot.env["RACING_API_KEY"] = new_key
    await world.bot.start()
    assert "15,000" in await world.say("/usage", "", channel="CGB")
