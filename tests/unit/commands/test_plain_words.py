"""Lines in plain English: what is understood of them, and that every button of a refusal does what it says."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from bot.book.reference import ReferenceBook
from bot.domain.days import utc_today
from bot.domain.events import TOPIC_OF, RacingEvent, Topic
from bot.domain.filters import without_abandonments
from bot.domain.races import Course, Race
from bot.errors import CommandError, SlackUnreached
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.offered import refusal, with_working_offers
from bot.slack.commands.results import FLAGS
from bot.slack.commands.table import RACING_COMMANDS, find_command
from bot.slack.commands.words import find_place, read_words
from bot.slack.messages.filter_words import describe
from bot.slack.messages.subscription_buttons import abandonments_buttons
from bot.slack.permissions import Person
from bot.storage import reference as rows
from bot.storage import subscriptions
from bot.storage.reference import KnownCountry, KnownCourse
from bot.storage.tables import StoredState
from tests.unit.commands.plain_reader import EVERY, lines, meanings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""A Friday."""

LINES_TRIED = 100
"""Lines of the second reader's patterns, from all of them at equal steps."""

REGIONS = ["AUS", "FR", "GB", "HK", "IRE", "NO", "New South Wales", "USA"]
COUNTRIES = [
    KnownCountry(country_code="GB", name="Great Britain"),
    KnownCountry(country_code="IRE", name="Ireland"),
    KnownCountry(country_code="HK", name="Hong Kong"),
    KnownCountry(country_code="NO", name="Norway"),
    KnownCountry(country_code="SWE", name="Sweden"),
]
COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS", country="Western Australia"),
    KnownCourse(course_id="cr_3", name="York", shortcode="YOR", region="GB"),
    KnownCourse(course_id="cr_4", name="Ffos Las", region="GB", country="Wales"),
    KnownCourse(course_id="cr_5", name="Clonmel and Powerstown", shortcode="AND", region="IRE"),
    KnownCourse(course_id="cr_6", name="Curragh", region="IRE"),
    KnownCourse(course_id="cr_7", name="Belmont at the Big A", region="USA"),
    KnownCourse(course_id="cr_8", name="Øvrevoll", region="NO"),
    KnownCourse(course_id="cr_9", name="No Man's Land", region="NO"),
]


@dataclass
class Town:
    """People who type and click, each time in a channel of its own."""

    desk: Any
    numbers: Any = field(default_factory=count)
    kept: dict[str, Invocation] = field(default_factory=dict)

    async def here(self, *lines):
        """A new channel in which these lines were typed."""
        here = Invocation("", f"C{next(self.numbers)}", "U1", "cmd-1")
        for line in lines:
            await self.types(here, line)
        return here

    async def types(self, here, line):
        """Carry a line out that changes something; of any other, read its words."""
        command, text = find_command(line)
        assert command is not None
        typed = Invocation(text, here.channel_id, here.user_id, here.reference)
        if command.commit is not None:
            return await command.commit(self.desk, typed)
        assert command.check is not None
        return await command.check(self.desk, typed)

    async def receives(self, here):
        """What the channel receives, in words."""
        found = await self.desk.database.read(lambda session: subscriptions.of_channel(session, here.channel_id))
        return [describe(subscriptions.read_filter(row)) for row in found]

    async def refused(self, here, line):
        """What is told of a line, and the lines of its buttons; None where it is understood."""
        error = await refusal(self.desk, here, line)
        return error and await with_working_offers(error, self.desk, here, line)


async def allow(_user_id, _channel_id):
    return None


async def unreached(method, *_args, **_more):
    raise SlackUnreached(method, "no_connection")


async def no_meetings(_day):
    return ()


async def person(_user_id):
    return Person(zone="Europe/Paris")


@pytest.fixture
async def town(database):
    nobody: Any = None
    book = ReferenceBook(database, nobody, lambda: NOW)
    # The lists are as they are kept: nothing is to be asked for.
    book._refreshed_at = NOW

    def keep(session):
        rows.put_regions(session, REGIONS, NOW)
        rows.put_courses(session, COURSES, NOW)
        rows.put_countries(session, COUNTRIES, NOW)

    await database.write(keep)
    return Town(
        SimpleNamespace(
            settings=SimpleNamespace(announce_changes=True),
            wake=asyncio.Event(),
            database=database,
            reference=book,
            people=SimpleNamespace(check_may_change=allow, person=person),
            races=SimpleNamespace(meetings=no_meetings),
            slack=SimpleNamespace(call=unreached),
            clock=lambda: NOW,
        )
    )


