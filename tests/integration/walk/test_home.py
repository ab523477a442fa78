"""App Home beside the walk: people who have left a channel, own watches, the Home of admins. All with one bot,
on PostgreSQL: the statements of App Home differ by database.
"""

import json
from datetime import timedelta

import pytest
import pytest_asyncio

from sandbox.slack.failures import slack_error
from tests.clock import now
from tests.databases import new_postgres_database
from tests.integration.walk.conftest import run_world
from tests.logged import capture_logs
from tests.world import abandoned, result

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory, postgres_server):
    url = new_postgres_database(postgres_server)
    async with run_world(tmp_path_factory.mktemp("home"), ADMIN_USERS="UADMIN", DATABASE_URL=url) as running:
        running.slack.add_user("USTRANGER", "stranger")
        yield running


async def test_press_and_form_of_somebody_who_has_left_the_channel_change_nothing(world):
    channel = world.channel("UBOB")
    await world.say("/racing", "subscribe GB", channel=channel, user="UBOB")
    await world.home(f"<#{channel}>", "UBOB")
    before = set(world.slack.views)
    await world.press_at_home("Add", "UBOB")
    await world.slack.wait_for(lambda: bool(set(world.slack.views) - before), timeout_s=60)
    (view_id,) = set(world.slack.views) - before
    world.slack.channels[channel].members.discard("UBOB")
    answer = await world.submitted(view_id, {"regions": ["IRE"], "topics": ["abandonments"]}, "UBOB")
    assert "not in that channel any more" in json.dumps(answer)
    await world.press_at_home("Pause", "UBOB")
    await world.shown_at_home("not in that channel any more", "UBOB")
    listed = await world.say("/racing", "list", channel=channel)
    assert "IRE" not in listed
    assert "paused" not in listed
    # The creator of the subscription is gone, and the list says so.
    assert "not in this channel any more" in listed


async def test_channel_with_watches_alone_is_shown_to_its_people_and_resumed(world):
    channel = world.channel()
    await world.say("/racing", 'watch horse:"Golden Melody" horse:"Blue Moon"', channel=channel)
    assert "2 names watched" in await world.home(f"<#{channel}>")
    await world.press_at_home("What is watched")
    assert "Golden Melody" in await world.shown_at_home(f"<#{channel}>: Watched here")
    assert f"<#{channel}>" not in await world.home("have not subscribed", "USTRANGER")
    await world.say("/racing", "pause", channel=channel)
    await world.home("Resume")
    await world.press_at_home("Resume")
    await world.shown_at_home('"Pause"')


async def test_admin_posts_after_all_what_slack_refused_and_only_once(world):
    channel = world.channel()
    world.slack.add_user("UOWNER", "owner", is_admin=True)
    # No other channel of the bot takes the region: every refusal is of the test channel's post.
    await world.subscribe(channel, "FR")
    for admin in ("UADMIN", "UOWNER"):
        race_id, course = world.race()
        world.slack.script("chat.postMessage", [slack_error("msg_too_long")] * 3)
        assert (await world.bot.deliver(abandoned(race_id, "FR", course=course))).status_code == 200
        assert f"🛑 ABANDONED: {course}" in await world.home("Post it after all", admin)
        assert "Post it after all" not in await world.home("have not subscribed", "USTRANGER")
        await world.press_at_home("Post it after all", admin)
        await world.wait_for_text(channel, f"ABANDONED: {course}")
        await world.slack.wait_for(lambda user=admin: "Post it after all" not in str(world.slack.views[f"VHOME{user}"]))
    assert len(world.texts(channel)) == 2
    assert "Quota" in await world.home("Quota", "UADMIN")


# A warning reaches an admin, in the admins' channel or directly; and settings chosen by admins


def direct(world, user):
    """The bot's direct messages to a person."""
    return world.texts(world.slack.direct_message(user).id)


async def test_warnings_go_to_admins_directly_while_their_channel_takes_none(make_world):
    def archive(slack):
        slack.channels["CADMIN"].is_archived = True

    # Slack's event of the change is lost.
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
