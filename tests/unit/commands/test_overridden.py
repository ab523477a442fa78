"""What one subscription leaves out and another brings is said, by the answers and the list, and mended by a button."""

from types import SimpleNamespace

import pytest

from bot.domain.races import Course
from bot.sandbox.slack.blocks import VIEW_BLOCKS, block_problems
from bot.slack.commands import list as list_command
from bot.slack.commands import subscribe
from bot.slack.commands.table import BUTTON_COMMANDS
from bot.slack.identity import Identity
from bot.slack.listeners.running import find_command
from bot.slack.messages.buttons import RUN_COMMAND
from bot.slack.views.subscribe_form import saved
from bot.storage import reference
from bot.storage.reference import KnownCourse
from tests.unit.commands.test_choosing import NOW, allow, channel_in

GOODWOOD = "results and abandonments of Goodwood arrive too, though that to GB leaves them out."


@pytest.fixture
async def channel(database):
    found = await channel_in(database)
    found.desk.identity = Identity("xoxb-test")
    nobody = SimpleNamespace(is_deactivated=False)
    found.desk.people = SimpleNamespace(check_may_change=allow, is_admin=no, person=lambda _user_id: no(nobody))
    return found


async def no(*_asked):
    return None


async def told(channel, words):
    """The answer to what is typed after subscribe."""
    typed = channel._invocation(words)
    return await subscribe.answer(channel.desk, typed, await subscribe.commit(channel.desk, typed))


async def listed(channel):
    return await list_command.answer(channel.desk, channel._invocation(""), None)


def buttons(message):
    rows = [block["elements"] for block in message.blocks if block["type"] == "actions"]
    assert all(len({one["action_id"] for one in row}) == len(row) for row in rows)
    return {one["text"]["text"]: one for row in rows for one in row}


async def click(channel, button):
    """The text of the answer to a click."""
    name = button["action_id"].partition(":")[0]
    found = find_command(button["value"]) if name == RUN_COMMAND else (BUTTON_COMMANDS[name], button["value"])
    command, words = found
    assert command is not None
    assert command.commit is not None
    typed = channel._invocation(words)
    message = await command.answer(channel.desk, typed, await command.commit(channel.desk, typed))
    assert message is not None
    return message.text


@pytest.mark.parametrize("lines", [("all", "GB -course:Goodwood"), ("GB -course:Goodwood", "all")])
async def test_course_that_comes_all_the_same_is_said_in_either_order_and_left_out_by_a_click(channel, lines):
    await told(channel, lines[0])
    answer = await told(channel, lines[1])
    assert f"By the subscription to all regions, {GOODWOOD}" in answer.text
    for said in (answer, await listed(channel)):
        assert GOODWOOD in said.text
        assert GOODWOOD in str(said.blocks)
        assert "Leave Goodwood out of all regions too" in buttons(said)
    after = await click(channel, buttons(answer)["Leave Goodwood out of all regions too"])
    assert after.startswith("This channel receives results and abandonments from all regions, without Goodwood.")
    for text in (after, (await listed(channel)).text):
        assert "arrive too" not in text


async def test_course_left_out_of_all_regions_comes_by_its_own_and_no_other(channel):
    await told(channel, "IRE GB results")
    answer = await told(channel, "all results -course:Goodwood")
    assert "By the subscription to GB, results of Goodwood arrive too, though that to all regions leaves" in answer.text
    assert answer.text.count("arrive too") == 1
    after = await click(channel, buttons(answer)["Leave Goodwood out of GB too"])
    assert after.startswith("This channel receives results from GB, without Goodwood.")
    assert "arrive too" not in after


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("GB abandonments", "results from GB"),
        ("GB course:Bath", "results and abandonments of other courses of GB"),
        ("GB results course:Bath", "results of other courses of GB, and abandonments from GB"),
    ],
)
async def test_rest_of_a_region_that_comes_by_all_regions_is_said_and_these_end_by_a_click(channel, words, what):
    await told(channel, "all")
    answer = await told(channel, words)
    assert f"By the subscription to all regions, {what} arrive too" in answer.text
    button = buttons(answer)["End all regions"]
    assert "all" in button["confirm"]["text"]["text"]
    assert (await click(channel, button)).startswith("Done. This channel still receives")
    assert set(await channel.receives()) == {"GB"}


async def test_nothing_is_offered_to_be_ended_where_something_was_added(channel):
    await told(channel, "all abandonments")
    answer = await told(channel, "GB results")
    assert "abandonments from GB arrive too" in answer.text
    assert buttons(answer) == {}
    await told(channel, "IRE abandonments")
    assert buttons(await told(channel, "all results")) == {}


async def test_all_regions_with_one_course_end_where_that_is_left_out(channel):
    await told(channel, "all course:Goodwood")
    answer = await told(channel, "GB -course:Goodwood")
    await click(channel, buttons(answer)["End all regions"])
    assert set(await channel.receives()) == {"GB"}


async def test_many_that_are_overridden_are_counted_and_one_button_ends_them(channel):
    await told(channel, "all")
    answer = await told(channel, "AUS GB IRE FR abandonments")
    assert answer.text.count("arrive too") == 3
    assert "leaves them out. `/racing list` shows 1 more. I could not" in answer.text
    assert list(buttons(answer)) == ["End all regions"]
    assert (await listed(channel)).text.count("arrive too") == 4


async def test_form_that_was_saved_says_it_too_and_has_no_button(channel):
    await told(channel, "all")
    stored = await channel.saves(await channel.opens(), {"regions": ["GB"], "topics": ["abandonments"]})
    message = await subscribe.answer(channel.desk, channel._invocation(""), stored)
    assert message is not None
    assert buttons(message)
    view = saved(message.blocks)
    assert "results from GB arrive too" in str(view)
    assert view["blocks"][-1]["text"]["text"] == "`/racing list` has buttons to change that."
    assert all(block["type"] == "section" for block in view["blocks"])
    assert block_problems(view["blocks"], most=VIEW_BLOCKS) == []


async def test_courses_of_one_name_are_told_apart_in_what_is_said_back(channel):
    assert "from AUS, only Ascot (AUS)." in (await told(channel, "AUS course:Ascot")).text
    assert "without Ascot (GB) and Bath." in (await told(channel, "GB -course:Ascot -course:Bath")).text
    assert "only Ascot (AUS)" in (await listed(channel)).text
    everywhere = (await told(channel, "all")).text
    assert "abandonments of Ascot (GB) and Bath arrive too" in everywhere
    chosen = await channel.receives()
    assert [one.name for one in chosen["GB"].not_courses] == ["Ascot", "Bath"]


@pytest.mark.parametrize(
    ("namesakes", "name"),
    [
        ([{"region": "GB"}], "Ascot"),
        ([{"region": "GB"}, {"region": "AUS"}], "Ascot (GB)"),
        ([{"region": "GB", "country": "Wales"}, {"region": "GB", "country": "England"}], "Ascot (Wales)"),
        ([{"region": "GB"}, {"region": "GB"}], "Ascot (cr_0)"),
    ],
)
async def test_course_is_told_apart_by_what_only_it_has(database, namesakes, name):
    known = [KnownCourse(course_id=f"cr_{number}", name="Ascot", **one) for number, one in enumerate(namesakes)]
    await database.write(lambda session: reference.put_courses(session, known, NOW))
    asked = [Course(course_id="cr_0", name="Ascot"), Course(name="Ascot"), Course(course_id="cr_9", name="Ascot")]
    shown = await database.read(lambda session: reference.told_apart(session, asked))
    assert [one.name for one in shown] == [name, "Ascot", "Ascot"]