BOTH = "results and abandonments"
BUT_GB = 'AUS FR HK IRE NO "New South Wales" USA'


@pytest.mark.parametrize(
    ("typed", "receives", "notes"),
    [
        ("GB and IRE results only", ["results from GB", "results from IRE"], []),
        ("only results from the UK", ["results from GB"], ["UK is GB here."]),
        ("for GB", [f"{BOTH} from GB"], []),
        ("to GB, IRE and FR", [f"{BOTH} from {code}" for code in ("FR", "GB", "IRE")], []),
        ("GB + IRE racecards please", ["racecards from GB", "racecards from IRE"], []),
        ("Ascot GB", [f"{BOTH} from GB, only Ascot"], []),
        ("Ascot, GB", [f"{BOTH} from GB, only Ascot"], []),
        ("York", [f"{BOTH} from GB, only York"], []),
        ("the course York", [f"{BOTH} from GB, only York"], []),
        ("York and Curragh", [f"{BOTH} from GB, only York", f"{BOTH} from IRE, only Curragh"], []),
        ("the results from York only", ["results from GB, only York"], []),
        ("GB except York", [f"{BOTH} from GB, without York"], []),
        ("GB but not York or Ffos Las", [f"{BOTH} from GB, without York and Ffos Las"], []),
        ("GB without York, Ffos Las", [f"{BOTH} from GB, without York and Ffos Las"], []),
        ("GB, course:York", [f"{BOTH} from GB, only York"], []),
        ("GB except course:York", [f"{BOTH} from GB, without York"], []),
        ("GB no racecards", [f"{BOTH} from GB"], []),
        ("GB without results", ["abandonments from GB"], []),
        ("GB no racecards or results", ["abandonments from GB"], []),
        ("GB racecards no results", ["racecards from GB"], []),
        ("all except York", [f"{BOTH} from all regions, without York"], []),
        ("all results from GB", ["results from GB"], []),
        ("GB not only Ascot", [f"{BOTH} from GB"], []),
        ("GB, not just York", [f"{BOTH} from GB"], []),
        ("GB not just results", [f"{BOTH} from GB"], []),
        ("GB not only racecards", ["results, abandonments and racecards from GB"], []),
        ("GB results, not only abandonments", [f"{BOTH} from GB"], []),
        ("York, not only results", [f"{BOTH} from GB, only York"], []),
        ("no results for GB", ["abandonments from GB"], []),
        ("no York, GB", [f"{BOTH} from GB, without York"], []),
        ("results and abandonments from GB and racecards", ["results, abandonments and racecards from GB"], []),
        ("GB results and abandonments course:York", [f"{BOTH} from GB, only York"], []),
        ("Ireland", [f"{BOTH} from IRE"], ["Ireland is IRE here."]),
        ("ireland racecards", ["racecards from IRE"], ["ireland is IRE here."]),
        ("IE", [f"{BOTH} from IRE"], ["IE is IRE here."]),
        ("Hong Kong and Great Britain", [f"{BOTH} from GB", f"{BOTH} from HK"], ["Hong Kong is HK here."]),
        ("“hong kong”", [f"{BOTH} from HK"], ["hong kong is HK here."]),
        ("the U.S.A.", [f"{BOTH} from USA"], ["U.S.A. is USA here."]),
        ("United States of America", [f"{BOTH} from USA"], ["United States of America is USA here."]),
        ("NO", [f"{BOTH} from NO"], []),
        ("NO racecards", ["racecards from NO"], []),
        ("Norway no racecards", [f"{BOTH} from NO"], ["Norway is NO here."]),
        ("New South Wales", [f"{BOTH} from New South Wales"], []),
        ("“New South Wales” results", ["results from New South Wales"], []),
        ("Clonmel and Powerstown", [f"{BOTH} from IRE, only Clonmel and Powerstown"], []),
        ("IRE except Clonmel and Powerstown", [f"{BOTH} from IRE, without Clonmel and Powerstown"], []),
        ("Belmont at the Big A results", ["results from USA, only Belmont at the Big A"], []),
        ("No Man's Land", [f"{BOTH} from NO, only No Man's Land"], []),
        ("\u2018Ffos Las\u2019", [f"{BOTH} from GB, only Ffos Las"], []),
        ("GB AND IRE", [f"{BOTH} from GB", f"{BOTH} from IRE"], []),
        ("gb", [f"{BOTH} from GB"], []),
        ("usa results", ["results from USA"], []),
        ("york", [f"{BOTH} from GB, only York"], []),
        ("ffos las", [f"{BOTH} from GB, only Ffos Las"], []),
        ("gb except course:york", [f"{BOTH} from GB, without York"], []),
        ("belmont at the big a", [f"{BOTH} from USA, only Belmont at the Big A"], []),
        ("irish racing", [f"{BOTH} from IRE"], ["irish is IRE here."]),
        ("all British racing", [f"{BOTH} from GB"], ["British is GB here."]),
        ("racing from gb", [f"{BOTH} from GB"], []),
        ("declarations for Ireland", ["racecards from IRE"], ["Ireland is IRE here."]),
        ("everything", [f"{BOTH} from all regions"], []),
        ("“AND”", [f"{BOTH} from IRE, only Clonmel and Powerstown"], []),
    ],
)
async def test_subscribing_in_plain_english_is_understood_and_said_back(town, typed, receives, notes):
    here = await town.here()
    stored = await town.types(here, f"subscribe {typed}")
    assert await town.receives(here) == receives
    assert list(stored.notes)[: len(notes)] == notes


