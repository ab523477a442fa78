"""Commands typed in Slack, answered by the real process."""

import sqlite3

from tests.acceptance.conftest import until
from tests.acceptance.payloads import abandoned, result


async def test_help_lists_every_command(world):
    said = await world.say("/racing", "help", channel="CGB")
    for word in ("subscribe", "unsubscribe", "list", "pause", "resume", "trace", "racecard", "usage"):
        assert f"/racing {word}" in said


async def test_subscriptions_are_said_back_listed_and_ended(world):
    said = await world.say("/racing", "subscribe GB IRE results abandonments", channel="CGB")
    assert "results and abandonments from GB and IRE" in said
    listed = await world.say("/racing", "list", channel="CGB")
    assert "GB" in listed
    assert "<@UALICE>" in listed
    assert "IRE" in await world.say("/racing", "unsubscribe GB", channel="CGB")
    assert "no subscriptions left" in await world.say("/racing", "unsubscribe all", channel="CGB")
    listed = await world.say("/racing", "list", channel="CGB")
    assert "no subscriptions" in listed
    assert "Change it here" not in listed


MISTAKES = [
    ("/racing", "subscribe GBB", "GB"),
    ("/racing", "frobnicate", "subscribe"),
    ("/racing", "pause", "no subscriptions"),
    ("/racing", "pause soon", "1h30m"),
    ("/racing", "resume", "not paused"),
    ("/racing", "trace", "/racing trace"),
    ("/racing", "trace rc_nowhere", "received no delivery"),
    ("/racing", "unsubscribe FR", "no subscriptions"),
    ("/racecard", "GB nextweek", "nextweek"),
    ("/racecard", "GB 2026-02-30", "2026-02-30"),
    ("/racecard", "payload", "payload"),
    ("/usage", "sideways", "endpoint"),
]


async def test_error_says_what_would_have_been_right(world):
    for command, text, expected in MISTAKES:
        assert expected in await world.say(command, text, channel="CGB"), (command, text)
    assert world.slack.messages("CGB") == []


def all_dealt_with(world):
    """Whether the bot has decided, of each accepted delivery, whom to tell."""
    with sqlite3.connect(world.bot.folder / "bot.db") as connection:
        return connection.execute("SELECT count(*) FROM inbox WHERE state = 'new'").fetchone() == (0,)


async def test_subscription_waits_for_the_bot_and_starts_on_joining(world):
    world.slack.add_channel("CNEW", "new-channel", bot_is_member=False)
    said = await world.say("/racing", "subscribe GB", channel="CNEW")
    assert "/invite @racing-bot" in said
    await world.bot.deliver(result("rc_before"))
    await until(lambda: all_dealt_with(world))
    assert "waiting" in await world.say("/racing", "list", channel="CNEW")
    await world.slack.invite_bot("CNEW", world.bot.url)
    assert "live" in await world.say("/racing", "list", channel="CNEW")
    await world.bot.deliver(result("rc_after", course="Bath"))
    welcome, text = await world.wait_for_posts("CNEW", 2)
    assert "This channel receives results and abandonments from GB" in welcome
    assert "Bath" in text


async def test_removed_bot_suspends_and_comes_back_with_what_waited(world):
    await world.subscribe("CGB", "GB")
    await world.slack.remove_bot("CGB", world.bot.url)
    await world.bot.deliver(abandoned())
    assert "suspended" in await world.say("/racing", "list", channel="CGB")
    await world.slack.invite_bot("CGB", world.bot.url)
    text, welcome = await world.wait_for_posts("CGB", 2)
    assert text.startswith("ABANDONED")
    assert "from GB" in welcome


async def test_racecard_shows_the_day_of_a_region(world):
    today = world.service.racing.today
    meetings = world.service.racing.meetings(today, "GB")
    world.service.set_plan("analyst")
    said = await world.say("/racecard", "GB today", channel="CGB")
    assert today.isoformat() in said
    assert any(meeting.course.name in said for meeting in meetings), said


async def test_racing_racecard_is_the_same_command(world):
    world.service.set_plan("analyst")
    one = await world.say("/racecard", "GB", channel="CGB")
    other = await world.say("/racing", "racecard GB", channel="CGB")
    assert one == other


async def test_usage_shows_used_and_limit(world):
    world.service.set_used(7_500)
    said = await world.say("/usage", "", channel="CGB")
    assert "15,000" in said
    assert "7,5" in said


