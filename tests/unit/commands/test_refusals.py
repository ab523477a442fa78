"""Refusals: the button with the right line, words without a command, near names, and places that no list has."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.events.event import Topic
from bot.events.races import Course
from bot.events.typed_text import typed_line
from bot.racedata import race_book_store
from bot.racedata.client.records import KnownCourse
from bot.racedata.day import note_whole
from bot.racedata.day_card import MeetingCard
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX
from bot.slack.commands.button_commands import course_options
from bot.slack.commands.day_commands import RACECARD_COMMAND, RESULTS_COMMAND, day_grammar, day_plan
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.list_commands import COURSES_COMMAND
from bot.slack.commands.pause_commands import MUTE_COMMAND
from bot.slack.commands.table import find_command
from bot.slack.language.request import read
from bot.slack.language.tokens import words_of
from bot.slack.listeners.command_runner import CommandRunner, explain, with_working_offers
from tests.answering import answering
from tests.databases import empty, store_told
from tests.rows import over
from tests.unit.commands.town import (
    COURSES,
    NOW,
    REGIONS,
    TODAY,
    buttons,
    lost_meeting,
    make_desk,
    make_race,
    no_meetings,
    refusal,
    typed,
)
from tests.unit.kept_text import as_read

LISTS = Lexicon(REGIONS, COURSES)


@over(
    ("line", "wrong", "right", "mended"),
    [
        ("GB except Yrok, results", "Yrok", "course:York", "GB except course:York, results"),
        ("course:GBB GBB", "GBB", "GB", "course:GBB GB"),
        ("GB IRE course:Bath", "IRE", "FR", "GB FR course:Bath"),
        ("GB class:9", "Class 9", "class:Class 2", 'GB class:"Class 2"'),
    ],
)
def test_line_is_typed_anew_with_the_right_word(line, wrong, right, mended):
    """Further lines: lines.txt."""
    assert read(line, LISTS).mended("subscribe", {wrong: right}) == f"subscribe {mended}"


NAMES = st.sampled_from(["York", "course:York", "-York", "Ffos Las", "Ireland", "no results", "class 1", "digest 6pm"])


@given(st.lists(NAMES, max_size=5), st.integers(0, 5))
def test_line_with_the_right_word_reads_as_if_that_had_been_typed(words, place):
    line, right = (" ".join([*words[:place], word, *words[place:]]) for word in ("yyrok", "course:Bath"))
    assert read(read(line, LISTS).mended("", {"yyrok": "course:Bath"}), LISTS) == read(right, LISTS)


def test_near_miss_has_a_button_for_each_thing_it_may_have_meant():
    error = CommandError("No region.", lines={"GB": "racecard GB today", "Ascot (GB)": "racecard cr_1 today"})
    message = explain(error, "cmd-1")
    assert message.text == "No region."
    assert {label: one["value"] for label, one in buttons(message).items()} == error.lines
    # Without a likely word, or with too long a line, there is no button.
    assert buttons(explain(CommandError("No."), "cmd-1")) == {}
    assert buttons(explain(CommandError("No.", lines={"y": "y" * 3_000}), "cmd-1")) == {}


@over(
    ("line", "asks"),
    [
        ("unsubscribe GB", "This ends what the channel receives: /racing unsubscribe GB."),
        ("pause", "This holds everything, abandonments too, until somebody resumes: /racing pause."),
        ("pause 2h", None),
        ("subscribe GB", None),
    ],
)
def test_button_that_ends_something_or_holds_it_without_end_asks_first(line, asks):
    (button,) = explain(CommandError("No.", lines={"right": line}), "cmd-1").blocks[-1]["elements"]
    assert button["value"] == line
    assert button.get("confirm", {}).get("text", {}).get("text") == asks


@given(st.text(max_size=60) | st.text(alphabet="a'\"“\u2018: ", max_size=30))
def test_words_that_were_split_are_joined_to_a_text_of_the_same_words(text):
    words = [one.text for one in words_of(text)]
    assert [one.text for one in words_of(typed_line(words))] == words


# An unknown word after /racing. The offered lines: lines.txt


NOBODY: Any = None


async def test_mistyped_command_is_answered_with_its_offer(channel):
    said = []

    async def respond(_reply, message, **_more):
        said.append(message)

    responder: Any = SimpleNamespace(respond=respond)
    runner = CommandRunner(channel.desk, responder, NOBODY)
    command, words = find_command("can we have Irish results please")
    await runner.answer(await runner.commit(command, Invocation(words, "C1", "U1", "cmd-1")), NOBODY)
    (message,) = said
    assert "/racing help lists the commands" in message.text
    assert [one["value"] for one in buttons(message).values()] == ["Irish results", "subscribe Irish results"]


# The search for near words: beside the event loop, in time, and for so many words of a line


class Recorded(ThreadPoolExecutor):
    """The names of the work beside the event loop."""

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
    with pytest.raises(CommandError, match='Did you mean "Goodwood"'):
        await channel.types("GB course:Goodwod")
    with pytest.raises(CommandError, match='Did you mean "Goodwood"'):
        await COURSES_COMMAND.say(channel.desk, typed("Goodwod"))
    (option,) = await course_options(channel.desk, "Goodwod")
    assert option["text"]["text"] == "Goodwood (GB)"
    assert len(beside.ran) == 3


async def test_every_wrong_course_of_a_line_is_told_and_the_first_have_near_names(channel):
    words = " ".join(f"course:Goodwod{number} -course:Goodwod{number}x" for number in range(LOOKED_UP_MAX))
    with pytest.raises(CommandError) as caught:
        await channel.types(f"GB {words}")
    assert str(caught.value).count(' for "Goodwod') == LOOKED_UP_MAX
    assert str(caught.value).count("There is no course") == 2 * LOOKED_UP_MAX


async def test_word_that_is_wrong_again_and_again_is_told_once_and_mended_everywhere(town):
    error = await refusal(town.desk, await town.here(), "racecard " + "gbb " * 400)
    assert error
    assert str(error) == 'No course, region or day is called "gbb". Did you mean "GB"?'
    offered = await with_working_offers(error, town.desk, await town.here(), "racecard " + "gbb " * 400)
    assert offered.lines == {"GB": " ".join(["racecard", *["GB"] * 400])}


async def test_of_many_wrong_words_the_first_are_told_and_how_many_more(town):
    words = " ".join(f"xyzzy{number}" for number in range(3_000))
    error = await town.refused(await town.here(), f"racecard {words}")
    assert str(error).startswith('No course, region or day is called "xyzzy0", "xyzzy1"')
    assert '"xyzzy9" or 2990 more.' in str(error)
    assert error.lines == {"Without that": "racecard"}


async def test_list_of_courses_is_not_gone_through_for_each_word():
    class Counted(list[KnownCourse]):
        times = 0

        def __iter__(self):
            self.times += 1
            return super().__iter__()

    known = Counted(COURSES)

    races = SimpleNamespace(known=no_meetings)
    desk: Any = SimpleNamespace(
        reference=SimpleNamespace(lexicon=answering(Lexicon(REGIONS, known))), races=races, clock=lambda: NOW
    )
    with pytest.raises(CommandError):
        await RACECARD_COMMAND.plan(desk, typed("xyzzy " * 300))
    assert known.times < 20


FIRST_LINE_READS = 1
"""How often the lists are read while the first line is tried."""


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

    town.desk.reference = Slow()
    offered = await with_working_offers(error, town.desk, here, line, 0.5)
    assert list(offered.lines) == ["results from GB"]


# The words after `/racecard` and `/results`: a place that no list has, and the words beside a place


ADRIFT = Course(course_id="cr_99", name='Far  "Away" Park')
NAMED = Course(name="Greyvill")
SEEN = (MeetingCard(ADRIFT, "GB"), MeetingCard(NAMED, None), MeetingCard(Course(name="Elsewhere"), "IRE"))


async def place_of(database, text, known=(), **lists):
    """The region and the course, and the words that were not checked."""

    desk = await make_desk(database, **lists)
    desk.races.known = answering(SimpleNamespace(meetings=known))
    found = await day_plan("racecard", day_grammar(), {Topic.RACECARDS})(desk, typed(text))
    return found.region, found.course, found.unchecked


@over("lists", [{}, {"courses": ()}, {"regions": (), "courses": ()}])
@over(
    ("words", "course"),
    [
        ('GB 2026-11-21 "cr_99"', ADRIFT),
        ("cr_99", ADRIFT),
        ('GB "Far Away Park"', ADRIFT),
        ("GB far away park", ADRIFT),
        ("GB Greyvill", NAMED),
    ],
)
async def test_place_of_a_meeting_that_no_list_has_is_one(database, words, course, lists):
    empty(database)
    assert (await place_of(database, words, SEEN, **lists))[:2] == ("GB", course)


@over(
    ("line", "place"),
    [
        ("results Tramore", ("IRE", "Tramore")),
        ("racecard tramore tomorrow", ("IRE", "Tramore")),
        ("results abandonments Seven Lakes", (None, "Seven Lakes")),
        ("racecard YORK", ("GB", "York")),
        ("mute Tramore", None),
        ("subscribe IRE -Tramore", None),
        ("subscribe Tramore, Seven Lakes", None),
    ],
)
async def test_course_of_a_told_event_that_no_list_has_is_known_to_every_command(database, line, place):
    empty(database)
    desk = await make_desk(database)
    lost = [("TRAMORE", "IRE"), ("Tramore", "IRE"), ("Seven Lakes", None), ("YORK", "GB")]
    told = [lost_meeting(course, region=region) for course, region in lost]
    await database.write(lambda session: store_told(session, *told, received_at=NOW))
    command, text = find_command(line)
    assert command is not None
    planned = await command.plan(desk, typed(text))
    if place:
        assert (planned.region, planned.course.name, planned.unchecked) == (*place, ())


@pytest.mark.parametrize(
    ("lists", "text", "place"),
    [
        ({"regions": (), "courses": ()}, "GB Ascot", ("GB", Course(name="Ascot"), ("GB", "Ascot"))),
        ({"courses": ()}, "gb", ("GB", None, ())),
        ({}, "GB Ascot", ("GB", Course(course_id="cr_1", name="Ascot"), ())),
    ],
)
async def test_place_says_which_words_no_list_has_checked(database, lists, text, place):
    assert await place_of(database, text, **lists) == place


async def test_place_of_a_meeting_in_another_region_is_refused(database):
    with pytest.raises(CommandError, match="No course, region or day"):
        await place_of(database, "GB Elsewhere", SEEN)


async def test_page_and_topics_are_told_apart_from_places(town):
    asked = await RESULTS_COMMAND.plan(town.desk, typed("GB abandoned page:3"))
    assert (asked.page, asked.wanted.of("topics"), asked.region) == (3, (Topic.ABANDONMENTS,), "GB")
    assert (await RESULTS_COMMAND.plan(town.desk, typed("page:0"))).page == 1


@pytest.mark.parametrize(
    ("course", "is_read", "is_told"),
    [("Ascot", True, True), ("York", True, False), (None, True, False), ("Ascot", False, False)],
)
async def test_mute_says_where_the_whole_card_has_no_such_meeting(town, course, is_read, is_told):
    def keep(session):
        race_book_store.put(session, [make_race(course=course)], NOW, region="GB")
        if is_read:
            note_whole(session, "GB", TODAY, NOW)

    await town.desk.database.write(keep)
    done = await MUTE_COMMAND.commit(town.desk, typed("York"))
    said = as_read(await MUTE_COMMAND.answer(town.desk, typed("York"), done))
    assert "Muted: results and racecards of York" in said
    assert ("I know of no meeting there on that day" in said) is is_told
