"""Answers and list say which events a subscription leaves out and another brings; and the answer to a new watch."""

from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.channels import watches
from bot.channels.watches import WATCHES_MAX, WatchedName
from bot.db.tables import WatchKind
from bot.errors import CommandError, FieldsWrong
from bot.events.event import Topic
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import name_key
from bot.racedata import lexicon, race_book_store
from bot.racedata.client.records import KnownCourse
from bot.racedata.day_views import look_up
from bot.slack.commands.present_subscriptions import LIST_COMMAND
from bot.slack.commands.subscribe import said_of
from bot.slack.commands.table import BUTTON_COMMANDS
from bot.slack.commands.watch import WATCH_COMMAND
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import FormListener
from bot.slack.messages.answers.watch_answer import NowWatched, watched
from bot.slack.subscribe_form import saved
from bot.slack.workspace import BotIdentity
from sandbox.slack import modals
from sandbox.slack.block_rules import VIEW_BLOCKS, block_problems
from tests.databases import empty
from tests.rows import over
from tests.unit.commands.town import NOW, allow, buttons, option, typed, unreached
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "answers.txt"


LEFT_OUT = {"not_courses": [option("cr_6")]}


async def no(*_asked):
    return None


async def opened(method, call, **more):
    """The form for Slack to open, without words on channels."""
    return await (call() if method == "views.open" else unreached(method, **more))


@pytest.fixture
def channel(channel):
    nobody = SimpleNamespace(is_deactivated=False)
    channel.desk.identity = BotIdentity("xoxb-test")
    channel.desk.slack = SimpleNamespace(call=opened, web=AsyncWebClient())
    channel.desk.people = SimpleNamespace(check_may_change=allow, is_admin=no, person=lambda _user_id: no(nobody))
    return channel


async def told(channel, words):
    """The answer to words after subscribe."""
    return await answered(channel, await channel.types(words))


async def answered(channel, stored):
    return await said_of(channel.desk, typed(), stored)


async def listed(channel):
    return await LIST_COMMAND.say(channel.desk, typed())


async def clicks_edit(channel, button):
    """The form opened by a click."""
    views = []

    async def views_open(*, view, **_more):
        views.append(view)

    channel.desk.slack.web.views_open = views_open
    commit = BUTTON_COMMANDS[button["action_id"].partition(":")[0]].commit
    assert commit is not None
    await commit(channel.desk, typed(button["value"]))
    return views[0]


OVERRIDDEN = [
    "all | GB -course:Goodwood",
    "GB -course:Goodwood | all",
    "all | GB results -course:Goodwood",
    "all | GB abandonments",
    "all | GB course:Bath",
    "all | GB results course:Bath",
    "all abandonments | GB results",
    "all results abandonments racecards course:Goodwood | GB results -course:Goodwood",
    "all | AUS GB IRE FR abandonments",
]
BESIDE = [
    "GB results | IRE",
    "IRE GB results | all results -course:Goodwood",
    "all -course:cr_1 | AUS abandonments",
    "all -course:cr_1 | IRE course:Curragh",
    "AUS course:Ascot | GB -course:Ascot -course:Bath | all",
    # Where nobody else is told of an abandonment without a taker.
    "GB ack:10m",
    "all escalate:U1 | GB ack:10m",
    "IRE escalate:U1 | GB ack:10m",
    "GB ack:10m escalate:U1",
]


@pytest.mark.parametrize("lines", [*OVERRIDDEN, *BESIDE])
async def test_answer_and_list_say_what_comes_all_the_same_as_kept(channel, lines):
    for line in lines.split(" | "):
        answer = await told(channel, line)
    check(KEPT, f"Subscribed: {lines}", f"{as_read(answer)}\nlist: {(await listed(channel)).text}")


@pytest.mark.parametrize("lines", OVERRIDDEN)
async def test_no_click_takes_away_what_the_sentence_does_not_name(channel, lines):
    for line in lines.split(" | "):
        answer = await told(channel, line)
    before = await channel.receives()
    assert list(buttons(answer)) == ["Edit all regions"]
    view = await clicks_edit(channel, buttons(answer)["Edit all regions"])
    assert await channel.receives() == before
    await channel.saves(view)
    assert await channel.receives() == before


