"""Words after /racecard and /results that are nearly right: what is offered does what was meant."""

from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import CommandError
from bot.racedata import reference_store as rows
from bot.racedata.lexicon import Lexicon
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands.day_words import find_place, read_words
from bot.slack.commands.error_answers import retyped
from bot.slack.commands.results import FLAGS

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
REGIONS = ("GB", "IRE", "AUS", "SA", "USA", "ST")
COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", region="GB"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS"),
    KnownCourse(course_id="cr_3", name="Goodwood", region="GB"),
    KnownCourse(course_id="cr_4", name="Ffos Las", region="GB"),
    KnownCourse(course_id="cr_5", name="Newcastle", shortcode="NCS", region="GB"),
    KnownCourse(course_id="cr_6", name="Newcastle", region="AUS"),
    KnownCourse(course_id="cr_7", name="Dundalk (AW)", region="IRE"),
]


@pytest.fixture
async def book(database):
    nobody: Any = None
    kept = ReferenceBook(database, nobody, lambda: NOW)
    # The lists are as they are kept: nothing is to be asked for.
    kept._refreshed_at = NOW
    await database.write(lambda session: rows.put_regions(session, REGIONS, NOW))
    await database.write(lambda session: rows.put_courses(session, COURSES, NOW))
    return kept


async def no_meetings(_day):
    return ()


async def understood(book, text):
    """The day, region and course that the words mean."""
    asked = read_words(text, TODAY, flags=FLAGS)
    place = await find_place(book, no_meetings, asked, 1.0)
    return asked.day, place.region, place.course.course_id if place.course else None


async def offered(book, text):
    """What is told, and the words of each button."""
    with pytest.raises(CommandError) as caught:
        await understood(book, text)
    lines = {label: retyped(f"racecard {text}", right) for label, right in caught.value.offers.items()}
    return str(caught.value), {label: (line or "").removeprefix("racecard ") for label, line in lines.items()}


@pytest.mark.parametrize(("text", "course_id"), [("GB Ascot", "cr_1"), ("Ascot AUS", "cr_2"), ("cr_2", "cr_2")])
async def test_course_whose_name_is_shared_is_the_one_of_the_region_that_was_typed(book, text, course_id):
    assert (await understood(book, text))[2] == course_id


@pytest.mark.parametrize("text", ["Ascot", "IRE Ascot"])
async def test_course_whose_name_is_shared_is_offered_so_that_each_offer_works(book, text):
    _, lines = await offered(book, text)
    assert {(await understood(book, line))[2] for line in lines.values()} == {"cr_1", "cr_2"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("goodwood tomorow", (date(2026, 11, 21), "GB", "cr_3")),
        ("Goodwood tommorow", (date(2026, 11, 21), "GB", "cr_3")),
        ("GB this satuday", (date(2026, 11, 21), "GB", None)),
        ('course:"Ffos La" tomorrow', (date(2026, 11, 21), "GB", "cr_4")),
        ("course:'Ffos  La' sat", (date(2026, 11, 21), "GB", "cr_4")),
        ("gb yesturday", (date(2026, 11, 19), "GB", None)),
    ],
)
async def test_offer_keeps_the_day_that_was_meant(book, text, meant):
    told, lines = await offered(book, text)
    assert "Did you mean" in told
    (line,) = lines.values()
    assert await understood(book, line) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("gb today goodwod", (TODAY, "GB", "cr_3")),
        ("goodwod today gb", (TODAY, "GB", "cr_3")),
        ("gbb newcastle", (TODAY, "GB", "cr_5")),
        ("Newcastle auus", (TODAY, "AUS", "cr_6")),
        ("irre dundalk (aw)", (TODAY, "IRE", "cr_7")),
        ("goodwood gb tommorow", (date(2026, 11, 21), "GB", "cr_3")),
        ("gb ffos la yesterday", (date(2026, 11, 19), "GB", "cr_4")),
        ("ffos gb la", (TODAY, "GB", "cr_4")),
    ],
)
async def test_single_wrong_name_is_mended_in_any_order(book, text, meant):
    told, lines = await offered(book, text)
    (line,) = lines.values()
    assert await understood(book, line) == meant
    assert told.count("Did you mean") == 1


