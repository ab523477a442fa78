from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.events.races import Course
from bot.racedata import reference_store as rows
from bot.racedata.day_card import MeetingCard
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands.day_words import DayPlace, find_place, read_words

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_2", name="Ascot Heath", region="AUS"),
    KnownCourse(course_id="cr_3", name="Fairyhouse's End", region="IRE"),
    KnownCourse(course_id="cr_4", name="Wolverhampton (AW)", region="GB"),
]


@pytest.fixture
async def make_book(database):
    async def make(regions=("GB", "IRE", "AUS"), courses=COURSES):
        nobody: Any = None
        book = ReferenceBook(database, nobody, lambda: NOW)
        # The lists are as they are kept: nothing is to be asked for.
        book._refreshed_at = NOW
        if regions:
            await database.write(lambda session: rows.put_regions(session, regions, NOW))
        if courses:
            await database.write(lambda session: rows.put_courses(session, courses, NOW))
        return book

    return make


@pytest.mark.parametrize(
    "text",
    [
        'GB 2026-11-21 "Ascot Heath"',
        '"Ascot Heath"  2026-11-21\tGB',
        "2026-11-21 'Ascot Heath' GB",
        "GB Ascot Heath tomorrow",
        'tomorrow course:"Ascot Heath" region:GB',
    ],
)
def test_words_come_in_any_order_quotes_and_spaces(text):
    asked = read_words(text, TODAY)
    assert asked.day == date(2026, 11, 21)
    assert "GB" in asked.others
    assert " ".join(word for word in asked.others if word != "GB").strip("'") == "Ascot Heath"


@pytest.mark.parametrize(
    ("text", "day", "others"),
    [
        ("last friday GB", date(2026, 11, 13), ("GB",)),
        ("GB next  Friday", date(2026, 11, 27), ("GB",)),
        ("friday Ascot", TODAY, ("Ascot",)),
        ("GB last", TODAY, ("GB", "last")),
        ("last GB friday", TODAY, ("last", "GB")),
    ],
)
def test_words_may_be_weekdays(text, day, others):
    asked = read_words(text, TODAY)
    assert (asked.day, asked.others) == (day, others)


def test_words_of_a_command_and_the_page_are_told_apart():
    asked = read_words("GB abandoned page:3", TODAY, flags={"abandoned": "abandonments"})
    assert (set(asked.flags), asked.page, asked.others) == ({"abandonments"}, 3, ("GB",))
    assert read_words("abandoned page:0", TODAY).others == ("abandoned",)
    assert read_words("page:0", TODAY).page == 1


def test_words_without_a_day_mean_today():
    assert (read_words("", TODAY).day, read_words("GB", TODAY).day) == (TODAY, TODAY)
    assert read_words("all", TODAY).others == ()


@pytest.mark.parametrize("text", ["today tomorrow", "2026-02-30", "11/21/2026"])
def test_words_with_no_day_or_two_are_refused(text):
    with pytest.raises(CommandError, match=r"day|One day"):
        read_words(text, TODAY)


PARTS = ("GB", "last", "friday", '"', "“", "«", "'", "\u200f", "page:2", "course:", "2026-11-21", "x" * 500)
parts = st.sampled_from(PARTS)


@given(text=st.text(max_size=60) | st.lists(parts | st.text(max_size=5), max_size=30).map(" ".join))
@example(text="a" * 10_000)
@example(text='"' * 10_000)
@example(text="a " * 5_000)
@example(text="\u202e" * 10_000)
def test_words_of_any_text_are_read_or_refused(text):
    try:
        asked = read_words(text, TODAY)
    except CommandError:
        return
    assert all(word.strip() for word in asked.others)


async def place_of(book, text, known=()):
    async def meetings(_day):
        return known

    return await find_place(book, meetings, read_words(text, TODAY), 1.0)


ADRIFT = Course(course_id="cr_99", name='Far  "Away" Park')
NAMED = Course(name="Greyvill")
SEEN = (MeetingCard(ADRIFT, "GB", ()), MeetingCard(NAMED, None, ()), MeetingCard(Course(name="Elsewhere"), "IRE", ()))


@pytest.mark.parametrize("lists", [{}, {"courses": None}, {"regions": None, "courses": None}])
@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ('GB 2026-11-21 "cr_99"', DayPlace("GB", ADRIFT)),
        ("cr_99", DayPlace("GB", ADRIFT)),
        ('GB "Far Away Park"', DayPlace("GB", ADRIFT)),
        ("GB Greyvill", DayPlace("GB", NAMED)),
    ],
)
async def test_place_of_a_meeting_that_no_list_has_is_one(make_book, typed, place, lists):
    found = await place_of(await make_book(**lists), typed, SEEN)
    assert (found.region, found.course) == (place.region, place.course)


async def test_place_of_a_meeting_in_another_region_is_none(make_book):
    with pytest.raises(CommandError, match="I know no region or course"):
        await place_of(await make_book(), "GB Elsewhere", SEEN)


@pytest.mark.parametrize(
    ("text", "region", "course_id"),
    [
        ("", None, None),
        ("all tomorrow", None, None),
        ("IRE", "IRE", None),
        ("Ascot", "GB", "cr_1"),
        ("Wolverhampton", "GB", "cr_4"),
        ("gb wolverhampton tomorrow", "GB", "cr_4"),
        ("Wolverhampton (AW)", "GB", "cr_4"),
        ("ASC GB", "GB", "cr_1"),
        ("cr_2", "AUS", "cr_2"),
        ("Ascot Heath", "AUS", "cr_2"),
        ("AUS 'Ascot Heath' tomorrow", "AUS", "cr_2"),
        ("Fairyhouse's End", "IRE", "cr_3"),
    ],
)
async def test_place_is_the_region_and_course_that_were_named(make_book, text, region, course_id):
    place = await place_of(await make_book(), text)
    assert (place.region, place.course.course_id if place.course else None) == (region, course_id)
    assert place.unchecked == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gbb", "Did you mean GB"),
        ("Ascto", "Did you mean Ascot"),
        ("GB IRE", "One region at a time"),
        ("IRE Ascot", "Ascot is in GB, not in IRE"),
        ("zzzzzz", "I understand a region such as GB"),
    ],
)
async def test_place_that_is_none_is_told_what_would_be_right(make_book, text, told):
    with pytest.raises(CommandError, match=told):
        await place_of(await make_book(), text)


@pytest.mark.parametrize(
    ("text", "typed", "meant"),
    [
        ("gbb", "gbb", {"GB": "GB"}),
        ("today Ascto  Heath", "Ascto Heath", {"Ascot Heath": "Ascot Heath"}),
        ("IRE Ascot", "IRE", {"GB": "GB"}),
    ],
)
async def test_near_miss_carries_what_it_may_have_meant(make_book, text, typed, meant):
    with pytest.raises(CommandError) as caught:
        await place_of(await make_book(), text)
    assert caught.value.offers.items() >= {label: {typed: value} for label, value in meant.items()}.items()


async def test_place_is_taken_as_typed_where_there_are_no_lists(make_book):
    book = await make_book(regions=None, courses=None)
    assert await place_of(book, "GB Ascot") == DayPlace("GB", Course(name="Ascot"), ("GB", "Ascot"))


async def test_place_without_courses_still_knows_a_region_in_another_letter_case(make_book):
    assert (await place_of(await make_book(courses=None), "gb")).region == "GB"