@pytest.mark.parametrize(
    ("typed", "told", "buttons"),
    [
        ("Ascot", "Which Ascot?", {"Ascot (GB)": "cr_1", "Ascot (AUS)": "cr_2"}),
        ("ascot", "Which Ascot?", {"Ascot (GB)": "cr_1", "Ascot (AUS)": "cr_2"}),
        ("course:ascot", "Which Ascot?", {"Ascot (GB)": "course:cr_1", "Ascot (AUS)": "course:cr_2"}),
        (
            "everything from gb",
            "read in several ways",
            {"Everything from GB": "GB results abandonments racecards", "All regions": "all"},
        ),
        ("SWE", 'I know the country "SWE"', {}),
        ("Sedgefield", 'No course or region is called "Sedgefield". Regions', {}),
        ("jumps", "a kind of racing can't be chosen", {}),
        ("GB all weather", "a kind of racing can't be chosen", {}),
        ("GB non-runners", "the racecards show them", {}),
        ("fast results GB", 'No course or region is called "fast". Regions', {}),
        ("GB, York", "read in several ways", {"All of GB": "GB", "Only York": "GB course:York"}),
        (
            "GB results and IRE racecards",
            "read in several ways",
            {
                "GB results": "GB results",
                "IRE racecards": "IRE racecards",
                "All of that for each": "GB IRE results racecards",
            },
        ),
        (
            "results from York, abandonments from IRE",
            "read in several ways",
            {"York results": "results course:York", "IRE abandonments": "IRE abandonments"},
        ),
        ("Irland", "Did you mean IRE?", {"IRE": "IRE"}),
        ("Sweden", "publishes no region for it", {}),
        ("Wales", "is no region by itself", {"GB": "GB"}),
        ("western australia", "is no region by itself", {"AUS": "AUS"}),
        ("GB and York", "read in several ways", {"All of GB": "GB", "Only York": "GB course:York"}),
        (
            "GB no racecards and results",
            "read in several ways",
            {"Only abandonments": "GB abandonments", "Only results": "GB results"},
        ),
        (
            "GB except York and results",
            "read in several ways",
            {
                "Only results, without York": "GB results -course:York",
                "Only abandonments, without York": "GB abandonments -course:York",
            },
        ),
        (
            "GB no results or York",
            "read in several ways",
            {
                "Only abandonments, only York": "GB abandonments course:York",
                "Only abandonments, without York": "GB abandonments -course:York",
            },
        ),
        *(
            (
                f"GB {typed}",
                "read in several ways",
                {
                    "Only abandonments": "GB abandonments",
                    "Only results and abandonments, without York": "GB results abandonments -course:York",
                    "Only abandonments, only York": "GB abandonments course:York",
                },
            )
            for typed in ("no results for York", "except results at York", "without the results of York")
        ),
        *(
            (
                f"GB {typed}",
                "read in several ways",
                {
                    "Only abandonments": "GB abandonments",
                    "Only results and abandonments, without York": "GB results abandonments -course:York",
                    "Only results, without York": "GB results -course:York",
                },
            )
            for typed in ("but not York results", "excluding York results", "no York results")
        ),
        (
            "GB no abandonments for York or Ffos Las",
            "read in several ways",
            {
                "Only results": "GB results",
                "Only results and abandonments, without York and Ffos Las": (
                    'GB results abandonments -course:York -course:"Ffos Las"'
                ),
                "Only results, only York and Ffos Las": 'GB results course:York course:"Ffos Las"',
            },
        ),
        (
            "GB without York racecards",
            "read in several ways",
            {
                "Only results and abandonments": "GB results abandonments",
                "Only results and abandonments, without York": "GB results abandonments -course:York",
                "Only racecards, without York": "GB racecards -course:York",
            },
        ),
        (
            "GB York and all abandonments",
            "read in several ways",
            {
                "GB York": "GB course:York",
                "all abandonments": "all abandonments",
                "Only abandonments from GB, only York": "GB abandonments course:York",
                "Only abandonments from GB": "GB abandonments",
            },
        ),
        (
            "GB abandonments, and York",
            "read in several ways",
            {
                "GB abandonments": "GB abandonments",
                "GB York": "GB course:York",
                "Only abandonments, only York": "GB abandonments course:York",
            },
        ),
        (
            "all abandonments, GB results",
            "read in several ways",
            {
                "all abandonments": "all abandonments",
                "GB results": "GB results",
                "Only results and abandonments from GB": "GB results abandonments",
            },
        ),
        (
            "all no results from FR",
            "read in several ways",
            {
                "Only abandonments from all regions": "all abandonments",
                "Only results and abandonments from all regions but FR": (
                    'AUS GB HK IRE NO "New South Wales" USA results abandonments'
                ),
                "Only abandonments from FR": "FR abandonments",
            },
        ),
        (
            "GB results and IRE",
            "read in several ways",
            {"GB results": "GB results", "IRE": "IRE", "All of that for each": "GB IRE results"},
        ),
        (
            "GB and racecards",
            "read in several ways",
            {
                "Only racecards": "GB racecards",
                "Only results, abandonments and racecards": "GB results abandonments racecards",
            },
        ),
        ("IRE and York", "read in several ways", {"All of IRE": "IRE", "Only York": "course:York"}),
        (
            "GB no results, IRE",
            "read in several ways",
            {
                "Only abandonments from GB and IRE": "GB IRE abandonments",
                "Only abandonments from GB": "GB abandonments",
                "Only results and abandonments from IRE": "IRE results abandonments",
            },
        ),
        (
            "GB without York and IRE",
            "read in several ways",
            {
                "Only results and abandonments from GB and IRE, without York": (
                    "GB IRE results abandonments -course:York"
                ),
                "Only results and abandonments from GB, without York": "GB results abandonments -course:York",
            },
        ),
        (
            "not only GB",
            "read in several ways",
            {
                "Only results and abandonments from GB": "GB results abandonments",
                "Only results and abandonments from all regions": "all results abandonments",
            },
        ),
        (
            "GB York, not only Ffos Las",
            "read in several ways",
            {
                "Only results and abandonments, only Ffos Las and York": (
                    'GB results abandonments course:"Ffos Las" course:York'
                ),
                "Only results and abandonments": "GB results abandonments",
            },
        ),
        (
            "GB not only results for York",
            "read in several ways",
            {
                "Only results and abandonments, only York": "GB results abandonments course:York",
                "Only results and abandonments": "GB results abandonments",
                "Only results": "GB results",
            },
        ),
        (
            "IRE not only York",
            "read in several ways",
            {
                "Only results and abandonments from IRE": "IRE results abandonments",
                "Only results and abandonments from GB and IRE": "GB IRE results abandonments",
            },
        ),
        ("GB no results for York, no abandonments for Ffos Las", "leaves out too much at once", {}),
        ("GB not only", "Nothing follows", {}),
        ("GB no results, no abandonments", "Nothing would be left", {}),
        ("GB results no results", "Nothing would be left", {}),
        ("GB except", "Nothing follows", {}),
        ("GB except Yrok", 'is called "Yrok". Did you mean York?', {"York": "GB except course:York"}),
        (
            "GB no results for Yrok",
            'is called "Yrok"',
            {
                "York Only abandonments": "GB abandonments",
                "York Only results and abandonments, without York": "GB results abandonments -course:York",
                "York Only abandonments, only York": "GB abandonments course:York",
            },
        ),
        ("GB no racecrads", "Did you mean racecards?", {"racecards": "GB no racecards"}),
        ("GB except IRE", "can't be left out", {"Without that": "GB"}),
        (
            "all except GB results",
            "read in several ways",
            {
                "Only abandonments from all regions": "all abandonments",
                "Only results and abandonments from all regions but GB": f"{BUT_GB} results abandonments",
                "Only abandonments from GB": "GB abandonments",
                "Only results from all regions but GB": f"{BUT_GB} results",
            },
        ),
        ("GB tomorrow", "has no day", {"Without the day": "GB"}),
        ("Ireland York", "York is a course of GB, not of IRE", {"GB": "GB York"}),
        ("GB but York", 'is called "but"', {}),
    ],
)
async def test_what_is_not_understood_changes_nothing_and_has_buttons_that_work(town, typed, told, buttons):
    here = await town.here()
    error = await town.refused(here, f"subscribe {typed}")
    assert told in str(error)
    assert {label: line.removeprefix("subscribe ") for label, line in error.lines.items()} == buttons
    for line in error.lines.values():
        await town.types(await town.here(), line)
    with pytest.raises(CommandError):
        await town.types(here, f"subscribe {typed}")
    assert await town.receives(here) == []


