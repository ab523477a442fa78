"""The language of lines: the command of a line; the bot's words can be typed, and a button types the button's words."""

import re
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.conditions.table import BY_FIELD, CONDITIONS
from bot.channels.filters import ChannelFilter, meaningful
from bot.errors import CommandError
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.events.typed_text import typed_line
from bot.events.word_rows import word_rows
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.button_commands import FORM_BUTTON, filled
from bot.slack.commands.day_commands import day_grammar
from bot.slack.commands.filter_choice import added_to
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.table import HELPED, RACING_COMMANDS, find_command
from bot.slack.language.grammar import Grammar
from bot.slack.language.request import MOST_PHRASES, read, request_of
from bot.slack.language.words import SUBSCRIBING, words_in
from bot.slack.listeners.ways_in import read_invocation
from bot.slack.messages.answers.filter_words import describe
from bot.slack.subscribe_form import FormOf, course_value, problem, read_form, subscribe_form
from sandbox.slack import modals
from tests.rows import Answers, over
from tests.unit.commands.plain_reader import EVERY, lines, meanings
from tests.unit.commands.town import COUNTRIES, COURSES, NOW, REGIONS, typed, unreached

LISTS = Lexicon(REGIONS, COURSES, COUNTRIES)


def cells_of(wanted):
    """The events of a request, by the second reader's count."""

    def is_in(cell):
        region, course, topic = cell
        places = (*wanted.of("regions"), *wanted.of("courses"), *wanted.of("all"))
        return (
            bool(places)
            and topic in wanted.all_topics
            and (not wanted.of("regions") or region in wanted.of("regions"))
            and (not wanted.of("courses") or course in wanted.of("courses"))
            and region not in wanted.out("regions")
            and course not in wanted.out("courses")
        )

    return frozenset(filter(is_in, EVERY))


@pytest.mark.parametrize("more", [0, 1])
def test_line_of_too_many_words_is_refused_and_not_searched_for_meanings(more):
    wanted = read("GB, York" + " and" * (MOST_PHRASES - 2 + more), LISTS)
    assert [wanted.refused.is_of_meaning if wanted.refused else None] == [not more]


@pytest.mark.long
def test_no_line_of_the_second_reader_is_read_as_less_or_more_than_meant():
    requests = {line: read(line, LISTS) for line in lines()}
    understood = {line: cells_of(one) for line, one in requests.items() if one.refused is None}
    wrong = [line for line, cells in understood.items() if cells and meanings(line) != {cells}]
    # The command asks about a region left out of all regions.
    assert [line for line in wrong if not requests[line].out("regions")] == []
    assert sum(map(bool, understood.values())) > 800


@given(st.sampled_from(lines()))
def test_every_reading_is_read_as_itself_by_its_label_and_by_its_line(line):
    wanted = read(line, LISTS)
    offers = wanted.refused.offers if wanted.refused else {}
    for label, offered in offers.items():
        for said in (label, offered.line()):
            again = read(said, LISTS)
            assert (again, again.refused) == (offered, None)


WORDS = ["GB", "gb", "Ireland", "all", "York", "ffos las", "course:Bath", "-York", "-results", "no racecards"]
VALUES = ["class 1 and 2", "Group 1", "digest 6pm london", "quiet 10pm to 7am", "ack 10 minutes", "escalate <@U1|bob>"]


@given(st.lists(st.sampled_from([*WORDS, *VALUES, "cards at 7pm", "zone:Paris", "show:meetings"])).map(" ".join))
def test_line_of_a_request_is_read_as_the_request(line):
    wanted = read(line, LISTS)
    if wanted.refused is None:
        assert read(wanted.line(), LISTS) == wanted


DAY_LINE = ["GB", "Ireland", "York", "ffos las", "course:Bath", "tomorrow", "last friday", "21 nov", "2pm", "14.30"]


@given(st.lists(st.sampled_from([*DAY_LINE, "abandoned", "cards", "next", "everywhere", "the", "Yrok"])))
def test_line_of_a_day_is_read_as_its_request(words):
    def request(line):
        phrases = day_grammar(["next"]).read(line, LISTS, NOW.date())
        return request_of(phrases)

    wanted = request(" ".join(words))
    assert request(wanted.line()) == wanted


HOURS = st.times().map("{:%H:%M}".format)
SPANS = st.tuples(HOURS, HOURS).filter(lambda two: two[0] != two[1]).map("-".join)
HERE = [Course(course_id=one.course_id, name=one.name, country=one.country) for one in COURSES if one.region == "GB"]
STORED_VALUES = {
    "classes": st.sampled_from(["Class 1", "Class 12", "Group 1", "Grade 3", "Listed", "G1", "group", "graded"]),
    "codes": st.sampled_from(["flat", "jumps", "aw"]),
    "digest": HOURS,
    "cards": HOURS,
    "quiet": SPANS,
    "zone": st.sampled_from(["Europe/London", "America/Argentina/Buenos_Aires", "UTC"]),
    "show": st.just("meetings"),
    "ack": st.integers(1, 720).map("{}m".format),
    "escalate": st.sampled_from(["U1", "S12", "C9", "here"]),
}