@pytest.mark.parametrize(
    ("lines", "label"),
    [("all | GB -course:Goodwood", "Edit all regions"), ("IRE GB results | all results -course:Goodwood", "Edit GB")],
)
async def test_course_that_is_left_out_in_the_form_too_is_said_to_arrive_no_more(channel, lines, label):
    for line in lines.split(" | "):
        answer = await told(channel, line)
    stored = await channel.saves(await clicks_edit(channel, buttons(answer)[label]), LEFT_OUT)
    for text in ((await answered(channel, stored)).text, (await listed(channel)).text):
        assert "still come" not in text


async def test_button_of_a_subscription_that_has_ended_brings_nothing_back(channel):
    await told(channel, "all")
    button = buttons(await told(channel, "GB -course:Goodwood"))["Edit all regions"]
    view = await clicks_edit(channel, button)
    await channel.ends("all")
    with pytest.raises(CommandError, match="not there any more"):
        await clicks_edit(channel, button)
    with pytest.raises(FieldsWrong):
        await channel.saves(view, LEFT_OUT)
    assert await channel.receives() == {}


async def test_button_opens_the_form_of_the_subscription_as_it_is_by_then(channel):
    await told(channel, "all")
    button = buttons(await told(channel, "GB -course:Goodwood"))["Edit all regions"]
    await channel.ends("results")
    await channel.saves(await clicks_edit(channel, button), LEFT_OUT)
    assert (await channel.receives())["*"].topics == {Topic.ABANDONMENTS}


async def test_region_of_several_words_has_its_form_at_hand(channel):
    course = KnownCourse(course_id="cr_99", name="Randwick", region="New South Wales")
    await channel.desk.database.write(lambda session: lexicon.REGIONS.put(session, ["New South Wales"], NOW))
    await channel.desk.database.write(lambda session: lexicon.COURSES.put(session, [course], NOW))
    await told(channel, '"New South Wales" results')
    answer = await told(channel, "all results -course:Randwick")
    view = await clicks_edit(channel, buttons(answer)["Edit New South Wales"])
    await channel.saves(view, {"not_courses": [option("cr_99")]})
    assert set(await channel.receives()) == {"New South Wales", "*"}


async def test_form_that_was_saved_says_it_too_and_has_no_button(channel):
    await told(channel, "all")
    stored = await channel.saves(await channel.opens(), {"regions": ["GB"], "topics": ["abandonments"]})
    message = await answered(channel, stored)
    assert buttons(message)
    view = saved(message.blocks)
    assert "from GB all of that still comes" in str(view)
    assert view["blocks"][-1]["text"]["text"] == "`/racing list` has buttons to change that."
    assert all(block["type"] == "section" for block in view["blocks"])
    assert block_problems(view["blocks"], most=VIEW_BLOCKS) == []


async def test_form_says_the_same_of_courses_before_and_after_it_is_complete(channel):
    acked, later = [], []
    tasks = SimpleNamespace(start=lambda answer, _name: later.append(answer))
    channel.desk.token = lambda _bytes: "1"
    runner = CommandRunner(channel.desk, cast("Any", None), cast("Any", tasks))
    view = await channel.opens()
    values = modals.filled_in(view, {"regions": ["GB"], "topics": ["results"], "not_courses": [option("cr_1")]})

    async def ack(**answer):
        acked.append(answer)

    submitted = {**view, "id": "V1", "state": {"values": values}}
    await FormListener(runner).on_submit(cast("Any", ack), {"user": {"id": "U1"}}, submitted)
    later[0].close()
    assert "results from GB, without Ascot (GB)." in str(acked)


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
    await database.write(lambda session: lexicon.COURSES.put(session, known, NOW))
    asked = [Course(course_id="cr_0", name="Ascot"), Course(name="Ascot"), Course(course_id="cr_9", name="Ascot")]
    shown = await database.read(lambda session: lexicon.told_apart(session, asked))
    assert [one.name for one in shown] == [name, "Ascot", "Ascot"]


# The words of `/racing watch`, and the races of the name in the answer


