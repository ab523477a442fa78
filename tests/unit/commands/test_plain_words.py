"""Lines of `subscribe` in plain English: what is understood of them, and that every button of a refusal works."""

import asyncio
from itertools import count

import pytest

from bot.channels import subscriptions
from bot.channels.filters import without_abandonments
from bot.errors import CommandError
from bot.slack.commands.refusal_buttons import refusal, with_working_offers
from bot.slack.messages.answers.subscription_buttons import abandonments_buttons
from tests.unit.commands.town import BOTH, BUT_GB

MINUS = {"-York": "York", "-york": "York", '-"Ffos Las"': "Ffos Las", "-ffos las": "Ffos Las", "-YOR": "York"}


@pytest.mark.parametrize(
    ("typed", "receives", "notes"),
    [
        ("GB and IRE results only", ["results from GB", "results from IRE"], []),
        ("only results from the UK", ["results from GB"], ["UK is GB here."]),
        ("for GB", [f"{BOTH} from GB"], []),
        ("to GB, IRE and FR", [f"{BOTH} from {code}" for code in ("FR", "GB", "IRE")], []),
        ("GB + IRE racecards please", ["racecards from GB", "racecards from IRE"], []),
        ("Ascot GB", [f"{BOTH} from GB, only Ascot"], []),
        ("Ascot (GB)", [f"{BOTH} from GB, only Ascot"], []),
        ("GB cards", ["racecards from GB"], []),
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
        *((f"GB {minus}", [f"{BOTH} from GB, without {name}"], []) for minus, name in MINUS.items()),
        ("GB -York, -Ffos Las racecards", ["racecards from GB, without York and Ffos Las"], []),
        ("GB -results", ["abandonments from GB"], []),
        *((line, [f"{BOTH} from GB"], []) for line in ("all GB", "GB all", "all of GB", "all the gb", "all from GB")),
        ("all GB and IRE", [f"{BOTH} from {code}" for code in ("GB", "IRE")], []),
        ("all Irish results", ["results from IRE"], ["Irish is IRE here."]),
        ("all GB racecards", ["racecards from GB"], []),
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
        ('"hong kong"', [f"{BOTH} from HK"], ["hong kong is HK here."]),
        ("the U.S.A.", [f"{BOTH} from USA"], ["U.S.A. is USA here."]),
        ("United States of America", [f"{BOTH} from USA"], ["United States of America is USA here."]),
        ("NO", [f"{BOTH} from NO"], []),
        ("NO racecards", ["racecards from NO"], []),
        ("Norway no racecards", [f"{BOTH} from NO"], ["Norway is NO here."]),
        ("New South Wales", [f"{BOTH} from New South Wales"], []),
        ('"New South Wales" results', ["results from New South Wales"], []),
        ("Clonmel and Powerstown", [f"{BOTH} from IRE, only Clonmel and Powerstown"], []),
        ("IRE except Clonmel and Powerstown", [f"{BOTH} from IRE, without Clonmel and Powerstown"], []),
        ("Belmont at the Big A results", ["results from USA, only Belmont at the Big A"], []),
        ("No Man's Land", [f"{BOTH} from NO, only No Man's Land"], []),
        ("'Ffos Las'", [f"{BOTH} from GB, only Ffos Las"], []),
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
        ('"AND"', [f"{BOTH} from IRE, only Clonmel and Powerstown"], []),
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
        ("except only but GB", 'is called "but"', {}),
        ("GB no results, no abandonments", "Nothing would be left", {}),
        ("GB results no results", "Nothing would be left", {}),
        ("GB except", "Nothing follows", {}),
        *(
            (f"GB {typed}", 'no course "Yrok". Did you mean York?', {"York": "GB -course:York"})
            for typed in ("-Yrok", "-course:Yrok")
        ),
        ("GB -IRE", "can't be left out", {"Without that": "GB"}),
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
    assert str(error).startswith("Nothing to change: this channel takes GB with all courses. ")


async def test_reading_that_would_change_nothing_is_named_beside_the_buttons(town):
    here = await town.here("subscribe GB")
    error = await town.refused(here, "subscribe Ascot")
    assert list(error.lines) == ["Ascot (AUS)"]
    assert "This channel has Ascot (GB) already." in str(error)


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
