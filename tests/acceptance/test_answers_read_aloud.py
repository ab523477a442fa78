"""What people read in an answer: whole sentences, true of whoever reads them, as the real process gives them."""

import asyncio
import json
import re

import pytest

from sandbox.racing_places import REGION_CODES
from sandbox.racing_service.switches import Switches
from tests.acceptance.conftest import settled
from tests.acceptance.payloads import abandoned, result

CHANNEL = "CGB"


async def traced(world, race_id, words, **where):
    """What the trace says, once it says these words."""
    while words not in (said := await world.say("/racing", f"trace {race_id}", **where)):
        continue
    return said


async def test_many_regions_are_one_list_wherever_they_are_said(make_world):
    async with make_world(ADMIN_USERS="UALICE") as world:
        regions = sorted(REGION_CODES)
        listed = f"{', '.join(regions[:-1])} and {regions[-1]}"
        said = await world.say("/racing", f"subscribe {' '.join(regions)}", channel=CHANNEL)
        assert f"This channel receives results and abandonments from {listed}." in said
        assert said.count("results and abandonments") == 2, "once in the text, and once in the blocks"
        left = await world.say("/racing", f"unsubscribe {regions[0]}", channel=CHANNEL)
        assert f"still receives results and abandonments from {regions[1]}, " in left
        assert f"nothing → results and abandonments from {listed}" in await world.say(
            "/racing", "audit", channel=CHANNEL
        )
        only = await world.say("/results", "all abandonments", channel=CHANNEL)
        assert "all regions on" not in only
        assert "No abandonment is known in any region on" in only or "ABANDONED" in only


async def test_trace_is_in_sentences_and_subscribing_counts_in_them(world):
    await world.subscribe(CHANNEL, "GB")
    await world.bot.deliver(result("rc_1"))
    await world.wait_for_posts(CHANNEL, 1)
    said = await traced(world, "rc_1", "1 posted", channel=CHANNEL)
    assert "Ascot 14:30 came once. 1 message: 1 posted." in said
    assert "*Ascot 14:30, result*, received " in said
    elsewhere = await world.say("/racing", "trace rc_1", channel="CIRE")
    assert "Ascot 14:30 came once. This channel had not asked for it." in elsewhere
    await world.say("/racing", "pause", channel=CHANNEL)
    await world.bot.deliver(abandoned("rc_9"))
    waiting = await traced(world, "rc_9", "waiting", channel=CHANNEL)
    assert "waiting, because the channel is paused." in waiting
    for stumble in ("versions of events", "0 attempts", "because:", "by another message, by"):
        assert stumble not in said + elsewhere + waiting
    told = await world.say("/racing", "subscribe GB", channel="CIRE")
    assert "Already abandoned today: Nowhere Park 15:05, Frozen track." in told


async def test_only_admins_read_of_a_shell_and_others_whom_to_tell(make_world):
    async with make_world(ADMIN_USERS="UADMIN") as world:
        world.slack.add_user("UADMIN", "admin")
        world.service.rotate_key()
        for _ in range(2):
            said = await world.say("/usage", "", channel=CHANNEL)
            assert "does not accept the bot's key. Tell <@UADMIN>" in said
            assert "racing-bot unlatch" not in said
        admin = await world.say("/usage", "", channel=CHANNEL, user="UADMIN")
        assert "racing-bot unlatch key" in admin


async def test_spent_month_is_named_with_window_and_refusals_by_kind(make_world):
    switches = Switches(allow_http_loopback=True, usage="period")
    async with make_world(switches=switches, QUOTA_CHECK_S="1") as world:
        world.service.set_plan("analyst")
        world.service.fail_next("/races/search", "upgrade_required")
        while world.service.failures_left("/races/search"):
            await world.say("/racecard", "GB", channel=CHANNEL)
        world.service.set_used(1_000_000)
        said = await world.say("/usage", "", channel=CHANNEL)
        assert "the month is spent, it turns on 1 " in said
        assert "runs out" not in said
        assert "2017 → upcoming" in said
        # A job may have asked before the bot had read that the month is spent.
        assert re.search(r"\((\d+ quota_exceeded, )?1 upgrade_required(, \d+ quota_exceeded)?\)", said)
        card = await world.say("/racecard", "IRE tomorrow", channel=CHANNEL)
        assert "requests to the data service are used up; the month turns on 1 " in card
        assert "COMMAND_QUOTA_SHARE" not in card


async def test_last_requests_of_a_month_are_spared_and_people_are_told(make_world):
    async with make_world(QUOTA_CHECK_S="1") as world:
        world.service.set_plan("analyst")
        world.service.set_used(991_000)
        said = await world.say("/usage", "", channel=CHANNEL)
        assert "With 1% left or less, I read /account/usage alone, which costs nothing." in said
        used = world.service.used
        card = await world.say("/racecard", "IRE tomorrow", channel=CHANNEL)
        assert "Almost all of this month's requests to the data service are used" in card
        assert world.service.used == used


async def test_coverage_and_courses_say_what_their_fields_mean(world):
    italy = await world.say("/racing", "coverage ITY", channel=CHANNEL)
    assert "61.2% of runners have a recorded position" in italy
    assert "placed)" not in italy
    noted = {"KSA": "· 2020", "QAT": "Doha only, winter season", "BHR": "since: 2019, course: Sakhir"}
    for code, note in noted.items():
        assert note in await world.say("/racing", f"coverage {code}", channel=CHANNEL)
    kempton = await world.say("/racing", "courses kempton", channel=CHANNEL)
    assert " races · " in kempton


async def hold_up_after_a_page(world):
    """Let the data service serve a page of races, and refuse each further one as too many a minute."""
    async with asyncio.timeout(60):
        while not any(request.endpoint == "/races/search" for request in world.service.requests):  # noqa: ASYNC110  before the next page is asked for
            await asyncio.sleep(0)
    world.service.fail_next("/races/search", "rate_limited", times=100)


@pytest.mark.long
async def test_second_racecard_of_a_long_reading_says_how_far_it_is_too(make_world):
    async with make_world(switches=Switches(allow_http_loopback=True, short_page_every=1, retry_after_s=50)) as world:
        world.slack.add_user("UBOB", "bob")
        people = [world.person("UALICE"), world.person("UBOB")]
        first = await people[0].types("/racecard GB", channel=CHANNEL)
        await hold_up_after_a_page(world)
        (progress,) = await first.responses(1, timeout_s=60)
        assert "Reading the data service's list of GB: 1 page so far, and it has come to " in progress.text
        # No page comes while the second waits.
        second = await people[1].types("/racecard GB", channel=CHANNEL)
        for answer in (first, second):
            shown = await settled(answer)
            said = json.dumps([shown.text, shown.blocks])
            assert "Not read yet: I am still reading the data service's list and have come to " in said
            assert "Too many requests" not in said


async def test_trace_of_a_mistyped_course_is_no_all_clear(world):
    said = await world.say("/racing", "trace Ascto 13:30", channel=CHANNEL)
    assert "Did you mean Ascot" in said
    assert "received no delivery" not in said
    none = await world.say("/racing", "trace Ascot 13:30", channel=CHANNEL)
    assert "I know no race at Ascot of the last 7 days or to come" in none
    await world.bot.deliver(result("rc_1"))
    while "Ascot 14:30 came once" not in await world.say("/racing", "trace ascot 2.30", channel=CHANNEL):
        continue
    assert "I know no race off at 13:30 at Ascot; I know 14:30" in await world.say(
        "/racing", "trace Ascot 13:30", channel=CHANNEL
    )
