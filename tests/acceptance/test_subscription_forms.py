"""Subscriptions that people see and change: the form, the list and its buttons, mutes, who may, and the audit."""

import json
from pathlib import Path

import pytest_asyncio

from tests.acceptance.conftest import APP_TOKEN, run_world
from tests.acceptance.payloads import abandoned, result

MODES: dict[str, dict[str, str]] = {"http": {}, "socket": {"SLACK_APP_TOKEN": APP_TOKEN}}
FORM = "subscribe_form"


@pytest_asyncio.fixture(params=MODES)
async def world(request, tmp_path: Path):
    """The same world in both modes; the service's lists have been read."""
    async with run_world(tmp_path, switches=None, start=True, ADMIN_USERS="UADMIN", **MODES[request.param]) as running:
        running.slack.add_user("UADMIN", "admin")
        while "I know no region" not in await running.say("/racecard", "Nowhere", channel="CGB"):
            continue
        yield running


def shown(view):
    return json.dumps(view["blocks"], ensure_ascii=False)


async def clicked(world, label, channel, user="UALICE"):
    """What the answer to a click says."""
    answer = await world.person(user).clicks(label, channel=channel)
    assert answer.error is None, answer
    (response,) = await answer.responses(1)
    return json.dumps([response.text, response.blocks], ensure_ascii=False)


async def opened_form(world, channel):
    answer = await world.person().types("/racing subscribe", channel=channel)
    assert answer.error is None, answer
    return await world.person().opened(FORM)


async def saved_form(world, view_id, values):
    """What an open form says once it was saved."""
    answer = await world.person().submits(view_id, values)
    assert answer.error is None, answer
    assert json.loads(answer.body)["response_action"] == "update", answer.body
    return shown(world.slack.views[view_id])


async def refused_form(world, view_id, values):
    """The errors with which a form stays open."""
    answer = await world.person().submits(view_id, values)
    assert answer.error is None, answer
    said = json.loads(answer.body)
    assert said["response_action"] == "errors", said
    assert view_id in world.slack.views
    return said["errors"]


async def test_bare_subscribe_opens_a_form_whose_filter_and_mentions_work(world):
    world.slack.user_groups["SDESK"] = "desk"
    world.slack.scopes.add("usergroups:read")
    person = world.person()
    view_id = await opened_form(world, "CGB")
    meetings = world.service.racing.meetings(None, "GB")
    course = next(meeting.course for meeting in meetings if meeting.course.region == "GB")
    offered = await person.looks_up(view_id, "not_courses", course.name[:4])
    found = next(one for one in offered if one["value"] == course.course_id)
    groups = await person.looks_up(view_id, "groups", "de")
    assert [one["value"] for one in groups] == ["SDESK"]
    everyone = await person.looks_up(view_id, "groups", "here")

    errors = await refused_form(world, view_id, {"regions": ["GB"], "topics": ["results"], "people": ["UALICE"]})
    assert "Only abandonments" in errors["people"]
    errors = await refused_form(world, view_id, {"regions": ["GB"], "topics": ["results"], "cards": "19:00"})
    assert "choose Racecards too" in errors["cards"]
    errors = await refused_form(world, view_id, {"regions": ["GB"], "courses": [found], "not_courses": [found]})
    assert course.name in errors["not_courses"]
    errors = await refused_form(world, view_id, {"regions": ["IRE"], "courses": [found]})
    assert "is a course of GB" in errors["courses"]
    assert "no subscriptions" in await world.say("/racing", "list", channel="CGB")

    values = {"regions": ["GB"], "not_courses": [found], "people": ["UALICE"], "groups": [*groups, *everyone]}
    assert f"without {course.name}" in await saved_form(world, view_id, values)
    await world.slack.wait_for(lambda: "This channel receives" in shown(world.slack.views[view_id]))
    await world.bot.deliver(abandoned("rc_left_out", course=course.name, course_id=course.course_id))
    await world.bot.deliver(abandoned("rc_9", course="Elsewhere"))
    await world.bot.deliver(result("rc_8", course="Elsewhere"))
    (lost, won) = await world.wait_for_posts("CGB", 2)
    assert lost.startswith("ABANDONED: Elsewhere")
    assert lost.endswith("<@UALICE> <!subteam^SDESK> <!here>")
    assert "<@" not in won
    assert "<!" not in json.dumps(world.slack.messages("CGB")[1].blocks).replace("<!date", "")


