"""App Home, opened and pressed as in Slack: what a person sees of their channels, and what admins see besides."""

import json

import pytest

from sandbox.slack.failures import slack_error
from tests.acceptance.conftest import APP_TOKEN, World
from tests.acceptance.payloads import abandoned

CHANNEL = "CGB"


def home(world: World, user: str = "UALICE") -> str:
    view = world.slack.views.get(f"VHOME{user}")
    return json.dumps(view["blocks"], ensure_ascii=False) if view else ""


async def opened(world: World, words: str, user: str = "UALICE") -> str:
    assert (await world.slack.open_home(user, world.bot.url)).status == 200
    await world.slack.wait_for(lambda: words in home(world, user), timeout_s=60)
    return home(world, user)


async def joined(world: World) -> None:
    """Alice is in the channel, and has subscribed the channel."""
    world.slack.channels[CHANNEL].members.add("UALICE")
    await world.subscribe(CHANNEL, "GB")


async def press(world: World, label: str, user: str = "UALICE") -> None:
    answer = await world.person(user).clicks_in_view(f"VHOME{user}", label)
    assert answer.status == 200, answer


@pytest.mark.parametrize("settings", [{}, {"SLACK_APP_TOKEN": APP_TOKEN}], ids=["HTTP", "Socket Mode"])
async def test_home_shows_a_persons_channels_and_its_buttons_pause_and_resume(make_world, settings):
    async with make_world(**settings) as world:
        world.slack.add_user("UBOB", "bob")
        assert "have not subscribed" in await opened(world, "have not subscribed", "UBOB")
        await joined(world)
        shown = await opened(world, f"<#{CHANNEL}>")
        assert "results and abandonments" in shown
        assert "live" in shown
        assert "Quota" not in shown
        await press(world, "Pause")
        await world.slack.wait_for(
            lambda: f"<#{CHANNEL}>: PAUSED until" in home(world) and "Resume" in home(world), timeout_s=60
        )
        await press(world, "Resume")
        await world.slack.wait_for(lambda: '"Pause"' in home(world), timeout_s=60)
        assert "have not subscribed" in await opened(world, "have not subscribed", "UBOB")


async def test_press_by_somebody_who_has_left_the_channel_changes_nothing(world):
    world.slack.add_user("UBOB", "bob")
    world.slack.channels[CHANNEL].members.add("UBOB")
    assert "receives" in await world.say("/racing", "subscribe GB", channel=CHANNEL, user="UBOB")
    await opened(world, f"<#{CHANNEL}>", "UBOB")
    world.slack.channels[CHANNEL].members.discard("UBOB")
    await press(world, "Pause", "UBOB")
    await world.slack.wait_for(lambda: "not in that channel any more" in home(world, "UBOB"), timeout_s=60)
    assert "paused" not in await world.say("/racing", "list", channel=CHANNEL)


async def test_own_watch_is_shown_to_its_person_alone_and_ended_by_its_button(world):
    world.slack.add_user("UBOB", "bob")
    await world.say("/racing", 'watch horse:"Golden Melody" me', channel=CHANNEL)
    assert "What you watch" in await opened(world, "Golden Melody (horse)")
    assert "Golden Melody" not in await opened(world, "have not subscribed", "UBOB")
    await press(world, "End")
    await world.slack.wait_for(lambda: "No longer watched for you" in home(world), timeout_s=60)
    assert "What you watch" not in home(world)


async def test_change_opens_the_form_of_the_channel(world):
    await joined(world)
    await opened(world, f"<#{CHANNEL}>")
    before = set(world.slack.views)
    await press(world, "Change")
    await world.slack.wait_for(lambda: bool(set(world.slack.views) - before), timeout_s=60)
    (name,) = set(world.slack.views) - before
    assert world.slack.views[name]["title"]["text"] == "Edit subscription"
    values = {"regions": ["GB"], "topics": ["abandonments"]}
    answer = await world.person("UALICE").submits(name, values)
    assert "receives abandonments from" in answer.body
    assert "results" not in await world.say("/racing", "list", channel=CHANNEL)