@st.composite
def filters(draw):
    """Any storable filter, without mentions."""
    names = draw(st.lists(st.sampled_from(HERE), unique=True, max_size=4))
    parted = draw(st.integers(0, len(names)))
    values = {
        field: BY_FIELD[field].of_file(draw(st.lists(one, max_size=2, unique=True)))
        for field, one in STORED_VALUES.items()
    }
    return meaningful(
        ChannelFilter(
            region="GB",
            topics=draw(st.frozensets(st.sampled_from(Topic), min_size=1)),
            courses=tuple(names[:parted]),
            not_courses=tuple(names[parted:]),
            **values,
        )
    )


def comparable(chosen):
    """Hours without a zone are said in UTC, and the default time to acknowledge is said."""
    zone = chosen.zone or (("UTC",) if chosen.has_hours else ())
    ack = ("10m",) if chosen.escalate and not chosen.ack else chosen.ack
    return chosen.model_copy(update={"zone": zone, "ack": ack})


NARROW = [
    ChannelFilter(region="GB", topics=frozenset(Topic), courses=courses, classes=classes, codes=codes)
    for courses, classes, codes in product([(), (HERE[0],), (HERE[1],)], [(), ("Class 1",)], [(), ("jumps",)])
]
TOLD = [
    RacingEvent(key="k", kind=kind, race=Race(region="GB", course=course, race_class=race_class, race_type=race_type))
    for kind in (EventKind.RACE_ABANDONED, EventKind.RESULT_RECEIVED)
    for course, race_class, race_type in product(HERE[:2], ["1", "4"], ["Flat", "Hurdle"])
]


def test_addition_takes_every_race_that_was_there_or_typed_or_is_refused():
    for before, chosen in product(NARROW, repeat=2):
        with suppress(CommandError):
            (addition,) = added_to([before], [chosen], None)
            asked = [one for one in TOLD if before.matches(one) or chosen.matches(one)]
            assert all(map(addition.after.matches, asked)), (before, chosen)


@given(filters())
def test_any_stored_filter_is_read_back_from_its_description_and_from_its_typed_words(chosen):
    typed_words = typed_line(word for view in CONDITIONS for word in view.typed(chosen))
    assert filled(read(typed_words, LISTS), LISTS) == chosen
    wanted = read(describe(chosen, None), LISTS)
    assert (wanted.refused, wanted.of("unknown")) == (None, ())
    assert comparable(filled(wanted, LISTS)) == comparable(chosen)


@given(filters(), st.lists(st.sampled_from(["U1", "S12", "here"]), unique=True))
def test_any_stored_filter_can_be_saved_by_the_form(chosen, mentions):
    told = {"mentions": tuple(sorted(mentions)), "escalate": tuple(sorted(chosen.escalate))}
    chosen = meaningful(chosen.model_copy(update=told))
    view = subscribe_form(FormOf(channel_id="C1"), chosen, LISTS)
    _, submitted = read_form({**view, "state": {"values": modals.filled_in(view, {})}})
    assert not any(problem(one, submitted) for one in CONDITIONS)
    courses = {name: [course_value(one) for one in getattr(chosen, name)] for name in ("courses", "not_courses")}
    assert {name: list(submitted[name]) for name in courses} == courses
    kept = {one.field: submitted[one.field] for one in CONDITIONS if one.field not in {"region", *courses}}
    saved = ChannelFilter.model_validate(kept | {"region": "GB"})
    told = {name: tuple(sorted(getattr(saved, name))) for name in ("mentions", "escalate")}
    assert saved.model_copy(update=told) == chosen.model_copy(update=dict.fromkeys(courses, ()))


WORDS_OF = [("bot.slack.language", "words.ini"), ("bot.channels.conditions", "words.ini")]


@over(("package", "name"), [*WORDS_OF, ("bot.racedata", "countries.ini")])
def test_no_word_stands_in_two_rows_of_a_section(package, name):
    for section, rows in word_rows(package, name).items():
        words = [word for row in rows.values() for word in row]
        assert [word for word in words if words.count(word) > 1 or word != word.casefold().strip()] == [], section


PLACES = ["GB", "gb", "Ireland", "the UK", "Hong Kong", "York", "york", '"NO"', "Wolverhampton", "Royal Ascot GB"]
TOPICS = ["results", "winners", "abandonments", "cancelled", "cards", "declarations"]


@given(st.lists(st.sampled_from([*PLACES, *TOPICS, "and", "please", "all", "-", "tomorrow", "2.30"])).map(" ".join))
def test_the_same_words_mean_the_same_in_every_command(line):
    """In commands of a subscription, of its end, and of a day."""
    of_a_day = request_of(day_grammar().read(line, LISTS, NOW.date()))
    of_the_channel = request_of(Grammar(SUBSCRIBING, has_days=True).read(line, LISTS))
    for name in ("regions", "courses", "topics", "unknown"):
        assert of_a_day.of(name) == of_the_channel.of(name)
        assert of_a_day.out(name) == of_the_channel.out(name)