@over(
    ("one", "other", "are_same"),
    [
        ("Golden Melody", "GOLDEN  MELODY (IRE)", True),
        ("Golden Melody (GB)", "Golden Melody (IRE)", False),
        ("Éclair d'Or", "eclair d\u2019or", True),
        ("Golden Melody", "Golden Melody II", False),
        *(("Jack d'Or", f"Jack d{apostrophe}Or", True) for apostrophe in "\u00b4\u02bc\u2032\u2018\u201b\u02bb\uff07`"),
        *(("Saint-Cloud", f"saint{dash}cloud", True) for dash in "\u2010\u2011\u2012\u2013\u2014\u2212 "),
        ("Søren Åberg", "SOREN ABERG", True),
        ("Łukasz Đorđević", "lukasz dordevic", True),
        ("Ægir", "aegir", True),
        ("Straße", "STRASSE", True),
    ],
)
def test_names_are_compared_without_case_and_accents(one, other, are_same):
    assert name_key(one).may_be(name_key(other)) is are_same


def ride(hour, *runners, course="Bath", **fields):
    """A race of the book; the races of the book have no order."""
    off = OffTime(text=f"{hour}:00", off_at=NOW.replace(hour=hour))
    place = {"race_date": "2026-11-20", "region": "GB", "course": Course(name=course)}
    return Race(race_id=f"rc_{99 - hour}", off=off, runners=runners, **place, **fields)


RUNNERS = (
    Runner(horse="Out", position="NR", trainer="T One", jockey="R Moore"),
    Runner(horse="Waits", position="Reserve"),
    Runner(horse="Runs", trainer="T Two", jockey="R Moore"),
    Runner(horse="{name} {}"),
)
RIDES = [
    ride(hour, Runner(horse=f"Horse {hour}", jockey="R Moore"), course=course, abandoned=course == "York")
    for course, hours in (("York", range(1, 7)), ("Ascot", [13]), ("Bath", range(14, 20)))
    for hour in hours
]
AT_KEMPTON = [ride(14, Runner(horse="Golden Melody (IRE)"), course="Kempton")]
TWO_RACES = [ride(11, *RUNNERS), ride(13, *RUNNERS)]
# The watched name, and the races of the day.
KNOWN = {
    "without its country": ("horse Golden Melody", AT_KEMPTON),
    "with its country": ("horse golden melody (ire)", AT_KEMPTON),
    "with a race that is over": ("horse Golden Melody", [ride(14, Runner(horse="Golden Melody (IRE)", position="1"))]),
    # Every lost ride first, then by off time; the rides to come are counted.
    "of a jockey with lost rides": ("jockey R Moore", RIDES),
    "of a non-runner": ("horse Out", TWO_RACES),
    "of a reserve": ("horse Waits", TWO_RACES),
    "of a trainer of a non-runner": ("trainer T One", TWO_RACES),
    "of a jockey of a race that is off": ("jockey R Moore", TWO_RACES),
    "of a horse with braces": ("horse {name} {}", TWO_RACES),
}


@over("name", KNOWN)
async def test_answer_on_a_watched_name_reads_as_kept(database, name):
    """The answer to somebody who watches a name from now on."""
    said, rides = KNOWN[name]
    kind, _, horse_or_person = said.partition(" ")
    watched_name = WatchedName(WatchKind(kind), horse_or_person)
    empty(database)
    await database.write(lambda session: race_book_store.put(session, rides, NOW))
    found = await database.read(lambda session: look_up(session, [watched_name], date(2026, 11, 20)))
    answer = watched([NowWatched(watched_name, found[watched_name])], NOW, is_own=False)
    check(KEPT, f"Watched name {name}", as_read(answer))


async def test_too_many_names_are_refused(town):
    names = [WatchedName(WatchKind.HORSE, f"Horse {number}") for number in range(WATCHES_MAX - 1)]
    await town.desk.database.write(lambda session: watches.add(session, "C1", names, user_id="U1", now=NOW))
    with pytest.raises(CommandError, match=f"At most {WATCHES_MAX}"):
        await WATCH_COMMAND.commit(town.desk, typed("horse:A jockey:B"))
    assert await WATCH_COMMAND.would_change(town.desk, typed("horse:A jockey:B"))
    assert (await WATCH_COMMAND.commit(town.desk, typed("horse:A"))).made
