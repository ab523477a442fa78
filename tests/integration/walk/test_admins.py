"""A warning reaches an admin: in their channel, else directly. And settings that admins choose."""

from datetime import timedelta

from structlog.testing import capture_logs

from tests.clock import now
from tests.payloads import result


def direct(world, user):
    """What the bot told a person by direct messages."""
    return world.texts(world.slack.direct_message(user).id)


async def test_warnings_go_to_admins_directly_while_their_channel_takes_none(make_world):
    def archive(slack):
        slack.channels["CADMIN"].is_archived = True

    # Slack's event that says so is lost.
    async with make_world(before=archive, ADMIN_USERS="UADMIN,UNOBODY", QUOTA_CHECK_S="1") as world:
        await world.bot.wait_degraded("admins", "is_archived")
        world.service.set_used(14_850)
        await world.slack.wait_for(lambda: any("(99%)" in text for text in direct(world, "UADMIN")), timeout_s=60)
        world.slack.channels["CADMIN"].is_archived = False
        await world.slack.invite_bot("CADMIN", world.bot.url)
        world.service.set_used(15_000)
        await world.wait_for_text("CADMIN", "(100%)")
        assert not any("(99%)" in text for text in world.texts("CADMIN"))
        assert not any("(100%)" in text for text in direct(world, "UADMIN"))


async def test_bot_without_admins_says_so_and_heeds_who_may_subscribe_what_is_announced_and_what_is_late(make_world):
    settings = {"SUBSCRIBE_BY": "admins", "ANNOUNCE_CHANGES": "false", "LATE_AFTER_MIN": "50"}
    with capture_logs() as logged:
        async with make_world(ADMIN_CHANNEL="", **settings) as world:
            await heeds(world)
    (line,) = (line for line in logged if line["event"] == "warnings_go_to_the_log_alone")
    assert line["log_level"] == "warning"


async def heeds(world):
    world.slack.add_user("UOWNER", "owner", is_admin=True)
    assert "Only admins may" in await world.say("/racing", "subscribe GB", channel="CGB")
    for words in ("subscribe GB", "pause", "resume"):
        await world.say("/racing", words, channel="CGB", user="UOWNER")
    at = now()
    off_at = (at - timedelta(hours=4)).isoformat()
    for late_min in (42, 62):
        settled_at = (at - timedelta(minutes=late_min)).isoformat()
        await world.bot.deliver(result(f"rc_{late_min}", off_time=off_at) | {"settled_at": settled_at})
    texts = await world.wait_for_posts("CGB", 2)
    assert ["min late" in text for text in texts] == [False, True]