async def test_only_and_no_say_what_comes_all_the_same(town):
    here = await town.here("subscribe GB", "subscribe GB racecards")
    stored = await town.types(here, "subscribe GB results only")
    ends = "/racing unsubscribe GB abandonments racecards ends that."
    assert f"From GB abandonments and racecards come as before: {ends}" in stored.notes
    stored = await town.types(here, "subscribe GB no racecards")
    assert "From GB racecards come as before: /racing unsubscribe GB racecards ends that." in stored.notes


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("from GB", [f"{BOTH} from IRE"]),
        ("the UK", [f"{BOTH} from IRE"]),
        ("GB and Ireland", []),
        ("all results", ["abandonments from GB, without York", "abandonments from IRE"]),
        ("all results from Ireland", [f"{BOTH} from GB, without York", "abandonments from IRE"]),
        ("the results", ["abandonments from GB, without York", "abandonments from IRE"]),
        ("GB -course:York", [f"{BOTH} from GB", f"{BOTH} from IRE"]),
    ],
)
async def test_unsubscribing_in_plain_english(town, typed, receives):
    here = await town.here("subscribe GB except York", "subscribe IRE")
    await town.types(here, f"unsubscribe {typed}")
    assert await town.receives(here) == receives


@pytest.mark.parametrize(
    ("typed", "told", "buttons"),
    [
        ("all except GB", "I can't end all but something", {"End IRE": "unsubscribe IRE"}),
        ("GB except results", "I can't end all but something", {}),
        ("GB no results", "I can't end all but something", {}),
        ("Germany", "no subscription to Germany", {}),
        ("GB tomorrow", "has no day", {"Without the day": "unsubscribe GB"}),
        ("Ffos Las", "names the course Ffos Las", {}),
    ],
)
async def test_what_would_end_too_much_is_refused(town, typed, told, buttons):
    here = await town.here("subscribe GB except York", "subscribe IRE")
    error = await town.refused(here, f"unsubscribe {typed}")
    assert told in str(error)
    assert error.lines == buttons


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("York entirely", [f"{BOTH} from GB, only Ffos Las", f"{BOTH} from IRE"]),
        ("abandonments entirely", ["results from GB, only York and Ffos Las", f"{BOTH} from IRE"]),
    ],
)
async def test_topic_of_a_course_alone_can_not_be_ended_and_both_wholes_are_offered(town, typed, receives):
    here = await town.here("subscribe GB York, Ffos Las", "subscribe IRE")
    for line in ("GB abandonments York", "abandonments for York from GB", "GB York abandonments"):
        error = await town.refused(here, f"unsubscribe {line}")
        assert "abandonments of York alone can't be ended" in str(error)
        assert set(error.lines) == {"York entirely", "abandonments entirely"}
        with pytest.raises(CommandError):
            await town.types(here, f"unsubscribe {line}")
    await town.types(here, error.lines[typed])
    assert await town.receives(here) == receives


