"""Refusals: the button with the line put right, words that are no command, and the search for what was nearly meant."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import LOOKED_UP_MAX
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands import menu_options
from bot.slack.commands.day_commands import RACECARD_COMMAND
from bot.slack.commands.error_answers import explain, retyped
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.list_commands import COURSES_COMMAND, USAGE_COMMAND
from bot.slack.commands.refusal_buttons import with_working_offers
from bot.slack.commands.table import RACING_COMMANDS, find_command
from bot.slack.language.tokens import join, split
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import read_invocation
from tests.unit.commands.town import COURSES, NOW, REGIONS, no_meetings, refusal, typed


def offers(message):
    return [
        (button["text"]["text"], button["value"])
        for block in message.blocks
        if block["type"] == "actions"
        for button in block["elements"]
    ]


@pytest.mark.parametrize(
    ("line", "typed", "value", "right"),
    [
        ("racecard gb today", "gb", "GB", "racecard GB today"),
        ("racecard today Ascto  Heath", "Ascto Heath", "Ascot Heath", 'racecard today "Ascot Heath"'),
        ('subscribe GB course:"Ascto"', "Ascto", "Ascot Heath", 'subscribe GB course:"Ascot Heath"'),
        ("subscribe course:'Ascto Heth'", "Ascto Heth", "Ascot Heath", 'subscribe course:"Ascot Heath"'),
        ("racecard 'Ascto Heth' GB", "Ascto Heth", "Ascot Heath", 'racecard "Ascot Heath" GB'),
        ("subscribe course:'gb  end' gb", "gb", "GB", 'subscribe course:"gb end" GB'),
        ("subscirbe GB", "subscirbe", "subscribe", "subscribe GB"),
        ("subscribe GB goodwood", "goodwood", "course:Ffos Las", 'subscribe GB course:"Ffos Las"'),
        ("subscribe -course:Ascto", "Ascto", "Ascot", "subscribe -course:Ascot"),
        ("subscribe GBB,IRE", "GBB", "GB", "subscribe GB IRE"),
        ("racecard ffos gb la", "ffos la", "Ffos Las", 'racecard "Ffos Las" gb'),
        ("subscribe course:ffos GB la", "ffos la", "Ffos Las", 'subscribe course:"Ffos Las" GB'),
        ("racecard ffos gb", "ffos la", "Ffos Las", None),
        ("racecard gbx", "gb", "GB", None),
        ("racecard gb", "", "GB", None),
        ("racecard " + "x" * 3_000 + " gb", "gb", "GB", None),
        ("racecard " + " " * 3_000 + " gb", "gb", "GB", None),
        ("subscribe course:GBB GBB", "GBB", "GB", "subscribe course:GBB GB"),
        ("subscribe course: GBB GBB", "GBB", "GB", "subscribe course: GBB GB"),
        ("subscribe gb course:gb", "course:gb", "Goodwood", "subscribe gb course:Goodwood"),
        ("subscribe course:Ascto -course:Ascto", "course:Ascto", "Ascot", "subscribe course:Ascot -course:Ascot"),
        ("racecard Ascto", "course:Ascto", "Ascot", "racecard Ascot"),
        ("racecard course:gb", "gb", "GB", "racecard course:GB"),
        ("subscribe gb,ire gb", "gb", "GB", "subscribe GB ire GB"),
        ("subscribe course:gb,ire gb", "gb", "GB", "subscribe course:gb,ire GB"),
        ("subscribe region:Ascto", "Ascto", "course:Ascot", "subscribe course:Ascot"),
    ],
)
def test_line_is_typed_anew_with_the_right_word(line, typed, value, right):
    assert retyped(line, {typed: value}) == right


def test_near_miss_has_a_button_for_each_thing_it_may_have_meant():
    error = CommandError("No region.", typed="gb", meant={"GB": "GB", "Ascot (GB)": "cr_1"})
    message = explain(error, "cmd-1", "racecard gb today")
    assert message.text == "No region."
    assert offers(message) == [("GB", "racecard GB today"), ("Ascot (GB)", "racecard cr_1 today")]


@pytest.mark.parametrize("line", ["unsubscribe gb", "unsubscirbe GB"])
def test_button_that_ends_something_asks_first(line):
    error = CommandError("No.", offers={"right": {"gb": "GB"}, "unsubscribe": {"unsubscirbe": "unsubscribe"}})
    (button,) = explain(error, "cmd-1", line).blocks[-1]["elements"]
    assert button["value"] == "unsubscribe GB"
    assert button["confirm"]["text"]["text"] == "This channel would no longer receive it: /racing unsubscribe GB."


def test_button_that_ends_nothing_asks_nothing():
    error = CommandError("No.", typed="gb", meant={"GB": "GB"})
    (button,) = explain(error, "cmd-1", "subscribe gb").blocks[-1]["elements"]
    assert "confirm" not in button


def test_refusal_without_a_likely_word_has_no_button():
    assert offers(explain(CommandError("No."), "cmd-1", "racecard gb")) == []
    assert offers(explain(CommandError("No.", typed="x", meant={"y": "y"}), "cmd-1", "")) == []


@given(line=st.text(max_size=80), typed=st.text(max_size=10), value=st.text(max_size=10))
def test_any_line_is_typed_anew_or_left(line, typed, value):
    right = retyped(line, {typed: value})
    assert right is None or value in right


NAMES = st.from_regex(r"[A-Za-z][a-z']{0,5}[a-z]( [A-Z][a-z']{0,4}[a-z])?", fullmatch=True)
QUOTES = st.sampled_from(['""', "''"])
SPACES = st.sampled_from([" ", "  ", "\t"])


@given(
    words=st.lists(st.tuples(st.sampled_from(["", "course:", "-course:"]), NAMES, QUOTES), min_size=1, max_size=5),
    spaces=SPACES,
    right=NAMES,
    data=st.data(),
)
def test_button_runs_what_was_typed_with_the_right_word_whatever_the_quotes_and_spaces(words, spaces, right, data):
    line = spaces.join(["subscribe", *(f"{name}{quotes[0]}{word}{quotes[1]}" for name, word, quotes in words)])
    wrong = data.draw(st.sampled_from([word for _, word, _ in words]))
    runs = retyped(line, {wrong: right})
    assert runs is not None
    # What is wrong as a word by itself is right as the name of a course, for all we know.
    is_bare = any(word == wrong and not name for name, word, _ in words)
    mended = [right if word == wrong and not (name and is_bare) else word for name, word, _ in words]
    assert split(runs) == ["subscribe", *(name + word for (name, _, _), word in zip(words, mended, strict=True))]
    assert retyped(runs, {right: right}) == runs


@given(st.text(max_size=60) | st.text(alphabet="a'\"“\u2018: ", max_size=30))
def test_words_that_were_split_are_joined_to_a_text_of_the_same_words(text):
    words = split(text)
    assert split(join(words)) == words


def test_word_that_is_wrong_as_a_region_and_as_a_course_is_mended_as_each():
    right = {"Ascto": "course:Ascot", "course:Ascto": "Ascot"}
    assert retyped("subscribe Ascto -course:Ascto", right) == "subscribe course:Ascot -course:Ascot"


def test_several_wrong_words_are_one_button():
    error = CommandError("No.", offers={"GB IRE": {"gb": "GB", "ire": "IRE"}})
    assert offers(explain(error, "cmd-1", "subscribe gb,ire results")) == [("GB IRE", "subscribe GB IRE results")]


# A word after /racing that is no command: what would have been right, as a button where it is nearly one


NOBODY: Any = None


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("subscirbe GB", "subscribe GB"),
        ("subscirbe gb", "subscribe gb"),
        ("subcribe", "subscribe"),
        # The channel has the results, and nobody wants them to end.
        ("subcribe GB results", None),
        ("unsubcribe GB results", "unsubscribe GB results"),
        ("lsit", "list"),
        ("sub GB", "subscribe GB"),
        ("uns GB", "unsubscribe GB"),
        ("zzz GB", None),
        ("stop", "unsubscribe all"),
        ("York tomorrow", "racecard York tomorrow"),
        ("IRE", "racecard IRE"),
    ],
)
async def test_mistyped_command_is_offered_with_its_words(channel, line, offered):
    said = []
    await channel.types("GB results")

    async def respond(_reply, message, **_more):
        said.append(message)

    nobody: Any = None
    responder: Any = SimpleNamespace(respond=respond)
    runner = CommandRunner(channel.desk, responder, nobody)
    await runner.answer(await runner.commit(None, Invocation(line, "C1", "U1", "cmd-1")), nobody)
    (message,) = said
    assert "After /racing I know: subscribe" in message.text
    values = [one["value"] for block in message.blocks for one in block.get("elements", ())]
    assert values[:1] == ([offered] if offered else [])


@pytest.mark.parametrize("text", ["days and endpoints", "by day, by endpoint"])
async def test_usage_by_day_and_by_endpoint_is_one_at_a_time(text):
    with pytest.raises(CommandError, match="One grouping at a time"):
        await USAGE_COMMAND.plan(NOBODY, typed(text))


def read_slash(command, text):
    """The command that is run, and the invocation."""
    return read_invocation({"command": command, "text": text, "channel_id": "C1", "user_id": "U1"}, "cmd-1")


@pytest.mark.parametrize(
    ("line", "name", "words"),
    [
        ("/racing list", "list", ""),
        ("/racing /Racing subscribe GB", "subscribe", "GB"),
        ("/racecard GB tomorrow", "racecard", "GB tomorrow"),
        ("/racing", "help", ""),
        ("abandoned York", "results", "abandonments York"),
        ("Abandonments", "results", "abandonments"),
        ("what's next", "next", ""),
        ("What is next Ireland", "next", "Ireland"),
        ("next race at York", "next", "race at York"),
        ("cards GB", "racecard", "GB"),
        ("quiet 22-7", "subscribe", "quiet 22-7"),
        ("quiet:22-7", "subscribe", "quiet 22-7"),
        ("digest 18:00", "subscribe", "digest 18:00"),
        ("ack 10m", "subscribe", "ack 10m"),
        ("unwatch Misty Ghost", "unwatch", "Misty Ghost"),
        ("mute York", "mute", "York"),
        ("watches", "watching", ""),
        ("list", "list", ""),
        ("quiet help", "help", "subscribe"),
        ("unwatch help", "help", "unwatch"),
    ],
)
def test_line_is_of_a_command_as_pasted_and_as_people_say_it(line, name, words):
    command, text = find_command(line)
    assert command is not None
    assert (command.name, text) == (name, words)


async def helped(text):
    message = await RACING_COMMANDS["help"].say(NOBODY, Invocation(text, "C1", "U1", "cmd-1"))
    assert message is not None
    return message.text


@pytest.mark.parametrize(
    ("command", "text", "about"),
    [
        ("/racecard", "help", "racecard"),
        ("/results", " HELP ", "results"),
        ("/usage", "help", "usage"),
        ("/racing", "subscribe help", "subscribe"),
        ("/racing", "list help", "list"),
        ("/racing", "help racecard", "racecard"),
        ("/racing", "help /racecard", "racecard"),
        ("/racing", "help ack", "subscribe"),
        ("/racing", "help quiet: 22-7", "subscribe"),
        ("/racing", "help unwatch", "watching"),
    ],
)
async def test_help_is_given_where_it_is_typed(command, text, about):
    run, invocation = read_slash(command, text)
    assert run is RACING_COMMANDS["help"]
    told = await helped(invocation.text)
    assert f"`/racing {about}" in told
    assert RACING_COMMANDS[about].summary in told
    assert told.count("`/racing") == 4
    assert "`/racing help`" in told


async def test_help_alone_lists_every_command():
    run, invocation = read_slash("/racing", "help")
    assert (run, invocation.text) == (RACING_COMMANDS["help"], "")
    told = await helped("")
    assert all(f"`/racing {name}" in told for name in RACING_COMMANDS)


async def test_help_on_what_is_no_command_says_so():
    with pytest.raises(CommandError, match=r"I don't know /racing racecrd\. Did you mean racecard"):
        await helped("racecrd")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('GB course:"A &amp; B"', 'GB course:"A & B"'),
        ("&lt;rc_1&gt;", "<rc_1>"),
        ("&amp;lt; &amp;amp; &quot;", "&lt; &amp; &quot;"),
        ("<@U1|alice> <#C1|gb>", "<@U1|alice> <#C1|gb>"),
    ],
)
def test_text_is_read_as_it_was_typed_and_not_as_slack_escapes_it(text, read):
    assert read_slash("/racecard", text)[1].text == read


# The search for a word that is nearly right: beside the event loop, in time, and for so many words of a line


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
        await COURSES_COMMAND.say(channel.desk, typed("Goodwod"))
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
    assert str(error) == 'No course, region or day is called "gbb". Did you mean GB?'
    offered = await with_working_offers(error, town.desk, await town.here(), "racecard " + "gbb " * 400)
    assert offered.lines == {"GB": "racecard GB"}


async def test_of_many_wrong_words_the_first_are_told_and_how_many_more(town):
    words = " ".join(f"xyzzy{number}" for number in range(3_000))
    error = await town.refused(await town.here(), f"racecard {words}")
    assert str(error).startswith('No course, region or day is called "xyzzy0", "xyzzy1"')
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

    races = SimpleNamespace(meetings=no_meetings)
    desk: Any = SimpleNamespace(reference=SimpleNamespace(lexicon=lexicon), races=races, clock=lambda: NOW)
    with pytest.raises(CommandError):
        await RACECARD_COMMAND.plan(desk, typed("xyzzy " * 300))
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
    assert list(offered.lines) == ["results from GB"]
