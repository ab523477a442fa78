"""What a delivery leaves out and the bot knows: filters, messages and edits have it. One running bot for all of it."""

import html
import json
from collections import Counter
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from bot.slack.messages.kit.times import weekday_and_day
from sandbox.racing_places import REGIONS, courses_of
from sandbox.racing_service.racing_standin import RacingService
from tests.acceptance.conftest import World, run_world
from tests.clock import START

GB = "CGB"
ELSEWHERE = "CIRE"
EVERYWHERE = "CALL"


def shown(message):
    """All that a message shows."""
    return json.dumps([message.text, message.blocks], ensure_ascii=False)


def bare(event, **ids):
    return {"event": event} | ids


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory) -> AsyncIterator[World]:
    """A bot that has read the card of GB; a channel for its first course, one for its second, and one for all."""
    async with run_world(tmp_path_factory.mktemp("known"), seed=seed_with_four_cards()) as running:
        running.service.set_plan("analyst")
        await running.say("/racecard", "GB", channel="CADMIN")
        here, there = cards(running)[:2]
        await running.subscribe(GB, f'GB course:"{here.course.name}"')
        await running.subscribe(ELSEWHERE, f'GB course:"{there.course.name}"')
        await running.subscribe(EVERYWHERE, "all")
        yield running


def seed_with_four_cards():
    """The first seed whose day has enough cards for the tests: some days of a seed have fewer."""
    return next(seed for seed in count(1) if len(unmistakable(RacingService(START.date(), seed=seed).racing)) > 3)


def cards(world):
    return unmistakable(world.service.racing)


def unmistakable(racing):
    """Today's meetings in GB at courses without a namesake. Ascot, for one, is in Australia too."""
    named = Counter(course.name for region in REGIONS for course in courses_of(region.code))
    return [meeting for meeting in racing.meetings(racing.today, "GB") if named[meeting.course.name] == 1]


async def told(world, channel, begins, payload):
    """The message of the channel that begins so, after the delivery."""
    assert (await world.bot.deliver(payload)).status_code == 200
    return await found(world, channel, lambda message: message.text.startswith(begins))


async def found(world, channel, wanted):
    """The one message of the channel that is wanted, once there is such a message."""

    def those():
        return [message for message in world.slack.messages(channel) if wanted(message)]

    await world.slack.wait_for(lambda: bool(those()), timeout_s=60)
    (message,) = those()
    return message


def line(race):
    """A race as a list names it."""
    return f"{race.off_time}  {html.escape(race.title, quote=False)}"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("event", "place", "said"),
    [("race.abandoned", 0, "ABANDONED: "), ("result.received", 1, "Result: "), ("racecard.published", 2, "Racecard: ")],
)
async def test_race_by_its_id_alone_is_told_with_what_the_race_book_knows(world, event, place, said):
    here = cards(world)[0]
    await world.subscribe(EVERYWHERE, "all results abandonments racecards")
    race = here.races[place]
    begins = f"{said}{here.course.name} {race.off_time}"
    message = await told(world, EVERYWHERE, begins, bare(event, race_id=race.race_id))
    assert "course, date, time, name" in shown(message)
    assert "from the race book" in shown(message)
    assert html.escape(race.title, quote=False) in shown(message)


async def test_abandonment_by_id_alone_reaches_its_course_and_no_other(world):
    here, there = cards(world)[:2]
    for meeting in (here, there):
        race = meeting.races[3]
        channel = GB if meeting is here else ELSEWHERE
        begins = f"ABANDONED: {meeting.course.name} {race.off_time} (GB)"
        await told(world, channel, begins, bare("race.abandoned", race_id=race.race_id))
    assert not [text for text in world.texts(ELSEWHERE) if here.course.name in text]
    assert not [text for text in world.texts(GB) if there.course.name in text]


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (1, lambda lost: {"meeting_id": lost.meeting_id, "races": [race.race_id for race in lost.races]}),
        (2, lambda lost: {"meeting_id": lost.meeting_id}),
        (3, lambda lost: {"course": lost.course.name, "date": lost.race_date.isoformat()}),
    ],
    ids=["its id and the races' ids", "its id alone", "nothing but course and date"],
)
async def test_abandoned_meeting_lists_its_races_whatever_its_delivery_names(world, number, named):
    lost = cards(world)[number]
    foggy = lost.races[0]
    begins = f"ABANDONED: {lost.course.name} {foggy.off_time}"
    await told(world, EVERYWHERE, begins, bare("race.abandoned", race_id=foggy.race_id, reason="Fog"))
    begins = f"ABANDONED: {lost.course.name}, whole meeting"
    message = await told(world, EVERYWHERE, begins, bare("meeting.abandoned", **named(lost), reason="Frost"))
    said = shown(message)
    assert [race for race in lost.races if line(race) not in said] == []
    assert f"{weekday_and_day(lost.race_date)} (GB)" in message.text
    assert "Fog" in said
    assert "race rc_" not in said


async def test_racecard_says_that_its_meeting_was_abandoned_in_either_order(world):
    day = world.service.racing.today.isoformat()
    await world.subscribe(EVERYWHERE, "all abandonments racecards")

    def deliveries(course):
        card = bare("racecard.published", course=course, date=day, region="GB", races=["12:10", "12:50"])
        return [card, bare("meeting.abandoned", course=course, date=day, region="GB", reason="Snow")]

    for course, order in (("First Park", 1), ("Last Park", -1)):
        for payload in deliveries(course)[::order]:
            assert (await world.bot.deliver(payload)).status_code == 200
        card = await found(
            world,
            EVERYWHERE,
            lambda message, course=course: (
                message.text.startswith(f"ABANDONED: {course}") and "This meeting was abandoned" in message.text
            ),
        )
        lost = await found(
            world,
            EVERYWHERE,
            lambda message, course=course: message.text.startswith(f"ABANDONED: {course}, whole meeting"),
        )
        assert "12:50" in shown(lost)
        assert lost.ts.replace(".", "") in shown(card)


async def test_what_the_race_book_learns_later_is_edited_into_the_message_and_told_where_it_matches(world):
    lost = world.service.racing.meetings(world.service.racing.today, "IRE")[0]
    settled, called_off = lost.races[:2]
    await world.say("/racing", "unsubscribe all", channel=ELSEWHERE)
    await world.subscribe(ELSEWHERE, f'IRE course:"{lost.course.name}"')
    await told(world, ELSEWHERE, "ABANDONED: course not given", bare("race.abandoned", race_id=called_off.race_id))
    runners = [{"position": 1, "horse": "Only Horse"}]
    payload = bare("result.received", race_id=settled.race_id, runners=runners)
    await told(world, EVERYWHERE, f"Result: race {settled.race_id}", payload)
    assert not [text for text in world.texts(ELSEWHERE) if "Only Horse" in text]
    await world.say("/racecard", "IRE", channel="CADMIN")
    for channel in (GB, ELSEWHERE, EVERYWHERE):
        name = f"ABANDONED: {lost.course.name} {called_off.off_time} (IRE)"
        message = await found(world, channel, lambda message, name=name: message.text.startswith(name))
        assert message.edited
        assert "from the race book" in shown(message)
    name = f"Result: {lost.course.name} {settled.off_time} (IRE): 1 Only Horse"
    for channel in (ELSEWHERE, EVERYWHERE):
        await found(world, channel, lambda message: message.text.startswith(name))
    assert not [text for text in world.texts(GB) if "Only Horse" in text]
