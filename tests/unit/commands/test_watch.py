"""The words of `/racing watch`, and what its answer knows of a name."""

from dataclasses import replace
from datetime import date

import pytest

from bot.channels import watches
from bot.channels.watches import WATCHES_MAX, WatchedName
from bot.db.tables import WatchKind
from bot.errors import CommandError
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import name_key
from bot.racedata import race_book_store
from bot.racedata.day_views import look_up
from bot.slack.commands.watch import WATCH_COMMAND
from bot.slack.messages.answers.watch_answer import NowWatched, watched
from tests.rows import over
from tests.unit.commands.town import NOW
from tests.unit.commands.town import typed as invocation

GOLDEN = WatchedName(WatchKind.HORSE, "Golden Melody")
MOORE = WatchedName(WatchKind.JOCKEY, "R Moore")


@pytest.mark.parametrize("typed", ["", "me", "horse:", 'horse:""', "horse: me", "horse:()", f"horse:{'x' * 81}"])
async def test_line_without_a_name_is_refused_and_offered_by_no_button(town, typed):
    here = await town.here()
    for run in (WATCH_COMMAND.plan, WATCH_COMMAND.commit):
        with pytest.raises(CommandError):
            await run(town.desk, replace(here, text=typed))


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


async def answered(database, name, *rides, now=NOW):
    """The answer to somebody who watches a name from now on."""
    await database.write(lambda session: race_book_store.put(session, rides, NOW))
    found = await database.read(lambda session: look_up(session, [name], date(2026, 11, 20)))
    return watched([NowWatched(name, found[name])], now, is_own=False)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Golden Melody", "Kempton 14:00 (GB), Fri 20 Nov, as Golden Melody (IRE)."),
        ("golden melody (ire)", "Kempton 14:00 (GB), Fri 20 Nov."),
    ],
)
async def test_published_name_is_told_where_the_country_is_missing_in_one_of_the_names(database, typed, said):
    there = ride(14, Runner(horse="Golden Melody (IRE)"), course="Kempton")
    assert (await answered(database, WatchedName(WatchKind.HORSE, typed), there)).text.endswith(said)


async def test_every_ride_that_is_lost_is_named_and_the_rides_to_come_are_counted(database):
    """Lost rides first, then by off time."""
    rides = [
        ride(hour, Runner(horse=f"Horse {hour}", jockey="R Moore"), course=course, abandoned=course == "York")
        for hour, course in enumerate(["Ascot", *["Bath"] * 6, "York", "York"], start=12)
    ]
    message = await answered(database, MOORE, *rides, now=NOW.replace(hour=11))
    said = message.text
    assert "R Moore is declared: Ascot 12:00 (GB), Fri 20 Nov; Bath 13:00 (GB), Fri 20 Nov; Bath 14:00" in said
    assert "Bath 16:00 (GB), Fri 20 Nov; and 2 more." in said
    assert said.count(", ABANDONED") == 2
    assert str(message.blocks).count("🛑 *ABANDONED*") == 2
    assert said.index("York 19:00 (GB)") < said.index("R Moore is declared")


@pytest.mark.parametrize(
    ("name", "said", "unsaid"),
    [
        ("horse Out", "Out is a non-runner: Bath 11:00 (GB), Fri 20 Nov; Bath 13:00", "no result"),
        ("horse Waits", "Waits is a reserve: Bath 11:00 (GB), Fri 20 Nov; Bath 13:00", "declared"),
        ("trainer T One", "T One has a non-runner: Bath 11:00 (GB)", "is declared"),
        ("jockey R Moore", "R Moore is declared: Bath 13:00 (GB), Fri 20 Nov. ", "non-runner"),
        ("jockey R Moore", "Already off, no result yet: R Moore, Bath 11:00 (GB), Fri 20 Nov.", "non-runner"),
        ("horse {name} {}", "{name} {} is declared: Bath 13:00 (GB), Fri 20 Nov. ", "non-runner"),
    ],
)
async def test_watched_non_runner_and_ride_whose_off_has_gone_are_not_called_declared(database, name, said, unsaid):
    kind, _, watched_name = name.partition(" ")
    runners = (
        Runner(horse="Out", position="NR", trainer="T One", jockey="R Moore"),
        Runner(horse="Waits", position="Reserve"),
        Runner(horse="Runs", trainer="T Two", jockey="R Moore"),
        Runner(horse="{name} {}"),
    )
    found = await answered(database, WatchedName(WatchKind(kind), watched_name), ride(11, *runners), ride(13, *runners))
    told = found.text.split("a race.")[1]
    assert said in told
    assert unsaid not in told


async def test_too_many_names_are_refused(town):
    await town.desk.database.write(
        lambda session: watches.add(
            session,
            "C1",
            [WatchedName(WatchKind.HORSE, f"Horse {number}") for number in range(WATCHES_MAX - 1)],
            user_id="U1",
            now=NOW,
        )
    )
    with pytest.raises(CommandError, match=f"At most {WATCHES_MAX}"):
        await WATCH_COMMAND.commit(town.desk, invocation("horse:A jockey:B"))
    assert await WATCH_COMMAND.would_change(town.desk, invocation("horse:A jockey:B"))
    assert (await WATCH_COMMAND.commit(town.desk, invocation("horse:A"))).made


async def test_race_that_is_over_is_no_race_to_come(database):
    said = (await answered(database, GOLDEN, ride(14, Runner(horse="Golden Melody (IRE)", position="1")))).text
    assert "is declared" not in said
    assert "No alert follows for earlier news" in said
    assert "won by *Golden Melody (IRE)*" in said