async def test_form_opened_from_home_is_refused_to_somebody_who_has_left(world):
    world.slack.add_user("UBOB", "bob")
    world.slack.channels[CHANNEL].members.add("UBOB")
    await world.say("/racing", "subscribe GB", channel=CHANNEL, user="UBOB")
    await opened(world, f"<#{CHANNEL}>", "UBOB")
    before = set(world.slack.views)
    await press(world, "Add", "UBOB")
    await world.slack.wait_for(lambda: bool(set(world.slack.views) - before), timeout_s=60)
    (name,) = set(world.slack.views) - before
    world.slack.channels[CHANNEL].members.discard("UBOB")
    values = {"regions": ["IRE"], "topics": ["abandonments"]}
    answer = await world.person("UBOB").submits(name, values)
    assert "not in that channel any more" in answer.body
    assert "IRE" not in await world.say("/racing", "list", channel=CHANNEL)


async def test_admin_of_the_workspace_posts_after_all_in_a_channel_of_others(make_world):
    async with make_world() as world:
        world.slack.add_user("UOWNER", "owner", is_admin=True)
        await world.subscribe(CHANNEL, "all")
        world.slack.script("chat.postMessage", [slack_error("msg_too_long")] * 3)
        await world.bot.deliver(abandoned("rc_1"))
        await world.slack.wait_for(lambda: bool(world.slack.messages("CADMIN")), timeout_s=60)
        await opened(world, "Post it after all", "UOWNER")
        await press(world, "Post it after all", "UOWNER")
        (text,) = await world.wait_for_posts(CHANNEL, 1)
        assert text.startswith("ABANDONED: ")


async def test_admin_posts_after_all_what_slack_refused_and_only_once(make_world):
    async with make_world(ADMIN_USERS="UALICE") as world:
        world.slack.add_user("UBOB", "bob")
        await world.subscribe(CHANNEL, "all")
        world.slack.script("chat.postMessage", [slack_error("msg_too_long")] * 3)
        assert (await world.bot.deliver(abandoned("rc_1"))).status_code == 200
        await world.slack.wait_for(lambda: bool(world.slack.messages("CADMIN")), timeout_s=60)
        shown = await opened(world, "Post it after all")
        assert "🛑 ABANDONED: " in shown
        assert "Quota" in shown
        assert "Post it after all" not in await opened(world, "have not subscribed", "UBOB")
        await press(world, "Post it after all")
        (text,) = await world.wait_for_posts(CHANNEL, 1)
        assert text.startswith("ABANDONED: ")
        await world.slack.wait_for(lambda: "Post it after all" not in home(world), timeout_s=60)
        assert len(world.texts(CHANNEL)) == 1


async def test_channel_with_watches_alone_is_shown_and_resumed(world):
    world.slack.add_user("UBOB", "bob")
    world.slack.channels[CHANNEL].members.add("UALICE")
    await world.say("/racing", 'watch horse:"Golden Melody" horse:"Blue Moon"', channel=CHANNEL)
    shown = await opened(world, f"<#{CHANNEL}>")
    assert "2 names watched" in shown
    await press(world, "What is watched")
    await world.slack.wait_for(
        lambda: f"<#{CHANNEL}>: Watched here" in home(world) and "Golden Melody" in home(world), timeout_s=60
    )
    assert "Channels that you subscribed or changed" in shown
    assert "have not subscribed" in await opened(world, "have not subscribed", "UBOB")
    assert "PAUSED until" in await world.say("/racing", "pause", channel=CHANNEL)
    assert "paused" in await opened(world, "Resume")
    await press(world, "Resume")
    await world.slack.wait_for(lambda: '"Pause"' in home(world), timeout_s=60)
