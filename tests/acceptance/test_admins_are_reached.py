"""A warning reaches an admin: in their channel, else directly. The start says where a warning would reach none."""

import asyncio

import pytest

from tests.acceptance.test_resilience import readiness

WRONG = {
    "ADMIN_CHANNEL": "general",
    "ADMIN_USERS": "@bob,jane",
    "SLACK_BOT_TOKEN": "foo-5ecret",
    "SLACK_APP_TOKEN": "bar-5ecret",
}


def direct(world, user) -> list[str]:
    """What the bot told a person by direct messages."""
    return [message.text for message in world.slack.messages(world.slack.direct_message(user).id)]


async def wait_for_degraded(world, *words: str) -> str:
    """What /readyz says of admins, once all the words are there."""
    async with asyncio.timeout(60):
        while True:
            status, body = await readiness(world)
            assert status == 200
            said = str(body["degraded"].get("admins", ""))
            if all(word in said for word in words):
                return said
            await asyncio.sleep(0.1)


async def wait_until_ready(world) -> None:
    async with asyncio.timeout(60):
        while "admins" in (await readiness(world))[1]["degraded"]:  # noqa: ASYNC110  another process
            await asyncio.sleep(0.1)


def add_people(world) -> None:
    for user in ("UADMIN", "UOTHER"):
        world.slack.add_user(user, user.lower())


@pytest.mark.long
async def test_warnings_go_to_admins_directly_where_the_channel_does_not_exist(make_world):
    settings = {"ADMIN_CHANNEL": "CNOWHERE", "ADMIN_USERS": "UADMIN,UNOBODY,UOTHER", "QUOTA_CHECK_S": "1"}
    async with make_world(start=False, **settings) as world:
        add_people(world)
        await world.bot.start()
        said = await wait_for_degraded(world, "channel_not_found", "UNOBODY")
        assert "CNOWHERE" in said
        assert "ADMIN_USERS by direct message" in said
        world.service.set_used(14_850)
        for user in ("UADMIN", "UOTHER"):
            await world.slack.wait_for(lambda user=user: len(direct(world, user)) >= 2, timeout_s=60)
        await world.bot.stop()
        await world.bot.start()
        await wait_for_degraded(world, "channel_not_found")
        world.service.set_used(15_000)
        for user in ("UADMIN", "UOTHER"):
            await world.slack.wait_for(lambda user=user: len(direct(world, user)) >= 3, timeout_s=60)
        for user in ("UADMIN", "UOTHER"):
            closed, most, all_of_it = direct(world, user)
            assert "channel for warnings" in closed
            assert "channel_not_found" in closed
            assert "(99%)" in most
            assert "(100%)" in all_of_it


@pytest.mark.long
async def test_warning_that_the_channel_refuses_reaches_admins_and_the_channel_has_the_next_once_it_is_back(make_world):
    async with make_world(start=False, ADMIN_USERS="UADMIN", QUOTA_CHECK_S="1") as world:
        add_people(world)
        await world.bot.start()
        # Slack's event that says so is lost.
        world.slack.channels["CADMIN"].is_archived = True
        world.service.set_used(14_850)
        await world.slack.wait_for(lambda: len(direct(world, "UADMIN")) >= 2, timeout_s=60)
        assert sum("(99%)" in text for text in direct(world, "UADMIN")) == 1
        await wait_for_degraded(world, "is_archived")
        world.slack.channels["CADMIN"].is_archived = False
        await world.slack.invite_bot("CADMIN", world.bot.url)
        await world.wait_for_posts("CADMIN", 1)
        await wait_until_ready(world)
        world.service.set_used(15_000)
        await world.slack.wait_for(lambda: any("(100%)" in text for text in world.texts("CADMIN")), timeout_s=60)
        assert not any("(99%)" in text for text in world.texts("CADMIN"))
        assert not any("(100%)" in text for text in direct(world, "UADMIN"))


async def test_admins_are_warned_directly_where_no_channel_is_set(make_world):
    async with make_world(start=False, ADMIN_CHANNEL="", ADMIN_USERS="UADMIN") as world:
        add_people(world)
        world.service.set_used(14_850)
        await world.bot.start()
        await world.slack.wait_for(lambda: direct(world, "UADMIN"), timeout_s=60)
        assert "(99%)" in direct(world, "UADMIN")[0]
        assert "warnings_go_to_the_log_alone" not in world.bot.log


async def test_start_says_that_warnings_go_to_the_log_alone(make_world):
    async with make_world(ADMIN_CHANNEL="") as world:
        (line,) = (line for line in world.bot.log.splitlines() if "warnings_go_to_the_log_alone" in line)
        assert '"level": "warning"' in line
        assert "set ADMIN_CHANNEL or ADMIN_USERS" in line


async def test_names_and_tokens_that_are_none_stop_the_start_all_at_once(make_world):
    async with make_world(start=False) as world:
        world.bot.env |= WRONG
        await world.bot.start(ready=False)
        assert world.bot.process is not None
        assert await asyncio.to_thread(world.bot.process.wait, 10) == 2
        for name in WRONG:
            assert name in world.bot.log
        assert "5ecret" not in world.bot.log


@pytest.mark.parametrize("scopes", [{"users:read"}, {"users:read", "channels:read"}])
async def test_admins_are_reached_without_the_scopes_that_would_tell_beforehand(make_world, scopes):
    async with make_world(start=False, ADMIN_CHANNEL="CNOWHERE", ADMIN_USERS="UADMIN") as world:
        add_people(world)
        world.slack.scopes = frozenset(world.slack.scopes) - scopes
        world.service.set_used(14_850)
        await world.bot.start()
        await world.slack.wait_for(lambda: any("(99%)" in text for text in direct(world, "UADMIN")), timeout_s=60)
        await wait_for_degraded(world, "channel_not_found")
