"""The search for a word that is nearly right: beside the event loop, in time, and for so many words of a line."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import CommandError
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands import courses, menu_options
from bot.slack.commands.day_words import find_place, read_words
from bot.slack.commands.refusal_buttons import refusal, with_working_offers
from tests.unit.commands.town import COURSES, NOW, REGIONS, no_meetings, typed


class Recorded(ThreadPoolExecutor):
    """The names of what runs beside the event loop."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def submit(self, call, /, *given, **named):
        self.ran.append(call.args[0].__name__)
        return super().submit(call, *given, **named)


@pytest.fixture
async def beside():
    with Recorded() as executor:
        asyncio.get_running_loop().set_default_executor(executor)
        yield executor


async def test_near_course_is_searched_for_beside_the_event_loop(channel, beside):
    with pytest.raises(CommandError, match="Did you mean Goodwood"):
        await channel.types("GB course:Goodwod")
    with pytest.raises(CommandError, match="Did you mean Goodwood"):
        await courses.answer(channel.desk, typed("Goodwod"), None)
    (option,) = await menu_options.course_options(channel.desk, "Goodwod")
    assert option["text"]["text"] == "Goodwood (GB)"
    assert len(beside.ran) == 3


async def test_so_many_courses_of_a_line_are_guessed_at_and_all_are_told(channel, beside):
    words = " ".join(f"course:Goodwod{number} -course:Goodwod{number}x" for number in range(LOOKED_UP_MAX))
    with pytest.raises(CommandError) as caught:
        await channel.types(f"GB {words}")
    assert len(beside.ran) == LOOKED_UP_MAX
    assert str(caught.value).count("There is no course") == 2 * LOOKED_UP_MAX


async def test_word_that_is_wrong_again_and_again_is_told_once_and_mended_everywhere(town):
    error = await refusal(town.desk, await town.here(), "racecard " + "gbb " * 400)
    assert error
    assert str(error) == 'I know no region or course "gbb". Did you mean GB?'
    offered = await with_working_offers(error, town.desk, await town.here(), "racecard " + "gbb " * 400)
    assert offered.lines == {"GB": " ".join(["racecard", *["GB"] * 400])}


async def test_of_many_wrong_words_the_first_are_told_and_how_many_more(town):
    words = " ".join(f"xyzzy{number}" for number in range(3_000))
    error = await town.refused(await town.here(), f"racecard {words}")
    assert str(error).startswith('I know no region or course "xyzzy0" or "xyzzy1"')
    assert '"xyzzy9" or 2990 more.' in str(error)
    assert error.lines == {}


async def test_list_of_courses_is_not_gone_through_for_each_word():
    class Counted(list[KnownCourse]):
        times = 0

        def __iter__(self):
            self.times += 1
            return super().__iter__()

    known = Counted(COURSES)

    async def lexicon(_timeout_s):
        return Lexicon(REGIONS, known)

    lists: Any = SimpleNamespace(lexicon=lexicon)
    with pytest.raises(CommandError):
        await find_place(lists, no_meetings, read_words("xyzzy " * 300, NOW.date()), 1.0)
    assert known.times < 20


FIRST_LINE_READS = 2
"""Readings of the regions while one line is tried."""


async def test_offers_that_passed_in_time_are_kept_where_another_takes_long(town):
    here = await town.here()
    line = "subscribe GB results and IRE racecards"
    error = await refusal(town.desk, here, line)
    assert error
    reads, lists = count(), town.desk.reference

    class Slow:
        def __getattr__(self, name):
            return getattr(lists, name)

        async def lexicon(self, timeout_s=None):
            if next(reads) >= FIRST_LINE_READS:
                await asyncio.Event().wait()
            return await lists.lexicon(timeout_s)

        async def check_regions(self, *asked, **more):
            if next(reads) >= FIRST_LINE_READS:
                await asyncio.Event().wait()
            return await lists.check_regions(*asked, **more)

    town.desk.reference = Slow()
    offered = await with_working_offers(error, town.desk, here, line, 0.5)
    assert list(offered.lines) == ["GB results"]