async def test_race_class_narrows_one_subscription_and_its_end_ends_no_other(world):
    await world.subscribe("CGB", "IRE")
    assert "class 1 races only" in await world.say("/racing", "subscribe GB class:1", channel="CGB")
    refused = await world.say("/racing", "unsubscribe class:2", channel="CGB")
    assert "names class:2, so nothing was changed" in refused
    listed = await world.say("/racing", "list", channel="CGB")
    assert "class 1 races only" in listed
    assert "from IRE" in listed
    await world.bot.deliver(result("rc_1", **{"class": "Class 4"}))
    await world.bot.deliver(result("rc_2", **{"class": "1"}))
    await world.bot.deliver(abandoned("rc_3"))
    posts = await world.wait_for_posts("CGB", 2)
    assert ["ABANDONED" in text for text in posts].count(True) == 1
    assert len(world.texts("CGB")) == 2
    view_id = await opened_form(world, "CGB")
    assert "is no race class" in (await refused_form(world, view_id, {"regions": ["GB"], "classes": "--"}))["classes"]
    left = await world.say("/racing", "unsubscribe class:1", channel="CGB")
    assert "still receives results and abandonments from IRE" in left


async def test_list_edits_removes_and_turns_pages(world):
    channel = "CALL"
    await world.subscribe(channel, "GB results")
    assert "last post" not in await world.say("/racing", "list", channel=channel)
    await world.bot.deliver(result("rc_1"))
    await world.wait_for_posts(channel, 1)
    while "|open>" not in (listed := await world.say("/racing", "list", channel=channel)):
        continue
    assert "<@UALICE>" in listed
    answer = await world.person().clicks("Edit", channel=channel)
    assert answer.error is None, answer
    view_id = await world.person().opened(FORM)
    saved = await saved_form(world, view_id, {"regions": ["IRE"], "topics": ["abandonments"]})
    assert "abandonments from IRE" in saved
    listed = await world.say("/racing", "list", channel=channel)
    assert "abandonments from IRE" in listed
    assert "GB" not in listed
    regions = sorted({meeting.course.region for meeting in world.service.racing.meetings(None)})[:12]
    assert len(regions) > 8
    await world.subscribe(channel, " ".join(regions))
    assert "page 1 of 3" in await world.say("/racing", "list", channel=channel)
    assert "page 2 of 3" in await clicked(world, "Page 2 of 3 →", channel)
    left = await clicked(world, "Remove", channel)
    assert "still receives" in left
    assert "not there any more" in await clicked(world, "Remove", channel)


async def test_muted_meeting_is_quiet_but_for_abandonments_until_undone(world):
    channel = "CGB"
    await world.subscribe(channel, "GB")
    await world.bot.deliver(result("rc_1", course="Ascot"))
    await world.wait_for_posts(channel, 1)
    assert "Muted" in await clicked(world, "Mute this meeting here", channel)
    await world.bot.deliver(result("rc_2", course="Ascot"))
    await world.bot.deliver(abandoned("rc_3", course="Ascot"))
    (_, lost) = await world.wait_for_posts(channel, 2)
    assert lost.startswith("ABANDONED: Ascot")
    traced = await world.say("/racing", "trace rc_2", channel=channel)
    assert "1 muted" in traced
    assert "because <@UALICE> muted the meeting" in traced
    assert "Muted here by <@UALICE>" in await world.say("/racing", "list", channel=channel)
    await world.slack.open_home("UALICE", world.bot.url)
    homes = world.slack.views
    await world.slack.wait_for(lambda: "live · 1 meeting muted" in str(homes.get("VHOMEUALICE")), timeout_s=60)
    assert "posted here again" in await clicked(world, "Undo", channel)
    assert "not muted here" in await clicked(world, "Undo", channel)
    await world.bot.deliver(result("rc_4", course="Ascot"))
    await world.wait_for_posts(channel, 3)


