"""The search for a course that is nearly right: beside the event loop, and for so many words of a line."""

import threading

import pytest

from bot.errors import CommandError
from bot.racedata.near_misses import LOOKED_UP_MAX, likely
from bot.slack.commands import courses, menu_options
from bot.slack.commands.invocation import Invocation
from tests.unit.commands.test_choosing import channel_in


@pytest.fixture
async def channel(database):
    return await channel_in(database)


@pytest.fixture
def searches(monkeypatch):
    """What was searched for, and whether that held the event loop up."""
    found = []

    def recorded(typed, values, *more, **named):
        found.append((typed, threading.current_thread() is threading.main_thread()))
        return likely(typed, values, *more, **named)

    for searching in ("bot.racedata.near_misses", "bot.slack.commands.menu_options"):
        monkeypatch.setattr(f"{searching}.likely", recorded)
    return found


async def test_near_course_is_searched_for_beside_the_event_loop(channel, searches):
    with pytest.raises(CommandError, match="Did you mean Goodwood"):
        await channel.types("GB course:Goodwod")
    with pytest.raises(CommandError, match="Did you mean Goodwood"):
        await courses.answer(channel.desk, Invocation("Goodwod", "C1", "U1", "cmd-1"), None)
    (option,) = await menu_options.course_options(channel.desk, "Goodwod")
    assert option["text"]["text"] == "Goodwood (GB)"
    assert searches == [("Goodwod", False)] * 3


async def test_so_many_courses_of_a_line_are_guessed_at_and_all_are_told(channel, searches):
    words = " ".join(f"course:Goodwod{number} -course:Goodwod{number}x" for number in range(LOOKED_UP_MAX))
    with pytest.raises(CommandError) as caught:
        await channel.types(f"GB {words}")
    assert len(searches) == LOOKED_UP_MAX
    assert str(caught.value).count("There is no course") == 2 * LOOKED_UP_MAX


async def test_wrong_words_are_named_each_with_its_nearest_name_and_no_button(channel):
    told, lines = await channel.refuses("gbb irre frr auus reslts")
    assert told.startswith('No course or region is called "gbb" or "irre" or "frr" or "auus" or "reslts".')
    assert 'Did you mean GB for "gbb", IRE for "irre", FR for "frr", AUS for "auus"' in told
    assert 'results for "reslts"?' in told
    assert lines == []


async def test_region_and_course_that_are_wrong_are_both_named(channel):
    told, lines = await channel.refuses("gbb course:Goodwod")
    assert 'Did you mean GB for "gbb", Goodwood for "Goodwod"?' in told
    assert lines == []


async def test_only_the_word_that_was_wrong_is_replaced(channel):
    _, (line,) = await channel.refuses("course:Bath batth GB")
    assert line == "course:Bath course:Bath GB"
