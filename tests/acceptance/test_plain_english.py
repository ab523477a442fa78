"""What people type in plain English, answered by the real process: understood and said back, or buttons that work."""

import json
from datetime import timedelta
from itertools import count

import pytest
import pytest_asyncio

from tests.acceptance.conftest import NOT_IN_TIME, run_world, settled


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory):
    async with run_world(tmp_path_factory.mktemp("english")) as running:
        running.service.set_plan("analyst")
        yield running


NUMBERS = count()
pytestmark = pytest.mark.asyncio(loop_scope="module")


def channel(world):
    """A channel of its own, that the bot is in."""
    name = f"CENGLISH{next(NUMBERS)}"
    world.slack.add_channel(name, name.lower(), bot_is_member=True)
    return name


UNDERSTOOD = [
    ("/racing", "subscribe GB and IRE results only", ["results from GB and IRE."]),
    ("/racing", "subscribe for GB", ["results and abandonments from GB."]),
    ("/racing", "subscribe York", ["from GB, only York"]),
    ("/racing", "subscribe york", ["from GB, only York"]),
    ("/racing", "subscribe irish racing", ["results and abandonments from IRE."]),
    ("/racing", "subscribe results from gb", ["results from GB.", "No abandonments from GB", "Add abandonments"]),
    ("/racing", "subscribe results", ["Results from where?", "All regions"]),
    ("/racing", "subscribe jumps", ["a kind of racing can't be chosen"]),
    ("/racing", "subscribe GB except Ascot", ["results and abandonments from GB, without Ascot"]),
    ("/racing", "subscribe GB no racecards", ["results and abandonments from GB."]),
    ("/racing", "subscribe Ireland", ["from IRE", "Ireland is IRE here."]),
    ("/racing", "subscribe the UK, Hong Kong and France", ["from GB, HK and FR.", "Hong Kong is HK here."]),
    ("/racing", "subscribe results from “Great Britain”", ["results from GB", "Great Britain is GB here."]),
    ("/racing", "subscribe Belmont at the Big A", ["from USA, only Belmont at the Big A"]),
    ("/racing", "subscribe Sweden", ["no region", "Sweden"]),
    ("/racing", "coverage the UK", ["Great Britain"]),
    ("/racing", "courses in Ireland", ["Leopardstown"]),
    (
        "/racing",
        "subscribe help",
        ["`/racing subscribe GB and Ireland", "`/racing subscribe GB except Ascot`", "Worth knowing"],
    ),
    ("/racecard", "help", ["`/racing racecard GB", "Worth knowing"]),
    ("/racecard", "York tomorrow", ["York"]),
    ("/racecard", "the UK on Sunday", ["Racecard: GB", "Great Britain is GB here", "the UK"][:1]),
    ("/results", "for York yesterday", ["York"]),
]


@pytest.mark.parametrize(("command", "typed", "said"), UNDERSTOOD, ids=[typed for _, typed, _ in UNDERSTOOD])
async def test_plain_english_is_understood_and_said_back(world, command, typed, said):
    answer = await world.say(command, typed, channel=channel(world))
    assert [words for words in said if words not in answer] == [], answer


PAUSES = ["2 hours", "for 2hrs", "90 min", "until tomorrow", "until 18:00", "until 6pm", "until {day:%d/%m/%Y}"]


@pytest.mark.parametrize("typed", PAUSES)
async def test_pause_is_understood_and_the_zone_is_said(world, typed):
    here = channel(world)
    await world.subscribe(here, "GB")
    in_a_month = world.service.racing.today + timedelta(days=30)
    said = await world.say("/racing", f"pause {typed.format(day=in_a_month)}", channel=here)
    assert "PAUSED until <!date^" in said, said
    assert ("in Europe/London, your time zone in Slack" in said) == ("until" in typed)


async def refused_in_a_new_channel(world, command, typed):
    """A channel of its own, and the refusal of a line there. A bot that was too busy is asked again."""
    here = channel(world)
    if "pause" in typed:
        await world.subscribe(here, "GB")
    while True:
        refused = await settled(await world.person().types(f"{command} {typed}", channel=here))
        if not refused.text.startswith(NOT_IN_TIME):
            return here, refused


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("/racecard", "GB Asct"),
        ("/racing", "subscribe GB except Asct"),
        ("/racing", "subscribe Ascot"),
        ("/racing", "subscribe all except GB"),
        ("/racing", "subscribe GB and Ascot"),
        ("/racing", "subscribe GB racecrads for York"),
        ("/racing", "subscirbe gb"),
        ("/racecard", "gb and York tommorow"),
        ("/results", "Ascot yesterday"),
        ("/racecard", "11/22/2026 GB"),
        ("/racing", "pause Sunday"),
        ("/racing", "pause until tomorrow 2.30"),
        ("/racing", "subscribe racecards"),
        ("/racing", "coverage Irland"),
    ],
)
async def test_every_button_that_is_offered_works(world, command, typed):
    here, refused = await refused_in_a_new_channel(world, command, typed)
    labels = [
        one["text"]["text"]
        for block in refused.blocks
        if block["type"] == "actions"
        for one in block["elements"]
        if one["action_id"].startswith("run_")
    ]
    assert labels, refused.text
    for label in labels:
        pressed = await settled(await world.person().clicks(label, channel=here))
        said = json.dumps([pressed.text, pressed.blocks], ensure_ascii=False)
        wrong = ["Did you mean", "is called", "There is no", "I know no", "is not a day", "no length of time"]
        assert not any(words in said for words in wrong), said
        # In the same channel the other readings may change nothing any more, and are no buttons then.
        here, _ = await refused_in_a_new_channel(world, command, typed)


@pytest.mark.parametrize(
    "typed",
    ["GB no results for York", "GB York and all abandonments", "all abandonments, GB results", "GB and racecards"],
)
async def test_line_of_several_meanings_subscribes_nothing(world, typed):
    here = channel(world)
    assert "can be read in several ways" in await world.say("/racing", f"subscribe {typed}", channel=here)
    assert "no subscriptions" in await world.say("/racing", "list", channel=here)


async def test_not_only_leaves_nothing_out(world):
    here = channel(world)
    answer = await world.say("/racing", "subscribe GB not only York", channel=here)
    assert "results and abandonments from GB." in answer


async def test_topic_of_a_course_is_not_ended_with_the_whole_course(world):
    here = channel(world)
    before = await world.say("/racing", "subscribe GB York, Ascot", channel=here)
    assert "only York and Ascot" in before
    answer = await world.say("/racing", "unsubscribe GB abandonments York", channel=here)
    assert "abandonments of York alone can't be ended" in answer
    assert "results and abandonments from GB, only York and Ascot" in await world.say("/racing", "list", channel=here)