async def test_service_that_is_down_leaves_no_command_without_an_answer(world):
    world.service.fail_next("*", "drop", times=200)
    said = await world.say("/usage", "", channel="CGB")
    assert "reach" in said or "again" in said


async def test_subscribing_adds_up_and_courses_are_ended_singly(world):
    one, other = [
        meeting.course.name for meeting in world.service.racing.meetings(None, "GB") if meeting.course.region == "GB"
    ][:2]
    channel = "CGB"
    assert f"only {one}" in await world.say("/racing", f'subscribe GB course:"{one}"', channel=channel)
    both = await world.say("/racing", f"subscribe GB course:“{other}” racecards", channel=channel)
    if one != other:
        assert f"only {one} and {other}" in both
        left = await world.say("/racing", f'unsubscribe course:"{other}"', channel=channel)
        assert f"only {one}" in left
        assert other not in left
    assert "No subscription" in await world.say("/racing", "unsubscribe course:Nowhere", channel=channel)
    widened = await world.say("/racing", "subscribe GB", channel=channel)
    assert "only" not in widened
    assert "no subscriptions left" in await world.say("/racing", "unsubscribe GB", channel=channel)


async def test_course_of_another_region_is_refused_with_what_would_be_right(world):
    course = next(
        meeting.course for meeting in world.service.racing.meetings(None, "IRE") if meeting.course.region == "IRE"
    )
    said = await world.say("/racing", f'subscribe GB course:"{course.name}"', channel="CGB")
    assert "is a course of IRE" in said
    assert "no subscriptions" in await world.say("/racing", "list", channel="CGB")


async def test_subscribing_again_reopens_a_channel_that_slack_had_closed(world):
    from sandbox.slack import failures

    await world.subscribe("CGB", "GB")
    world.slack.script("chat.postMessage", [failures.slack_error("restricted_action")])
    await world.bot.deliver(abandoned())
    await world.wait_for_posts("CADMIN", 1)
    await world.subscribe("CGB", "GB")
    (text,) = await world.wait_for_posts("CGB", 1)
    assert text.startswith("ABANDONED")


async def test_list_shows_no_post_from_before_the_subscription(world):
    await world.subscribe("CGB", "GB")
    # The second post goes out once the first is noted.
    for number in (1, 2):
        await world.bot.deliver(result(f"rc_{number}"))
        await world.wait_for_posts("CGB", number)
    assert "last post" in await world.say("/racing", "list", channel="CGB")
    await world.say("/racing", "unsubscribe GB", channel="CGB")
    await world.subscribe("CGB", "GB")
    listed = await world.say("/racing", "list", channel="CGB")
    assert "results and abandonments from GB" in listed
    assert "last post" not in listed
    assert "no post of it lately" in listed


async def test_paused_channel_hears_nothing_until_it_is_resumed_and_trace_says_why(world):
    await world.subscribe("CGB", "GB")
    assert "PAUSED until" in await world.say("/racing", "pause 2h", channel="CGB")
    listed = await world.say("/racing", "list", channel="CGB")
    assert "PAUSED since " in listed
    assert " by <@UALICE>, until " in listed
    await world.bot.deliver(abandoned("rc_9"))
    await world.bot.deliver(result("rc_other", "IRE"))
    await world.subscribe("CIRE", "GB")
    assert "paused" in await world.say("/racing", "subscribe GB racecards", channel="CGB")
    await world.bot.deliver(abandoned("rc_10"))
    await world.wait_for_posts("CIRE", 1)
    (paused,) = world.texts("CGB")
    assert paused.startswith("<@UALICE> paused ")
    traced = await world.say("/racing", "trace rc_9", channel="CGB")
    assert "1 waiting" in traced
    assert "the channel is paused" in traced
    assert "Limited to this channel" in traced
    assert "The pause is over" in await world.say("/racing", "resume", channel="CGB")
    _, *texts = await world.wait_for_posts("CGB", 4)
    assert sorted(text.startswith("ABANDONED") for text in texts) == [False, True, True]
    while "1 posted" not in await world.say("/racing", "trace rc_9", channel="CGB"):
        continue
    assert "CGB" not in await world.say("/racing", "trace rc_9", channel="CIRE")


async def test_admins_trace_every_channel(make_world):
    async with make_world(ADMIN_USERS="UALICE") as world:
        await world.subscribe("CGB", "GB")
        await world.bot.deliver(abandoned("rc_9"))
        await world.wait_for_posts("CGB", 1)
        while "<#CGB>: posted" not in (traced := await world.say("/racing", "trace rc_9", channel="CADMIN")):
            continue
        assert "Limited" not in traced