async def test_topic_of_a_course_that_no_subscription_names_offers_to_leave_the_course_out(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "unsubscribe GB abandonments York")
    assert error.lines == {
        "abandonments entirely": "unsubscribe GB abandonments",
        "Leave out York": "subscribe GB -course:York",
    }
    left_out = await town.here("subscribe GB except York")
    error = await town.refused(left_out, "unsubscribe GB abandonments -course:York")
    await town.types(left_out, error.lines["York is no longer left out"])
    assert await town.receives(left_out) == [f"{BOTH} from GB"]


@pytest.mark.parametrize(
    ("typed", "buttons"),
    [
        (
            "GB no results for Ascot",
            ["GB abandonments", "GB results abandonments -course:Ascot", "GB abandonments course:Ascot"],
        ),
        ("GB results and IRE", ["GB results", "IRE", "GB IRE results"]),
        ("all abandonments, GB results", ["all abandonments", "GB results", "GB results abandonments"]),
    ],
)
async def test_without_lists_a_line_of_several_readings_is_refused_too(town, typed, buttons):
    await town.desk.database.write(lambda session: session.execute(delete(StoredState)).rowcount)
    here = await town.here()
    error = await town.refused(here, f"subscribe {typed}")
    assert [line.removeprefix("subscribe ") for line in error.lines.values()] == buttons
    assert await town.receives(here) == []


