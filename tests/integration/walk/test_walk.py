"""Everything that people do in Slack: all by HTTP with one bot, and an envelope of each kind by Socket Mode.

A new command is a line in COMMANDS. The words of each command are tested in `tests/unit/commands`.
"""

import asyncio
import json
import re
from typing import Any

import pytest
import pytest_asyncio

from bot.db.engine import Database
from sandbox.demo_bot import BotProcess
from sandbox.demo_choices import Choices
from sandbox.demo_screen import Screen
from sandbox.demo_stage import Stage
from tests.integration.walk.conftest import run_world
from tests.world import APP_TOKEN, abandoned, result, shown

MODES: dict[str, dict[str, Any]] = {"http": {}, "socket": {"SLACK_APP_TOKEN": APP_TOKEN}}

COMMANDS = {
    "/racing help": "Choose what this channel receives*, for example `/racing subscribe ",
    "/racing list": "no subscriptions",
    "/racing unsubscribe GB": "no subscriptions",
    "/racing pause": "nothing to pause",
    "/racing resume": "not paused",
    '/racing watch horse:"Golden Melody"': "Watched here from now on",
    "/racing watching": "Golden Melody",
    "/racing unwatch Golden Melody": "No longer watched here",
    "/racing mute York": "York",
    "/racing unmute York": "posted here again",
    "/racing trace rc_nowhere": "No delivery called",
    "/racing racecard GB tomorrow": "Racecard: GB",
    "/racing next GB": "Next off: GB",
    "/racing status": "Deliveries, last 24 hours",
    "/racing audit": "Only admins",
    "/racing drill": "Only admins",
    "/racing usage": "1,000,000",
    "/racing results GB": "Results: GB",
    "/racing coverage": "18 countries",
    "/racing courses": "90 courses",
    "/racecard GB nextweek": "nextweek",
    "/results GB": "Results: GB",
    "/usage": "1,000,000",
    "/racing subscribe results from the UK and Ireland": "receives results from GB and IRE",
}
"""A command as typed, and words of the answer; all in one channel."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["http"])
async def world(request, tmp_path_factory):
    async with run_world(tmp_path_factory.mktemp("walk"), ADMIN_USERS="UADMIN", **MODES[request.param]) as running:
        running.service.set_plan("analyst")
        running.slack.scopes.update({"im:history", "usergroups:read"})
        running.slack.user_groups["SDESK"] = "desk"
        await running.wait_for_lists()
        yield running


pytestmark = pytest.mark.asyncio(loop_scope="module")
by_both_ways = pytest.mark.parametrize("world", MODES, indirect=True)


async def test_every_command_that_help_names_is_answered(world):
    channel = world.channel()
    named = set(re.findall(r"• `(/racing [a-z]+)", await world.say("/racing", "help", channel=channel)))
    assert named
    assert named <= {" ".join(line.split()[:2]) for line in COMMANDS}
    for line, expected in COMMANDS.items():
        command, _, text = line.partition(" ")
        assert expected in await world.say(command, text, channel=channel), line


async def test_delivery_is_told_once_in_each_channel_that_asked_and_in_no_other(world):
    gb, ire, everything = channels = [world.channel() for _ in range(3)]
    for channel, words in zip(channels, ("GB", "IRE", "all"), strict=True):
        await world.subscribe(channel, words)
    (won, course), (lost, nowhere) = world.race(), world.race()
    body = json.dumps(result(won, course=course)).encode()
    for signature in ("0" * 64, "not hex", None):
        assert (await world.bot.deliver(body, signature=signature)).status_code == 401
    answers = await asyncio.gather(*(world.bot.deliver(body) for _ in range(20)))
    assert sorted(answer.json()["status"] for answer in answers) == ["accepted"] + ["duplicate"] * 19
    # The same race in another envelope is no news either.
    assert (await world.bot.deliver(result(won, course=course) | {"attempt": 2})).status_code == 200
    assert (await world.bot.deliver(abandoned(lost, None, course=nowhere))).status_code == 200
    for channel, beginnings in ((gb, ["Result", "ABANDONED"]), (ire, ["ABANDONED"])):
        texts = await world.wait_for_posts(channel, len(beginnings))
        assert [text.split(":")[0] for text in texts] == beginnings
    assert len(await world.wait_for_posts(everything, 2)) == 2
    assert "region unknown" in world.texts(ire)[0]
    assert f"{nowhere} 15:05" in await world.say("/racing", f"trace {nowhere.lower()} 3.05", channel=ire)
    assert 'Did you mean \\"Ascot\\"' in await world.say("/racing", "trace Ascto 13:30", channel=ire)
    late = await world.say("/racing", "subscribe FR", channel=world.channel())
    assert rf"Already abandoned today\n{nowhere}" in late


async def test_buttons_below_an_alert_show_the_result_and_mute_its_meeting_until_undone(world):
    channel = world.channel()
    await world.subscribe(channel, "GB")
    other_id, elsewhere = world.race()
    await world.bot.deliver(result(other_id, course=elsewhere, runners=[]))
    await world.wait_for_posts(channel, 1)
    whole = await world.clicked("Full result", channel)
    assert whole.edited is None
    assert "placings not received" in shown(whole)
    race_id, course = world.race()
    await world.bot.deliver(result(race_id, course=course))
    await world.wait_for_posts(channel, 2)
    assert "B. Rider" in str(world.slack.messages(channel)[-1].blocks)
    told = shown(await world.clicked("Who was told", channel))
    assert f"{course} 14:30, result" in told
    assert race_id not in told
    assert race_id in await world.say("/racing", f"trace {race_id}", channel=channel)
    offered = re.search(f'{course} 14:30, [^"]*', await world.say("/racing", f"trace {course}", channel=channel))
    assert offered
    assert race_id in shown(await world.clicked(offered[0], channel))
    assert "Muted" in shown(await world.clicked("Mute this meeting", channel))
    await world.wait_for_text(channel, " muted ")
    await world.bot.deliver(result(world.race()[0], course=course, off_time="15:00"))
    await world.bot.deliver(abandoned(world.race()[0], course=course))
    await world.wait_for_text(channel, f"ABANDONED: {course}")
    assert "1 meeting muted" in await world.home("1 meeting muted")
    assert "posted here again" in shown(await world.clicked("Undo", channel))
    await world.bot.deliver(result(world.race()[0], course=course, off_time="16:00"))
    await world.wait_for_text(channel, f"Result: {course} 16:00")
    assert f"Result: {course} 15:00" not in str(world.texts(channel))


@by_both_ways
async def test_form_refuses_what_can_not_be_and_subscribes_with_mentions(world):
    channel, person = world.channel(), world.person()
    view_id = await world.opened_form(channel)
    meetings = world.service.racing.meetings(None, "GB")
    course = next(meeting.course for meeting in meetings if meeting.course.region == "GB")
    offered = await person.looks_up(view_id, "not_courses", course.name[:4])
    found = next(one for one in offered if one["value"] == course.course_id)
    # On a busy machine Slack names the groups too late at times, and a person types once more.
    while not (groups := await person.looks_up(view_id, "groups", "de")):
        continue
    groups += await person.looks_up(view_id, "groups", "here")
    refused = await world.submitted(view_id, {"regions": ["GB"], "topics": ["results"], "people": ["UALICE"]})
    assert refused["response_action"] == "errors"
    assert "people" in refused["errors"]
    assert "no subscriptions" in await world.say("/racing", "list", channel=channel)
    values = {"regions": ["GB"], "not_courses": [found], "people": ["UALICE"], "groups": groups}
    assert (await world.submitted(view_id, values))["response_action"] == "update"
    await world.slack.wait_for(lambda: "This channel receives" in shown(world.slack.views[view_id]))
    assert f"without {course.name}" in await world.say("/racing", "list", channel=channel)
    race_id, place = world.race()
    await world.bot.deliver(abandoned(world.race()[0], course=course.name, course_id=course.course_id))
    await world.bot.deliver(abandoned(race_id, course=place))
    (text,) = await world.wait_for_posts(channel, 1)
    assert text.startswith(f"ABANDONED: {place}")
    assert text.endswith("<@UALICE> <!subteam^SDESK> <!here>")


async def test_list_has_buttons_that_edit_turn_pages_and_remove(world):
    channel = world.channel()
    race_id, course = world.race()
    await world.subscribe(channel, "GB results")
    await world.bot.deliver(result(race_id, course=course))
    await world.wait_for_posts(channel, 1)
    while "last post" not in await world.say("/racing", "list", channel=channel):
        continue
    # A new subscription has no post of the subscription before.
    await world.say("/racing", "unsubscribe GB", channel=channel)
    await world.subscribe(channel, "GB results")
    assert "nothing posted lately" in await world.say("/racing", "list", channel=channel)
    assert (await world.person().clicks("Edit", channel=channel)).error is None
    view_id = await world.person().opened("subscribe_form")
    answer = await world.submitted(view_id, {"regions": ["IRE"], "topics": ["abandonments"]})
    assert "abandonments from IRE" in json.dumps(answer)
    regions = sorted({meeting.course.region for meeting in world.service.racing.meetings(None)})[:12]
    await world.subscribe(channel, " ".join(regions))
    assert "page 1 of 3" in await world.say("/racing", "list", channel=channel)
    assert "page 2 of 3" in shown(await world.clicked("Page 2 of 3 →", channel))
    assert "still receives" in shown(await world.clicked("Remove", channel))
    assert "not there any more" in shown(await world.clicked("Remove", channel))


@by_both_ways
async def test_near_miss_and_pages_are_buttons_whose_answers_take_their_place(world):
    channel = world.channel()
    assert 'Did you mean \\"GB\\"' in await world.say("/racing", "subscribe gbb results", channel=channel)
    assert "receives results from GB" in shown(await world.clicked("GB", channel))
    assert "ponies" in await world.say("/racing", "subscribe IRE ponies racecards", channel=channel)
    assert (await world.person().clicks("Open the form", channel=channel)).error is None
    answer = await world.submitted(await world.person().opened("subscribe_form"), {})
    assert "racecards from IRE" in json.dumps(answer)
    await world.say("/racing", "courses", channel=channel)
    second = await world.clicked("Page 2 of 3 →", channel)
    third = await world.clicked("Page 3 of 3 →", channel)
    back = await world.clicked("← Page 2", channel)
    assert (second.edited is not None, shown(back)) == (True, shown(second))
    assert shown(third) != shown(second)


async def test_abandonment_is_taken_by_a_press_that_everybody_sees(world):
    channel, (race_id, course) = world.channel("UBOB"), world.race()
    await world.subscribe(channel, "GB ack:5m")
    await world.bot.deliver(abandoned(race_id, course=course))
    await world.wait_for_posts(channel, 1)
    told = await world.clicked("I have it", channel)
    assert told.edited is None
    await world.wait_for_text(channel, "<@UALICE> has it since")
    assert "I have it" not in shown(world.slack.messages(channel)[0])
    assert f"{course} 15:05 in <#{channel}>: you have it since" in await world.home("Your abandonments")
    await world.clicked("I don't have it", channel)
    await world.slack.wait_for(lambda: "has it since" not in world.texts(channel)[0], timeout_s=60)
    await world.clicked("I have it", channel, "UBOB")
    await world.wait_for_text(channel, "<@UBOB> has it since")


async def test_names_are_watched_in_a_channel_and_by_a_person_until_the_button_ends_it(world):
    channel, (race_id, course) = world.channel(), world.race()
    direct = world.slack.direct_message("UBOB").id
    await world.say("/racing", 'watch horse:"Blue Moon"', channel=channel)
    await world.say("/racing", 'watch jockey:"A. Rider" me', channel=channel, user="UBOB")
    await world.bot.deliver(result(race_id, course=course))
    for place in (channel, direct):
        (text,) = await world.wait_for_posts(place, 1)
        assert "⭐ Blue Moon" in text
    assert "Blue Moon" in await world.say("/racing", "watching", channel=channel)
    assert "No longer watched here" in shown(await world.clicked("End", channel))
    assert "What you watch" in await world.home("A. Rider (jockey)", "UBOB")
    await world.press_at_home("End", "UBOB")
    assert "What you watch" not in await world.shown_at_home("No longer watched for you", "UBOB")


@by_both_ways
async def test_home_shows_a_persons_channels_and_its_buttons_pause_resume_and_change(world):
    channel = world.channel()
    assert "have not subscribed" in await world.home("have not subscribed", "UBOB")
    await world.subscribe(channel, "GB")
    assert "Quota" not in await world.home(f"<#{channel}>")
    others = world.slack.channels.keys() - {channel}
    for other in others:
        world.slack.channels[other].members.discard("UALICE")
    await world.home(f"<#{channel}>")
    await world.press_at_home("Pause")
    await world.shown_at_home(f"<#{channel}>: PAUSED until")
    await world.press_at_home("Resume")
    await world.shown_at_home('"Pause"')
    before = set(world.slack.views)
    await world.press_at_home("Change")
    await world.slack.wait_for(lambda: bool(set(world.slack.views) - before), timeout_s=60)
    (view_id,) = set(world.slack.views) - before
    answer = await world.submitted(view_id, {"regions": ["GB"], "topics": ["abandonments"]})
    assert "receives abandonments from" in json.dumps(answer)
    assert "results" not in await world.say("/racing", "list", channel=channel)


async def test_paused_channel_hears_nothing_until_it_is_resumed_and_admins_read_who_did_it(world):
    channel, (race_id, course) = world.channel(), world.race()
    await world.subscribe(channel, "GB")
    assert "PAUSED until" in await world.say("/racing", "pause 2 hours", channel=channel)
    await world.bot.deliver(abandoned(race_id, course=course))
    while "the channel is paused" not in await world.say("/racing", f"trace {race_id}", channel=channel):
        continue
    (paused,) = world.texts(channel)
    assert paused.startswith("<@UALICE> paused ")
    assert "The pause is over" in await world.say("/racing", "resume", channel=channel)
    await world.wait_for_text(channel, f"ABANDONED: {course}")
    await world.wait_for_text(channel, "Messages that waited are posted now.")
    while f"<#{channel}>: posted" not in await world.say(
        "/racing", f"trace {race_id}", channel="CADMIN", user="UADMIN"
    ):
        continue
    said = await world.say("/racing", "audit", channel=channel, user="UADMIN")
    for change in ("*subscribe*", "*pause*", "*resume*", f"3 changes in <#{channel}>"):
        assert change in said, said
    await world.say("/racing", "pause", channel=channel)
    assert "No message waited" in await world.say("/racing", "resume", channel=channel)
    await world.slack.wait_for(lambda: "<@UALICE> ended the pause here." in world.texts(channel), timeout_s=60)


async def test_new_hour_of_a_digest_says_what_waits_already(world):
    channel, (race_id, course) = world.channel(), world.race()
    await world.subscribe(channel, "GB digest:23:00 zone:UTC")
    await world.bot.deliver(result(race_id, course=course))
    while "waiting" not in await world.say("/racing", f"trace {race_id}", channel=channel):
        continue
    said = await world.say("/racing", "subscribe GB digest:22:00", channel=channel)
    assert re.search("Already waiting here: 1 event, due <[^>]* 22:00 UTC>", said)


@by_both_ways
async def test_bot_is_welcome_once_goes_and_comes_back_with_what_waited(world):
    channel, other, (race_id, course) = world.channel(bot_is_member=False), world.channel(), world.race()
    await world.subscribe(other, "GB")
    assert "/invite @racing-bot" in await world.say("/racing", "subscribe GB", channel=channel)
    world.slack.channels[channel].members.add(world.slack.bot_user_id)
    joined = {"type": "member_joined_channel", "user": world.slack.bot_user_id, "channel": channel}
    for retry_num in (None, 1, 2):
        event_id = f"Ev{channel}"
        assert (await world.slack.event(world.bot.url, joined, event_id=event_id, retry_num=retry_num)).error is None
    (welcome,) = await world.wait_for_posts(channel, 1)
    assert "from GB" in welcome
    await world.slack.remove_bot(channel, world.bot.url)
    await world.bot.deliver(abandoned(race_id, course=course))
    # One transaction makes the messages of all channels.
    await world.wait_for_posts(other, 1)
    assert "suspended" in await world.say("/racing", "list", channel=channel)
    await world.slack.invite_bot(channel, world.bot.url)
    _, text, again = await world.wait_for_posts(channel, 3)
    assert text.startswith(f"ABANDONED: {course}")
    assert "from GB" in again


async def test_channel_goes_on_under_another_name_and_id_until_it_is_deleted(world):
    channel, new, (race_id, course) = world.channel(), f"CNEW{world.race()[0]}".upper(), world.race()
    await world.subscribe(channel, "GB")
    await world.slack.rename(channel, f"racing-{channel.lower()}")
    await world.slack.make_private(channel)
    (answer,) = await world.slack.change_id(channel, new, world.bot.url)
    assert answer.error is None
    await world.bot.deliver(abandoned(race_id, course=course))
    assert (await world.wait_for_posts(new, 1))[0].startswith(f"ABANDONED: {course}")
    await world.slack.delete_channel(new, world.bot.url)
    await world.wait_for_text("CADMIN", new)
    direct = world.slack.direct_message("UALICE").id
    await world.wait_for_text(direct, "you subscribed the channel")


async def test_drill_comes_by_the_public_address_to_the_channels_and_back_as_a_report(world):
    channel = world.channel()
    report = await world.say("/racing", "drill here", channel=channel, user="UADMIN")
    assert "the channel got the message" in report
    assert f"`{world.bot.url}/webhooks/racing` took the delivery" in report
    (text,) = world.texts(channel)
    assert text.startswith("DRILL: ")


async def test_direct_message_works_like_a_channel(world):
    direct, (race_id, course) = world.slack.direct_message("UADMIN").id, world.race()
    assert (await world.person("UADMIN").writes("hello?")).error is None
    await world.wait_for_text(direct, "/racing subscribe")
    assert (await world.person("UADMIN").writes("subscribe GB &amp; IRE")).error is None
    await world.wait_for_text(direct, "This channel receives results and abandonments from GB and IRE")
    await world.bot.deliver(abandoned(race_id, course=course))
    await world.wait_for_text(direct, f"ABANDONED: {course}")


async def test_form_is_told_of_at_the_terminal_of_the_demo(world, tmp_path):
    channel, bot = world.channel(), BotProcess(tmp_path)
    bot.port = world.bot.port
    stage = Stage(world.service, world.slack, bot, Screen({}, {}), "", 1.0, Choices(Database(bot.database_url)))
    told = await stage.say(channel, "UALICE", "/racing subscribe") or ""
    assert told.startswith("Slack shows the form")
    assert await stage.say(channel, "UALICE", "/racing help") is None
    await stage.say(channel, "UALICE", "/racing subscirbe GB")
    assert await stage.press(channel, "UALICE", "subscribe GB") is None
    assert "There is no button 'No such'" in str(await stage.press(channel, "UALICE", "No such"))
