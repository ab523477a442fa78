"""Lines of the commands that read, and of `pause`, in plain English; and the examples of the help."""

import pytest

from bot.events.days import utc_today
from bot.slack.commands.day_words import find_place, read_words
from bot.slack.commands.refusal_buttons import refusal
from bot.slack.commands.results import FLAGS
from bot.slack.commands.table import RACING_COMMANDS
from bot.slack.permissions import Person
from tests.unit.commands.town import NOW, no_meetings


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