async def test_course_that_is_left_out_already_is_offered_to_be_taken_back(town):
    here = await town.here("subscribe GB racecards except York")
    error = await town.refused(here, "unsubscribe york")
    assert str(error) == "York is already left out."
    await town.types(here, error.lines["Take York back in"])
    assert await town.receives(here) == ["racecards from GB"]


async def test_course_of_another_region_is_never_subscribed_by_a_button_of_unsubscribe(town):
    error = await town.refused(await town.here("subscribe GB"), "unsubscribe Curragh")
    assert error.lines == {}


async def test_time_of_a_race_is_called_a_time_and_its_button_names_the_course_alone(town):
    error = await town.refused(await town.here(), "subscribe 2.30 Ascot")
    assert "A subscription has no time such as 2.30" in str(error)
    assert list(error.lines) == ["Ascot (GB)", "Ascot (AUS)"]


@pytest.mark.parametrize(
    ("before", "typed", "told", "buttons"),
    [
        ([], "results", "Results from where?", ["GB", "IRE", "AUS", "FR", "HK", "All regions"]),
        (["FR", "IRE"], "racecards", "Racecards from where?", ["FR", "IRE", "All regions"]),
        (["GB results", "IRE"], "results", "Results from where?", ["All regions"]),
        ([], "no results", "Abandonments from where?", ["GB", "IRE", "AUS", "FR", "HK", "All regions"]),
    ],
)
async def test_topics_alone_are_asked_from_where(town, before, typed, told, buttons):
    here = await town.here(*(f"subscribe {one}" for one in before))
    error = await town.refused(here, f"subscribe {typed}")
    assert told in str(error)
    assert list(error.lines) == buttons
    with pytest.raises(CommandError):
        await town.types(here, f"subscribe {typed}")


async def test_reading_that_would_change_nothing_is_no_button(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "subscribe GB and York")
    assert error.lines == {}
    assert "This channel has that already: /racing subscribe GB and /racing subscribe GB course:York." in str(error)


@pytest.mark.parametrize(
    ("lines", "lacking"),
    [
        (["subscribe GB results"], ["GB"]),
        (["subscribe GB", "unsubscribe GB abandonments"], ["GB"]),
        (["subscribe all abandonments", "subscribe GB results"], []),
        (["subscribe GB results York"], ["GB"]),
        (["subscribe GB"], []),
    ],
)
async def test_abandonments_that_will_not_come_are_said_and_a_button_adds_them(town, lines, lacking):
    here = await town.here(*lines[:-1])
    done = await town.types(here, lines[-1])
    rows = await town.desk.database.read(lambda session: subscriptions.of_channel(session, here.channel_id))
    every = [subscriptions.read_filter(row) for row in rows]
    without = without_abandonments(getattr(done, "filters", every), every)
    assert [one.region for one in without] == lacking
    for button in abandonments_buttons(without):
        assert button["text"]["text"] == "Add abandonments"
        await town.types(here, button["value"])
    assert all("abandonments" in words for words in await town.receives(here) if lacking)


async def test_course_of_a_whole_region_is_offered_to_be_left_out(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "unsubscribe York")
    await town.types(here, error.lines["Leave out York"])
    assert await town.receives(here) == [f"{BOTH} from GB, without York"]


