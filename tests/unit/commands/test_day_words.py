"""The words after `/racecard` and `/results`: a place that no list has, and the words beside a place."""

import pytest

from bot.errors import CommandError
from bot.events.races import Course
from bot.racedata.day_card import MeetingCard
from bot.slack.commands.day_words import DayPlace, find_place, read_words
from tests.unit.commands.town import NOW, make_desk

TODAY = NOW.date()
ADRIFT = Course(course_id="cr_99", name='Far  "Away" Park')
NAMED = Course(name="Greyvill")
SEEN = (MeetingCard(ADRIFT, "GB", ()), MeetingCard(NAMED, None, ()), MeetingCard(Course(name="Elsewhere"), "IRE", ()))


async def place_of(database, text, known=(), **lists):
    async def meetings(_day):
        return known

    desk = await make_desk(database, **lists)
    return await find_place(desk.reference, meetings, read_words(text, TODAY), 1.0)


@pytest.mark.parametrize("lists", [{}, {"courses": ()}, {"regions": (), "courses": ()}])
@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ('GB 2026-11-21 "cr_99"', DayPlace("GB", ADRIFT)),
        ("cr_99", DayPlace("GB", ADRIFT)),
        ('GB "Far Away Park"', DayPlace("GB", ADRIFT)),
        ("GB Greyvill", DayPlace("GB", NAMED)),
    ],
)
async def test_place_of_a_meeting_that_no_list_has_is_one(database, typed, place, lists):
    found = await place_of(database, typed, SEEN, **lists)
    assert (found.region, found.course) == (place.region, place.course)


async def test_place_of_a_meeting_in_another_region_is_none(database):
    with pytest.raises(CommandError, match="I know no region or course"):
        await place_of(database, "GB Elsewhere", SEEN)


@pytest.mark.parametrize(
    ("lists", "text", "place"),
    [
        ({"regions": (), "courses": ()}, "GB Ascot", DayPlace("GB", Course(name="Ascot"), ("GB", "Ascot"))),
        ({"courses": ()}, "gb", DayPlace("GB", None)),
        ({}, "GB Ascot", DayPlace("GB", Course(course_id="cr_1", name="Ascot"))),
    ],
)
async def test_place_says_which_words_no_list_has_checked(database, lists, text, place):
    assert await place_of(database, text, **lists) == place


def test_words_of_a_command_and_the_page_are_told_apart():
    asked = read_words("GB abandoned page:3", TODAY, flags={"abandoned": "abandonments"})
    assert (set(asked.flags), asked.page, asked.others) == ({"abandonments"}, 3, ("GB",))
    assert read_words("abandoned page:0", TODAY).others == ("abandoned",)
    assert read_words("page:0", TODAY).page == 1
