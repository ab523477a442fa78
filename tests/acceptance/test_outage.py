"""An outage after which the service has given up: made good by `serve` itself, and by `racing-bot repair`."""

import json
from datetime import timedelta

from sandbox.racing_service.switches import Switches
from tests.acceptance.command_line import run_command
from tests.acceptance.conftest import until
from tests.acceptance.dying import after_the_commit, before_the_commit
from tests.clock import START, now

EVENTS = ("result.received", "race.abandoned", "meeting.abandoned", "racecard.published")
GIVES_UP = Switches(allow_http_loopback=True, retry_gaps_s=())
ONCE = "2678400"
"""REPAIR_CHECK_S: `serve` looks at its start, and not again within the test."""


def looks(world):
    return [one for one in world.service.requests if one.endpoint == "/webhooks/deliveries"]


async def lose(world):
    """The service gives up deliveries of all four events, thirty hours ago: nobody listened at the address."""
    service = world.service
    service.subscribe("http://127.0.0.1:9/webhooks/racing", frozenset(EVENTS))
    first, second = service.racing.meetings(START.date(), "GB")[:2]
    service.set_clock(lambda: START - timedelta(hours=30))
    service.settle(first.races[0].race_id)
    service.abandon_race(first.races[1].race_id, "Frozen track")
    service.abandon_meeting(second.meeting_id, "Waterlogged")
    service.publish("racecard.published", first)
    for number, delivery in enumerate(service.deliveries):
        delivery.shape = ("bare", "listed", "counted")[number % 3]
    await service.deliver_due()
    service.set_clock(now)
    assert {delivery.status for delivery in service.deliveries} == {"failed"}
    return first, second


async def test_what_an_outage_kept_away_is_posted_by_itself(make_world):
    async with make_world(switches=GIVES_UP, REPAIR_CHECK_S="3") as world:
        await world.subscribe("CGB", "GB results abandonments racecards")
        first, second = await lose(world)
        (text,) = await world.wait_for_posts("CGB", 1)
        assert text.startswith("ABANDONED: ")
        assert text.index(f"{first.course.name}, {first.races[1].off_time}") < text.index("1 result and 1 racecard")
        assert f"{second.course.name}, whole meeting" in text
        (told,) = await world.wait_for_posts("CADMIN", 1)
        assert "gave up 4 deliveries to me" in told
        assert world.bot.log.count('"event": "fanned_out"') == 4
        before = len(looks(world))
        await until(lambda: len(looks(world)) > before + 1)
        assert len(world.texts("CGB")) == len(world.texts("CADMIN")) == 1


async def test_repair_command_shows_and_makes_good_what_failed_once_whatever_kills_it(make_world):
    async with make_world(switches=GIVES_UP, REPAIR_CHECK_S=ONCE) as world:
        await world.subscribe("CGB", "GB results abandonments racecards")
        await until(lambda: bool(looks(world)))
        await lose(world)
        shown = await run_command(world.bot, "repair", "--dry-run", "--json")
        answer = json.loads(shown.out)
        assert (shown.code, answer["records"], len(answer["made_good"]), answer["unreadable"]) == (0, 4, 4, [])
        assert [one["channel"] for one in answer["posts"]] == ["CGB"]
        assert answer["posts"][0]["text"].startswith("ABANDONED: ")
        assert answer["answered"] == {"no answer (ConnectError)": 4}
        assert world.texts("CGB") == []

        assert (await run_command(world.bot, "repair", prepare=before_the_commit)).code < 0
        assert world.texts("CGB") == []
        assert (await run_command(world.bot, "repair", prepare=after_the_commit)).code < 0
        await world.wait_for_posts("CGB", 1)

        done = await run_command(world.bot, "repair")
        assert done.code == 0
        assert "Known already: 4" in done.out
        await world.wait_for_posts("CADMIN", 1)
        assert len(world.texts("CGB")) == len(world.texts("CADMIN")) == 1


async def test_repair_command_says_why_it_can_t_look(make_world):
    async with make_world(start=False, switches=GIVES_UP) as world:
        unmade = await run_command(world.bot, "repair", "--dry-run")
        assert (unmade.code, unmade.out) == (1, "")
        assert "there is no database at" in unmade.err
        assert not (world.bot.folder / "bot.db").exists()
        assert (await run_command(world.bot, "migrate")).code == 0
        nothing = await run_command(world.bot, "repair", "--dry-run")
        assert nothing.code == 0
        assert "Failed deliveries listed by the data service: 0" in nothing.out
        assert "No message would be posted." in nothing.out
        world.service.fail_next("/webhooks/deliveries", "quota_exceeded")
        for _ in range(2):
            refused = await run_command(world.bot, "repair")
            assert (refused.code, refused.out) == (1, "")
            assert "allowance of requests is used up" in refused.err
        assert "racing-bot unlatch quota" in refused.err
        assert len(looks(world)) == 2