@pytest.mark.parametrize(
    ("typed", "receives"),
    [
        ("for GB", [f"{BOTH} from GB"]),
        ("GB and IRE results only", ["results from GB", "results from IRE"]),
        ("GB except Ascot", [f"{BOTH} from GB, without Ascot"]),
        ("USA no results", ["abandonments from USA"]),
        ("Ireland", []),
        ("the UK", []),
    ],
)
async def test_without_lists_joining_words_are_understood_and_countries_are_refused(town, typed, receives):
    await town.desk.database.write(lambda session: session.execute(delete(StoredState)).rowcount)
    here = await town.here()
    if receives:
        assert (await town.types(here, f"subscribe {typed}")).unchecked
    else:
        with pytest.raises(CommandError, match="is away, so I can't look up its code"):
            await town.types(here, f"subscribe {typed}")
    assert await town.receives(here) == receives


@pytest.mark.parametrize(("zone", "ends_at"), [("Europe/Paris", "17:00"), (None, "18:00"), ("Nowhere", "18:00")])
async def test_pause_until_a_time_is_in_the_zone_of_whoever_typed_it_else_in_utc(town, zone, ends_at):
    async def from_there(_user_id):
        return Person(zone=zone) if zone else None

    here = await town.here("subscribe GB")
    town.desk.people.person = from_there
    paused = await town.types(here, "pause until 18:00")
    assert (f"{paused.until:%H:%M}", paused.zone) == (ends_at, "Europe/Paris" if ends_at == "17:00" else "UTC")


@pytest.mark.parametrize(
    ("typed", "day", "region", "course_id"),
    [
        ("Ascot in the UK", "2026-11-20", "GB", "cr_1"),
        ("York tomorrow", "2026-11-21", "GB", "cr_3"),
        ("for Ireland on Sunday", "2026-11-22", "IRE", None),
        ("Hong Kong, 22/11/2026", "2026-11-22", "HK", None),
        ("the card for Curragh", None, None, None),
        ("GB 22.11.26", "2026-11-22", "GB", None),
        ("GB the 22nd of November", "2026-11-22", "GB", None),
        ("GB Nov 22, 2026", "2026-11-22", "GB", None),
        ("GB on 5/12", "2026-12-05", "GB", None),
        ("NO tomorrow", "2026-11-21", "NO", None),
        ("Clonmel and Powerstown 22 November", "2026-11-22", "IRE", "cr_5"),
        ("IRE, Curragh", "2026-11-20", "IRE", "cr_6"),
        ("all of the cards", None, None, None),
    ],
)
async def test_reading_in_plain_english(town, typed, day, region, course_id):
    if day is None:
        assert await refusal(town.desk, await town.here(), f"racecard {typed}")
        return
    asked = read_words(typed, utc_today(NOW), command="racecard", flags=FLAGS)
    place = await find_place(town.desk.reference, no_meetings, asked, 1.0)
    assert (asked.day.isoformat(), place.region) == (day, region)
    assert (place.course.course_id if place.course else None) == course_id


@pytest.mark.parametrize(
    ("typed", "told", "buttons"),
    [
        ("GB Asct", "Did you mean Ascot?", ["GB Ascot"]),
        ("GB Curagh", "Did you mean Curragh IRE?", ["IRE Curragh"]),
        ("Asct", "Did you mean", ["cr_1", "cr_2"]),
        ("ascot tomorrow", "Which Ascot?", ["cr_1 tomorrow", "cr_2 tomorrow"]),
        ("boxing day", "I know no holidays: write the date", []),
        ("GB jumps", "a kind of racing can't be chosen", []),
        ("GB and IRE", "One region at a time", ["GB", "IRE"]),
        ("York and Curragh", "One course at a time", ["York", "Curragh"]),
        ("GB except Ascot", "I can leave nothing out", ["GB", "cr_1"]),
        ("GB no results", "I can leave nothing out", ["GB"]),
        ("today and tomorrow GB", "One day at a time", ["GB 2026-11-20", "GB 2026-11-21"]),
        ("GB 11/22/2026", "is not a day", ["GB 2026-11-22"]),
        ("GB 10-11-12", "is not a day", ["GB 2012-11-10", "GB 2010-11-12"]),
        ("Sweden", "publishes no region for it", []),
        ("Wales tomorow", "is no region by itself", []),
    ],
)
async def test_every_button_of_a_refused_card_works(town, typed, told, buttons):
    here = await town.here()
    error = await town.refused(here, f"racecard {typed}")
    assert told in str(error)
    lines = [line.removeprefix("racecard ") for line in error.lines.values()]
    assert lines[: len(buttons)] == buttons