@pytest.mark.parametrize("region", ["*", "New South Wales"])
async def test_description_of_a_region_can_be_typed_back(channel, region):
    there = ChannelFilter(region=region, topics=frozenset(Topic))
    await channel.types(describe(there))
    assert await channel.receives() == {region: there}


async def test_me_is_the_channel_in_the_direct_messages_with_the_bot_alone(channel):
    with pytest.raises(CommandError, match='called "me"'):
        await channel.types("me to York")
    assert read("me to York", LISTS, {**SUBSCRIBING, **words_in("direct")}) == read("York", LISTS)


# The form, filled with the understood words of a refused line


async def opened(channel, words):
    """The form opened by the button of a refused line."""
    views = []

    async def call(_method, opens, **_more):
        await opens()

    async def views_open(*, view, **_opened_by):
        views.append(view)

    channel.desk.slack = SimpleNamespace(call=call, web=SimpleNamespace(views_open=views_open))
    await FORM_BUTTON.commit(channel.desk, typed(words))
    return views[0]


@pytest.mark.parametrize(
    ("line", "form", "stored"),
    [
        ("GB IRE results Yrok", "GB IRE results", "results from GB; results from IRE"),
        ("GB digest:late class 1", "GB class:1", "results and abandonments from GB, class 1 races only"),
        ("racecards York nonsense", "racecards course:York", "racecards from GB, only York"),
        ("results", "results", "results from FR"),
        ("GB, York -results", "GB course:York -results", "abandonments from GB, only York"),
        ("GB except Bath tomorrow", "GB -course:Bath", "results and abandonments from GB, without Bath"),
        ("all but harness", "all", "results and abandonments from all regions"),
        ("GB escalate @bob ack 5", "GB ack:5m", None),
    ],
)
async def test_line_that_is_not_understood_offers_the_form_filled_with_what_was(channel, line, form, stored):
    with pytest.raises(CommandError) as caught:
        await channel.types(line)
    assert caught.value.form == form
    view = await opened(channel, form)
    named = {} if read(form, LISTS).of("regions") or "course:" in form or "all" in form else {"regions": ["FR"]}
    channel.desk.slack = SimpleNamespace(call=unreached)
    await channel.saves(view, named)
    received = (await channel.receives()).values()
    said = stored or "results and abandonments from GB, abandonments to be acknowledged within 5 minutes"
    assert "; ".join(map(describe, received)) == said


# The command of a line, as pasted and as people say it, and help on each command

ROWS = Path(__file__).with_name("commands.yaml")
NOBODY: Any = None


def read_slash(command, text):
    """The command that is run, and the invocation."""
    return read_invocation({"command": command, "text": text, "channel_id": "C1", "user_id": "U1"}, "cmd-1")


@over(("line", "told"), Answers(ROWS, "lines"))
def test_line_is_of_a_command_as_pasted_and_as_people_say_it(line, told):
    command, text = find_command(line)
    assert command is not None
    assert f"{command.name} {text}".rstrip() == told


async def helped(text):
    message = await RACING_COMMANDS["help"].say(NOBODY, Invocation(text, "C1", "U1", "cmd-1"))
    assert message is not None
    return message.text


@over(
    ("command", "text", "about"),
    [
        *(("/racecard", "help", "racecard"), ("/results", " HELP ", "results"), ("/usage", "help", "usage")),
        *(("/racing", f"{name} help", name) for name in ("subscribe", "list")),
        *(("/racing", f"help {said}", "racecard") for said in ("racecard", "/racecard")),
        *(("/racing", f"help {said}", "subscribe") for said in ("ack", "quiet: 22-7")),
        *(("/racing", f"help {name}", name) for name in ("unwatch", "mute")),
    ],
)
async def test_help_is_given_where_it_is_typed(command, text, about):
    run, invocation = read_slash(command, text)
    assert run is RACING_COMMANDS["help"]
    told = await helped(invocation.text)
    assert f"`/racing {about}" in told
    assert HELPED[about].summary in told
    assert told.count("`/racing") == 4
    assert "`/racing help`" in told


async def test_help_alone_lists_every_command_and_on_an_unknown_command_says_that_there_is_none():
    run, invocation = read_slash("/racing", "help")
    assert (run, invocation.text) == (RACING_COMMANDS["help"], "")
    told = await helped("")
    assert all(f"`/racing {name}" in told for name in RACING_COMMANDS)
    with pytest.raises(CommandError, match=re.escape('know /racing racecrd. Did you mean "racecard"')):
        await helped("racecrd")


@over(
    ("text", "read"),
    [
        ('GB course:"A &amp; B"', 'GB course:"A & B"'),
        ("&lt;rc_1&gt;", "<rc_1>"),
        ("&amp;lt; &amp;amp; &quot;", "&lt; &amp; &quot;"),
        ("<@U1|alice> <#C1|gb>", "<@U1|alice> <#C1|gb>"),
        ("horse:<http://Fog.com|Fog.com> <https://york.example>", "horse:Fog.com <https://york.example>"),
    ],
)
def test_text_is_read_as_it_was_typed_and_not_as_slack_escapes_it(text, read):
    assert read_slash("/racecard", text)[1].text == read