async def test_word_of_the_commands_own_is_a_candidate_too(book):
    told, lines = await offered(book, "abandonmnts GB")
    assert told == 'I know no region or course "abandonmnts". Did you mean abandonments?'
    assert lines == {"abandonments": "abandonments GB"}


async def test_only_the_words_that_are_wrong_are_called_so(book):
    told, lines = await offered(book, "Goodwood gbb")
    assert (told, lines) == ('I know no region or course "gbb". Did you mean GB?', {"GB": "Goodwood GB"})


async def test_two_courses_are_refused_as_two(book):
    told, lines = await offered(book, "Goodwood cr_7")
    assert (told, lines) == ('One course at a time: you named "Goodwood" and "cr_7".', {})


async def test_word_that_is_wrong_again_and_again_is_told_once_and_mended_everywhere(book):
    told, lines = await offered(book, "gbb " * 400)
    assert told == 'I know no region or course "gbb". Did you mean GB?'
    assert lines == {"GB": " ".join(["GB"] * 400)}


async def test_several_wrong_words_are_named_each_with_its_nearest_name(book):
    told, lines = await offered(book, "goodwod gbb abandonmnts tomorow goodwod gbb")
    assert told == (
        'I know no day "tomorow". Nor do I know a region or course "goodwod" or "gbb" or "abandonmnts". Did you mean '
        'Goodwood for "goodwod", GB for "gbb", abandonments for "abandonmnts", tomorrow for "tomorow"?'
    )
    assert lines == {}


async def test_of_many_wrong_words_the_first_are_told_and_how_many_more(book):
    told, lines = await offered(book, " ".join(f"xyzzy{number}" for number in range(3_000)))
    assert told.startswith('I know no region or course "xyzzy0" or "xyzzy1"')
    assert '"xyzzy9" or 2990 more.' in told
    assert lines == {}


async def test_list_of_courses_is_not_gone_through_for_each_word():
    class Counted(list[KnownCourse]):
        times = 0

        def __iter__(self):
            self.times += 1
            return super().__iter__()

    courses = Counted(COURSES)

    async def lexicon(_timeout_s):
        return Lexicon(REGIONS, courses)

    lists: Any = SimpleNamespace(lexicon=lexicon)
    with pytest.raises(CommandError):
        await find_place(lists, no_meetings, read_words("xyzzy " * 300, TODAY), 1.0)
    assert courses.times < 20


async def test_shortcode_that_is_nearly_right_is_named_by_its_course(book):
    told, lines = await offered(book, "NSC GB")
    assert "Did you mean Newcastle?" in told
    assert lines == {"Newcastle": "Newcastle GB"}


async def test_mistyped_day_is_told_apart_from_a_place(book):
    told, lines = await offered(book, "GB tommorow")
    assert told == 'I know no day "tommorow". Did you mean tomorrow?'
    assert lines == {"tomorrow": "GB tomorrow"}
    told, lines = await offered(book, "zzzzz tomorow")
    assert "Nor do I know a region or course" in told
    assert 'Did you mean tomorrow for "tomorow"?' in told
    assert lines == {}


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("GB sat", date(2026, 11, 21)),
        ("this saturday GB", date(2026, 11, 21)),
        ("GB next friday", date(2026, 11, 27)),
        ("GB 21 Nov", date(2026, 11, 21)),
        ("Nov 21st 2026 GB", date(2026, 11, 21)),
    ],
)
async def test_days_are_taken_as_people_write_them(book, text, day):
    assert (await understood(book, text))[:2] == (day, "GB")


@pytest.mark.parametrize("text", ["GB 31 Feb", "Goodwood feb 31 2026"])
async def test_date_that_no_month_has_is_called_no_day(book, text):
    told, _ = await offered(book, text)
    assert "is not a day. Write today" in told