@pytest.mark.parametrize("line", [one for command in RACING_COMMANDS.values() for one in command.examples])
async def test_example_of_the_help_is_understood(town, line):
    here = await town.here("subscribe GB", "subscribe GB racecards")
    if "Ascot" in line and "GB" not in line:
        line = f"{line} GB"
    if "kempton" not in line and "coverage" not in line:
        assert await refusal(town.desk, here, line) is None


def cells_of(filters):
    """What arrives by filters, as the second reader counts it."""
    kinds = {topic: kind for kind, topic in TOPIC_OF.items()}
    return frozenset(
        cell
        for cell in EVERY
        for race in [Race(region=cell[0], course=Course(name=cell[1]))]
        for event in [RacingEvent(key="", kind=kinds[Topic(cell[2])], race=race)]
        if any(one.matches(event) for one in filters)
    )


async def check_no_meaning_is_lost(town, line):
    """A line that is taken has one meaning, and brings neither less nor more. Any other is refused with buttons."""
    here = await town.here()
    error = await town.refused(here, f"subscribe {line}")
    if error is not None:
        assert error.lines or "read in several ways" not in str(error), line
        for pressed in error.lines.values():
            assert await refusal(town.desk, here, pressed) is None, line
        return
    await town.types(here, f"subscribe {line}")
    found = await town.desk.database.read(lambda session: subscriptions.of_channel(session, here.channel_id))
    assert meanings(line) == {cells_of([subscriptions.read_filter(row) for row in found])}, line


async def test_a_line_of_each_pattern_is_taken_as_meant_or_refused_with_buttons(town):
    every = lines()
    for line in every[:: len(every) // LINES_TRIED]:
        await check_no_meaning_is_lost(town, line)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.sampled_from(lines()))
async def test_no_line_is_taken_as_less_or_more_than_meant(town, line):
    await check_no_meaning_is_lost(town, line)


JOINING = ["and", "or", "only", "for", "from", "the", "except", "without", "no", ",", "but", "of", "not"]
PLACES = [
    "GB",
    "IRE",
    "NO",
    "gb",
    "Ireland",
    "great britain",
    "UK",
    "Hong Kong",
    "Sweden",
    "Wales",
    "“New South Wales”",
]
NAMES = ["Ascot", "York", "Asct", "ffos las", "Ffos Las", "Clonmel and Powerstown", "clonmel", "course:York", "cr_2"]
TOPICS = ["results", "racecards", "abandonments", "reslts", "all", "cards"]
DAYS = ["today", "tommorow", "Sunday", "22/11/2026", "11/22/2026", "22 Nov", "last friday", "10-11-12"]
LINES = st.lists(st.sampled_from([*JOINING, *PLACES, *NAMES, *TOPICS, *DAYS]), max_size=6).map(" ".join)


@pytest.mark.parametrize("commands", [["subscribe"], ["unsubscribe"], ["racecard", "results", "pause", "courses"]])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_any_line_is_understood_or_refused_with_buttons_that_all_work(town, commands, data):
    command, line = data.draw(st.sampled_from(commands)), data.draw(LINES)
    has_some = command in {"unsubscribe", "pause"} or (command == "subscribe" and data.draw(st.booleans()))
    before = ["subscribe GB except York", "subscribe IRE results"] if has_some else []
    kept = f"{command} {has_some}"
    here = town.kept[kept] = town.kept.get(kept) or await town.here(*before)
    error = await town.refused(here, f"{command} {line}")
    if error is None:
        return
    assert str(error)
    for pressed in error.lines.values():
        if "subscribe" not in command:
            await town.types(here, pressed)
            continue
        there = await town.here(*before)
        received = await town.receives(there)
        await town.types(there, pressed)
        assert await town.receives(there) != received, pressed


async def test_offers_that_passed_in_time_are_kept_where_another_takes_long(town, monkeypatch):
    here = await town.here()
    line = "subscribe GB results and IRE racecards"
    error = await refusal(town.desk, here, line)
    assert error
    reads, regions = count(), town.desk.reference.regions

    async def slow_after_the_first(timeout_s=None):
        if next(reads) >= FIRST_LINE_READS:
            await asyncio.Event().wait()
        return await regions(timeout_s)

    monkeypatch.setattr(town.desk.reference, "regions", slow_after_the_first)
    offered = await with_working_offers(error, town.desk, here, line, 0.5)
    assert list(offered.lines) == ["GB results"]


FIRST_LINE_READS = 2
"""Readings of the regions while one line is tried."""
