"""Any line is taken as it was meant, or refused with buttons that do what they say."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.channels import subscriptions
from bot.events.event import TOPIC_OF, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.slack.commands.refusal_buttons import refusal
from tests.unit.commands.plain_reader import EVERY, lines, meanings

LINES_TRIED = 100
"""Lines of the second reader's patterns, from all of them at equal steps."""


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
    '"New South Wales"',
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