async def test_buttons_below_a_result_show_it_whole_and_who_was_told(world):
    await world.subscribe("CGB", "GB")
    await world.bot.deliver(result("rc_1"))
    await world.wait_for_posts("CGB", 1)
    full = await clicked(world, "Full result", "CGB")
    assert "Full result: " in full
    assert "rc_1" in await clicked(world, "Who was told", "CGB")
    assert len(world.texts("CGB")) == 1


async def test_near_miss_is_offered_as_a_button_that_does_it(world):
    assert "Did you mean GB" in await world.say("/racing", "subscribe gbb results", channel="CGB")
    assert "receives results from GB" in await clicked(world, "GB", "CGB")


async def test_audit_shows_admins_every_change_and_nobody_else(world):
    await world.subscribe("CGB", "GB")
    await world.say("/racing", "pause 2h", channel="CGB")
    await world.say("/racing", "resume", channel="CGB")
    await world.say("/racing", "unsubscribe GB results", channel="CGB")
    assert "Only admins" in await world.say("/racing", "audit", channel="CGB")
    said = await world.say("/racing", "audit", channel="CGB", user="UADMIN")
    for change in ("*subscribe*, nothing → results and abandonments from GB", "*pause*", "(paused until", "*resume*"):
        assert change in said, said
    assert "4 changes in <#CGB>" in said
    assert "4 changes by <@UALICE>" in await world.say("/racing", "audit UALICE", channel="CADMIN", user="UADMIN")
    assert "4 changes anywhere" in await world.say("/racing", "audit all", channel="CADMIN", user="UADMIN")
    assert "It is /racing audit" in await world.say("/racing", "audit @alice", channel="CADMIN", user="UADMIN")
    assert "Last changed by <@UALICE>" in await world.say("/racing", "list", channel="CGB", user="UADMIN")
    assert "Last changed" not in await world.say("/racing", "list", channel="CGB")


async def test_only_admins_change_anything_where_the_settings_say_so(make_world):
    async with make_world(SUBSCRIBE_BY="admins") as world:
        world.slack.add_user("UOWNER", "owner", is_admin=True)
        for words in ("subscribe GB", "subscribe", "pause", "resume", "unsubscribe all"):
            assert "Only admins may" in await world.say("/racing", words, channel="CGB"), words
        said = await world.say("/racing", "subscribe GB", channel="CGB", user="UOWNER")
        assert "This channel receives" in said
        await world.bot.deliver(result("rc_1"))
        await world.wait_for_posts("CGB", 1)
        assert "Only admins may" in await clicked(world, "Mute this meeting here", "CGB")
        await world.say("/racing", "list", channel="CGB")
        for label in ("Edit", "Remove"):
            assert "Only admins may" in await clicked(world, label, "CGB"), label
        # Whoever was allowed when the form opened is asked again when it is submitted.
        answer = await world.person("UOWNER").types("/racing subscribe", channel="CGB")
        assert answer.error is None
        errors = await refused_form(world, await world.person().opened(FORM), {"regions": ["IRE"]})
        assert "Only admins may" in errors["regions"]


async def test_form_without_reference_data_says_so_and_takes_typed_regions(make_world):
    async with make_world(start=False) as world:
        world.service.fail_next("*", "drop", times=500)
        await world.bot.start()
        view_id = await opened_form(world, "CGB")
        assert "have not been read yet" in shown(world.slack.views[view_id])
        assert "receives results and abandonments from GB" in await saved_form(world, view_id, {"regions": "GB"})


async def test_subscription_whose_creator_is_gone_is_flagged(world):
    world.slack.add_user("UBOB", "bob")
    world.slack.channels["CGB"].members.add("UBOB")
    await world.say("/racing", "subscribe GB", channel="CGB", user="UBOB")
    assert "not in this channel" not in await world.say("/racing", "list", channel="CGB")
    world.slack.channels["CGB"].members.discard("UBOB")
    assert "not in this channel any more" in await world.say("/racing", "list", channel="CGB")


async def test_subscribe_says_what_is_abandoned_today_already(world):
    today = world.service.racing.today.isoformat()
    await world.subscribe("CALL", "all")
    await world.bot.deliver(abandoned("rc_1", course="Ascot", date=today))
    await world.wait_for_posts("CALL", 1)
    said = await world.say("/racing", "subscribe GB", channel="CGB")
    assert "Already abandoned today: Ascot" in said
    assert "of these" not in said
